"""Widths: how far from 0 noise lies at most, with a given probability, by its own law. Proofs: docs/accuracy.md.

`times` is how many independent noises lie within the width all at once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from dpselect.mechanisms.top_k.gaps import OUTWARD, each

SUMMED = 10**4  # deviations up to which a Gaussian law is added up; beyond, one unit more does not matter
STEEPEST = 700  # e^-700 is as good as 0


def laplace_width(rate: Fraction, beta: float, times: int = 1) -> int:
    """The least w with P(|z| > w) = 2 q^(w + 1) / (1 + q) small enough, q = e^-rate."""
    q = math.exp(-float(min(rate, Fraction(STEEPEST))))
    exponent = math.log(2 / (1 + q)) - math.log(each(beta, times))
    return max(0, (Fraction(exponent * OUTWARD) / rate).__ceil__() - 1)


def gaussian_width(variance: Fraction, beta: float, times: int = 1) -> int:
    """The least w with P(|z| > w) small enough, added up; of a wide law by P(|z| > w) <= erfc(w / sqrt(2 variance))."""
    p, deviation = each(beta, times), math.sqrt(variance)
    bound = math.ceil(-NormalDist().inv_cdf(p / 2) * deviation * OUTWARD)
    if deviation > SUMMED:
        return bound
    weights = np.exp(-(np.arange(bound + 2 + math.ceil(9 * deviation)) ** 2) / (2 * float(variance)))
    beyond = 2 * np.cumsum(weights[::-1])[::-1]  # beyond[w] has all |z| >= w, where w > 0
    total = beyond[0] - weights[0]
    small = np.flatnonzero(beyond[1:] <= total * p / OUTWARD)
    return min(int(small[0]), bound)


def cube_width(candidates: int, rate: Fraction, beta: float) -> int:
    """For noise of radius n with probability in proportion to w(n) = e^(-rate n) (2n + 1)^candidates: the radius.

    w is log-concave: beyond n its sum is at most w(n + 1) / (1 - w(n + 2) / w(n + 1)), and all of it is at least the
    2h + 1 values around the mode times the smaller of the two at their ends.
    """
    mode = (candidates / rate).__ceil__()
    half = min(mode, (math.isqrt(candidates) / rate).__ceil__())
    floor = min(_log(candidates, rate, mode, mode - half), _log(candidates, rate, mode, mode + half))
    total = math.log(2 * half + 1) + floor

    def rare(n: int) -> bool:
        here = _log(candidates, rate, mode, n + 1)
        fall = here - _log(candidates, rate, mode, n + 2)
        return fall > 0 and here - math.log(-math.expm1(-fall)) - total <= math.log(beta) - 1e-6

    low, high = mode, 2 * mode + 1
    while not rare(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if rare(middle) else (middle, high)
    return high


def _log(candidates: int, rate: Fraction, mode: int, n: int) -> float:
    """ln(w(n) / w(mode)). In logarithms of ratios near 1 nothing is lost."""
    return candidates * math.log1p(2 * (n - mode) / (2 * mode + 1)) - float(rate * (n - mode))
