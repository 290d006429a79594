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
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from flint import ctx

from dpselect._ground.reals import Exp, enclose
from dpselect.draws.core import Core
from dpselect.draws.float_exp import decay
from dpselect.draws.near import Groups, NearGroups, nearest
from dpselect.draws.weights import Weights

FAR = 48  # beyond the window an exponent is at least 48, a weight at most e^-48 < 2^-69 of the best remaining
FAR_BITS = 69
MANY_BITS = 40  # up to 2^40 candidates of 2^-69 each are too light to be proposed more than once in 2^29
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
        more_bits = max(0, candidates.bit_length() - MANY_BITS)
        return cls(FAR + -(-more_bits * 7 // 10), FAR_BITS + more_bits)  # 7 / 10 > ln 2


def peel(core: Core, weights: Weights, k: int, until: int | None = None) -> list[tuple[int, int]]:
    """Draw k candidates without replacement, each in proportion to its weight; one of group `until` on is the last."""
    return Peel(core, weights, k).picks(len(weights) if until is None else until)


class Peel:
    """A run of peeling, which keeps the order, the candidates taken so far, and the table in use."""

    # The table, made anew for what remains: from the position `first` to `end`, in units of 2^scale / e^shift.
    best: int | Fraction
    end: int
    copies: npt.NDArray[np.int64] | npt.NDArray[np.object_]
    shift: float
    scale: int
    table: npt.NDArray[np.int64]
    sums: npt.NDArray[np.int64]
    inside: int
    outside: int
    total: int

    def __init__(self, core: Core, weights: Weights, k: int) -> None:
        self.core = core
        self.weights = weights
        self.k = k
        self.reach: Reach = Reach.for_candidates(weights.candidates)
        self.near_groups: NearGroups = nearest(weights, k, self.reach.exponent)
        self.near: Weights = self.near_groups.weights
        self.rest: Groups | None = None  # all other groups, once a pick falls so far
        self.logs: npt.NDArray[np.float64] | None = self.near.log_factors(_log)
        self.first: int = 0  # the best position with a candidate left
        self.taken: dict[int, int] = {}  # position -> how many of its candidates are gone
        self.moved: dict[tuple[int, int], int] = {}  # (position, slot) -> member: a Fisher-Yates shuffle, lazily

    def picks(self, until: int) -> list[tuple[int, int]]:
        """Draw k candidates as (group, member), in this order, or those up to the first of group `until` or later."""
        picked: list[tuple[int, int]] = []
        while len(picked) < self.k:
            self._build(self.weights.candidates - len(picked))
            removed = 0
            while len(picked) < self.k and 2 * removed < self.total:
                position, mass, copies = self._propose()
                slot = self.core.below(copies) if copies > 1 else 0
                if slot < self._left(position):
                    picked.append((position, self._take(position, slot)))
                    if until < len(self.weights) and self._candidates(picked[-1:])[0][0] >= until:
                        return self._candidates(picked)
                    removed += mass // copies
        return self._candidates(picked)

    def _build(self, remaining: int) -> None:
        """Make the table for what remains, from the best position to the end of its window."""
        while not self._left(self.first):
            self.first += 1
        self.best = self.near.score(self.first)
        self.end = self._window_end()
        window = slice(self.first, self.end)
        x = self.near.exponents(window, self.best)
        if self.logs is not None:
            x = x - self.logs[window]
        self.copies = self._copies(window)
        x[self.copies == 0] = np.inf
        self.shift = float(x.min())
        masses = decay(x - self.shift) * self.copies.astype(np.float64)
        self.scale = TOTAL_BITS - int(np.frexp(masses.sum())[1])
        generous = masses * (1 + 2.0**-self.core.slack_bits)
        self.table = np.floor(np.ldexp(generous, self.scale)).astype(np.int64) + (self.copies > 0)
        self.sums = np.cumsum(self.table)
        self.inside = int(self.sums[-1])
        self.outside = remaining - int(self.copies.sum())
        far = Fraction(self.outside) * Fraction(2) ** (self.scale - self.reach.bits)
        self.total = self.inside + (far.__floor__() + 1 if self.outside else 0)

    def _propose(self) -> tuple[int, int, int]:
        """Return an accepted position, its integer in the table, and how many candidates it had when that was built."""
        core = self.core
        least = 1 << core.slack_bits  # from here on 1 / E is at most the slack
        sure = (1 << 64) - (4 << (64 - core.slack_bits))  # acceptance is at least 1 - 3 slack
        while True:
            point = core.below(self.total)
            if point >= self.inside:
                position = self._far_position()
                if position is not None and core.bernoulli(
                    self._share(position, self.outside, self.total - self.inside)
                ):
                    return position, 1, 1
                continue
            index = int(self.sums.searchsorted(point, side="right"))
            mass, copies, word = int(self.table[index]), int(self.copies[index]), core.source.word()
            position = self.first + index
            if (mass >= least and word < sure) or core.decide(word, 64, self._share(position, copies, mass)):
                return position, mass, copies

    def _share(self, position: int, copies: int, mass: int) -> Exp:
        """Return the probability of acceptance: copies * weight * 2^scale / mass, in the table's units exp(shift)."""
        is_near = position < len(self.near)
        weight = (self.near if is_near else self.weights).ratio(position if is_near else self._far(position), self.best)
        return Exp(
            weight.exponent + Fraction(self.shift),
            weight.factor * copies * Fraction(2) ** self.scale / mass,
        )

    def _window_end(self) -> int:
        if self.near.factors is not None:
            return len(self.near)

        def outside(position: int) -> int:
            return int(self.near.exponent(position, self.best) > self.reach.exponent + 1)

        return bisect_right(range(len(self.near)), 0, lo=self.first, key=outside)

    def _copies(self, window: slice) -> npt.NDArray[np.int64] | npt.NDArray[np.object_]:
        """Count what is left at each position of a window."""
        sizes = self.near.sizes
        copies = np.ones(window.stop - window.start, dtype=np.int64) if sizes is None else sizes[window].copy()
        for position, gone in self.taken.items():
            if window.start <= position < window.stop:
                copies[position - window.start] -= gone
        return copies

    def _far_position(self) -> int | None:
        """Draw a candidate uniformly beyond the window; None for one taken since the table was made. Rare: a pass."""
        if self.rest is None:
            self.rest = self.near_groups.beyond(len(self.near))
        positions = np.arange(self.end, len(self.near) + len(self.rest))
        sizes = [self._left(int(p)) for p in positions]
        sums = np.cumsum(np.array(sizes, dtype=object))
        index = int(np.searchsorted(sums, self.core.below(self.outside), side="right"))
        return int(positions[index]) if index < len(positions) else None

    def _left(self, position: int) -> int:
        is_near = position < len(self.near)
        size = self.near.size(position) if is_near else self.weights.size(self._far(position))
        return size - self.taken.get(position, 0)

    def _take(self, position: int, slot: int) -> int:
        """Take the member in a slot; the last member moves into the slot."""
        last = self._left(position) - 1
        member = self.moved.get((position, slot), slot)
        self.moved[position, slot] = self.moved.pop((position, last), last)
        self.taken[position] = self.taken.get(position, 0) + 1
        return member

    def _far(self, position: int) -> int:
        """Return the group of a position beyond those near the best."""
        assert self.rest is not None, "a position so far is drawn from what is left"
        return int(self.rest[position - len(self.near)])

    def _candidates(self, positions: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the groups and members at these positions."""
        near_candidates = iter(self.near_groups.candidates([pick for pick in positions if pick[0] < len(self.near)]))
        return [next(near_candidates) if p < len(self.near) else (self._far(p), member) for p, member in positions]


def _log(factor: Fraction) -> float:
    if factor == 1:
        return 0.0
    with ctx.workprec(80):
        return float(enclose(factor).log())
