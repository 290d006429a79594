"""The ranks of several quantiles as a tree, middle ones first, and how far their errors add up along its paths.

Proofs: docs/mechanisms/quantile.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpselect.mechanisms import gaps

Floats = npt.NDArray[np.float64]
TRIED = 64  # exponents of the Chernoff bound: each of them proves a bound, and the best one counts


class Rank(NamedTuple):
    """One of the ranks: between which others its segment lies, its rank in that, and whether nothing follows inside."""

    place: int
    left: int
    right: int
    r: Fraction

    @property
    def ends(self) -> bool:
        """Whether no other rank lies in its segment."""
        return self.right - self.left == 2


def ordered(q: Sequence[Fraction]) -> list[Rank]:
    """Every rank after those that its segment ends at, level by level: always the middle one of those between two."""
    all_of = (Fraction(0), *q, Fraction(1))
    found: list[Rank] = []
    level = [(-1, len(q))]
    while level:
        middles = [(left, (left + right) // 2, right) for left, right in level if right - left > 1]
        for left, place, right in middles:
            low, here, high = (all_of[i + 1] for i in (left, place, right))
            found.append(Rank(place, left, right, (here - low) / (high - low)))
        level = [half for left, place, right in middles for half in ((left, place), (place, right))]
    return found


@dataclass(frozen=True)
class Misses:
    """How far one draw may be from what is wanted of its segment: P(miss >= t) <= many e^(-rate t), whatever was drawn.

    `shared` is the number of users at one point that what is said of cells is for.
    """

    points: int
    cells: int
    shared: int

    def log_many(self, one: Rank, rate: float) -> float:
        """ln of `many`, of a draw among whole points, or among the cells of all of them."""
        if one.ends:
            return max(0.0, gaps.others(self.points))
        every = gaps.others(self.points * self.cells)
        spread = math.log(self.points * rate * self.shared)
        if spread <= 0:
            return every
        uneven = float(min(one.r, 1 - one.r) / max(one.r, 1 - one.r))
        return min(every, spread - math.log(-math.expm1(-min(rate * self.shared, uneven * spread))))


@dataclass(frozen=True, eq=False)
class TreePaths:
    """The error of each answer is at most the sum of a / rate (log_many + X) over its path, X exponential with mean 1.

    Row by row: a / rate, which is 0 beyond the end of a path, and log_many.
    """

    parts: Floats
    logs: Floats

    @classmethod
    def of(cls, ranks: Sequence[Rank], rate: Callable[[Fraction], Fraction], misses: Misses) -> TreePaths:
        """The a of a draw: 1 in its own answer, and as much of those at the ends of a segment as it is near to each."""
        shares: dict[int, dict[int, float]] = {-1: {}, len(ranks): {}}
        own: dict[int, tuple[float, float]] = {}
        for one in ranks:
            each = float(rate(one.r))
            own[one.place] = each, misses.log_many(one, each)
            path = {one.place: 1.0}
            for end, near in ((one.left, float(1 - one.r)), (one.right, float(one.r))):
                for above, a in shares[end].items():
                    path[above] = path.get(above, 0.0) + near * a
            shares[one.place] = path
        width = max(map(len, shares.values()))
        parts, logs = np.zeros((len(ranks), width)), np.zeros((len(ranks), width))
        for row in range(len(ranks)):
            for column, (draw, a) in enumerate(shares[row].items()):
                parts[row, column], logs[row, column] = a / own[draw][0], own[draw][1]
        return cls(parts, logs)

    def gap(self, beta: float) -> Fraction:
        """With probability 1 - beta no error is larger: the better one of two bounds."""
        return Fraction(min(self._each(beta), self._together(beta)) * gaps.OUTWARD)

    def _each(self, beta: float) -> float:
        """No draw misses by more than it does with probability beta / m."""
        return float((self.parts * (self.logs + math.log(len(self.parts) / beta))).sum(axis=1).max())

    def _together(self, beta: float) -> float:
        """The Chernoff bound: P(some error >= x) <= e^(-s x) times the sum over answers of E e^(s error)."""
        best, most = math.inf, 1 / self.parts.max()
        for tried in range(1, TRIED):
            s = most * tried / TRIED
            exponents = (s * self.parts * self.logs - np.log1p(-s * self.parts)).sum(axis=1)
            top = exponents.max()
            best = min(best, float(top + math.log(np.exp(exponents - top).sum()) - math.log(beta)) / s)
        return best
