"""Sets within a loss, counted in floats between proved bounds: a tilted walk that must not fall below a boundary.

Give every rank of block j the odds W_j > 0, with W_1 >= W_2 >= ..., and P_j(s), the number of ways to hold s ranks at
the end of block j, the weight W_(j+1)^s times a constant. Then

    F_j(s) = v_j^(s - minimum_j) x sum over r of F_(j-1)(s - r) q_j(r) / G_j,        v_j = W_(j+1) / W_j <= 1,

where q_j(r) is C(b_j, r) W_j^r in units of its value at r = low_j, and G_j about its sum over r. So F is at most a
probability, and what a dropped state would still have added to the end is at most its own weight. All terms are
positive, so rounding costs a relative error that can be told beforehand. The odds are those of the least concave
majorant of (ranks, must), where most of the sets are; any others give valid, but wider bounds.
Proof: docs/mechanisms/joint.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect.mechanisms.joint.ranked import choose

if TYPE_CHECKING:
    import numpy.typing as npt

BITS = 96
LEAST = 2.0**-200  # a state of less weight is dropped
UNIT = 2.0**-53
_UNDERFLOW = 2.0**-900  # more than all products that are too small for a float can add up to
_DEVIATIONS, _EXTRA = 12, 40  # how far a row reaches beyond its mean
MANY = 2**500  # ranks, which floats hold
CLOSE = 2.0**-30  # what was dropped is less than this share of the end, or floats do not suffice
LIGHT = 2.0**-16  # less than this share of the largest is a tail
SLACK = 16  # a row is cut where this many states more have been gathered

Floats: TypeAlias = "npt.NDArray[np.float64]"
Whole: TypeAlias = "npt.NDArray[np.int64]"


@dataclass(frozen=True, eq=False)
class WalkState:
    """The weights F_j(start), F_j(start + 1), ...: true ones are within a relative `error`, up to `dropped` larger."""

    start: int
    weights: Floats
    error: float
    dropped: float


@dataclass(frozen=True, eq=False)
class WalkRow:
    """The row q_j(low) / G_j, q_j(low + 1) / G_j, ..., where G_j = `sum`; what lies outside is at most `dropped`."""

    low: int
    weights: Floats
    sum: float
    dropped: float


@dataclass(frozen=True, eq=False)
class Walk:
    """A walk over blocks of ranks; at the end of each a minimum is held, and minima[0] before the first."""

    sizes: Sequence[int]
    minima: Sequence[int]

    @cached_property
    def odds(self) -> Floats:
        """The odds W: held / (ranks - held) along the least concave majorant."""
        x = [0, *np.cumsum(np.array(self.sizes, dtype=np.float64)).tolist()]
        y = self.minima
        corners = [0]
        for i in range(1, len(x)):
            while len(corners) > 1:
                a, b = corners[-2], corners[-1]
                if (y[b] - y[a]) * (x[i] - x[b]) > (y[i] - y[b]) * (x[b] - x[a]):
                    break
                corners.pop()
            corners.append(i)
        held_ranks, ranks = np.diff(np.array(y)[corners]), np.diff(np.array(x)[corners])
        odds = np.minimum.accumulate(held_ranks / np.maximum(ranks - held_ranks, 0.5))
        return np.repeat(odds, np.diff(corners))

    @cached_property
    def rows(self) -> list[WalkRow]:
        """A row for each block; rows of about the same length are made together."""
        odds, sizes = self.odds, np.array(self.sizes, dtype=np.float64)
        mean = sizes * odds / (1 + odds)
        reach = _DEVIATIONS * np.sqrt(mean) + _EXTRA
        low = np.floor(np.maximum(mean - reach, 0))
        largest = np.minimum(sizes, self.minima[-1] - np.array(self.minima[:-1]))  # that can lie in the block
        length = np.exp2(np.ceil(np.log2(np.minimum(largest, mean + reach) - low + 1)))
        rows: dict[int, WalkRow] = {}
        for n in np.unique(length):
            members = np.flatnonzero(length == n)
            r = low[members][:, None] + np.arange(n)
            ratios = np.maximum(sizes[members][:, None] - r, 0) / (r + 1) * odds[members][:, None]
            q = np.ones(r.shape)
            np.multiply.accumulate(ratios[:, :-1], axis=1, out=q[:, 1:])
            sums = q.sum(axis=1)
            q /= sums[:, None]
            right_tails = np.where(r[:, -1] < largest[members], _tail(q[:, -1], ratios[:, -1]), 0.0)
            left_ratios = low[members] / np.maximum(sizes[members] - low[members] + 1, 1) / odds[members]
            tails = right_tails + _tail(q[:, 0], left_ratios)
            for j, row, total, tail in zip(members.tolist(), q, sums.tolist(), tails.tolist(), strict=True):
                rows[j] = WalkRow(int(low[j]), row, total, tail)
        return [rows[j] for j in range(len(sizes))]

    @cached_property
    def states(self) -> list[WalkState]:
        """The states F_0, ..., F_(last - 1)."""
        odds, k = self.odds, self.minima[-1]
        falls = (odds[1:] / odds[:-1]).tolist()
        start, weights, error, dropped = self.minima[0], np.ones(1), 0.0, _UNDERFLOW
        states, cut = [WalkState(start, weights, error, dropped)], SLACK
        for row, minimum, fall in zip(self.rows[:-1], self.minima[1:-1], falls, strict=True):
            error += UNIT * (6 * len(row.weights) + 2)
            dropped += 2 * row.dropped
            weights = np.convolve(weights, row.weights)
            start += row.low
            lowest = max(0, minimum - start)
            weights, start = weights[lowest : k - start + 1], start + lowest
            if not len(weights):  # all that could stay above was dropped before
                weights = np.zeros(1)
            if fall < 1:
                powers = np.full(start - minimum + len(weights), fall)
                powers[0] = 1
                weights = weights * np.multiply.accumulate(powers)[start - minimum :]
                error += 3 * UNIT * len(powers)
            if len(weights) > cut:
                heavy = np.flatnonzero(weights > LEAST)
                first, end = (int(heavy[0]), int(heavy[-1]) + 1) if len(heavy) else (0, 1)
                dropped += 2 * float(weights[:first].sum() + weights[end:].sum())
                weights, start = weights[first:end], start + first
                cut = len(weights) + SLACK
            states.append(WalkState(start, weights, error, dropped))
        return states

    @cached_property
    def units(self) -> list[arb]:
        """The units of the blocks: P_(j-1)(s - r) C(b_j, r) is F_(j-1)(s - r) q_j(r) / G_j times the unit x W_j^-s."""
        with ctx.workprec(BITS):
            odds = [arb(w) for w in self.odds.tolist()]
            units: list[arb] = []
            previous = odds[0] ** self.minima[0]
            for j, row in enumerate(self.rows):
                unit = previous * arb(row.sum)
                if row.low:
                    unit = unit * choose(self.sizes[j], row.low, BITS) * odds[j] ** row.low
                units.append(unit)
                if self.odds[j] != self.odds[min(j + 1, len(odds) - 1)]:
                    unit = unit * (odds[j + 1] / odds[j]) ** self.minima[j + 1]
                previous = unit
        return units

    def ways(self, j: int, s: int) -> Ways:
        """Return for each r the number of ways to hold s ranks after block j of which r lie in it."""
        state, row = self.states[j], self.rows[j]
        # r must lie in the row and s - r in the state.
        low = max(row.low, s - state.start - len(state.weights) + 1)
        end = max(low, min(row.low + len(row.weights), s - state.start + 1))
        previous = state.weights[s - state.start - end + 1 : s - state.start - low + 1][::-1]
        products = previous * row.weights[low - row.low : end - row.low]
        error = state.error + UNIT * (6 * len(row.weights) + 2)
        with ctx.workprec(BITS):
            unit = self.units[j] * arb(float(self.odds[j])) ** -s
        return Ways(low, products, error, state.dropped + row.dropped, unit)


def walk(sizes: Sequence[int], minima: Sequence[int]) -> Walk | None:
    """Return the walk over these blocks, or None if its end is not known to about ten digits."""
    if not sizes or sum(sizes) > MANY:
        return None
    walked = Walk(sizes, minima)
    with np.errstate(divide="ignore", invalid="ignore"):  # odds of 0 end in no number, which is not close
        end = walked.ways(len(sizes) - 1, minima[-1])
    return walked if end.dropped < CLOSE * float(end.products.sum()) else None


def _tail(edge: Floats, ratio: Floats) -> Floats:
    """Return more than the sum of all terms beyond an edge, if each is at most the one before times this ratio."""
    return np.where(ratio < 0.9, 1.001 * edge * ratio / np.maximum(1 - ratio, 0.05), np.inf)


@dataclass(frozen=True, eq=False)
class Ways:
    """The numbers for r = low, low + 1, ...: products x unit, within bounds; those of any other r were dropped."""

    low: int
    products: Floats
    error: float
    dropped: float
    unit: arb

    def core(self) -> tuple[int, int, int]:
        """Return the first, the largest and the last r of those that weigh something, as floats show them."""
        best = int(self.products.argmax())
        heavy = np.flatnonzero(self.products >= self.products[best] * LIGHT)
        return self.low + int(heavy[0]), self.low + best, self.low + int(heavy[-1])

    def ball(self, r: int) -> arb:
        """Return the ball of one of the numbers."""
        index = r - self.low
        return self._enclose(float(self.products[index]) if 0 <= index < len(self.products) else 0.0, self.error)

    def sum(self) -> arb:
        """Return the ball of their sum."""
        return self._enclose(float(self.products.sum()), self.error + UNIT * len(self.products))

    def _enclose(self, value: float, error: float) -> arb:
        with ctx.workprec(BITS):
            middle = arb(value)
            low, high = middle * (1 - 2 * arb(error)), middle * (1 + 2 * arb(error)) + 2 * arb(self.dropped)
            return low.union(high) * self.unit
