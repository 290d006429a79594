"""The gamma mechanism: joint noise for all counts, whose probability depends on its l-infinity norm only."""

from __future__ import annotations

from fractions import Fraction
from math import expm1, isqrt, log, log1p

from flint import arb, ctx

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy, PureDP, parse_neighbors, single_step
from dpselect._ground.reals import enclose, lower
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import Answer, Candidates, Input, Picks, parse_counts, refuse_too_few
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.top_k.top_rows import largest


@dataclass(frozen=True, kw_only=True)
class GammaMechanism:
    """Select k of a known domain of size d by noisy counts, with noise z of weight exp(-epsilon max |z_i|).

    As published; dpselect takes Peeling instead, because its error does not grow with d (docs/methods-compared.md).

    Every count gets noise of size about d / (2 epsilon): useless except for a handful of candidates. Kept for
    comparison. All noisy counts together are private, so those of the answer are released free (`with_counts`).

    Guarantee: epsilon-DP, even if all noisy counts were published.
    Neighbors: add-remove or replace-one of one user.
    Sensitivity: one user changes every count by at most 1, any number of them, in either direction.
    Exactness: integer noise with exactly this distribution: a radius n of weight exp(-epsilon n) (2n + 1)^d, then
        every z_i uniform on -n .. n. The continuous original has a Gamma(d + 1, 1 / epsilon) radius and uniform noise
        below it.
    Cost: one radius, then a uniform number for each candidate, listed or not.
    Source: the k-norm mechanism (Hardt and Talwar 2010) for the l-infinity norm, which Gillenwater et al.
        2021, Section 4, tried; for integers, with the proof on its page.
    Example:
        >>> GammaMechanism(k=2, epsilon=4)([900, 5, 600, 7]).tolist()
        [0, 2]
    """

    k: int
    epsilon: Number
    neighbors: Neighbors = Neighbors.ADD_REMOVE

    def __post_init__(self) -> None:
        k, epsilon = parameters.listed_size("k", self.k), parameters.epsilon("epsilon", self.epsilon)
        set_fields(self, k=k, epsilon=epsilon, neighbors=parse_neighbors(self.neighbors))

    @property
    def privacy(self) -> Privacy:
        """The privacy of one pure step."""
        return single_step(PureDP(Fraction(self.epsilon)), self.neighbors)

    def width(self, beta: float, candidates: int) -> int:
        """Return the bound in users on all noises at once that holds except with probability beta."""
        return cube_width(candidates, Fraction(self.epsilon), beta)

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Return k indices or labels, best first."""
        return self.with_counts(counts, draws=draws)[0]

    def with_counts(self, counts: Input, *, draws: Draws | None = None) -> tuple[Answer, list[int]]:
        """Return k indices or labels, best first, and their noisy counts."""
        candidates = parse_counts(counts)
        picks, noisy = self.picks_with_counts(candidates, secure(draws))
        return candidates.names(picks), noisy

    def picks_with_counts(self, candidates: Candidates, draws: Draws) -> tuple[Picks, list[int]]:
        """Return k candidates as (group, member), best first, and their noisy counts."""
        refuse_too_few(self.k, candidates)
        return self.within(cube_radius(draws, candidates.count, Fraction(self.epsilon)), candidates, draws)

    def within(self, radius: int, candidates: Candidates, draws: Draws) -> tuple[Picks, list[int]]:
        """Return `picks_with_counts`, given the radius of the noise."""
        sizes = [1] * len(candidates.scores) if candidates.sizes is None else candidates.sizes.tolist()
        members = [(g, r) for g, size in enumerate(sizes) for r in range(size)]
        side = 2 * radius + 1
        noisy = [int(candidates.scores[g]) + draws.below(side) - radius for g, _ in members]
        best = largest(noisy, self.k, draws)
        return [members[i] for i in best], [noisy[i] for i in best]


MOST = Fraction(10**12)  # of d / rate


@dataclass(frozen=True)
class _GammaShare:
    """The acceptance probability: P(n) / P(m) over the proposal's mass (1 - e^-w) e^(-w i), or over 1 in the centre."""

    d: int
    rate: Fraction
    n: int
    m: int
    mass: int = 1
    w: Fraction = Fraction(0)
    i: int | None = None

    def ball(self, bits: int) -> arb:
        """Return a ball that contains the acceptance probability."""
        with ctx.workprec(bits + 2 * self.d.bit_length() + 2 * (self.n + self.m).bit_length()):
            law = (self._log() + (0 if self.i is None else enclose(self.w * self.i))).exp()
            return law if self.i is None else law / (-enclose(-self.w).expm1() * self.mass)

    def _log(self) -> arb:
        gain = enclose(Fraction(2 * self.n + 1, 2 * self.m + 1)).log() * self.d
        return gain - enclose(self.rate * (self.n - self.m))


