"""From how many users on an item of a set union is found: by the exact law, and with half of them it is not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpselect._ground.methods import NeedsBound, method_row, names
from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import GreedyGeometric, RenyiShaped
from dpselect.testing import law
from dpselect.utility.union_accuracy import found_accuracy, users_for

ALONE = [name for name in names("union") if name != "renyi-shaped"]
APART = [
    "count-laplace", "count-gaussian", "weighted-gaussian", "renyi-shaped",
]  # fmt: skip


def made(name: str, most: int = 3, epsilon: int = 4) -> Any:
    bound = {"max_items_per_user": most} if method_row("union", name).bound is not NeedsBound.NONE else {}
    return method_row("union", name).make(epsilon=epsilon, delta=Fraction(1, 1000), **bound)


def chance(mechanism: Any, users: int, items: int) -> float:
    """That the item is found which so many users have, and besides it the same `items` - 1 others."""
    sets = UserSets.from_sets([[f"item {i}" for i in range(items)]] * users)
    found = law(lambda draws: 0 in mechanism(sets, draws=draws).tolist())
    return float(found[True].mid()) if True in found else 0.0


@pytest.mark.parametrize("name", ALONE)
def test_users_of_one_item(name: str) -> None:
    """By the weight that they give, and the law of the release at it: policies put users into a random order."""
    mechanism = made(name, epsilon=1)
    needed = users_for(mechanism, 0.95, 1)
    assert needed is not None

    def likely(users: int) -> float:
        weights, unit = mechanism.weigh(UserSets.from_sets([["item"]] * users))
        return float(mechanism.law.at(Fraction(weights.tolist()[0]) / unit).ball(64).mid())

    assert likely(needed) >= 0.95
    assert likely(needed + 3) >= 0.95
    assert needed == 1 or likely(needed - 1) < 0.95


@pytest.mark.parametrize("items", [1, 2])
@pytest.mark.parametrize("name", APART)
def test_users_of_several_items(name: str, items: int) -> None:
    mechanism = made(name, most=2)
    needed = users_for(mechanism, 0.95, items)
    assert needed is not None
    assert chance(mechanism, needed, items) >= 0.95
    assert chance(mechanism, needed // 2, items) < 0.95


def test_a_curve_that_ends_too_low_says_nothing() -> None:
    assert users_for(RenyiShaped(epsilon=1, delta="1e-6", max_items_per_user=3), 1 - 2**-30, 1) is None


def test_a_cutoff_that_is_too_low_says_nothing() -> None:
    """Whole cutoffs and a large epsilon: no number of users makes an item as likely as that."""
    low = GreedyGeometric(epsilon=2, delta="1e-3", alpha=0)
    assert users_for(low, 0.95, 1) is None
    assert "is not known beforehand" in found_accuracy(low, None).sentences[0]


def test_a_policy_says_nothing_of_users_of_several_items() -> None:
    """Until then as many of them were said to be enough as of users of one item: what they give depends on others."""
    [said] = found_accuracy(made("greedy-geometric"), 3).sentences
    assert "this says nothing about them" in said
    assert "of at most" not in said
    [said] = found_accuracy(made("weighted-gaussian"), 3).sentences
    assert "users of at most 3 items each" in said
