"""DiscoverThenPeel: part of the budget finds items that enough users share, the rest ranks the best k of them."""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, Progress
from dpselect._ground.privacy import BoundedRange, Privacy, PureDP
from dpselect.accounting.calibration import COUNT_SHARE, largest_epsilon, plan_of
from dpselect.accounting.prices import divergence
from dpselect.accounting.renyi import renyi_budget
from dpselect.aggregates.user_sets import Int64, Sets, numbers_of_users
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.count import TruncatedGeometric
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED, RenyiShaped
from dpselect.mechanisms.set_union.rounds import LEAST_SHARE
from dpselect.mechanisms.top_k.peeling import Peeling

UNION_SHARE = Fraction(2, 3)  # of the Rényi budget; measured: docs/results.md, discover
UNION_SHARE_OF_ONE = Fraction(1, 2)  # of epsilon and of delta, where a user has one item
GRID = 2**30  # an epsilon of one pick is rounded down by at most a relative 1 / GRID


class RankingBudget(Protocol):
    """The part of the price that the union left, for picks and counts."""

    def epsilon_per_pick(self, picks: int, counts: int) -> Fraction:
        """Return the epsilon of one pick; there is at least one pick or count, and a count gets half of it."""
        ...

    def divergence(self, order: int) -> Fraction | None:
        """Return the divergence of all of it at an order, but for delta; None if unknown."""
        ...


@dataclass(frozen=True)
class ConcentratedRemainder:
    """The union's remainder of one Rényi budget, as zCDP.

    A pick of epsilon e costs e^2 / 8, as does a count of e / 2.
    """

    rho: Fraction

    def epsilon_per_pick(self, picks: int, counts: int) -> Fraction:
        """Return the epsilon of one pick if the budget is shared equally; there is at least one pick or count."""
        return root_down(self.rho / (BoundedRange(Fraction(1)).rho * picks + PureDP(COUNT_SHARE).rho * counts))

    def divergence(self, order: int) -> Fraction:
        """Return the divergence of all of it at an order."""
        return self.rho * order


@dataclass(frozen=True)
class SeparateBudget:
    """A separate (epsilon, delta) for picks and counts, which adds up with that of the union."""

    epsilon: Fraction
    delta: Fraction

    def epsilon_per_pick(self, picks: int, counts: int) -> Fraction:
        """Return the largest epsilon of one pick that fits."""
        return largest_epsilon(plan_of(picks, counts), self.epsilon, self.delta)

    def divergence(self, order: int) -> Fraction:
        """Return the divergence of all of it at an order, but for its delta."""
        return divergence(PureDP(self.epsilon), order)