def cube_radius(draws: Draws, d: int, rate: Fraction) -> int:
    """Sample n with probability proportional to exp(-rate n) (2n + 1)^d.

    The distribution is log-concave. With mode m it is at most P(m) on the 2s + 1 central values m - s .. m + s. Beyond
    them it falls at least as fast as at m - s - 1 and m + s + 1: P(m + s + 1 + i) <= P(m) e^(-w i) for a rational w
    below the logarithm of the ratio there. Rejection from a uniform centre and two geometric tails, as in
    draws/binomial.py.
    """
    if d > MOST * rate:
        raise ParameterError("epsilon", "be at least the number of candidates / 10^12", "a smaller one")
    mode = max(0, (d / rate - Fraction(1, 2)).__floor__())  # near the mode; the loops below make sure
    while _rises(d, rate, mode, mode + 1):
        mode += 1
    while mode and _rises(d, rate, mode, mode - 1):
        mode -= 1
    half = isqrt(((d + 1) / rate**2).__ceil__()) + 1
    right, left = mode + half + 1, mode - half - 1
    tails = [(1, right, _slope(d, rate, right, right + 1))]
    if left >= 0:
        tails.append((-1, left, _slope(d, rate, left, left - 1) if left else Fraction(1)))  # nothing lies beyond 0
    masses = [(1 / w).__ceil__() + 1 for _, _, w in tails]
    while True:
        point = draws.below(2 * half + 1 + sum(masses))
        if point <= 2 * half:
            share = _GammaShare(d, rate, mode + point - half, mode)
        else:
            tail = int(point > 2 * half + masses[0])
            side, start, w = tails[tail]
            i = draws.geometric(w)
            share = _GammaShare(d, rate, start + side * i, mode, masses[tail], w, i)
        if share.n >= 0 and draws.bernoulli(share):
            return share.n


def _rises(d: int, rate: Fraction, m: int, n: int) -> bool:
    """Return whether P(n) > P(m), which are never equal: no logarithm of a rational other than 1 is rational."""
    share, bits = _GammaShare(d, rate, n, m), 128
    while True:
        with ctx.workprec(bits):
            gap = share._log()
        if gap != 0:
            return bool(gap > 0)
        bits *= 2


def _slope(d: int, rate: Fraction, nearer: int, farther: int) -> Fraction:
    """Return a rational below ln(P(nearer) / P(farther)), which is positive on either side of the mode."""
    with ctx.workprec(192):
        exact = lower(_GammaShare(d, rate, nearer, farther)._log())
    return Fraction((exact * 2**80).__floor__(), 2**80)


def cube_width(candidates: int, rate: Fraction, beta: float) -> int:
    """Return the radius that noise exceeds with probability beta at most.

    A radius n has probability in proportion to w(n) = e^(-rate n) (2n + 1)^candidates.

    w is log-concave: beyond n its sum is at most w(n + 1) / (1 - w(n + 2) / w(n + 1)), and all of it is at least the
    2h + 1 values around the mode times the smaller of the two at their ends.
    """
    mode = (candidates / rate).__ceil__()
    half = min(mode, (isqrt(candidates) / rate).__ceil__())
    floor = min(_log_mass(candidates, rate, mode, mode - half), _log_mass(candidates, rate, mode, mode + half))
    total = log(2 * half + 1) + floor

    def rare(n: int) -> bool:
        log_mass = _log_mass(candidates, rate, mode, n + 1)
        fall = log_mass - _log_mass(candidates, rate, mode, n + 2)
        return fall > 0 and log_mass - log(-expm1(-fall)) - total <= log(beta) - 1e-6

    low, high = mode, 2 * mode + 1
    while not rare(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rare(middle) else (middle, high)
    return high


def _log_mass(candidates: int, rate: Fraction, mode: int, n: int) -> float:
    """Return ln(w(n) / w(mode)). In logarithms of ratios near 1 nothing is lost."""
    return candidates * log1p(2 * (n - mode) / (2 * mode + 1)) - float(rate * (n - mode))
