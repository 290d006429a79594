"""The bound on a user's items where nobody gives it: chosen privately, for a part of epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from flint import ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import BoundedRange
from dpselect._ground.reals import enclose, lower
from dpselect.accounting.prices import divergence
from dpselect.aggregates.user_sets import Int64, Sets
from dpselect.draws import Draws
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED, common_order, has_curve

if TYPE_CHECKING:
    from dpselect.aggregates.value_counts import UsersAt
    from dpselect.aggregates.weight_groups import PairsElsewhere
    from dpselect.mechanisms.quantile import Quantile

PRECISION = 64
BOUND_SHARE = Fraction(1, 20)  # of epsilon, for choosing max_items_per_user
# What max_items_per_user is chosen from. Few points and wide steps: of many far ones, some would often win by luck.
ITEM_BOUNDS = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80),
    *(100, 125, 160, 200, 250, 315, 400, 500, 630, 800, 1000),
)
LEAST_LAST_BOUND = (
    20  # where the bounds that have a curve end below, weighted-gaussian finds more of users of many items
)
SHARE_WITHIN_BOUND = Fraction(9, 10)  # of the users shall have no more items than the bound that is chosen


@dataclass(frozen=True)
class BoundChoice:
    """A private choice of max_items_per_user among these bounds, for this epsilon: data-independent, both."""

    epsilon: Fraction
    bounds: tuple[int, ...]

    @property
    def chooser(self) -> Quantile:
        """The mechanism: a private quantile of one place in the bounds per user, the least that leaves them all."""
        from dpselect.mechanisms.quantile import Quantile

        return Quantile(q=SHARE_WITHIN_BOUND, bounds=(0, len(self.bounds) - 1), step=1, epsilon=self.epsilon)

    def of_sets(self, sets: Sets, draws: Draws) -> int:
        """Choose the bound from the items of every user."""
        largest_bound = self.bounds[-1]
        total = np.zeros(largest_bound + 1, dtype=np.int64)
        for block in sets.blocks():
            total += np.bincount(np.minimum(np.diff(block.offsets), largest_bound), minlength=len(total))
        lengths = np.flatnonzero(total[1:]) + 1
        return self.of_lengths(lengths, total[lengths], draws)

    def of_pairs(self, pairs: PairsElsewhere, draws: Draws) -> int:
        """Choose the bound where users and items stay in the engine."""
        return self.of_lengths(*pairs.user_set_sizes(self.bounds[-1]), draws)

    def of_lengths(self, lengths: Int64, users: Int64, draws: Draws) -> int:
        """Choose the bound from how many users have each number of items."""
        (position,) = self.chooser(count_places(lengths, users, self.bounds), draws=draws)
        return self.bounds[int(position)]

    def bound_of_answer(self, stated: object) -> int:
        """Return the bound that an answer says was chosen; the least for one that cannot have been."""
        return stated if isinstance(stated, int) and stated in self.bounds else self.bounds[0]


@dataclass(frozen=True)
class SharedBudget:
    """A Rényi budget shared by the choice of a bound, items and counts: docs/mechanisms/renyi-shaped.md.

    The choice has `spent` some of it at the one `order` of all bounds. What answers a bound by another method has the
    epsilon that the choice leaves, and only `delta_of_others`.
    """

    order: int
    spent: Fraction
    delta_of_others: Fraction


@lru_cache(maxsize=64)
def plan_shared_budget(epsilon: Fraction, delta: Fraction, for_bound: Fraction, counts_share: Fraction) -> SharedBudget:
    """Return the budget of a union whose bound is chosen: by its price alone.

    delta_of_others = hidden + near e^(-(a - 1)(e + r)): r is what the choice of epsilon e spends at the order a.
    """
    order = common_order(epsilon, delta, counts_share)
    spent = divergence(BoundedRange(for_bound), order)
    with ctx.workprec(PRECISION):
        least = (-enclose((order - 1) * (for_bound + spent))).exp()
        delta_of_others = lower(enclose(delta * (1 - COMPOSED)) + enclose(delta * COMPOSED) * least)
    return SharedBudget(order, spent, delta_of_others)


def bounds_with_curve(epsilon: Fraction, delta: Fraction, counts_share: Fraction = Fraction(0)) -> tuple[int, ...]:
    """Return those of BOUNDS for which rounds have their curves at this price; none if the last is below ENOUGH."""
    bounds = tuple(bound for bound in ITEM_BOUNDS if has_curve(epsilon, delta, bound, counts_share))
    return bounds if LEAST_LAST_BOUND in bounds else ()


def count_places(lengths: Int64, users: Int64, bounds: Sequence[int]) -> UsersAt:
    """Count the users at each place in `bounds`: the least that leaves them all they have, or the last."""
    from dpselect.aggregates.value_counts import UsersAt

    positions_of_lengths = np.searchsorted(bounds[:-1], lengths)
    total = np.zeros(len(bounds), dtype=np.int64)
    np.add.at(total, positions_of_lengths, users)
    used_positions = np.flatnonzero(total)
    return UsersAt(used_positions.astype(np.int64), total[used_positions])
