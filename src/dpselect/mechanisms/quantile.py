"""Quantiles: the exponential mechanism over the points of an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy
from dpselect._ground.reals import Exp
from dpselect.accounting.calibration import plan_of, price
from dpselect.aggregates.unbounded import Points, points_of
from dpselect.aggregates.value_counts import UsersAt
from dpselect.draws import Draws, secure
from dpselect.draws.weights import Weights
from dpselect.errors import ParameterError, came
from dpselect.mechanisms import gaps
from dpselect.mechanisms.port import set_fields

if TYPE_CHECKING:
    import numpy.typing as npt

Integers: TypeAlias = "npt.NDArray[np.int64]"

BEYOND = 20  # all points that are not near weigh at most e^-20 of the best one together
SAMPLE = 10_000  # values by which those near a rank are found: as few are put in order
MOST = 10_000  # quantiles of one question
FINEST = 10**6  # the denominator of a q: ranks stay integers of 64 bits, and the float 0.1 means one tenth
SHARE = "be one number between 0 and 1, both excluded, or several"


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """One or several quantiles of one value per user: a point x with probability in proportion to exp(-rate x miss(x)).

    miss(x) = max(0, #{v < x} - q n, #{v > x} - (1 - q) n) is by how many users x misses the rank q; x runs over the
    points low, low + step, ... up to high. Values move to the nearest point first, those outside of the bounds to a
    bound. Values that are missing do not count. Without bounds x runs over numbers of six digits, to 10^20 and beyond.

    Guarantee: (epsilon, delta)-DP for the whole call; each quantile is one epsilon_per_pick-bounded-range step. Give
        `epsilon` for the largest epsilon_per_pick that fits, or `epsilon_per_pick` for its total.
    Neighbors: add-remove.
    Sensitivity: one user moves miss(x) by at most s = max(q, 1 - q), which is 1/2 for the median; the number of users n
        is private. rate = epsilon_per_pick / (2 s).
    Exactness: the law is exact on the grid. Without `step` the grid is so fine that 10^9 steps or more fit in; without
        `bounds` it has 0 and the numbers of six digits, in steps of `step` (10^-12) at least.
    Cost: a few passes over the values, which are put in order near the ranks only, and a draw for each quantile.
    Source: Smith 2011 (private quantile); McSherry and Talwar 2007; Desfontaines, "Choosing things privately", for
        the continuous case. Ours: miss is the true error in ranks where values tie, and several quantiles
        by bounded-range composition.
    Example:
        >>> Quantile(q=(0.25, 0.5), bounds=(0, 9), step=1, epsilon=9)([2] * 40 + [5] * 80)
        [2, 5]
    """

    q: Number | Sequence[Number] = Fraction(1, 2)
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
        delta = parameters.probability("delta", self.delta, zero=True)
        related = Neighbors.ADD_REMOVE
        privacy, pick = price(plan_of(len(q)), self.epsilon, self.epsilon_per_pick, delta, neighbors=related)
        set_fields(self, q=q, bounds=grid.bounds, step=grid.step, grid=grid, delta=delta)
        set_fields(self, epsilon=privacy.epsilon, epsilon_per_pick=pick, privacy=privacy, _pick=pick)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Every q, ascending."""
        return shares(self.q)

    def rate(self, q: Fraction) -> Fraction:
        """Return epsilon_per_pick / (2 sensitivity)."""
        return self._pick / (2 * max(q, 1 - q))

    def __call__(self, values: object, *, draws: Draws | None = None) -> list[int | float]:
        """Return the quantiles, in the order of q: from an array of one value per user, or from counts on the grid."""
        users = values if isinstance(values, UsersAt) else self.grid.indices_of(values)
        return [self.grid.value(position) for position in self.grid_indices(users, secure(draws))]

    def grid_indices(self, users: UsersAt | Integers, draws: Draws) -> list[int]:
        """Draw the grid indices of the quantiles, ascending: sorting never adds to the largest miss."""
        return sorted(self.draw_grid_index(users, q, draws) for q in self.shares)

    def draw_grid_index(self, users: UsersAt | Integers, q: Fraction, draws: Draws) -> int:
        """Draw one quantile's grid index."""
        near_rank = NearRank.all(users, self.grid.points) if isinstance(users, UsersAt) else self.near(users, q)
        while True:
            grid_index = near_rank.propose(q, self.rate(q) / q.denominator, draws)
            if grid_index is not None:
                return grid_index

    def near(self, indices: Integers, q: Fraction) -> NearRank:
        """Return the stretches around a rank, so wide that a point beyond them is hardly ever proposed."""
        reach = Fraction(math.log(self.grid.points) + BEYOND) / self.rate(q)
        return NearRank.rank(indices, self.grid.points, q, reach.__ceil__())

    def gap(self, beta: float) -> Fraction:
        """Return by how many users no quantile misses its rank, but with probability beta. Some point has miss 0.

        A miss is a multiple of 1 / b, where q = a / b: one that is below t is at most the largest of them below t.
        """
        many, miss = gaps.log_others(self.grid.points), gaps.failure_per_step(beta, len(self.shares))
        below = (gaps.exponential(self.rate(q), many, miss) * q.denominator for q in self.shares)
        return max(Fraction(max(0, t.__ceil__() - 1), q.denominator) for t, q in zip(below, self.shares, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Stretches:
    """Stretches of points with the same users below and above: each point with users, and all points between two."""

    starts: Integers
    sizes: Integers
    below: Integers
    above: Integers
    total: int

    @classmethod
    def between(cls, users: UsersAt, start: int, stop: int, below_all: int = 0, above_all: int = 0) -> Stretches:
        """Return the points from start to before stop, in order, with more users below and above all of them."""
        users_before = (
            np.concatenate([[0], np.cumsum(users.users)]) + below_all
        )  # below the gap before each index, and at last
        total = int(users_before[-1]) + above_all
        starts, ends, below, above = (np.empty(2 * len(users.indices) + 1, dtype=np.int64) for _ in range(4))
        starts[0], starts[1::2], starts[2::2] = start, users.indices, users.indices + 1
        ends[:-1], ends[-1] = starts[1:], stop
        below[::2], below[1::2] = users_before, users_before[:-1]
        above[::2], above[1::2] = total - users_before, total - users_before[1:]
        nonempty = np.flatnonzero(ends > starts)
        return cls(starts[nonempty], (ends - starts)[nonempty], below[nonempty], above[nonempty], total)

    def misses(self, q: Fraction) -> Integers:
        """Return `miss` of every stretch."""
        too_far = np.maximum(*overshoot(q, self.below, self.above, self.total))
        return np.maximum(too_far, 0, out=too_far)


@dataclass(frozen=True, eq=False, repr=False)
class NearRank:
    """The stretches around a rank; `before` points lie before them and `behind` points behind.

    All of the points before count as if each had the least miss that a point there can have, and so do those behind.
    When one of them is proposed, its own users are counted, and it is accepted by the share of its weight in that.
    So every point is accepted in proportion to its weight, and values far from the rank need no order.
    """

    stretches: Stretches
    before: int = 0
    behind: int = 0
    indices: Integers | None = None

    @classmethod
    def all(cls, users: UsersAt, points: int) -> NearRank:
        """Return the whole grid."""
        return cls(Stretches.between(users, 0, points))

    @classmethod
    def rank(cls, indices: Integers, points: int, q: Fraction, reach: int) -> NearRank:
        """Return the points between the values that stand `reach` ranks below and above the rank q of all users."""
        n = len(indices)
        first, last = max(0, (q * n).__floor__() - reach), min(n - 1, (q * n).__ceil__() + reach)
        if first == 0 and last == n - 1:
            return cls.all(UsersAt.counted(np.sort(indices)), points)
        lower, near_indices = enclosing_indices(indices, first, last)
        near_indices.partition([first - lower, last - lower])
        low, high = int(near_indices[first - lower]), int(near_indices[last - lower])
        inner = UsersAt.counted(np.sort(near_indices[(near_indices > low) & (near_indices < high)]))
        below = lower + int(np.count_nonzero(near_indices < low))
        above = n - lower - int(np.count_nonzero(near_indices <= high))
        ends = np.array([low, high] if low < high else [low], dtype=np.int64)
        tied_users = np.array([np.count_nonzero(near_indices == end) for end in ends], dtype=np.int64)
        users = UsersAt(
            np.concatenate([ends[:1], inner.indices, ends[1:]]),
            np.concatenate([tied_users[:1], inner.users, tied_users[1:]]),
        )
        start, stop = (low if below else 0), (high + 1 if above else points)
        return cls(Stretches.between(users, start, stop, below, above), start, points - stop, indices)

    def propose(self, q: Fraction, rate: Fraction, draws: Draws) -> int | None:
        """Propose a grid index in proportion to exp(-rate miss); None where one beyond the stretches was refused."""
        s = self.stretches
        beyond = [
            (0, self.before, self._least(q, 1)),
            (int(s.starts[-1] + s.sizes[-1]), self.behind, self._least(q, 0)),
        ]
        beyond = [part for part in beyond if part[1]]
        scores = np.concatenate([-s.misses(q), np.array([-least for *_, least in beyond], dtype=np.int64)])
        sizes = np.concatenate([s.sizes, np.array([size for _, size, _ in beyond], dtype=np.int64)])
        group, member = draws.categorical(Weights(scores, rate, sizes))
        if group < len(s.starts):
            return int(s.starts[group]) + member
        start, _, least = beyond[group - len(s.starts)]
        excess = self._miss(start + member, q) - least
        return start + member if draws.bernoulli(Exp(-rate * excess)) else None

    def _least(self, q: Fraction, side: int) -> int:
        """Return a bound: below the stretches, all but the users below these are above.

        Behind them the other way round.
        """
        s, n = self.stretches, self.stretches.total
        below, above = (0, n - int(s.below[0])) if side else (n - int(s.above[-1]), 0)
        return max(0, *overshoot(q, below, above, n))

    def _miss(self, point: int, q: Fraction) -> int:
        """Return the miss of one point, by counting all users."""
        user_indices = self.indices if self.indices is not None else np.empty(0, dtype=np.int64)
        below, above = int(np.count_nonzero(user_indices < point)), int(np.count_nonzero(user_indices > point))
        return max(0, *overshoot(q, below, above, len(user_indices)))


def enclosing_indices(indices: Integers, first: int, last: int) -> tuple[int, Integers]:
    """Return how many indices are lower, and all between two of them, among which those of these ranks are.

    Two members of a sample enclose them, or, where they do not, all indices are taken.
    """
    sample = np.sort(indices[:: max(1, len(indices) // SAMPLE)])
    sampled_share, margin = len(sample) / len(indices), 2 * math.isqrt(len(sample))
    low = sample[max(0, math.floor(first * sampled_share) - margin)]
    high = sample[min(len(sample) - 1, math.ceil(last * sampled_share) + margin)]
    enclosed, lower = indices[(indices >= low) & (indices <= high)], int(np.count_nonzero(indices < low))
    return (lower, enclosed) if lower <= first and last < lower + len(enclosed) else (0, indices.copy())


Whole = TypeVar("Whole", int, Integers)


def overshoot(q: Fraction, below: Whole, above: Whole, total: int) -> tuple[Whole, Whole]:
    """Return below - q n and above - (1 - q) n, in units of 1 / the denominator of q: integers."""
    a, b = q.numerator, q.denominator
    return b * below - a * total, b * above - (b - a) * total


def _format_list(values: Sequence[object]) -> str:
    return ", ".join(map(came, values[:10])) or "none"


@parameters.hide_elements("q", SHARE)
def shares(q: object) -> tuple[Fraction, ...]:
    """Parse every q, ascending and different; each is the nearest fraction with a denominator of at most 10^6."""
    listed = parameters.as_list("q", q, SHARE)
    if len(listed) > MOST:
        raise ParameterError("q", f"be {MOST:,} shares at most", f"{len(listed):,} of them")
    parsed = [parameters.rational("q", share, SHARE).limit_denominator(FINEST) for share in listed]
    if not parsed or not all(0 < share < 1 for share in parsed):
        raise ParameterError("q", SHARE, _format_list(listed), "0.5 is the median; the smallest q is 1e-6")
    if any(share >= following for share, following in pairwise(parsed)):
        raise ParameterError("q", "be in ascending order, each once", _format_list(listed))
    return tuple(parsed)
