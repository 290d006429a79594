"""Policies: a user contributes only to items still below the cutoff (Gopi et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from functools import partial

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, Progress
from dpselect.accounting.gaussian_curve import smallest_deviation
from dpselect.aggregates.user_sets import S, Sets
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.port import UNIT, SetUnion, Weighed, parse, up
from dpselect.mechanisms.set_union.release_laws import (
    GaussianTail,
    gaussian_tail,
    laplace_tail,
    root_up,
)
from dpselect.mechanisms.set_union.rounds import users_and_items_in_order
from dpselect.mechanisms.set_union.user_loop import contribute_in_turn

ROUNDING = Fraction(1, 2**53)  # half the distance of neighbouring floats, as a part of them
MOST_USERS = 2**27
_MOST_SLACK = Fraction(1, 8)  # keeps the cutoff within twice of what it is without slack


@dataclass(frozen=True, kw_only=True)
class PolicyLaplace(SetUnion):
    """Release the items whose weight plus Laplace noise is above a threshold; a user raises all their items equally.

    As published; dpselect takes RenyiShaped or GreedyGeometric instead, because one of them finds as many or more.

    l1-descent: 1 is spent evenly over those of the user's items that are below the cutoff, which none ever passes. The
    cutoff is the threshold and `alpha` scales of the noise.

    Guarantee: (epsilon, delta)-DP.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves the final weights, all users
        together, by at most 1: exactly, since 2^30 integer parts are contributed one by one (its page).
    Exactness: weights are integer multiples of 2^-30, and each item is one exact Bernoulli draw of P(weight + noise >
        threshold); the threshold is proved, rounded up.
    Cost: one sort of the pairs, one loop over users, one draw an item.
    Source: Gopi et al. 2020, Algorithms 3 and 4. Ours: integer parts, and a proof without slack.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> policy = PolicyLaplace(epsilon=1, delta="1e-9", max_items_per_user=9, alpha=40)
        >>> policy(UserSets.from_sets(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    max_items_per_user: int
    alpha: Number = 3

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        law = laplace_tail(epsilon, delta, self.max_items_per_user, even_up)
        weighting = L1Descent(up(law.threshold + Fraction(self.alpha) / epsilon, UNIT))
        set_fields(self, weighting=weighting, law=law, privacy=promise(epsilon, delta, "policy, Laplace"))


@dataclass(frozen=True, kw_only=True)
class PolicyGaussian(SetUnion):
    """Release the items whose weight plus Gaussian noise is above a threshold; a user moves straight to the cutoff.

    As published; dpselect takes RenyiShaped instead, because it finds as many or more: three times as many artists.

    l2-descent: the weights of the user's items move towards the cutoff, in a straight line and by a Euclidean distance
    of at most 1. The cutoff is the threshold and `alpha` deviations of the noise.

    Guarantee: (epsilon, delta)-DP for data of at most `most_users` users (more are refused); half of delta for the
        noise, half for items that only one data set has.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves the final weights, all users
        together, by at most 1 + `slack` in the l2 norm; the slack bounds the rounding of all users' floats.
    Exactness: each item is one exact Bernoulli draw of P(weight + noise > threshold) at its float weight; noise and
        threshold are proved for sensitivity 1 + `slack`, rounded up.
    Cost: one gather of the pairs, one loop over users, one draw an item.
    Source: Gopi et al. 2020, Algorithms 5 and 6; Balle and Wang 2018, Theorem 8, for the noise. Ours: the
        proof by proximal maps, and the slack.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> policy = PolicyGaussian(epsilon=1, delta="1e-9", max_items_per_user=9, alpha=8)
        >>> policy(UserSets.from_sets(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    max_items_per_user: int
    alpha: Number = 5
    most_users: int = MOST_USERS
    slack: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        users = parameters.whole_number("most_users", self.most_users, minimum=1)
        shift = smallest_deviation(epsilon, delta / 2)
        _, highest = self._law(shift, delta / 2, Fraction(0))
        rounding = rounding_of_one(self.max_items_per_user, 2 * highest)
        slack = 2 * users * rounding
        if slack > _MOST_SLACK:
            raise ParameterError("most_users", "be small enough for the rounding of floats not to matter", users)
        law, cutoff = self._law(shift * (1 + slack), delta / 2, rounding)
        weighting = L2Descent(cutoff, users)
        privacy = promise(epsilon, delta, "policy, Gaussian")
        set_fields(self, most_users=users, slack=slack, weighting=weighting, law=law, privacy=privacy)

    def _law(self, deviation: Fraction, delta: Fraction, rounding: Fraction) -> tuple[GaussianTail, Fraction]:
        """Return the noise with its threshold, and the cutoff, which is a float."""
        law = gaussian_tail(deviation, delta, self.max_items_per_user, lambda t: root_up(Fraction(1, t)) + rounding)
        cutoff = max(law.threshold + Fraction(self.alpha) * deviation, Fraction(1))
        up(cutoff, UNIT)
        return law, Fraction(math.nextafter(float(cutoff), math.inf))


@dataclass(frozen=True)
class L1Descent:
    """A policy: a user spends 1 evenly over those of their items that are below the cutoff, in parts of 2^-30."""

    cutoff: Fraction

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """Return 1, the share where the user's other items are at the cutoff."""
        return Fraction(1)

    def order(self, sets: S, draws: Draws) -> S:
        """Order users at random, and items by one random order."""
        return users_and_items_in_order(sets, draws)

    def weigh(self, ordered: Sets, progress: Progress | None) -> Weighed:
        """Weigh the items, user after user."""
        weights = [0] * ordered.size
        contribute_in_turn(partial(l1_descent, cutoff=int(self.cutoff * UNIT), unit=UNIT), ordered, weights, progress)
        return np.array(weights, dtype=np.int64), UNIT


@dataclass(frozen=True)
class L2Descent:
    """A policy: a user's items move straight towards the cutoff by a Euclidean distance of at most 1, in floats."""

    cutoff: Fraction
    most_users: int

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """Return 1, the share where the user's other items are at the cutoff."""
        return Fraction(1)

    def order(self, sets: S, draws: Draws) -> S:
        """Order users at random."""
        return sets.arranged(draws.order(sets.users), None)

    def weigh(self, ordered: Sets, progress: Progress | None) -> Weighed:
        """Weigh the items, user after user; refuse more users than the slack is for."""
        if ordered.users > self.most_users:
            raise ParameterError("most_users", "be at least the number of users", self.most_users, "raise most_users")
        weights = [0.0] * ordered.size
        contribute_in_turn(partial(l2_descent, cutoff=float(self.cutoff)), ordered, weights, progress)
        return np.array(weights, dtype=np.float64), 1


def l1_descent(offsets: Sequence[int], codes: Sequence[int], weights: list[int], cutoff: int, unit: int) -> None:
    """Spend `unit` by l1-descent, one by one, round and round over the user's items below the cutoff.

    After `high` full rounds an item has got min(gap, high); what is left goes one each to the first that have room.
    """
    for v in range(len(offsets) - 1):
        start = offsets[v]
        end = offsets[v + 1]
        high = 0
        spent = 0
        active = 1
        while active > 0:
            spent = 0
            active = 0
            for j in range(start, end):
                gap = cutoff - weights[codes[j]]
                if gap <= high:
                    spent += gap
                else:
                    active += 1
            if active > 0:
                higher = (unit - spent) // active
                if higher == high:
                    break
                high = higher
        remainder = unit - spent - high * active
        for j in range(start, end):
            code = codes[j]
            if cutoff - weights[code] <= high:
                weights[code] = cutoff
            elif remainder > 0:
                weights[code] += high + 1
                remainder -= 1
            else:
                weights[code] += high


def l2_descent(offsets: Sequence[int], codes: Sequence[int], weights: list[float], cutoff: float) -> None:
    """Move the user's weights straight towards the cutoff by a Euclidean distance of at most 1 (l2-descent).

    A float is only added, subtracted, multiplied, divided and rooted, in the order that is written: the bound on its
    rounding (docs/mechanisms/set-union-policies.md) is for exactly these operations.
    """
    for v in range(len(offsets) - 1):
        start = offsets[v]
        end = offsets[v + 1]
        squares = 0.0
        for j in range(start, end):
            gap = cutoff - weights[codes[j]]
            squares += gap * gap
        norm = math.sqrt(squares)
        if norm <= 1.0:
            for j in range(start, end):
                weights[codes[j]] = cutoff
        else:
            for j in range(start, end):
                code = codes[j]
                weights[code] = min(weights[code] + (cutoff - weights[code]) / norm, cutoff)


def even_up(t: int) -> Fraction:
    """Return the most that l1-descent contributes to each of t new items: 1/t in integer parts, rounded up."""
    return Fraction(-(-UNIT // t), UNIT)


def rounding_of_one(items: int, cutoff: Fraction) -> Fraction:
    """Bound the distance, in the l2 norm, of the floats of one user's l2-descent from the exact ones.

    (items / 2 + 5) u for the step and sqrt(items) (cutoff + 1) u for adding it (docs/mechanisms/set-union-policies.md).
    """
    return ROUNDING * (Fraction(items, 2) + 5 + root_up(Fraction(items)) * (cutoff + 1))
