"""What may come near the best: candidates by descending score, equal single scores as one group.

Whether equal scores are put together hangs on the rate, on k and on how many candidates there are, which everybody may
know, and on no score: the time that it takes should not tell whether one user moved the range of all counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.draws.weights import Scores, Weights

if TYPE_CHECKING:
    import numpy.typing as npt

    from dpselect.draws.score_counts import Int64, ScoreCounts

BINS_PER_SCORE = 4  # counting by value costs a pass over the window: worth it up to here
GroupIndices: TypeAlias = "npt.NDArray[np.intp]"
PositionPicks = Sequence[tuple[int, int]]  # (position, member)
SAMPLE_SIZE = 4096
SAMPLE_MARGIN = 64  # sampled numbers below the position where the k-th largest is expected


def kth_largest(values: npt.NDArray[Any], k: int) -> Any:
    """Find the k-th largest of at least k numbers, in about two passes whatever the numbers are.

    NumPy's partition takes twenty times longer than usual where nearly all numbers are equal, which slows the answer
    and leaks the shape of the data through the running time. A sorted sample gives a value that about k numbers exceed.
    If at least k do, only those are partitioned; if the numbers equal to the value fill the gap, it is the answer.
    """
    n = len(values)
    if n > 4 * SAMPLE_SIZE:
        sample = np.sort(values[:: n // SAMPLE_SIZE])
        expected = len(sample) - 1 - k * len(sample) // n
        guess = sample[max(0, expected - SAMPLE_MARGIN)]
        larger = values[values > guess]
        if len(larger) >= k:
            return np.partition(larger, len(larger) - k)[len(larger) - k]
        if len(larger) + np.count_nonzero(values == guess) >= k:
            return guess
    return np.partition(values, n - k)[n - k]


@dataclass(frozen=True, eq=False, repr=False)
class NearGroups:
    """The groups of candidates of one score near the best, by descending score; all others are beyond.

    `groups[position]` is a group of `all`; or equal single scores are one group, as `counts` says.
    """

    all: Weights
    weights: Weights
    groups: GroupIndices | None
    counts: ScoreCounts | None = None

    def __len__(self) -> int:
        return len(self.weights)

    def candidates(self, picks: PositionPicks) -> list[tuple[int, int]]:
        """Return the picks as candidates among all: (group, member)."""
        if self.counts is None:
            return [(self._group(position), member) for position, member in picks]
        positions = np.unique([position for position, _ in picks]).astype(np.intp)
        members = self.counts.members(_as_integers(self.weights.scores[positions]))
        member_by_position = dict(zip(positions.tolist(), members, strict=True))
        return [(int(member_by_position[position](member)), 0) for position, member in picks]

    def group_at_each(self, positions: Sequence[int]) -> list[int]:
        """Return some group at each of these positions, which must be of a search with k = 1: all were counted."""
        if self.counts is None:
            return [self._group(position) for position in positions]
        return self.counts.position_of_each(_as_integers(self.weights.scores[list(positions)]))

    def beyond(self, end: int) -> GroupIndices:
        """Return the groups of all that are not at the first `end` positions."""
        is_beyond = np.ones(len(self.all), dtype=bool)
        if self.counts is None:
            is_beyond[slice(end) if self.groups is None else self.groups[:end]] = False
        elif end:
            is_beyond = np.asarray(self.all.scores < self.weights.scores[end - 1])
        return np.flatnonzero(is_beyond)

    def _group(self, position: int) -> int:
        return position if self.groups is None else int(self.groups[position])


def nearest(weights: Weights, k: int, reach: int) -> NearGroups:
    """Return the groups by descending score, without those whose weight stays below e^-reach of the best for k picks.

    The best remaining score is never below the k-th largest, since k - 1 picks exhaust at most k - 1 groups.
    Only groups with sizes are asked for their order, which counting put them in: that of single scores is somebody's
    data, and one user could break it, which the time would tell.
    """
    scores, n = weights.scores, len(weights)
    if n < 2 or not k or (weights.sizes is not None and bool((scores[:-1] >= scores[1:]).all())):
        return NearGroups(weights, weights, None)
    groups = np.arange(n)
    if k < n and weights.factors is None and scores.dtype != np.object_:
        best = kth_largest(scores, k)
        if scores.dtype == np.int64:
            width = ((reach + 1) / weights.rate).__ceil__()
            low = max(int(best) - width, np.iinfo(np.int64).min)
            if weights.sizes is None and width <= BINS_PER_SCORE * n:
                from dpselect.draws.score_counts import ScoreCounts

                counts = ScoreCounts.from_scores(_as_integers(scores), low, int(best))
                return NearGroups(weights, counts.weights(weights.rate), None, counts)
            groups = np.flatnonzero(scores >= low)
        else:
            with np.errstate(over="ignore"):
                groups = np.flatnonzero((best - scores) * float(weights.rate) <= reach + 1)
    groups = groups[np.argsort(scores[groups], kind="stable")[::-1]]
    return NearGroups(weights, weights.subset(groups), groups)


def _as_integers(scores: Scores) -> Int64:
    """Return scores that `nearest` found to be integers."""
    return scores.astype(np.int64, copy=False)
