"""Many Bernoulli draws of one monotone probability: 64 random bits each against its bounds on cells of weights.

Weights are put into buckets by the leading bits of their floats. Runs of buckets (cells) are bisected while more than
a few of their draws would lie between the bounds at the cell's two ends; those that do in the end are decided
exactly on the same bits. The cells change how fast a draw is decided, never its outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import lower, upper
from dpselect.draws.core import Core
from dpselect.draws.port import MonotoneProbability
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt

WeightArray: TypeAlias = "npt.NDArray[np.int64] | npt.NDArray[np.float64]"
Int64: TypeAlias = "npt.NDArray[np.int64]"

TWO_TO_64 = 1 << 64
BUCKET_BITS = 18  # at most 2^18 buckets, whose bounds fit into a processor's cache, and about 16 for each weight
MAX_OPEN_DRAWS = (
    2  # so many draws of a cell may be open on average: deciding them costs about as much as bisecting the cell
)


def bernoullis(core: Core, weights: WeightArray, unit: int, probability: MonotoneProbability) -> npt.NDArray[np.bool_]:
    """Draw an independent Bernoulli of probability.at(weight / unit) for each weight; a weight of 0 gives False."""
    refuse_non_weights(weights)
    successes_by_weight = np.zeros(len(weights), dtype=bool)
    positive = np.flatnonzero(weights)
    if not len(positive):
        return successes_by_weight
    buckets = Buckets.from_weights(weights[positive])
    low, last = word_bounds(buckets, unit, probability)
    words = core.source.words(len(positive))
    successes = words < low[buckets.index]
    unsure = ~successes & (words <= last[buckets.index])
    for i in np.flatnonzero(unsure):
        weight = Fraction(weights[positive[i]].item()) / unit
        successes[i] = core.decide(int(words[i]), 64, probability.at(weight))
    successes_by_weight[positive] = successes
    return successes_by_weight


def refuse_non_weights(weights: WeightArray) -> None:
    """Refuse what is not a weight, without saying which."""
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
    def from_weights(cls, weights: WeightArray) -> Buckets:
        """Divide by bit patterns, which order positive floats; integers that no float holds are rounded down."""
        patterns = rounded_down(weights).view(np.int64)
        first, final = int(patterns.min()), int(patterns.max())
        size = min(BUCKET_BITS, len(weights).bit_length() + 4)
        shift = max(0, (final - first).bit_length() - size)
        index = (patterns - first) >> shift
        return cls(index=index, first=first, shift=shift, counts=np.bincount(index), top=Fraction(weights.max().item()))

    def start(self, bucket: int) -> Fraction:
        """Return the least weight that a bucket may hold."""
        return Fraction(np.int64(self.first + (bucket << self.shift)).view(np.float64).item())


def rounded_down(weights: WeightArray) -> npt.NDArray[np.float64]:
    """Return the largest floats that are not above the weights."""
    rounded = weights.astype(np.float64)
    if weights.dtype == np.int64 and int(weights.max()) > 1 << 53:
        is_above = rounded.astype(np.uint64) > weights.view(np.uint64)
        rounded[is_above] = np.nextafter(rounded[is_above], 0)
    return rounded


def word_bounds(
    buckets: Buckets, unit: int, probability: MonotoneProbability
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Bound each bucket by (low, last): words below `low` are successes, those above `last` failures."""
    cells = list(_cells(buckets, unit, probability))
    widths = [end - start for start, end, _, _ in cells]
    low = np.array([min(low, TWO_TO_64 - 1) for _, _, low, _ in cells], dtype=np.uint64)
    last = np.array([max(high - 1, 0) for _, _, _, high in cells], dtype=np.uint64)
    return np.repeat(low, widths), np.repeat(last, widths)


def _cells(buckets: Buckets, unit: int, probability: MonotoneProbability) -> Iterator[tuple[int, int, int, int]]:
    """Yield (first bucket, end, low, high) in rising order, with low <= 2^64 p <= high for all weights of the cell."""
    counts_before = np.concatenate([[0], np.cumsum(buckets.counts)])
    lowest, highest = 0, TWO_TO_64
    if counts_before[-1] > MAX_OPEN_DRAWS:  # many weights may lie at an end, a cutoff say
        lowest, _ = _scaled_ends(probability, buckets.start(0) / unit)
        _, highest = _scaled_ends(probability, buckets.top / unit)
    pending = [(0, len(buckets.counts), lowest, highest)]
    while pending:
        start, end, low, high = pending.pop()
        draws_in_cell = int(counts_before[end] - counts_before[start])
        if end - start == 1 or draws_in_cell * (high - low) <= MAX_OPEN_DRAWS * TWO_TO_64:
            yield start, end, low, high
            continue
        middle = (start + end) // 2
        under, over = _scaled_ends(probability, buckets.start(middle) / unit)
        pending += [(middle, end, max(low, under), high), (start, middle, low, min(high, over))]


def _scaled_ends(probability: MonotoneProbability, weight: Fraction) -> tuple[int, int]:
    """Round 2^64 p down and up."""
    ball = probability.at(weight).ball(96)
    return max(0, (lower(ball) * TWO_TO_64).__floor__()), min(TWO_TO_64, (upper(ball) * TWO_TO_64).__ceil__())
