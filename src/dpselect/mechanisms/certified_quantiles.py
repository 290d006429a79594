"""Quantiles that say how far they are from their ranks: the users between them are counted, with noise, afterwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from itertools import accumulate, groupby
from typing import NamedTuple

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import BoundedRange, Neighbors, Privacy, PureDP, Steps, StepsOfPick
from dpselect.accounting.calibration import price
from dpselect.aggregates.unbounded import Points
from dpselect.aggregates.value_counts import UsersAt
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.quantile import Integers, Quantile, shares
from dpselect.mechanisms.rank_noise import RankNoise, chernoff_bound, noise_bound, total_width
from dpselect.mechanisms.recursive_quantiles import RecursiveQuantiles, better_for, levels

OneOrSeveral = Quantile | RecursiveQuantiles
SHARE = Fraction(1, 10)  # of epsilon, for the cells; docs/decisions/0040-certified-quantiles.md
ROOT_DIGITS = 10**6
SMALL_PART = 20  # the part of beta for the bound that is of less use, and for what it assumes


@dataclass(frozen=True)
class CertifiedValues:
    """Quantiles with noisy numbers of users: below and above each of them, and all. Safe to publish."""

    values: Sequence[int | float]
    below: Sequence[int]
    above: Sequence[int]
    users: int


class TooMany(NamedTuple):
    """The numbers of users, at most, that are too many below a value, and above it: more than its rank leaves there."""

    below: int
    above: int


@dataclass(frozen=True, kw_only=True)
class CertifiedQuantiles:
    """Quantiles, and then one noisy histogram of the users below, at, between and above the values that were released.

    The quantiles are those of Quantile, from three on of RecursiveQuantiles. From the noisy cells follow the number of
    users, and how many too many lie below and above each value at most.

    Guarantee: (epsilon, delta)-DP for the whole call: the steps of the quantiles, and one pure step for all cells. Give
        `epsilon` for the largest epsilon_per_pick that fits, or `epsilon_per_pick` for its total.
    Neighbors: add-remove.
    Sensitivity: that of the quantiles; a user with one value is in one cell, which moves by 1.
    Exactness: the law is exact: quantiles on the grid, and discrete Laplace noise of the rational `rate` in each cell.
    Cost: that of the quantiles, one more pass over the values for each of them, and a noise for each cell.
    Source: docs/mechanisms/quantile.md, "Certified misses"; Humphries et al. 2026 (PostRI) for counting after a median;
        Ghosh, Roughgarden and Sundararajan 2009 for whole noise.
    Example:
        >>> CertifiedQuantiles(q=(0.25, 0.5), bounds=(0, 9), step=1, epsilon=99)([2] * 40 + [5] * 80).values
        [2, 5]
    """

    q: Number | Sequence[Number] = Fraction(1, 2)
    bounds: tuple[Number, Number] | None = None
    step: Number | None = None
    epsilon: Number | None = None
    delta: Number = 0
    epsilon_per_pick: Number | None = None
    kind: type[OneOrSeveral] | None = None
    quantiles: OneOrSeveral = field(init=False, repr=False)
    rate: Fraction = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        delta = parameters.probability("delta", self.delta, zero=True)
        kind = better_for(self.q, self.bounds, self.step) if self.kind is None else self.kind
        if kind not in (Quantile, RecursiveQuantiles):
            raise ParameterError("kind", "be Quantile or RecursiveQuantiles", came(kind))
        plan = certified_plan(picks_of(kind, self.q), delta)
        privacy, pick = price(plan, self.epsilon, self.epsilon_per_pick, delta, neighbors=Neighbors.ADD_REMOVE)
        quantiles = kind(q=self.q, bounds=self.bounds, step=self.step, epsilon_per_pick=pick)
        set_fields(self, q=quantiles.q, bounds=quantiles.bounds, step=quantiles.step, delta=delta, kind=kind)
        set_fields(self, epsilon=privacy.epsilon, epsilon_per_pick=pick, quantiles=quantiles, privacy=privacy)
        set_fields(self, rate=plan(pick)[-1].value.epsilon)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Every q, ascending."""
        return self.quantiles.shares

    @property
    def grid(self) -> Points:
        """The points that a quantile can be."""
        return self.quantiles.grid

    def __call__(self, values: object, *, draws: Draws | None = None) -> CertifiedValues:
        """Return the quantiles, in the order of q: from an array of one value per user, or from counts on the grid."""
        users, source = values if isinstance(values, UsersAt) else self.grid.indices_of(values), secure(draws)
        positions = self.quantiles.grid_indices(users, source)
        released = [self.grid.value(position) for position in positions]
        ends = [(group[0], group[-1]) for _, group in _equal(positions, released)]
        cells = count_cells(users, ends)
        noises = source.laplaces(self.rate, len(cells))
        noisy = [cell + noise for cell, noise in zip(cells, noises, strict=True)]
        cumulative, distinct = [0, *accumulate(noisy)], _distinct(released)
        users_below = [cumulative[2 * i + 1] for i in distinct]
        users_above = [cumulative[-1] - cumulative[2 * i + 2] for i in distinct]
        return CertifiedValues(values=released, below=users_below, above=users_above, users=cumulative[-1])

    def gap(self, beta: float) -> Fraction:
        """Return what `too_many` never exceeds: known before, and true with probability 1 - beta whatever the data are.

        Of recursion it is said of fewer than SHARED users at each point.
        """
        return self.quantiles.gap(self._betas(beta)[0])

    def added(self, beta: float) -> int:
        """Return by how much `too_many` exceeds the true numbers on average, where all values differ."""
        return noise_bound(self.rate, rank_noises(self.shares, range(len(self.shares))), self._betas(beta)[1])

    def counts_decide(self, beta: float) -> bool:
        """Return whether `too_many` mostly follows from the noisy cells, and is below what is known before."""
        noises = rank_noises(self.shares, range(len(self.shares)))
        return chernoff_bound(self.rate, noises, beta) < self.quantiles.gap(beta)

    def users_width(self, beta: float) -> int:
        """Return how far the noisy number of users is from the counted one, but with probability beta."""
        return total_width(self.rate, 2 * len(self.shares) + 1, beta)

    def too_many(self, answer: CertifiedValues, beta: float) -> list[TooMany]:
        """Return how many users too many lie below and above each value, all at once, but with probability beta.

        It is the better one of two bounds, by the cells and by what is known before, which share beta.
        """
        of_picks, of_cells, of_crowds = self._betas(beta)
        distinct = _distinct(answer.values)
        cells_error = noise_bound(self.rate, rank_noises(self.shares, distinct), of_cells)
        known_gap = (
            math.inf if self._may_be_crowded(answer.users, of_crowds) else self.quantiles.gap(of_picks).__ceil__()
        )
        bounds = []
        for q, users_below, users_above in zip(self.shares, answer.below, answer.above, strict=True):
            too_far = users_below - q * answer.users, users_above - (1 - q) * answer.users
            bounds.append(
                TooMany(*(int(min(known_gap, max(0, excess.__ceil__() + cells_error))) for excess in too_far))
            )
        return bounds

    def _betas(self, beta: float) -> tuple[float, float, float]:
        """Return the parts of beta.

        For the bound of the picks, for that of the cells, and for what the first assumes.
        """
        small = beta / SMALL_PART
        large = beta - 2 * small
        return (small, large, small) if self.counts_decide(beta) else (large, small, small)

    def _may_be_crowded(self, users: int, beta: float) -> bool:
        """Return whether more users than the bound of recursion allows may be there, and so at one point."""
        if not isinstance(self.quantiles, RecursiveQuantiles):
            return False
        return users + self.users_width(beta) >= self.quantiles.SHARED


