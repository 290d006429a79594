"""Gaps: how far an answer can be from the best one, whatever the data. Proofs: docs/accuracy.md.

A gap t belongs to a probability beta: the choice misses by more than t with probability at most beta. It depends on
parameters and on the number of candidates, never on their scores. Numbers of candidates are given as logarithms
(-infinity for none), since a domain can exceed the range of floats.
"""

from __future__ import annotations

import math
from fractions import Fraction

NONE = -math.inf
OUTWARD = 1 + 1e-12  # far more than the rounding of a few logarithms


def each(beta: float, times: int) -> float:
    """The failure probability of each of `times` steps for which all succeed with probability 1 - beta."""
    return -math.expm1(math.log1p(-beta) / times)


def others(candidates: int) -> float:
    """ln of (the number of candidates - 1)."""
    return math.log(candidates - 1) if candidates > 1 else NONE


def log_sets(items: int, k: int) -> float:
    """ln of (the number of sets of k items - 1)."""
    return _but_one(math.fsum(math.log(items - i) - math.log(i + 1) for i in range(min(k, items - k))))


def log_sequences(items: int, k: int) -> float:
    """ln of (the number of sequences of k items - 1)."""
    return _but_one(math.fsum(math.log(items - i) for i in range(k)))


def _but_one(logarithm: float) -> float:
    rest = -math.expm1(-logarithm)
    return logarithm + math.log(rest) if rest > 0 else NONE


def exponential(rate: Fraction, many: float, beta: float) -> Fraction:
    """The gap of one choice by weights exp(rate score): t = ln(many (1 - beta) / beta) / rate."""
    return _over(many + math.log1p(-beta) - math.log(beta), rate)


def flipped(rate: Fraction, many: float, beta: float) -> Fraction:
    """The gap of one choice by permute-and-flip: t = ln(many / (2 beta)) / rate."""
    return _over(many - math.log(2 * beta), rate)


def laplace(rate: Fraction, many: float, beta: float) -> Fraction:
    """The gap of scores with Laplace noise: the least t with many (2 + rate t) e^(-rate t) / 4 <= beta."""
    if many == NONE:
        return Fraction(0)
    low, high = 0.0, 2 * (many - math.log(beta)) + 4
    while high - low > 1e-9 * high:
        x = (low + high) / 2
        low, high = (x, high) if many + math.log((2 + x) / 4) - x > math.log(beta) else (low, x)
    return _over(high, rate)


def logarithm(number: Fraction) -> float:
    """ln of a fraction, also beyond the range of floats."""
    return math.log(number.numerator) - math.log(number.denominator)


def _over(exponent: float, rate: Fraction) -> Fraction:
    return Fraction(0) if exponent <= 0 else Fraction(exponent * OUTWARD) / rate
