"""The ranks of several quantiles as a tree, middle ones first, and how far their errors add up along its paths.

Proofs: docs/mechanisms/quantile.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.mechanisms import gaps

if TYPE_CHECKING:
    import numpy.typing as npt

Floats: TypeAlias = "npt.NDArray[np.float64]"
TRIED = 64  # exponents of the Chernoff bound: each of them proves a bound, and the best one counts


class Rank(NamedTuple):
    """A rank in the tree: the ranks that its segment ends at, its rank in that, and whether nothing follows inside."""

    position: int
    left: int
    right: int
    r: Fraction

    @property
    def ends(self) -> bool:
        """No other rank lies in its segment."""
        return self.right - self.left == 2


def ordered(q: Sequence[Fraction]) -> list[Rank]:
    """Order the ranks, each after those that its segment ends at, level by level: always a middle one."""
    all_of = (Fraction(0), *q, Fraction(1))
    ranks: list[Rank] = []
    level = [(-1, len(q))]
    while level:
        middles = [(left, (left + right) // 2, right) for left, right in level if right - left > 1]
        for left, position, right in middles:
            low, middle, high = (all_of[i + 1] for i in (left, position, right))
            ranks.append(Rank(position, left, right, (middle - low) / (high - low)))
        level = [half for left, position, right in middles for half in ((left, position), (position, right))]
    return ranks


@dataclass(frozen=True)
class Misses:
    """The distance of one draw from the target of its segment: P(miss >= t) <= many e^(-rate t), whatever was drawn.

    `shared` is the number of users at one point that what is said of cells is for.
    """

    points: int
    cells: int
    shared: int

    def log_many(self, rank: Rank, rate: float) -> float:
        """Return ln of the most others of a draw among whole points, or among the cells of all of them."""
        if rank.ends:
            return max(0.0, gaps.log_others(self.points))
        among_cells = gaps.log_others(self.points * self.cells)
        spread = math.log(self.points * rate * self.shared)
        if spread <= 0:
            return among_cells
        uneven = float(min(rank.r, 1 - rank.r) / max(rank.r, 1 - rank.r))
        return min(among_cells, spread - math.log(-math.expm1(-min(rate * self.shared, uneven * spread))))


@dataclass(frozen=True, eq=False)
class TreePaths:
    """The error of each answer is at most the sum of a / rate (log_many + X) over its path, X exponential with mean 1.

    Row by row: a / rate, which is 0 beyond the end of a path, and log_many.
    """

    parts: Floats
    logs: Floats

    @classmethod
    def from_ranks(cls, ranks: Sequence[Rank], rate: Callable[[Fraction], Fraction], misses: Misses) -> TreePaths:
        """Compute the a of a draw.

        1 in its own answer, and as much of those at the ends of a segment as it is near to each.
        """
        shares: dict[int, dict[int, float]] = {-1: {}, len(ranks): {}}
        rate_and_log: dict[int, tuple[float, float]] = {}
        for rank in ranks:
            rate_of_rank = float(rate(rank.r))
            rate_and_log[rank.position] = rate_of_rank, misses.log_many(rank, rate_of_rank)
            path = {rank.position: 1.0}
            for end, weight in ((rank.left, float(1 - rank.r)), (rank.right, float(rank.r))):
                for ancestor, a in shares[end].items():
                    path[ancestor] = path.get(ancestor, 0.0) + weight * a
            shares[rank.position] = path
        width = max(map(len, shares.values()))
        parts, logs = np.zeros((len(ranks), width)), np.zeros((len(ranks), width))
        for row in range(len(ranks)):
            for column, (draw, a) in enumerate(shares[row].items()):
                parts[row, column], logs[row, column] = a / rate_and_log[draw][0], rate_and_log[draw][1]
        return cls(parts, logs)

    def gap(self, beta: float) -> Fraction:
        """Return what no error exceeds, but with probability beta: the better one of two bounds."""
        return Fraction(min(self._each(beta), self._together(beta)) * gaps.OUTWARD)

    def _each(self, beta: float) -> float:
        """Return the bound by which no draw misses by more than it does with probability beta / m."""
        return float((self.parts * (self.logs + math.log(len(self.parts) / beta))).sum(axis=1).max())

    def _together(self, beta: float) -> float:
        """Return the Chernoff bound: P(some error >= x) <= e^(-s x) times the sum over answers of E e^(s error)."""
        least_bound, largest_exponent = math.inf, 1 / self.parts.max()
        for step in range(1, TRIED):
            s = largest_exponent * step / TRIED
            exponents = (s * self.parts * self.logs - np.log1p(-s * self.parts)).sum(axis=1)
            top = exponents.max()
            least_bound = min(least_bound, float(top + math.log(np.exp(exponents - top).sum()) - math.log(beta)) / s)
        return least_bound
