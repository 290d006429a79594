"""Many coins of one rising law: 64 random bits each against bounds of the law at the ends of cells of weights.

Weights are put into buckets by the leading bits of their floats. Runs of buckets (cells) are halved while more than
a few of their coins would lie between the bounds at the cell's two ends; those that do in the end are decided
exactly on the same bits. The cells decide how fast, never what.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpselect.draws.port import Rising
from dpselect.errors import ParameterError
from dpselect.reals import lower, upper

if TYPE_CHECKING:
    from dpselect.draws.certified import CertifiedDraws

Given = npt.NDArray[np.int64] | npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]

ALL = 1 << 64
BUCKET_BITS = 20  # at most 2^20 buckets, and about 16 for each weight
FEW = 2  # so many coins of a cell may be open on average: deciding them costs about as much as halving the cell


def coins(draws: CertifiedDraws, weights: Given, unit: int, probability: Rising) -> npt.NDArray[np.bool_]:
    """One independent coin a weight, heads with probability.at(weight / unit); a weight of 0 is never heads."""
    checked(weights)
    fell = np.zeros(len(weights), dtype=bool)
    positive = np.flatnonzero(weights)
    if not len(positive):
        return fell
    buckets = Buckets.of(weights[positive])
    low, last = bounds(buckets, unit, probability)
    words = draws.source.words(len(positive))
    heads = words < low[buckets.index]
    unsure = ~heads & (words <= last[buckets.index])
    for i in np.flatnonzero(unsure):
        weight = Fraction(weights[positive[i]].item()) / unit
        heads[i] = draws.decide(int(words[i]), 64, probability.at(weight))
    fell[positive] = heads
    return fell


def checked(weights: Given) -> None:
    """Refuse what is no weight, without telling which."""
    if weights.dtype not in (np.int64, np.float64):
        raise ParameterError("weights", "be int64 or float64", weights.dtype)
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise ParameterError("weights", "be finite and at least 0", "others")


@dataclass(frozen=True, eq=False, repr=False)
class Buckets:
    """Weight i lies in bucket index[i]; bucket b holds weights from start(b) up to, not including, start(b + 1)."""

    index: Int64
    first: int  # the pattern of the smallest weight
    shift: int
    counts: Int64
    top: Fraction  # the largest weight

    @classmethod
    def of(cls, weights: Given) -> Buckets:
        """Positive floats are in the order of their bit patterns; integers that no float holds are rounded down."""
        patterns = rounded_down(weights).view(np.int64)
        first, final = int(patterns.min()), int(patterns.max())
        size = min(BUCKET_BITS, len(weights).bit_length() + 4)
        shift = max(0, (final - first).bit_length() - size)
        index = (patterns - first) >> shift
        return cls(index=index, first=first, shift=shift, counts=np.bincount(index), top=Fraction(weights.max().item()))

    def start(self, bucket: int) -> Fraction:
        """The least weight that a bucket may hold."""
        return Fraction(np.int64(self.first + (bucket << self.shift)).view(np.float64).item())


def rounded_down(weights: Given) -> npt.NDArray[np.float64]:
    """The largest floats that are not above the weights."""
    near = weights.astype(np.float64)
    if weights.dtype == np.int64 and int(weights.max()) > 1 << 53:
        above = near.astype(np.uint64) > weights.view(np.uint64)
        near[above] = np.nextafter(near[above], 0)
    return near


def bounds(buckets: Buckets, unit: int, probability: Rising) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """For every bucket (low, last): a word below `low` is heads, one above `last` is tails, whatever follows it."""
    found = list(_cells(buckets, unit, probability))
    widths = [end - start for start, end, _, _ in found]
    low = np.array([min(low, ALL - 1) for _, _, low, _ in found], dtype=np.uint64)
    last = np.array([max(high - 1, 0) for _, _, _, high in found], dtype=np.uint64)
    return np.repeat(low, widths), np.repeat(last, widths)


def _cells(buckets: Buckets, unit: int, probability: Rising) -> Iterator[tuple[int, int, int, int]]:
    """(first bucket, end, low, high) with low <= 2^64 p <= high for all weights of the cell, in rising order."""
    before = np.concatenate([[0], np.cumsum(buckets.counts)]).tolist()
    lowest, highest = 0, ALL
    if before[-1] > FEW:  # many weights may lie at an end, a cutoff say
        lowest, _ = _words(probability, buckets.start(0) / unit)
        _, highest = _words(probability, buckets.top / unit)
    left = [(0, len(buckets.counts), lowest, highest)]
    while left:
        start, end, low, high = left.pop()
        if end - start == 1 or (before[end] - before[start]) * (high - low) <= FEW * ALL:
            yield start, end, low, high
            continue
        middle = (start + end) // 2
        under, over = _words(probability, buckets.start(middle) / unit)
        left += [(middle, end, max(low, under), high), (start, middle, low, min(high, over))]


def _words(probability: Rising, weight: Fraction) -> tuple[int, int]:
    """2^64 p rounded down and up."""
    ball = probability.at(weight).ball(96)
    return max(0, (lower(ball) * ALL).__floor__()), min(ALL, (upper(ball) * ALL).__ceil__())
