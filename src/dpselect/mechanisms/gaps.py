"""Gaps: how far an answer can be from the best one; widths: how far from 0 noise lies. Proofs: docs/accuracy.md.

A gap t belongs to a probability beta: the choice misses by more than t with probability at most beta. It depends on
parameters and on the number of candidates, never on their scores. Numbers of candidates are given as logarithms
(-infinity for none), since a domain can exceed the range of floats. In a width `times` is how many independent noises
lie within it all at once.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np

NONE = -math.inf
OUTWARD = 1 + 1e-12  # far more than the rounding of a few logarithms
FACTORS = 1000  # of a product over k picks that are taken as they are


def failure_per_step(beta: float, times: int) -> float:
    """Return the failure probability of each of `times` steps for which all succeed with probability 1 - beta."""
    return -math.expm1(math.log1p(-beta) / times)


def log_others(candidates: int, k: int = 1) -> float:
    """Return ln of (the number of candidates - k)."""
    return math.log(candidates - k) if candidates > k else NONE


def log_sets(items: int, k: int) -> float:
    """Return ln of (the number of sets of k items - 1)."""
    return minus_one(math.fsum(math.log(items - i) - math.log(i + 1) for i in range(min(k, items - k))))


def minus_one(logarithm: float) -> float:
    """Return ln of (a number - 1), by its logarithm."""
    factor = -math.expm1(-logarithm)
    return logarithm + math.log(factor) if factor > 0 else NONE


def exponential(rate: Fraction, many: float, beta: float) -> Fraction:
    """Return the gap of one choice by weights exp(rate score): t = ln(many (1 - beta) / beta) / rate."""
    return _over(many + math.log1p(-beta) - math.log(beta), rate)


def kth(rate: Fraction, many: float, k: int, beta: float) -> Fraction:
    """Return the gap to the k-th best of k such choices, each among what is left: t = (many - ln m) / rate.

    Here m solves (1 + m / 1) ... (1 + m / k) = 1 / (1 - beta), and `many` is ln of (the number of candidates - k).
    Beyond the first factors, ln(1 + m / i) is taken for m / i, whose sum is at most m times a difference of logarithms.
    """
    first_factors, log_beyond = 1 / np.arange(1, min(k, FACTORS) + 1), math.log(k / FACTORS) if k > FACTORS else 0.0
    log_bound = -math.log1p(-beta)
    low, high = log_bound / (1 + math.log(k)), math.expm1(log_bound)
    while high - low > 1e-13 * high:
        m = (low + high) / 2
        low, high = (m, high) if math.fsum(np.log1p(m * first_factors)) + m * log_beyond <= log_bound else (low, m)
    return _over(many - math.log(low), rate)


def flipped(rate: Fraction, many: float, beta: float) -> Fraction:
    """Return the gap of one choice by permute-and-flip: t = ln(many / (2 beta)) / rate."""
    return _over(many - math.log(2 * beta), rate)


def logarithm(number: Fraction) -> float:
    """Return ln of a fraction, also beyond the range of floats."""
    return math.log(number.numerator) - math.log(number.denominator)


def _over(exponent: float, rate: Fraction) -> Fraction:
    return Fraction(0) if exponent <= 0 else Fraction(exponent * OUTWARD) / rate


SUMMED = 10**4  # deviations up to which a Gaussian law is added up; beyond, one unit more does not matter
STEEPEST = 700  # e^-700 is as good as 0


def laplace_width(rate: Fraction, beta: float, times: int = 1) -> int:
    """Return the least w with P(|z| > w) = 2 q^(w + 1) / (1 + q) small enough, q = e^-rate."""
    q = math.exp(-float(min(rate, Fraction(STEEPEST))))
    exponent = math.log(2 / (1 + q)) - math.log(failure_per_step(beta, times))
    return max(0, (Fraction(exponent * OUTWARD) / rate).__ceil__() - 1)


def gaussian_width(variance: Fraction, beta: float, times: int = 1) -> int:
    """Return the least w with P(|z| > w) small enough, added up.

    Of a wide law by P(|z| > w) <= erfc(w / sqrt(2 variance)).
    """
    p, deviation = failure_per_step(beta, times), math.sqrt(variance)
    bound = math.ceil(-NormalDist().inv_cdf(p / 2) * deviation * OUTWARD)
    if deviation > SUMMED:
        return bound
    weights = np.exp(-(np.arange(bound + 2 + math.ceil(9 * deviation)) ** 2) / (2 * float(variance)))
    beyond = 2 * np.cumsum(weights[::-1])[::-1]  # beyond[w] has all |z| >= w, where w > 0
    total = beyond[0] - weights[0]
    small = np.flatnonzero(beyond[1:] <= total * p / OUTWARD)
    return min(int(small[0]), bound)