def picks_of(kind: type[OneOrSeveral], q: object) -> int:
    """Return how many bounded-range steps the quantiles are."""
    return len(shares(q)) if kind is Quantile else levels(len(shares(q)))


def certified_plan(picks: int, delta: Fraction, groups: int = 1) -> StepsOfPick:
    """Plan so many picks in each group, and a histogram of cells: SHARE of the sum of the epsilons.

    With a delta picks may cost less than their sum, and the cells take a fifth of zCDP at most, where 8 rho is
    `picks` for the picks and 4 `part`^2 for the cells.
    """
    part = picks * SHARE / (1 - SHARE)
    if delta:
        part = min(part, Fraction(math.isqrt(picks * ROOT_DIGITS**2), 4 * ROOT_DIGITS))

    def plan(x: Fraction) -> tuple[Steps, Steps]:
        return Steps(BoundedRange(x), picks * groups), Steps(PureDP(x * part), groups)

    return plan


def count_cells(users: UsersAt | Integers, ends: Sequence[tuple[int, int]]) -> list[int]:
    """Count the users below the first of ascending stretches, in it, between it and the next, ..., above the last.

    A stretch has the points from its first to its last one. Every user is in exactly one of these cells.
    """
    if isinstance(users, UsersAt):
        sums = np.concatenate([[0], np.cumsum(users.users)])
        ranges = [(users.indices.searchsorted(a, "left"), users.indices.searchsorted(b, "right")) for a, b in ends]
        cumulative, total = [int(sums[position]) for pair in ranges for position in pair], int(sums[-1])
    else:
        cumulative = [int(np.count_nonzero(is_below)) for a, b in ends for is_below in (users < a, users <= b)]
        total = len(users)
    return [stop - start for start, stop in zip([0, *cumulative], [*cumulative, total], strict=True)]


def rank_noises(q: Sequence[Fraction], which: Sequence[int]) -> list[RankNoise]:
    """Return the noises of both statements about each value, of which `which` are the distinct ones, counted from 0.

    Below the i-th of r distinct values lie 2 i + 1 of the 2 r + 1 cells, and above it 2 (r - i) - 1.
    """
    cells = 2 * (which[-1] + 1) + 1
    low = [RankNoise(share, 2 * i + 1, cells - 2 * i - 1) for share, i in zip(q, which, strict=True)]
    high = [RankNoise(1 - share, cells - 2 * i - 2, 2 * i + 2) for share, i in zip(q, which, strict=True)]
    return low + high


def _distinct(values: Sequence[object]) -> list[int]:
    """Return the number of the distinct value that each of these is, counted from 0; equal ones are neighbours."""
    return [i for i, (_, group) in enumerate(groupby(values)) for _ in group]


def _equal(positions: Sequence[int], values: Sequence[object]) -> list[tuple[object, list[int]]]:
    """Return the grid indices of each distinct value: neighbours may be one number where floats hold no more."""
    groups = groupby(zip(positions, values, strict=True), key=lambda pair: pair[1])
    return [(value, [position for position, _ in group]) for value, group in groups]
