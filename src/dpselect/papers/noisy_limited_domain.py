"""Limited domain with Laplace noise: items of a domain that nobody has to know, with their counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from fractions import Fraction

from flint import ctx

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Privacy
from dpselect._ground.reals import enclose, upper
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import Answer, Input, Picks
from dpselect.mechanisms.gaps import laplace_width
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.top_k.limited_domain import default_k_bar, parse_k_bar
from dpselect.mechanisms.top_k.top_rows import TopRows, largest, top_rows

PRECISION = 128
HIGHEST = 2**62  # heights and counts stay in 64 bits
SAID = 2**200  # heights that are only reported may be larger


@dataclass(frozen=True, kw_only=True)
class LimitedDomainLaplace:
    """Select at most k items with noisy counts, of the k_bar with most users, for users of few items each.

    As published; dpselect takes LimitedDomain or DiscoverThenPeel instead, because they find more at most bounds.

    Every one of the k_bar counts and bottom get whole Laplace noise of scale max_items_per_user / epsilon. Bottom
    stands `height` above the count after them. Items above bottom are released with their noisy counts, k at most.

    Guarantee: (epsilon, delta)-DP, counts included. Not paid by what comes back: the whole price at any answer.
    Neighbors: add-remove.
    Sensitivity: one user moves at most `max_items_per_user` counts, each by 1; the data must have been bounded so. The
        k_bar counts and the one after them move by that much together, whatever items change places (its page).
    Exactness: exact discrete Laplace noise; `height` from the closed tail of the difference of two, rounded outward.
    Cost: one pass to find k_bar + 1 rows, then about 20 random decisions for each.
    Source: Durfee and Rogers 2019, Section 3 (the Laplace variant that it names); whole noise, the
        threshold and the proof are on its page.
    Example:
        >>> LimitedDomainLaplace(k=2, k_bar=3, epsilon=4, delta="1e-6", max_items_per_user=1)([900, 600, 5, 2]).tolist()
        [0, 1]
    """

    k: int
    epsilon: Number
    delta: Number
    max_items_per_user: int
    k_bar: int | None = None
    height: int = field(init=False)

    def __post_init__(self) -> None:
        _parse(self)
        swaps = min(self.max_items_per_user, _k_bar_of(self))
        set_fields(self, height=1 + laplace_height(self.rate, swaps, Fraction(self.delta)))

    @property
    def privacy(self) -> Privacy:
        """The privacy of a pure step for what neighbours share, and delta for the rest (Kairouz et al. 2015)."""
        return promise(Fraction(self.epsilon), Fraction(self.delta), "limited domain, Laplace")

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Return at most k indices or labels, best first."""
        return self.with_counts(counts, draws=draws)[0]

    def with_counts(self, counts: Input, *, draws: Draws | None = None) -> tuple[Answer, list[int]]:
        """Return at most k indices or labels, best first, and their noisy counts."""
        rows = top_rows(counts, _k_bar_of(self) + 1)
        picks, noisy = self.picks_with_counts(rows, secure(draws))
        return rows.names(picks), noisy

    def picks_with_counts(self, rows: TopRows, draws: Draws) -> tuple[Picks, list[int]]:
        """Return at most k rows above noisy bottom as (row, 0), largest noisy count first, and their noisy counts.

        Items without users are not listed: they are never released, so their noise need not be drawn.
        """
        k_bar = _k_bar_of(self)
        bottom = rows.after(k_bar) + self.height + self.noise(draws)
        noisy = [int(count) + self.noise(draws) for count in rows.inside(k_bar)]
        rows_above = [row for row, count in enumerate(noisy) if count > bottom]
        best = [rows_above[index] for index in largest([noisy[row] for row in rows_above], self.k, draws)]
        return [(row, 0) for row in best], [noisy[row] for row in best]

    @property
    def rate(self) -> Fraction:
        """The rate of the noise: z has probability in proportion to e^(-rate |z|)."""
        return Fraction(self.epsilon) / self.max_items_per_user

    def noise(self, draws: Draws) -> int:
        """Draw discrete Laplace noise of this rate."""
        return draws.laplace(self.rate)

    def width(self, beta: float) -> int:
        """Return the bound in users on all noises, of counts and bottom, that holds except with probability beta."""
        return laplace_width(self.rate, beta, _k_bar_of(self) + 1)

    def behind(self, beta: float, pairs: int) -> int:
        """Return the lead that equal noise turns round in none of so many pairs, except with probability beta."""
        return laplace_height(self.rate, pairs, Fraction(beta), SAID)


def _parse(mechanism: LimitedDomainLaplace) -> None:
    """Parse the parameters into exact values; raise ParameterError before any data is touched."""
    k = parameters.listed_size("k", mechanism.k)
    set_fields(
        mechanism,
        k=k,
        k_bar=parse_k_bar(k, mechanism.k_bar),
        epsilon=parameters.epsilon("epsilon", mechanism.epsilon),
        delta=parameters.probability("delta", mechanism.delta),
        max_items_per_user=parameters.whole_number("max_items_per_user", mechanism.max_items_per_user, minimum=1),
    )


def _k_bar_of(mechanism: LimitedDomainLaplace) -> int:
    """Return the k_bar of a mechanism, by default from its k."""
    return default_k_bar(mechanism.k) if mechanism.k_bar is None else mechanism.k_bar


def gap(mechanism: LimitedDomainLaplace, beta: float) -> int:
    """Return the most users by which an item left out exceeds one above it, except with probability beta."""
    return mechanism.behind(beta, mechanism.k * max(1, _k_bar_of(mechanism) - 1))


def reach(mechanism: LimitedDomainLaplace, beta: float) -> int:
    """Return by how many users another item may exceed the one at rank k_bar + 1 if fewer than k come back.

    The bound holds except with probability beta.
    """
    return mechanism.height + mechanism.behind(beta, mechanism.k)


# ---- heights ----------------------------------------------------------------------------------------------
# How far bottom must be above the last count, so that noise rarely lifts an item over it, rounded outward. With the
# same noise on both, an item at most one above h_(k_bar + 1) exceeds bottom, at h_(k_bar + 1) + 1 + T, with
# probability at most P(W > T), where W is the difference of two noises. `swaps` items can do so at once.


def laplace_tail(rate: Fraction, t: int) -> Fraction:
    """Return an upper bound, tight to many digits, on P(W > t), t >= 0, for two discrete Laplace noises.

    With q = e^-rate, P(W = w) = ((1 - q) / (1 + q))^2 q^w (w + (1 + q^2) / (1 - q^2)) for w >= 0, summed from
    n = t + 1 on.
    """
    with ctx.workprec(PRECISION):
        a, n = enclose(rate), t + 1
        q, p = (-a).exp(), -(-a).expm1()
        inner = n + q / p + (1 + q**2) / -(-2 * a).expm1()
        return upper(p / (1 + q) ** 2 * (-a * n).exp() * inner)


def laplace_height(rate: Fraction, swaps: int, delta: Fraction, highest: int = HIGHEST) -> int:
    """Return the least T >= 0 with swaps P(W > T) <= delta."""
    return _least(lambda t: swaps * laplace_tail(rate, t) <= delta, highest)


def _least(holds: Callable[[int], bool], highest: int) -> int:
    high = 1
    while not holds(high):
        high *= 2
        if high > highest:
            raise ParameterError("epsilon", "be large enough for a threshold below 2^62", "a smaller value")
    low = -1 if high == 1 else high // 2  # the least is above low, at most high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
