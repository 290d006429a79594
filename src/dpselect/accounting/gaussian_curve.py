"""The exact curve of Gaussian noise: the least noise for an (epsilon, delta), and how whole noise follows it.

Proof: docs/mechanisms/histogram.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import enclose
from dpselect.accounting.calibration import largest_rho
from dpselect.errors import ParameterError

PRECISION = 128
FINEST = Fraction(1, 2**42)  # to which part of itself a deviation is found
HIGHEST = 2**60
LOST = Fraction(1, 2**12)  # of epsilon, or of 1, and of delta: what whole noise may differ by from real noise
LEAST = Fraction(1, 2**30)  # epsilon for which real noise stays far below 2^60
CLOSE = 9  # CLOSE n e^(-2 pi^2 r^2) bounds what n noises differ by, there and back
STEPS = 2**10  # of a square in which r^2 is rounded up


@dataclass(frozen=True)
class Calibration:
    """Whole Gaussian noises that are rho-zCDP, each then with `wider` added to its parameter."""

    rho: Fraction
    wider: Fraction = Fraction(0)


def by_curve(epsilon: Fraction, delta: Fraction, noises: int) -> Calibration | None:
    """Return what makes whole noises (epsilon, delta)-DP, of which a user shifts at most so many by whole numbers."""
    if epsilon < LEAST:
        return None
    lost = min(epsilon, Fraction(1)) * LOST
    deviation = smallest_deviation(epsilon - lost, delta * (1 - lost))
    exponent = math.log(CLOSE * noises) - math.log(lost)
    wider = Fraction(math.ceil(exponent / (2 * math.pi**2) * STEPS) + 1, STEPS)
    return Calibration(1 / (2 * deviation**2), wider)


def calibrations(epsilon: Fraction, delta: Fraction, noises: int) -> list[Calibration]:
    """Calibrate by zCDP and by the exact curve, which needs less noise unless noise is very small."""
    by_exact_curve = by_curve(epsilon, delta, noises)
    return [Calibration(largest_rho(epsilon, delta)), *([] if by_exact_curve is None else [by_exact_curve])]


def smallest_deviation(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least s, to twelve digits, for which noise N(0, s^2) on a shift of 1 is (epsilon, delta)-DP.

    Phi(1 / (2s) - epsilon s) - e^epsilon Phi(-1 / (2s) - epsilon s) <= delta (Balle and Wang 2018, Theorem 8).
    """
    return _smallest_deviation(epsilon, delta)


@lru_cache(maxsize=256)
def _smallest_deviation(epsilon: Fraction, delta: Fraction) -> Fraction:
    high = Fraction(1)
    while not _hides(high, epsilon, delta):
        high *= 2
        if high > HIGHEST:
            raise ParameterError("epsilon", "be large enough for noise below 2^60", "a smaller value")
    low = high / 2
    while low > Fraction(1, HIGHEST) and _hides(low, epsilon, delta):
        high, low = low, low / 2
    step = low * FINEST
    while high - low > step:
        middle = (low + high) / 2
        low, high = (low, middle) if _hides(middle, epsilon, delta) else (middle, high)
    return high


def _hides(s: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether noise of deviation s on a shift of 1 is certainly (epsilon, delta)-DP."""
    with ctx.workprec(PRECISION):
        return bool(gaussian_delta(s, epsilon) <= enclose(delta))


def gaussian_delta(s: Fraction, epsilon: Fraction) -> arb:
    """Return the least delta of Gaussian noise of deviation s on a shift of 1, a ball at the current precision."""
    half_inverse, scaled, root = 1 / (2 * s), epsilon * s, arb(2).sqrt()
    first = (enclose(scaled - half_inverse) / root).erfc() / 2
    return first - enclose(epsilon).exp() * (enclose(scaled + half_inverse) / root).erfc() / 2
