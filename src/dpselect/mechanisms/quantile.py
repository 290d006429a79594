"""Quantiles: the exponential mechanism over the points of an interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dpselect import parameters
from dpselect.draws import Draws
from dpselect.draws.weights import Weights
from dpselect.errors import ParameterError
from dpselect.grid import Grid, UsersAt
from dpselect.mechanisms.port import secure
from dpselect.mechanisms.price import plan_of, price
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy

Integers = npt.NDArray[np.int64]

FINEST = 10**6  # the denominator of a q: ranks stay integers of 64 bits, and the float 0.1 means one tenth
SHARE = "be one number between 0 and 1, both excluded, or several"


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """One or several quantiles of one value per user: a point x with probability in proportion to exp(-rate x miss(x)).

    miss(x) = max(0, #{v < x} - q n, #{v > x} - (1 - q) n) is by how many users x misses the rank q; x runs over the
    points low, low + step, ... up to high. Values move to the nearest point first, those outside of the bounds to a
    bound. Values that are missing do not count.

    Guarantee: (epsilon, delta)-DP for the whole call; each quantile is one epsilon_per_pick-bounded-range step. Give
        `epsilon` for the largest epsilon_per_pick that fits, or `epsilon_per_pick` for its total.
    Neighbors: add-remove.
    Sensitivity: one user moves miss(x) by at most s = max(q, 1 - q), which is 1/2 for the median; the number of users n
        is private. rate = epsilon_per_pick / (2 s).
    Exactness: the law is exact on the grid. Without `step` the grid is so fine that 10^9 steps or more fit in.
    Cost: sorting the values, then one draw among the stretches between them, however many points these hold.
    Source: Smith 2011 (private quantile); McSherry and Talwar 2007; seed 002 for the continuous case. Ours: miss is
        the true error in ranks where values tie, and several quantiles by bounded-range composition.
    Example:
        >>> Quantile(q=(0.25, 0.5), bounds=(0, 9), step=1, epsilon=9)([2] * 40 + [5] * 80)
        [2, 5]
    """

    q: Number | Sequence[Number] = Fraction(1, 2)
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
        delta = parameters.probability("delta", self.delta, zero=True)
        related = Neighbors.ADD_REMOVE
        privacy, pick = price(plan_of(len(q)), self.epsilon, self.epsilon_per_pick, delta, neighbors=related)
        settled = {"q": q, "bounds": (grid.low, grid.high), "step": grid.step, "grid": grid, "delta": delta}
        settled |= {"epsilon": privacy.epsilon, "epsilon_per_pick": pick, "privacy": privacy, "_pick": pick}
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Every q, ascending."""
        return shares(self.q)

    def rate(self, q: Fraction) -> Fraction:
        """epsilon_per_pick / (2 sensitivity)."""
        return self._pick / (2 * max(q, 1 - q))

    def __call__(self, values: object, *, draws: Draws | None = None) -> list[int | float]:
        """The quantiles, in the order of q: from an array of one value per user, or from counts on the grid."""
        users = values if isinstance(values, UsersAt) else self.grid.counted(values)
        return [self.grid.value(place) for place in self.places(users, secure(draws))]

    def places(self, users: UsersAt, draws: Draws) -> list[int]:
        """Places of the grid, ascending: sorting what was drawn costs nothing and never adds to the largest miss."""
        stretches = Stretches.between(users, self.grid.points)
        found = []
        for q in self.shares:
            weights = Weights(-stretches.misses(q), self.rate(q) / q.denominator, stretches.sizes)
            group, member = draws.categorical(weights)
            found.append(int(stretches.starts[group]) + member)
        return sorted(found)

    def accuracy(self, beta: float) -> float:
        """So many users at most are all quantiles away from their ranks, with probability 1 - beta.

        Some point has miss 0, so P(miss > t) <= points x exp(-rate t) for each quantile.
        """
        spread = np.log(self.grid.points) + np.log(len(self.shares) / beta)
        return max(float(spread) / float(self.rate(q)) for q in self.shares)


@dataclass(frozen=True, eq=False, repr=False)
class Stretches:
    """Stretches of points with the same users below and above: each point with users, and all points between two."""

    starts: Integers
    sizes: Integers
    below: Integers
    above: Integers
    total: int

    @classmethod
    def between(cls, users: UsersAt, points: int) -> Stretches:
        """All points of a grid, in order."""
        before = np.concatenate([[0], np.cumsum(users.users)])  # below the gap in front of each place, and behind all
        after = before[-1] - before
        starts, ends, below, above = (np.empty(2 * len(users.places) + 1, dtype=np.int64) for _ in range(4))
        starts[0], starts[1::2], starts[2::2] = 0, users.places, users.places + 1
        ends[:-1], ends[-1] = starts[1:], points
        below[::2], below[1::2] = before, before[:-1]
        above[::2], above[1::2] = after, after[1:]
        some = np.flatnonzero(ends > starts)
        return cls(starts[some], (ends - starts)[some], below[some], above[some], int(before[-1]))

    def misses(self, q: Fraction) -> Integers:
        """max(0, below - q n, above - (1 - q) n) in units of 1 / the denominator of q: integers."""
        a, b = q.numerator, q.denominator
        too_far = np.maximum(b * self.below - a * self.total, b * self.above - (b - a) * self.total)
        return np.maximum(too_far, 0, out=too_far)


def shares(q: object) -> tuple[Fraction, ...]:
    """Every q, ascending and different; each is the nearest fraction with a denominator of at most 10^6."""
    several = list(q) if isinstance(q, Iterable) and not isinstance(q, str) else [q]
    found = [parameters.rational("q", one, SHARE).limit_denominator(FINEST) for one in several]
    if not found or not all(0 < one < 1 for one in found):
        raise ParameterError("q", SHARE, repr(q), "0.5 is the median; the smallest q is 1e-6")
    if any(one >= other for one, other in pairwise(found)):
        raise ParameterError("q", "be in ascending order, each once", repr(q))
    return tuple(found)
