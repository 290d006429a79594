"""Wrong ways to rank sums in every group. Tests must refuse each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpselect.aggregates.groups import GroupedCounts
from dpselect.draws import Draws
from dpselect.mechanisms import LimitedDomainByGroup
from dpselect.mechanisms.top_k.group_draws import FirstPick, Picked, picked
from dpselect.mechanisms.top_k.limited_domain import Terms
from tests.twins import totals

Rows = Sequence[tuple[int, int, int]]  # of one user: group, item and units
GROUPS, ITEMS, CAP = 2, 2, 2


@dataclass(frozen=True)
class OneUnitAbove:
    """Bottom one unit above the item after k_bar, as it stands for numbers of users."""

    right: LimitedDomainByGroup

    def picks(self, found: GroupedCounts, draws: Draws) -> list[Picked]:
        """The same rate, of a sensitivity of 1."""
        terms = self.right.each.terms
        return picked(found, replace(terms, epsilon_per_pick=terms.rate, sensitivity=1), draws)


def rate_of_a_pick(terms: Terms) -> FirstPick:
    """A bound that falls as if scores moved by 1."""
    return FirstPick(terms.epsilon_per_pick, terms.bottom(terms.k_bar), terms.sensitivity)


def farther_bottom(terms: Terms) -> FirstPick:
    """A bound with bottom at twice s above the item after k_bar."""
    return FirstPick(terms.rate, terms.bottom(terms.k_bar), 2 * terms.sensitivity)


def without_swaps(terms: Terms) -> FirstPick:
    """A bound with a bottom that weighs ten times as much."""
    return FirstPick(terms.rate, terms.bottom(terms.k_bar) * Fraction(10), terms.sensitivity)


BOUNDS = [rate_of_a_pick, farther_bottom, without_swaps]


def scores(users: Sequence[Rows]) -> tuple[tuple[int, ...], ...]:
    """What is right: a user's own total of an item in a group, cut to the cap, and then the sum."""
    return tuple(totals.scores(_in(users, group), ITEMS, CAP) for group in range(GROUPS))


def cut_by_row(users: Sequence[Rows]) -> tuple[tuple[int, ...], ...]:
    """Every row is cut to the cap, and a user may have many."""
    return tuple(totals.cut_by_row(_in(users, group), ITEMS, CAP) for group in range(GROUPS))


def _in(users: Sequence[Rows], group: int) -> list[list[tuple[int, int]]]:
    return [[(item, units) for g, item, units in rows if g == group] for rows in users]