@dataclass(frozen=True, kw_only=True)
class DiscoverThenPeel:
    """Release a set of items by a set union, then rank the k of them with most users by peeling.

    The union uses `max_items_per_user` random items of each user and spends the fraction `union_share` of a Rényi
    budget (for one item per user: of epsilon and delta). Peeling counts all users of each released item and shares the
    rest of the budget among its picks. If at most k items were released, all are ranked and each pick gets more. With
    `at_order` the budget is of that order, and an earlier step `spent` some of it.

    Guarantee: (epsilon, delta)-DP for the whole call; three quarters of delta are for composition, at most one quarter
        for items that only one of two neighbours has. For one item per user the two parts add up.
    Neighbors: add-remove.
    Sensitivity: that of RenyiShaped for the union, for one item per user that of TruncatedGeometric. One user changes
        every count by at most 1, any number of them.
    Exactness: the distribution is exact, for the Bernoulli draws of the union and for every pick.
    Cost: that of the union, one pass over the pairs, and one draw per pick.
    Source: Dick, Joseph and Raman 2026, who peel within a weighted Gaussian union. Ours: RenyiShaped as the union, one
        Rényi budget for both parts, and the proof in docs/mechanisms/discover.md.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> votes = UserSets.from_sets([*["a"] * 300, *["b"] * 200, "c"])
        >>> DiscoverThenPeel(k=2, epsilon=4, delta="1e-6", max_items_per_user=1)(votes).tolist()
        [0, 1]
    """

    k: int
    epsilon: Number
    delta: Number
    max_items_per_user: int
    union_share: Number | None = None
    at_order: int | None = None
    spent: Number = 0
    union: RenyiShaped | TruncatedGeometric = field(init=False, repr=False)
    rest: RankingBudget = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = parameters.listed_size("k", self.k)
        max_items = parameters.whole_number("max_items_per_user", self.max_items_per_user, minimum=1)
        default_share = UNION_SHARE_OF_ONE if max_items == 1 else UNION_SHARE
        requested_share = default_share if self.union_share is None else self.union_share
        share = parameters.positive("union_share", requested_share, f"be at least {float(LEAST_SHARE):g} and below 1")
        if not LEAST_SHARE <= share < 1:
            raise ParameterError(
                "union_share", f"be at least {float(LEAST_SHARE):g} and below 1", came(requested_share)
            )
        epsilon, delta = parameters.epsilon("epsilon", self.epsilon), parameters.probability("delta", self.delta)
        spent = parameters.not_negative("spent", self.spent)
        set_fields(
            self, k=k, epsilon=epsilon, delta=delta, max_items_per_user=max_items, union_share=share, spent=spent
        )
        union: RenyiShaped | TruncatedGeometric
        ranking_budget: RankingBudget
        if max_items == 1:
            if spent or self.at_order is not None:
                raise ParameterError("at_order", "be left out for one item per user", came(self.at_order))
            union = TruncatedGeometric(epsilon=epsilon * share, delta=delta * share)
            ranking_budget, privacy = (
                SeparateBudget(epsilon * (1 - share), delta * (1 - share)),
                promise(epsilon, delta, "basic"),
            )
        else:
            order_options: dict[str, Any] = {"at_order": self.at_order, "spent": spent}
            union = RenyiShaped(epsilon=epsilon, delta=delta, max_items_per_user=max_items, part=share, **order_options)
            budget = renyi_budget(union.order, epsilon, delta * COMPOSED) - spent
            remaining = budget - sum(conditions.budget for conditions in union.conditions)
            ranking_budget, privacy = ConcentratedRemainder(remaining / union.order), union.privacy
        set_fields(self, union=union, rest=ranking_budget, privacy=privacy)

    def __call__(self, sets: Sets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """Return the codes of k items, best first; fewer if fewer were released."""
        draws = secure(draws)
        discovered = self.union(sets, draws=draws, progress=progress)
        return rank_best(
            self.k, discovered, users_of(sets, discovered), self.epsilon_per_pick(picks(self.k, discovered)), draws
        )

    def divergence(self, order: int) -> Fraction | None:
        """Return the Rényi divergence of any order that union and ranking spend at most.

        Delta is not in it. None if it is unknown.
        """
        union = self.union
        if isinstance(union, RenyiShaped):
            of_union = union.divergence(order)
        else:
            of_union = divergence(PureDP(union.privacy.epsilon), order)
        of_ranking = self.rest.divergence(order)
        return None if of_union is None or of_ranking is None else of_union + of_ranking

    def epsilon_per_pick(self, picks: int, counts: int = 0) -> Fraction:
        """Return the epsilon of each of `picks` picks, if `counts` noisy counts with half of it each follow."""
        return self.rest.epsilon_per_pick(picks, counts) if picks + counts else Fraction(self.epsilon)


def picks(k: int, discovered: Int64) -> int:
    """Return how many picks rank k of the released items, or all if at most k: the last one left needs none."""
    return max(0, min(k, len(discovered) - 1))


def rank_best(k: int, discovered: Int64, users: Int64, epsilon_per_pick: Fraction, draws: Draws) -> Int64:
    """Rank at most k of the released items, given their numbers of users."""
    if not len(discovered):
        return discovered
    ranks = Peeling(k=min(k, len(discovered)), epsilon_per_pick=epsilon_per_pick)(users, draws=draws)
    return discovered[np.asarray(ranks, dtype=np.int64)].astype(np.int64)


def users_of(sets: Sets, codes: Int64) -> Int64:
    """Return how many users each of these items has, over all users and not only the sample of the union."""
    return numbers_of_users(sets)[codes]


def root_down(square: Fraction) -> Fraction:
    """Return the square root, rounded down by less than one part in GRID."""
    scale = GRID
    while square * scale * scale < GRID * GRID:
        scale *= GRID
    return Fraction(math.isqrt((square * scale * scale).__floor__()), scale)
