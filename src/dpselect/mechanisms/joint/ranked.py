"""Counts in descending order: what the joint mechanisms look at, with the way back from ranks to names.

Proof: docs/mechanisms/joint.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import Answer, Candidates, Input, candidates, enough, fixed

NEGLIGIBLE = 45.0  # e^-45 < 2^-64: negligible weight is never refined, never dropped
MOST = 2**53  # counts above are a mistake, and their gaps would not be exact in floats
Integers = npt.NDArray[np.int64] | npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False, repr=False)
class Ranked:
    """Groups by descending count; rank 0 is an item with the largest count, ties stand in a fixed order."""

    among: Candidates
    k: int
    order: npt.NDArray[np.intp] | None  # groups by descending count; None: each is one item, looked up at the end
    counts: npt.NDArray[np.int64]
    ends: Integers  # how many items stand in this group or before

    @property
    def items(self) -> int:
        """How many items there are."""
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
        """The count at a rank."""
        return int(self.counts[int(np.searchsorted(self.ends, rank, side="right"))])

    def reach(self, loss: int) -> list[int]:
        """t_1 <= ... <= t_k, where t_i items have at least the i-th largest count less `loss`."""
        groups = np.searchsorted(self._negated, loss - self.top, side="right")
        return [int(t) for t in self.ends[groups - 1]]

    def within(self, least: int) -> int:
        """How many items have at least this count."""
        groups = int(np.searchsorted(self._negated, -least, side="right"))
        return int(self.ends[groups - 1]) if groups else 0

    def names(self, ranks: Sequence[int]) -> Answer:
        """The items at these ranks, in this order."""
        if self.order is None:
            least = self.count(max(ranks))
            places = np.flatnonzero(self.among.scores >= least)
            places = places[np.argsort(-self.among.scores[places], kind="stable")]
            return self.among.names([(int(places[rank]), 0) for rank in ranks])
        groups = [int(np.searchsorted(self.ends, rank, side="right")) for rank in ranks]
        starts = [int(self.ends[g - 1]) if g else 0 for g in groups]
        return self.among.names([(int(self.order[g]), r - s) for g, r, s in zip(groups, ranks, starts, strict=True)])

    def unordered(self, ranks: Sequence[int]) -> Answer:
        """The set of items at these ranks, in an order that tells nothing about the counts."""
        found = self.names(ranks)
        return np.sort(found) if isinstance(found, np.ndarray) else sorted(found, key=fixed)


def ranked(counts: Input, k: int) -> Ranked:
    """Counts of users, checked: integers from 0 to 2^53, of at least k items."""
    among = candidates(counts)
    enough(k, among)
    if among.scores.dtype != np.int64:
        raise ParameterError(
            "counts", "be whole numbers of users, at most 2^53", f"values of type {among.scores.dtype}"
        )
    scores = among.scores.astype(np.int64, copy=False)
    if int(scores.min()) < 0:
        raise ParameterError("counts", "be at least 0", "a negative count")
    if int(scores.max()) > MOST:
        raise ParameterError("counts", "be at most 2^53", "a larger count")
    if among.sizes is None:
        return Ranked(among, k, None, np.sort(scores)[::-1], np.arange(1, len(scores) + 1))
    held = np.flatnonzero(among.sizes > 0)
    falling = bool((scores[:-1] >= scores[1:]).all())
    order = held if falling else held[np.argsort(-scores[held], kind="stable")]
    ends: Integers = among.sizes[order].cumsum()
    return Ranked(among, k, order, scores[order], ends)


def subset(draws: Draws, n: int, size: int) -> list[int]:
    """A uniform subset of 0 .. n - 1 (Floyd's algorithm: each step keeps every subset equally likely)."""
    found: set[int] = set()
    for last in range(n - size, n):
        place = draws.below(last + 1)
        found.add(last if place in found else place)
    return sorted(found)


def power(exponent: Fraction, bits: int) -> arb:
    """The ball of e^exponent."""
    with ctx.workprec(bits):
        return enclose(exponent).exp()


def choose(n: int, r: int, bits: int) -> arb:
    """The ball of n over r."""
    with ctx.workprec(bits + 8):
        return arb.bin_uiui(n, r) if n < 2**63 else arb(n - r + 1).rising(r) / arb(r).fac()
