"""Several quantiles by recursion: the middle one first, then those on either side of it among the users there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy
from dpselect.accounting.calibration import plan_of, price
from dpselect.aggregates.unbounded import Points, points_of
from dpselect.aggregates.value_counts import UsersAt
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.quantile import Integers, Quantile, shares
from dpselect.mechanisms.rank_tree import Misses, TreePaths, ordered
from dpselect.mechanisms.spread_users import CellRange, Spread

MOST_POINTS = 2**34  # times the cells of a point they are numbers of 64 bits
FEWEST = 3  # from three quantiles on there are fewer levels than quantiles


@dataclass(frozen=True, kw_only=True)
class RecursiveQuantiles:
    """Several quantiles of one value per user, from levels of cuts: m quantiles take ceil(log2(m + 1)) levels.

    Each point of the grid is cut into 2^28 cells, and every user spread evenly over the cells of their point. For the
    middle one of the ranks a cell x comes with probability in proportion to exp(-rate miss(x)); then come the ranks on
    either side of it, among the users, and the parts of users, on that side of x. The answer is the point of the cell.

    Guarantee: (epsilon, delta)-DP for the whole call; each level is one epsilon_per_pick-bounded-range step. Give
        `epsilon` for the largest epsilon_per_pick that fits, or `epsilon_per_pick` for its total.
    Neighbors: add-remove.
    Sensitivity: the part w of a user that lies in a segment moves each miss there by at most w max(r, 1 - r), where r
        is the rank within the segment; the parts of a user in the segments of a level add up to 1. The numbers of users
        are private. rate = epsilon_per_pick / (2 max(r, 1 - r)).
    Exactness: the law is exact on the grid of cells.
    Cost: the values are put in order once; then a draw for each quantile, among the cells near its rank.
    Source: Kaplan, Schnapp and Stemmer 2022, Differentially private approximate quantiles. Ours: users spread over
        cells, and divided by a cut, in place of values that may not tie; bounded range; exact draws.
    Example:
        >>> RecursiveQuantiles(q=(0.25, 0.5, 0.75), bounds=(0, 9), step=1, epsilon=99)([2] * 50 + [5] * 60 + [7] * 50)
        [2, 5, 7]
    """

    CELLS: ClassVar[int] = 2**28  # of a point; users who share a point are divided as finely as that
    SHARED: ClassVar[int] = 2**24  # users at one point that a gap is for

    q: Number | Sequence[Number]
    bounds: tuple[Number, Number] | None = None
    step: Number | None = None
    epsilon: Number | None = None
    delta: Number = 0
    epsilon_per_pick: Number | None = None
    grid: Points = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    _pick: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        q, grid = shares(self.q), points_of(self.bounds, self.step)
        if grid.points > MOST_POINTS:
            raise ParameterError("step", "cut the bounds into at most 2^34 points", came(self.step))
        delta = parameters.probability("delta", self.delta, zero=True)
        related = Neighbors.ADD_REMOVE
        privacy, pick = price(plan_of(levels(len(q))), self.epsilon, self.epsilon_per_pick, delta, neighbors=related)
        set_fields(self, q=q, bounds=grid.bounds, step=grid.step, grid=grid, delta=delta)
        set_fields(self, epsilon=privacy.epsilon, epsilon_per_pick=pick, privacy=privacy, _pick=pick)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Every q, ascending."""
        return shares(self.q)

    def rate(self, r: Fraction) -> Fraction:
        """Return epsilon_per_pick / (2 sensitivity)."""
        return self._pick / (2 * max(r, 1 - r))

    def __call__(self, values: object, *, draws: Draws | None = None) -> list[int | float]:
        """Return the quantiles, in the order of q: from an array of one value per user, or from counts on the grid."""
        users = values if isinstance(values, UsersAt) else self.grid.indices_of(values)
        return [self.grid.value(position) for position in self.grid_indices(users, secure(draws))]

    def grid_indices(self, users: UsersAt | Integers, draws: Draws) -> list[int]:
        """Draw the grid indices of the quantiles, ascending."""
        grouped_users = users if isinstance(users, UsersAt) else UsersAt.counted(np.sort(users))
        return [cell // self.CELLS for cell in self.cut(grouped_users, draws)]

    def cut(self, users: UsersAt, draws: Draws) -> list[int]:
        """Draw the cell of each quantile; where a segment is not divided further, the first one of its point."""
        spread = Spread.from_users(users, self.CELLS)
        cells = {-1: 0, len(self.shares): self.grid.points * self.CELLS}
        for rank in ordered(self.shares):
            grain = self.CELLS if rank.ends else 1  # what nobody is divided by may be a whole point
            segment = CellRange(spread, cells[rank.left], cells[rank.right], rank.r, self.rate(rank.r), grain)
            cells[rank.position] = segment.draw(draws)
        return [cells[i] for i in range(len(self.shares))]

    def gap(self, beta: float) -> Fraction:
        """Return by how many users no quantile misses its rank, but with probability beta.

        One user more is for what a cut cannot divide. Said of fewer than SHARED users at each point.
        """
        misses = Misses(self.grid.points, self.CELLS, self.SHARED)
        return Fraction(TreePaths.from_ranks(ordered(self.shares), self.rate, misses).gap(beta).__ceil__() + 1)


def levels(quantiles: int) -> int:
    """Return ceil(log2(quantiles + 1)): a level halves what is left of the ranks."""
    return quantiles.bit_length()


def better_for(q: object, bounds: object, step: Number | None) -> type[Quantile | RecursiveQuantiles]:
    """Return the better type: recursion where it has fewer levels than there are quantiles, and numbers hold it."""
    fewer, grid = len(shares(q)) >= FEWEST, points_of(bounds, step)
    return RecursiveQuantiles if fewer and grid.points <= MOST_POINTS else Quantile
