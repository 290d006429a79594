"""Several quantiles by recursion: the middle one first, then those on either side of it among the users there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np

from dpselect import parameters
from dpselect.accounting.calibration import plan_of, price
from dpselect.aggregates.value_counts import Grid, UsersAt
from dpselect.draws import Draws
from dpselect.errors import ParameterError, came
from dpselect.mechanisms import gaps
from dpselect.mechanisms.port import secure, settle
from dpselect.mechanisms.quantile import Quantile, shares
from dpselect.mechanisms.spread_users import Segment, Spread
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy

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

    q: Number | Sequence[Number]
    bounds: tuple[Number, Number]
    step: Number | None = None
    epsilon: Number | None = None
    delta: Number = 0
    epsilon_per_pick: Number | None = None
    grid: Grid = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    _pick: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        q, grid = shares(self.q), Grid.of(self.bounds, self.step)
        if grid.points > MOST_POINTS:
            raise ParameterError("step", "cut the bounds into at most 2^34 points", came(self.step))
        delta = parameters.probability("delta", self.delta, zero=True)
        related = Neighbors.ADD_REMOVE
        privacy, pick = price(plan_of(levels(len(q))), self.epsilon, self.epsilon_per_pick, delta, neighbors=related)
        settle(self, q=q, bounds=(grid.low, grid.high), step=grid.step, grid=grid, delta=delta)
        settle(self, epsilon=privacy.epsilon, epsilon_per_pick=pick, privacy=privacy, _pick=pick)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Every q, ascending."""
        return shares(self.q)

    def rate(self, r: Fraction) -> Fraction:
        """epsilon_per_pick / (2 sensitivity)."""
        return self._pick / (2 * max(r, 1 - r))

    def __call__(self, values: object, *, draws: Draws | None = None) -> list[int | float]:
        """The quantiles, in the order of q: from an array of one value per user, or from counts on the grid."""
        users = values if isinstance(values, UsersAt) else UsersAt.counted(np.sort(self.grid.placed(values)))
        return [self.grid.value(cell // self.CELLS) for cell in self.cut(users, secure(draws))]

    def cut(self, users: UsersAt, draws: Draws) -> list[int]:
        """The cell of each quantile; of one whose segment is not divided further, the first one of its point there."""
        spread = Spread.of(users, self.CELLS)
        cells = {-1: 0, len(self.shares): self.grid.points * self.CELLS}
        for one in ordered(self.shares):
            grain = self.CELLS if one.ends else 1  # what nobody is divided by may be a whole point
            segment = Segment(spread, cells[one.left], cells[one.right], one.r, self.rate(one.r), grain)
            cells[one.place] = segment.draw(draws)
        return [cells[i] for i in range(len(self.shares))]

    def gap(self, beta: float) -> Fraction:
        """No quantile misses its rank by more users than this, but with probability beta.

        An answer that misses what is wanted of its segment by t misses its rank by t and what the ends of the segment
        miss theirs by, in proportion to how near they are. One user more is for what a cut cannot divide.
        """
        points, miss = self.grid.points, gaps.each(beta, len(self.shares))
        far = {-1: Fraction(0), len(self.shares): Fraction(0)}
        for one in ordered(self.shares):
            many = gaps.others(points if one.ends else points * self.CELLS)
            own = gaps.exponential(self.rate(one.r), many, miss)
            far[one.place] = own + (1 - one.r) * far[one.left] + one.r * far[one.right]
        return Fraction(max(far.values()).__ceil__() + 1)


def levels(quantiles: int) -> int:
    """ceil(log2(quantiles + 1)): a level halves what is left of the ranks."""
    return quantiles.bit_length()


def better_for(q: object, bounds: object, step: Number | None) -> type[Quantile | RecursiveQuantiles]:
    """Which of the two to take: recursion where it has fewer levels than there are quantiles, and numbers hold it."""
    fewer, grid = len(shares(q)) >= FEWEST, Grid.of(bounds, step)
    return RecursiveQuantiles if fewer and grid.points <= MOST_POINTS else Quantile


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
