"""Equal scores counted by value within a window, and found again: in as many passes whatever the scores are.

Why that matters: docs/exact-draws.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpselect.draws.weights import Weights

FEW = 4  # so many scores are looked up one by one

Whole = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]
Member = Callable[[int], np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class ScoreCounts:
    """How many single scores there are of each value from `low` to `high`, and which score is how far above `low`."""

    scores: Whole
    low: int
    high: int
    offsets: Whole  # high - low + 1 for all other scores

    @classmethod
    def from_scores(cls, scores: Whole, low: int, high: int) -> ScoreCounts:
        """Every score, as how far it is above `low`."""
        apart = (scores - np.int64(low)).view(np.uint64)  # exact modulo 2^64, so what is below lies far above
        return cls(scores, low, high, np.minimum(apart, np.uint64(high - low + 1)).view(np.int64))

    def weights(self, rate: Fraction) -> Weights:
        """One group for each value, and for each that is larger, descending."""
        bins = np.bincount(self.offsets, minlength=self.high - self.low + 2)[:-1]
        values = np.flatnonzero(bins)
        above, many = np.unique(self.scores[self.scores > self.high], return_counts=True)
        found = np.concatenate([values + self.low, above])[::-1].astype(np.int64)
        return Weights(found, rate, np.concatenate([bins[values], many])[::-1].astype(np.int64))

    def members(self, values: Whole) -> list[Member]:
        """For descending values, where the scores are that equal them."""
        above = int(np.count_nonzero(values > self.high))
        inside = values[above:] - self.low
        few = np.flatnonzero(self.scores > self.high) if above else np.zeros(0, dtype=np.intp)
        found = [_at(few[np.flatnonzero(self.scores[few] == value)]) for value in values[:above]]
        if len(inside) <= FEW:
            return found + [_at(np.flatnonzero(self.offsets == offset)) for offset in inside]
        code = np.zeros(self.high - self.low + 2, dtype=np.min_scalar_type(len(inside)))  # few bits sort by radix
        code[inside] = np.arange(1, len(inside) + 1)
        codes = code[self.offsets]
        hits = np.flatnonzero(codes)
        hits = hits[np.argsort(codes[hits], kind="stable")]
        starts = np.cumsum(np.bincount(codes[hits]))[: len(inside)]
        return found + [_at(hits, int(start)) for start in starts]

    def one_of_each(self, values: Whole) -> list[int]:
        """Some score that equals it, for each of these values, none of them above `high`."""
        some = np.zeros(self.high - self.low + 2, dtype=np.intp)
        some[self.offsets] = np.arange(len(self.offsets))
        return [int(place) for place in some[values - self.low]]


def _at(places: Places, start: int = 0) -> Member:
    return lambda member: places[start + member]
