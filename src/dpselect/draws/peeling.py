"""Peeling by a certified envelope: propose from integers that are slightly too large, accept with the exact ratio.

Positions are groups in descending order of score. A table holds an integer E for every position of a window
below the best remaining score, E >= (remaining candidates) x weight x 2^scale, from floats rounded up beyond
their proved error, and one more such integer for all that is beyond the window. A position is proposed in
exact proportion to these integers and accepted with probability (exact mass) / E. That is within 2^-34 of 1
and decided by 64 random bits, or in ball arithmetic when those do not suffice. Proposal x acceptance is the
exact mass times one constant, so the distribution is exact. Proof: docs/exact-draws.md.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Exp, enclose
from dpselect.draws.core import Core
from dpselect.draws.float_exp import decay
from dpselect.draws.near import GroupIndices, NearGroups, nearest
from dpselect.draws.weights import Weights

if TYPE_CHECKING:
    import numpy.typing as npt

MIN_FAR_EXPONENT = (
    48  # beyond the window an exponent is at least 48, a weight at most e^-48 < 2^-69 of the best remaining
)
MIN_FAR_BITS = 69
MAX_FAR_CANDIDATE_BITS = 40  # up to 2^40 candidates of 2^-69 each are too light to be proposed more than once in 2^29
TOTAL_BITS = 60  # a table's integers add up to about 2^60


@dataclass(frozen=True)
class Reach:
    """Beyond a window an exponent is at least `exponent`, and so a weight at most e^-exponent < 2^-bits.

    The reach grows with the logarithm of the number of candidates, so that all beyond it together stay light: 10^30 of
    them with one fixed bound would be proposed nearly always, and accepted nearly never.
    """

    exponent: int
    bits: int

    @classmethod
    def for_candidates(cls, candidates: int) -> Reach:
        """Choose the reach for a number of candidates."""
        more_bits = max(0, candidates.bit_length() - MAX_FAR_CANDIDATE_BITS)
        return cls(MIN_FAR_EXPONENT + -(-more_bits * 7 // 10), MIN_FAR_BITS + more_bits)  # 7 / 10 > ln 2


def peel(core: Core, weights: Weights, k: int, until: int | None = None) -> list[tuple[int, int]]:
    """Draw k candidates without replacement, each in proportion to its weight; one of group `until` on is the last."""
    return Peel(core, weights, k).picks(len(weights) if until is None else until)


class Peel:
    """A run of peeling, which keeps the order, the candidates taken so far, and the table in use."""

    # The table, made anew for what remains: up to the position `window_end`, in units of 2^scale / e^shift.
    best_score: int | Fraction
    window_end: int
    copies_left: npt.NDArray[np.int64] | npt.NDArray[np.object_]
    shift: float
    scale: int
    table: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]
    table_mass: int
    far_candidates: int
    total_mass: int

    def __init__(self, core: Core, weights: Weights, k: int) -> None:
        self.core = core
        self.weights = weights
        self.k = k
        self.reach: Reach = Reach.for_candidates(weights.candidate_count)
        self.near_groups: NearGroups = nearest(weights, k, self.reach.exponent)
        self.near_weights: Weights = self.near_groups.weights
        self.far_groups: GroupIndices | None = None  # all other groups, once a pick falls so far
        self.log_factors: npt.NDArray[np.float64] | None = self.near_weights.log_factors(_log)
        self.first_position: int = 0  # the best position with a candidate left
        self.taken_by_position: dict[int, int] = {}  # position -> how many of its candidates are gone
        self.member_by_slot: dict[
            tuple[int, int], int
        ] = {}  # (position, slot) -> member: a Fisher-Yates shuffle, lazily

    def picks(self, until: int) -> list[tuple[int, int]]:
        """Draw k candidates as (group, member), in this order, or those up to the first of group `until` or later."""
        picked: list[tuple[int, int]] = []
        while len(picked) < self.k:
            self._build(self.weights.candidate_count - len(picked))
            removed = 0
            while len(picked) < self.k and 2 * removed < self.total_mass:
                position, mass, copies = self._propose()
                slot = self.core.below(copies) if copies > 1 else 0
                if slot < self._left_at(position):
                    picked.append((position, self._take(position, slot)))
                    if until < len(self.weights) and self._candidates(picked[-1:])[0][0] >= until:
                        return self._candidates(picked)
                    removed += mass // copies
        return self._candidates(picked)

    def _build(self, remaining: int) -> None:
        """Make the table for what remains, from the best position to the end of its window."""
        while not self._left_at(self.first_position):
            self.first_position += 1
        self.best_score = self.near_weights.score(self.first_position)
        self.window_end = self._find_window_end()
        window = slice(self.first_position, self.window_end)
        x = self.near_weights.log_gaps(window, self.best_score)
        if self.log_factors is not None:
            x = x - self.log_factors[window]
        self.copies_left = self._count_copies(window)
        x[self.copies_left == 0] = np.inf
        self.shift = float(x.min())
        masses = decay(x - self.shift) * self.copies_left.astype(np.float64)
        self.scale = TOTAL_BITS - int(np.frexp(masses.sum())[1])
        generous = masses * (1 + 2.0**-self.core.slack_bits)
        self.table = np.floor(np.ldexp(generous, self.scale)).astype(np.int64) + (self.copies_left > 0)
        self.sums = np.cumsum(self.table)
        self.table_mass = int(self.sums[-1])
        self.far_candidates = remaining - int(self.copies_left.sum())
        far = Fraction(self.far_candidates) * Fraction(2) ** (self.scale - self.reach.bits)
        self.total_mass = self.table_mass + (far.__floor__() + 1 if self.far_candidates else 0)

    def _propose(self) -> tuple[int, int, int]:
        """Return an accepted position, its integer in the table, and how many candidates it had when that was built."""
        core = self.core
        least = 1 << core.slack_bits  # from here on 1 / E is at most the slack
        sure = (1 << 64) - (4 << (64 - core.slack_bits))  # acceptance is at least 1 - 3 slack
        while True:
            point = core.below(self.total_mass)
            if point >= self.table_mass:
                position = self._draw_far_position()
                if position is not None and core.bernoulli(
                    self._acceptance(position, self.far_candidates, self.total_mass - self.table_mass)
                ):
                    return position, 1, 1
                continue
            index = int(self.sums.searchsorted(point, side="right"))
            mass, copies, word = int(self.table[index]), int(self.copies_left[index]), core.source.word()
            position = self.first_position + index
            if (mass >= least and word < sure) or core.decide(word, 64, self._acceptance(position, copies, mass)):
                return position, mass, copies

    def _acceptance(self, position: int, copies: int, mass: int) -> Exp:
        """Return the probability of acceptance: copies * weight * 2^scale / mass, in the table's units exp(shift)."""
        is_near = position < len(self.near_weights)
        weight = (self.near_weights if is_near else self.weights).ratio(
            position if is_near else self._far_group(position), self.best_score
        )
        return Exp(
            weight.exponent + Fraction(self.shift),
            weight.factor * copies * Fraction(2) ** self.scale / mass,
        )

    def _find_window_end(self) -> int:
        if self.near_weights.factors is not None:
            return len(self.near_weights)

        def outside(position: int) -> int:
            return int(self.near_weights.log_gap(position, self.best_score) > self.reach.exponent + 1)

        return bisect_right(range(len(self.near_weights)), 0, lo=self.first_position, key=outside)

    def _count_copies(self, window: slice) -> npt.NDArray[np.int64] | npt.NDArray[np.object_]:
        """Count what is left at each position of a window."""
        sizes = self.near_weights.sizes
        copies = np.ones(window.stop - window.start, dtype=np.int64) if sizes is None else sizes[window].copy()
        for position, gone in self.taken_by_position.items():
            if window.start <= position < window.stop:
                copies[position - window.start] -= gone
        return copies

    def _draw_far_position(self) -> int | None:
        """Draw a candidate uniformly beyond the window; None for one taken since the table was made. Rare: a pass."""
        if self.far_groups is None:
            self.far_groups = self.near_groups.beyond(len(self.near_weights))
        positions = np.arange(self.window_end, len(self.near_weights) + len(self.far_groups))
        sizes = [self._left_at(int(p)) for p in positions]
        sums = np.cumsum(np.array(sizes, dtype=object))
        index = int(np.searchsorted(sums, self.core.below(self.far_candidates), side="right"))
        return int(positions[index]) if index < len(positions) else None

    def _left_at(self, position: int) -> int:
        is_near = position < len(self.near_weights)
        size = self.near_weights.size(position) if is_near else self.weights.size(self._far_group(position))
        return size - self.taken_by_position.get(position, 0)

    def _take(self, position: int, slot: int) -> int:
        """Take the member in a slot; the last member moves into the slot."""
        last = self._left_at(position) - 1
        member = self.member_by_slot.get((position, slot), slot)
        self.member_by_slot[position, slot] = self.member_by_slot.pop((position, last), last)
        self.taken_by_position[position] = self.taken_by_position.get(position, 0) + 1
        return member

    def _far_group(self, position: int) -> int:
        """Return the group of a position beyond those near the best."""
        assert self.far_groups is not None, "a position so far is drawn from what is left"
        return int(self.far_groups[position - len(self.near_weights)])

    def _candidates(self, positions: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the groups and members at these positions."""
        near_candidates = iter(
            self.near_groups.candidates([pick for pick in positions if pick[0] < len(self.near_weights)])
        )
        return [
            next(near_candidates) if p < len(self.near_weights) else (self._far_group(p), member)
            for p, member in positions
        ]


def _log(factor: Fraction) -> float:
    if factor == 1:
        return 0.0
    with ctx.workprec(80):
        return float(enclose(factor).log())
