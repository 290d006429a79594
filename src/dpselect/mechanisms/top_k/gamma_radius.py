"""The radius of the gamma mechanism's noise, drawn exactly: P(n) proportional to exp(-rate n) (2n + 1)^d.

The distribution is log-concave. With mode m it is at most P(m) on the 2s + 1 central values m - s .. m + s. Beyond
them it falls at least as fast as at m - s - 1 and m + s + 1: P(m + s + 1 + i) <= P(m) e^(-w i) for a rational w below
the logarithm of the ratio there. Rejection from a uniform centre and two geometric tails, as in
draws/binomial.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from flint import arb, ctx

from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.reals import enclose, lower

MOST = Fraction(10**12)  # of d / rate


@dataclass(frozen=True)
class _Share:
    """The acceptance probability: P(n) / P(m) over the proposal's mass (1 - e^-w) e^(-w i), or over 1 in the centre."""

    d: int
    rate: Fraction
    n: int
    m: int
    mass: int = 1
    w: Fraction = Fraction(0)
    i: int | None = None

    def ball(self, bits: int) -> arb:
        """A ball that contains the acceptance probability."""
        with ctx.workprec(bits + 2 * self.d.bit_length() + 2 * (self.n + self.m).bit_length()):
            law = (self._log() + (0 if self.i is None else enclose(self.w * self.i))).exp()
            return law if self.i is None else law / (-enclose(-self.w).expm1() * self.mass)

    def _log(self) -> arb:
        gain = enclose(Fraction(2 * self.n + 1, 2 * self.m + 1)).log() * self.d
        return gain - enclose(self.rate * (self.n - self.m))


def cube_radius(draws: Draws, d: int, rate: Fraction) -> int:
    """Sample n with probability proportional to exp(-rate n) (2n + 1)^d."""
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
            share = _Share(d, rate, mode + point - half, mode)
        else:
            tail = int(point > 2 * half + masses[0])
            side, start, w = tails[tail]
            i = draws.geometric(w)
            share = _Share(d, rate, start + side * i, mode, masses[tail], w, i)
        if share.n >= 0 and draws.bernoulli(share):
            return share.n


def _rises(d: int, rate: Fraction, m: int, n: int) -> bool:
    """Whether P(n) > P(m). They are never equal: the logarithm of a rational other than 1 is irrational."""
    share, bits = _Share(d, rate, n, m), 128
    while True:
        with ctx.workprec(bits):
            gap = share._log()
        if gap != 0:
            return bool(gap > 0)
        bits *= 2


def _slope(d: int, rate: Fraction, near: int, far: int) -> Fraction:
    """A rational below ln(P(near) / P(far)), which is positive on either side of the mode."""
    with ctx.workprec(192):
        exact = lower(_Share(d, rate, near, far)._log())
    return Fraction((exact * 2**80).__floor__(), 2**80)
