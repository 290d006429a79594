"""How far weighted sums of discrete Laplace noises may be from 0: the least whole bounds, on the safe side.

Proofs: docs/mechanisms/quantile.md, "Certified misses".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from dpselect.mechanisms.gaps import OUTWARD

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"

FINE = Fraction(1, 50)  # a lower rate is computed as this one, times a whole number
MOST_EXACT = 40  # sums whose laws are added up; of more the Chernoff bound is taken
TRIED = 64  # exponents of the Chernoff bound: each of them proves a bound, and the best one counts
HIDDEN = 1e-13  # of a law, beyond the numbers that are looked at
SLACK = 1e-9  # far more than what is hidden of all laws, and the rounding of their sums


class RankNoise(NamedTuple):
    """The noise (1 - q) A - q B, where A is a sum of `below` independent noises and B of `other` ones."""

    q: Fraction
    below: int
    other: int


def noise_bound(rate: Fraction, noises: Sequence[RankNoise], beta: float) -> int:
    """Return a whole t so that with probability 1 - beta none of these noises of one rate exceeds t.

    Up to MOST_EXACT of them it is the least t for which their probabilities add up to beta.
    """
    return _noise_bound(rate, tuple(sorted(noises)), beta)


def total_width(rate: Fraction, noises: int, beta: float) -> int:
    """Return a whole w that the size of a sum of so many noises exceeds with probability at most beta."""
    return noise_bound(rate, [RankNoise(Fraction(0), noises, 0)] * 2, beta)


def chernoff_bound(rate: Fraction, noises: Sequence[RankNoise], beta: float) -> int:
    """Return the Chernoff bound: P(some noise > t) <= e^(-s t) times the sum over noises of E e^(s noise)."""
    q = np.array([float(noise.q) for noise in noises])
    below_counts, other_counts = (np.array([noise[part] for noise in noises], dtype=np.float64) for part in (1, 2))
    unit = float(rate)
    s = unit / max((1 - q).max(), q.max()) * np.arange(1, TRIED)[:, None] / TRIED
    exponents = below_counts * _log_moment(unit, (1 - q) * s) + other_counts * _log_moment(unit, q * s)
    top = exponents.max(axis=1, keepdims=True)
    bounds = (top + np.log(np.exp(exponents - top).sum(axis=1, keepdims=True)) - math.log(beta)) / s
    return math.ceil(max(0.0, float(bounds.min())) * OUTWARD)


def _log_moment(rate: float, s: Floats) -> Floats:
    """Return ln E e^(s Z) of discrete Laplace noise Z, where s is below the rate."""
    log_factors = np.log(-np.expm1(s - rate)) + np.log(-np.expm1(-s - rate))
    return np.asarray(2 * math.log(-math.expm1(-rate)) - log_factors, dtype=np.float64)


@lru_cache(maxsize=4096)
def _noise_bound(rate: Fraction, noises: tuple[RankNoise, ...], beta: float) -> int:
    if len(noises) > MOST_EXACT:
        return chernoff_bound(rate, noises, beta)
    times = max(1, (FINE / rate).__floor__())
    least = _least_bound(float(times * rate), noises, beta)
    rounding = max((1 - noise.q) * noise.below + noise.q * noise.other for noise in noises) * (times - 1)
    return times * least + rounding.__ceil__()


def _least_bound(rate: float, noises: tuple[RankNoise, ...], beta: float) -> int:
    """Return the least whole t with a small enough sum of P(noise > t), by bisection with interpolated logarithms."""
    reach = chernoff_bound(Fraction(rate), [RankNoise(Fraction(0), max(map(_larger_part, noises)), 0)] * 2, HIDDEN) + 1
    laws = {size: _law(rate, size, reach) for noise in noises for size in noise[1:]}
    sums = {size: np.concatenate([[0.0], np.cumsum(law)]) for size, law in laws.items()}
    points, multiplicities = np.arange(-reach, reach + 1), Counter(noises)

    def excess(t: int) -> float:
        """Return ln of (the sum of all P(noise > t), at most, over beta)."""
        total = SLACK
        for (q, below, other), times in multiplicities.items():
            a, b = q.numerator, q.denominator
            if a == 0:
                total += times * float(laws[below][t + reach + 1 :].sum())
                continue
            last = -((t * b - (b - a) * points) // a) - 1  # the largest sum of other noises that exceeds t
            total += times * float(laws[below] @ sums[other][np.clip(last + reach + 1, 0, 2 * reach + 1)])
        return math.log(total / beta)

    low, high = -1, chernoff_bound(Fraction(rate), noises, beta)  # at -1 more than half exceeds it
    excess_low, excess_high, tries = excess(low), min(0.0, excess(high)), 0
    while high - low > 1:
        tries += 1
        middle = (low + high) // 2
        if tries % 3:
            middle = min(max(low + round((high - low) * excess_low / (excess_low - excess_high)), low + 1), high - 1)
        excess_middle = excess(middle)
        if excess_middle <= 0:
            high, excess_high = middle, excess_middle
        else:
            low, excess_low = middle, excess_middle
    return high


def _larger_part(noise: RankNoise) -> int:
    return max(noise.below, noise.other)


def _law(rate: float, noises: int, reach: int) -> Floats:
    """Return the law of a sum from -reach to reach, by its characteristic function; what is beyond is added inside."""
    size = 1 << (2 * reach + 1).bit_length()
    turns, q = np.cos(2 * np.pi * np.arange(size // 2 + 1) / size), math.exp(-rate)
    law = np.fft.irfft(((1 - q) ** 2 / (1 - 2 * q * turns + q * q)) ** noises, size)
    return np.asarray(np.maximum(np.concatenate([law[-reach:], law[: reach + 1]]), 0.0), dtype=np.float64)
