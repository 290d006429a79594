"""Discovery by group: over all of the table it is private at the price of the groups that one user counts in."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms.top_k.discover import picks
from dpselect.testing import law
from tests.by_names import plan_of
from tests.exact.laws import at_most, delta_between

EPSILON, DELTA, SMALL = Fraction(1), Fraction(1, 10), Fraction(1, 10**6)
PAIRS = [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")]


@cache
def plan(groups: int, delta: Fraction = DELTA):
    query = plan_of(
        "top_k",
        k=2,
        epsilon=EPSILON,
        delta=delta,
        by="g",
        max_groups_per_user=groups,
        max_items_per_user=1,
        method="discover",
    )
    return query.selection


def sets(crowd: tuple[int, ...], *extra: tuple[int, ...]) -> UserSets:
    """So many users of each pair alone, and others of several; codes are in the order of pairs, as in engines."""
    users = [[pair] for pair, size in zip(PAIRS, crowd, strict=True) for _ in range(size)]
    users += [[PAIRS[place] for place in one] for one in extra]
    known = sorted({pair for user in users for pair in user})
    offsets = np.cumsum([0, *map(len, users)])
    codes = np.array([known.index(pair) for user in users for pair in user], dtype=np.int64)
    return UserSets(offsets=offsets.astype(np.int64), codes=codes, size=len(known), label=known.__getitem__)


def told(groups: int, crowd: tuple[int, ...], *extra: tuple[int, ...], delta: Fraction = DELTA):
    """The law of the items, ranked in their groups."""
    made = plan(groups, delta)

    def run(draws):
        outcome = made.draw_by_group(sets(crowd, *extra), [], draws, None)
        return tuple((item.group, item.label) for item in outcome.items)

    return law(run)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("crowd", [(0, 0, 0, 0), (6, 3, 0, 0), (30, 30, 5, 0), (30, 30, 30, 30), (6, 5, 6, 5)])
def test_private_for_one_user_more(groups, crowd):
    """In one group, or in two, with any of the pairs."""
    without = told(groups, crowd)
    for size in (1, 2):
        for new in combinations(range(4), size):
            if len({PAIRS[place][0] for place in new}) <= groups:
                assert at_most(delta_between(without, told(groups, crowd, new), EPSILON), DELTA)


def test_more_groups_than_the_price_is_for_get_less_each():
    """Each group of two has one pick; a user in both is told of by two of them."""
    one, two = plan(1, delta=SMALL), plan(2, delta=SMALL)
    mechanism = one.selector.mechanism(1)
    assert one._epsilon_per_pick(mechanism, one._largest([2, 2])) == mechanism.epsilon_per_pick(1)
    assert (
        two._epsilon_per_pick(mechanism, two._largest([2, 2, 1]))
        == mechanism.epsilon_per_pick(2)
        < mechanism.epsilon_per_pick(1)
    )
    assert two._epsilon_per_pick(mechanism, two._largest([1, 9])) == mechanism.epsilon_per_pick(picks(2, np.arange(9)))
    assert two._epsilon_per_pick(mechanism, two._largest([])) == EPSILON


def test_the_price_of_one_group_for_a_user_of_two_is_refused():
    """The twin: the picks of the largest group alone, where a user counts in both. All pairs are surely found here."""
    crowd, new, left = (80, 84, 80, 84), (0, 2), EPSILON / 2
    assert plan(2, delta=SMALL).selector.mechanism(1).union_share == Fraction(1, 2)
    right = delta_between(told(2, crowd, new, delta=SMALL), told(2, crowd, delta=SMALL), left)
    twin = delta_between(told(1, crowd, new, delta=SMALL), told(1, crowd, delta=SMALL), left)
    assert at_most(right, SMALL)
    assert not at_most(twin, Fraction(1, 1000))
