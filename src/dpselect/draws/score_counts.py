"""Equal scores counted by value within a window, and found again: in as many passes whatever the scores are.

Why that matters: docs/exact-draws.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.draws.weights import Weights

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_SINGLE_LOOKUPS = 4  # so many scores are looked up one by one

Int64: TypeAlias = "npt.NDArray[np.int64]"
Indices: TypeAlias = "npt.NDArray[np.intp]"
Member = Callable[[int], np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCounts:
    """The single scores counted by value, from `low` to `high`, and the offset of each from `low`."""

    scores: Int64
    low: int
    high: int
    offsets: Int64  # high - low + 1 for all other scores

    @classmethod
    def from_scores(cls, scores: Int64, low: int, high: int) -> ScoreCounts:
        """Return the counts of all scores, each as its distance above `low`."""
        distances = (scores - np.int64(low)).view(np.uint64)  # exact modulo 2^64, so what is below lies far above
        return cls(scores, low, high, np.minimum(distances, np.uint64(high - low + 1)).view(np.int64))

    def weights(self, rate: Fraction) -> Weights:
        """Return one group for each value, and for each that is larger, descending."""
        bins = np.bincount(self.offsets, minlength=self.high - self.low + 2)[:-1]
        values = np.flatnonzero(bins)
        larger, larger_counts = np.unique(self.scores[self.scores > self.high], return_counts=True)
        descending = np.concatenate([values + self.low, larger])[::-1].astype(np.int64)
        return Weights(descending, rate, np.concatenate([bins[values], larger_counts])[::-1].astype(np.int64))

    def members(self, values: Int64) -> list[Member]:
        """Return for each of some descending values a function to the positions of the scores that equal it."""
        larger = int(np.count_nonzero(values > self.high))
        inside = values[larger:] - self.low
        few = np.flatnonzero(self.scores > self.high) if larger else np.zeros(0, dtype=np.intp)
        members = [_member_of(few[np.flatnonzero(self.scores[few] == value)]) for value in values[:larger]]
        if len(inside) <= MAX_SINGLE_LOOKUPS:
            return members + [_member_of(np.flatnonzero(self.offsets == offset)) for offset in inside]
        code = np.zeros(self.high - self.low + 2, dtype=np.min_scalar_type(len(inside)))  # few bits sort by radix
        code[inside] = np.arange(1, len(inside) + 1)
        codes = code[self.offsets]
        hits = np.flatnonzero(codes)
        hits = hits[np.argsort(codes[hits], kind="stable")]
        starts = np.cumsum(np.bincount(codes[hits]))[: len(inside)]
        return members + [_member_of(hits, int(start)) for start in starts]

    def position_of_each(self, values: Int64) -> list[int]:
        """Return the position of some score that equals it, for each of these values, none of them above `high`."""
        position_by_offset = np.zeros(self.high - self.low + 2, dtype=np.intp)
        position_by_offset[self.offsets] = np.arange(len(self.offsets))
        return [int(position) for position in position_by_offset[values - self.low]]


def _member_of(positions: Indices, start: int = 0) -> Member:
    return lambda member: positions[start + member]
