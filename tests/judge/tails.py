"""Tails of noise, and the weights from which a union releases an item with an even chance. All are rounded outward.

docs/mechanisms/set-union.md, set-union-policies.md and limited-domain.md have the formulas and their proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx

from tests.judge.balls import BITS, ball

HALVINGS = 60  # of a search, relative to its start
FAR = Fraction(10**300)  # in floats
Tail = Callable[[arb], arb]
"""From how far a weight lies below a threshold to the chance that noise lifts it above."""


def laplace(rate: Fraction) -> Tail:
    """Noise of density (rate / 2) e^(-rate |z|)."""

    def tail(gap: arb) -> arb:
        low = (-ball(rate) * abs(gap)).exp() / 2
        if gap >= 0:
            return low
        return 1 - low if gap <= 0 else low.union(1 - low)

    return tail


def whole_laplace(rate: Fraction) -> Tail:
    """Whole noise, z with probability in proportion to e^(-rate |z|), which must reach the threshold."""

    def tail(gap: arb) -> arb:
        beyond = (-ball(rate) * (gap if gap >= 1 else 1 - gap)).exp() / (1 + (-ball(rate)).exp())
        return beyond if gap >= 1 else 1 - beyond

    return tail


def gaussian(deviation: arb) -> Tail:
    """Gaussian noise."""
    return lambda gap: (gap / (deviation * arb(2).sqrt())).erfc() / 2


def least_deviation(epsilon: Fraction, delta: Fraction) -> Fraction:
    """From below, the least s for which Gaussian noise hides a shift of 1 (Balle and Wang 2018, Theorem 8)."""
    return _turn(lambda s: not gaussian_delta(ball(s), epsilon) <= ball(delta))


def gaussian_delta(s: arb, epsilon: Fraction) -> arb:
    """The delta of Gaussian noise of deviation s on a shift of 1."""
    here, there, root = 1 / (2 * s), ball(epsilon) * s, arb(2).sqrt()
    return (((there - here) / root).erfc() - ball(epsilon).exp() * ((there + here) / root).erfc()) / 2


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> arb:
    """The least delta at an epsilon, at the order a = 1 + b that is best in floats: any order is a bound.

    ln delta = b (a rho - epsilon) - ln a - b ln(1 + 1/b) (Canonne, Kamath and Steinke 2020, Corollary 13).
    """
    r, e = float(min(max(rho, 1 / FAR), FAR)), float(epsilon)

    def slope(b: float) -> float:
        return (2 * b + 1) * r - e - math.log1p(1 / b)

    low, high = 1e-12, 1e12
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    with ctx.workprec(BITS):
        b = arb(low)
        return (b * ((1 + b) * ball(rho) - ball(epsilon)) - (1 + b).log() - b * (1 / b).log1p()).exp().min(arb(1))


WHOLE = Fraction(1, 2**12)  # of epsilon, or of 1, and of delta: what whole noises may differ by from real noise


def whole_square(noises: int, epsilon: Fraction) -> Fraction:
    """What whole Gaussian noises have beyond the variance of real ones that hide as much, for so many that move.

    It is an r^2 with 9 n e^(-2 pi^2 r^2) at most what may be lost: docs/mechanisms/histogram.md.
    """
    return Fraction(math.ceil(math.log(9 * noises / _lost(epsilon)) / (2 * math.pi**2) * 2**30), 2**30)


def whole_gaussian_delta(rho: Fraction, epsilon: Fraction) -> arb:
    """The delta of whole noises by the exact curve, if real noises of variances that much smaller are rho-zCDP."""
    lost = _lost(epsilon)
    return gaussian_delta(1 / (2 * ball(rho)).sqrt(), epsilon - lost) / (1 - ball(lost))


def _lost(epsilon: Fraction) -> Fraction:
    return min(epsilon, Fraction(1)) * WHOLE


def _turn(holds: Callable[[Fraction], bool]) -> Fraction:
    """A number just below where what holds for small ones ends."""
    with ctx.workprec(BITS):
        low = high = Fraction(1)
        while not holds(low) and low > Fraction(1, 2**400):
            low, high = low / 2, low
        while holds(high) and high < 2**400:
            low, high = high, high * 2
        width = high - low
        for _ in range(HALVINGS):
            width /= 2
            low = low + width if holds(low + width) else low
        return low


def geometric_pair(rate: Fraction, other: Fraction, gap: int) -> arb:
    """The chance that geometric noise of the first rate is at least `gap` above that of the other, gap >= 0."""
    ratio = (-ball(other)).expm1() / (-ball(rate + other)).expm1()
    return ratio * (-ball(rate * gap)).exp()


# ---- new items --------------------------------------------------------------------------------------------


def too_likely(tail: Tail, threshold: Fraction, delta: Fraction, most: int, share: Callable[[int], Fraction]) -> int:
    """A number t <= most of new items, of share(t) each, one of which appears too often; 0 if surely none does.

    Each may appear with probability 1 - (1 - delta)^(1/t). Shares fall as t rises, so over a .. b the first share and
    the last probability decide.
    """
    with ctx.workprec(BITS):
        todo = [(1, most)]
        while todo:
            a, b = todo.pop()
            allowed = -((-ball(delta)).log1p() / b).expm1()
            if tail(ball(threshold - share(a))) <= allowed:
                continue
            if a == b:
                return a
            middle = (a + b) // 2
            todo += [(a, middle), (middle + 1, b)]
    return 0


# ---- releases without noise -------------------------------------------------------------------------------


def geometric_chance(epsilon: Fraction, delta: Fraction, users: int) -> arb:
    """A bound, from above, on how likely truncated geometric selection releases an item of so many users.

    The recursion's last steps, from the closed form of its first branch, which is a bound on it everywhere.
    """
    with ctx.workprec(BITS):
        e, d = ball(epsilon).exp(), ball(delta)
        start = max(0, users - 3)
        p = (d * (ball(epsilon) * start).expm1() / (e - 1)).min(arb(1))
        for _ in range(users - start):
            p = (e * p + d).min(1 - (1 - p - d) / e).min(arb(1))
        return p
