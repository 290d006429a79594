"""Exact binomial draws: single trials for few, Devroye's rejection for many, at a cost that does not grow with n.

For a log-concave distribution with mode m, p(m + j) <= p(m) min(1, exp(1 - p(m) |j|)) (Devroye 1987). With w <= p(m), w
rational, and a = ceil(1/w) that is at most 1 for |j| <= a, and at most exp(-w i) for |j| = a + 1 + i. So the
proposal is uniform on the 2a + 1 central values, or geometric with rate w beyond them, in two tails of mass
a + 1 >= 1 / (1 - e^-w) each. It is accepted with the exact ratio of target and proposal.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Exp, Real, enclose, lower, upper
from dpselect.draws.core import Core

MAX_SINGLE_TRIALS = 16  # up to here single trials are cheaper than the envelope


@dataclass(frozen=True)
class _BinomialShare:
    """The binomial probability of x over that of its proposal: mass, times (1 - e^-w) e^(-w i) in a tail (i given)."""

    n: int
    x: int
    probability: Real
    mass: Fraction = Fraction(1)
    w: Fraction = Fraction(0)
    i: int | None = None

    def ball(self, bits: int) -> arb:
        """Return the number's ball; the extra bits cover the cancellation between the factorials."""
        with ctx.workprec(bits + 4 * self.n.bit_length()):
            p = self.probability.ball(ctx.prec)
            choose = (arb(self.n + 1).lgamma() - arb(self.x + 1).lgamma() - arb(self.n - self.x + 1).lgamma()).exp()
            target = choose * p**self.x * (1 - p) ** (self.n - self.x)
            if self.i is None:
                return target / enclose(self.mass)
            tail = -enclose(-self.w).expm1() * enclose(-self.w * self.i).exp()
            return target / (enclose(self.mass) * tail)


def binomial(core: Core, n: int, probability: Real) -> int:
    """Count how many of n Bernoulli trials succeed."""
    if n <= MAX_SINGLE_TRIALS:
        return sum(core.bernoulli(probability) for _ in range(n))
    mode = _mode(n, probability)
    peak = _BinomialShare(n, mode, probability).ball(64)
    highest, w = upper(peak), _short(lower(peak))
    half = (1 / w).__ceil__()
    while True:
        point = core.below((2 * half + 1) + 2 * (half + 1))
        if point <= 2 * half:
            x, i, mass = mode + point - half, None, highest
        else:
            i = core.geometric(w)
            side = 1 if point % 2 else -1
            x, mass = mode + side * (half + 1 + i), highest * (half + 1)
        if 0 <= x <= n and core.bernoulli(_BinomialShare(n, x, probability, mass, w, i)):
            return x


def _short(number: Fraction) -> Fraction:
    """Keep the number's first 40 bits, which are at most the number, however small it is."""
    shift = 40 + number.denominator.bit_length() - number.numerator.bit_length()
    return Fraction((number * 2**shift).__floor__(), 2**shift)


def _mode(n: int, probability: Real) -> int:
    """Compute floor((n + 1) p), at most n. An irrational p never meets an integer, so more bits decide."""
    if isinstance(probability, Exp) and probability.exponent == 0:
        return min(n, ((n + 1) * probability.factor).__floor__())
    bits = 64 + n.bit_length()
    while True:
        ball = probability.ball(bits)
        with ctx.workprec(bits):  # the ends too, or no precision would ever decide a mode above 2^53
            low, high = ((n + 1) * edge(ball) for edge in (lower, upper))
        if low.__floor__() == high.__floor__():
            return min(n, low.__floor__())
        bits *= 2
