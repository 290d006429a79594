"""Counts in descending order: what the joint mechanisms look at, with the way back from ranks to names.

Proof: docs/mechanisms/joint.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import enclose
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import Answer, Candidates, Input, label_order, parse_candidates, refuse_too_few

if TYPE_CHECKING:
    import numpy.typing as npt

NEGLIGIBLE = 45.0  # e^-45 < 2^-64: negligible weight is never refined, never dropped
MOST = 2**53  # counts above are a mistake, and their gaps would not be exact in floats
Integers: TypeAlias = "npt.NDArray[np.int64] | npt.NDArray[np.object_]"


@dataclass(frozen=True, eq=False, repr=False)
class RankedCounts:
    """Groups by descending count; rank 0 is an item with the largest count, ties stand in a fixed order."""

    candidates: Candidates
    k: int
    order: npt.NDArray[np.intp] | None  # groups by descending count; None: each is one item, looked up at the end
    counts: npt.NDArray[np.int64]
    ends: Integers  # how many items stand in this group or before

    @property
    def items(self) -> int:
        """The number of items."""
        return int(self.ends[-1])

    @cached_property
    def top(self) -> npt.NDArray[np.int64]:
        """The k largest counts."""
        return self.counts[np.searchsorted(self.ends, np.arange(self.k), side="right")]

    @cached_property
    def spread(self) -> int:
        """The largest count less the smallest."""
        return int(self.counts[0]) - int(self.counts[-1])

    @cached_property
    def _negated(self) -> npt.NDArray[np.int64]:
        return -self.counts

    def count(self, rank: int) -> int:
        """Return the count at a rank."""
        return int(self.counts[int(np.searchsorted(self.ends, rank, side="right"))])

    def reach(self, loss: int) -> list[int]:
        """Return t_1 <= ... <= t_k, where t_i items have at least the i-th largest count less `loss`."""
        groups = np.searchsorted(self._negated, loss - self.top, side="right")
        return [int(t) for t in self.ends[groups - 1]]

    def within(self, least: int) -> int:
        """Count the items that have at least this count."""
        groups = int(np.searchsorted(self._negated, -least, side="right"))
        return int(self.ends[groups - 1]) if groups else 0

    def names(self, ranks: Sequence[int]) -> Answer:
        """Return the items at these ranks, in this order."""
        if self.order is None:
            least = self.count(max(ranks))
            candidate_rows = np.flatnonzero(self.candidates.scores >= least)
            candidate_rows = candidate_rows[np.argsort(-self.candidates.scores[candidate_rows], kind="stable")]
            return self.candidates.names([(int(candidate_rows[rank]), 0) for rank in ranks])
        groups = [int(np.searchsorted(self.ends, rank, side="right")) for rank in ranks]
        starts = [int(self.ends[g - 1]) if g else 0 for g in groups]
        return self.candidates.names(
            [(int(self.order[g]), r - s) for g, r, s in zip(groups, ranks, starts, strict=True)]
        )

    def unordered(self, ranks: Sequence[int]) -> Answer:
        """Return the set of items at these ranks, in an order that says nothing about the counts."""
        names = self.names(ranks)
        return np.sort(names) if isinstance(names, np.ndarray) else sorted(names, key=label_order)


def rank_counts(counts: Input, k: int) -> RankedCounts:
    """Rank counts of users, checked: integers from 0 to 2^53, of at least k items."""
    candidates = parse_candidates(counts)
    refuse_too_few(k, candidates)
    if candidates.scores.dtype != np.int64:
        raise ParameterError(
            "counts", "be whole numbers of users, at most 2^53", f"values of type {candidates.scores.dtype}"
        )
    scores = candidates.scores.astype(np.int64, copy=False)
    if int(scores.min()) < 0:
        raise ParameterError("counts", "be at least 0", "a negative count")
    if int(scores.max()) > MOST:
        raise ParameterError("counts", "be at most 2^53", "a larger count")
    if candidates.sizes is None:
        return RankedCounts(candidates, k, None, np.sort(scores)[::-1], np.arange(1, len(scores) + 1))
    nonempty = np.flatnonzero(candidates.sizes > 0)
    falling = bool((scores[:-1] >= scores[1:]).all())
    order = nonempty if falling else nonempty[np.argsort(-scores[nonempty], kind="stable")]
    ends: Integers = candidates.sizes[order].cumsum()
    return RankedCounts(candidates, k, order, scores[order], ends)


def subset(draws: Draws, n: int, size: int) -> list[int]:
    """Draw a uniform subset of 0 .. n - 1 (Floyd's algorithm: each step keeps every subset equally likely)."""
    chosen: set[int] = set()
    for last in range(n - size, n):
        drawn = draws.below(last + 1)
        chosen.add(last if drawn in chosen else drawn)
    return sorted(chosen)


def power(exponent: Fraction, bits: int) -> arb:
    """Return the ball of e^exponent."""
    with ctx.workprec(bits):
        return enclose(exponent).exp()


def choose(n: int, r: int, bits: int) -> arb:
    """Return the ball of n over r."""
    with ctx.workprec(bits + 8):
        return arb.bin_uiui(n, r) if n < 2**63 else arb(n - r + 1).rising(r) / arb(r).fac()
