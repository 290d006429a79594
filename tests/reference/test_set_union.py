"""Orders and bounds of set unions, and their calls as a whole."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.aggregates.user_sets import UserSets
from dpselect.errors import ParameterError
from dpselect.mechanisms import CountLaplace, GreedyGeometric
from dpselect.mechanisms.set_union.rounds import bounded, by_rank, without
from dpselect.papers import PolicyGaussian, WeightedLaplace
from tests.exact.union_laws import sets_of
from tests.papers.named import named

SIZE = 8
databases = st.lists(
    st.permutations(range(SIZE)).flatmap(lambda p: st.integers(0, 5).map(lambda n: p[:n])), min_size=1, max_size=25
)


class Fixed:
    """Draws that are all fixed: backwards, the first ones, true where the probability is a half or more."""

    secure = False

    def order(self, n):
        return np.arange(n, dtype=np.int64)[::-1].copy()

    def sample(self, offsets, most):
        kept = [range(a, min(a + most, b)) for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
        return np.array([place for block in kept for place in block], dtype=np.int64)

    def bernoullis(self, weights, unit, probability):
        answers = [w > 0 and probability.at(Fraction(w) / unit).ball(64) >= 0.5 for w in weights.tolist()]
        return np.array(answers, dtype=np.bool_)


def blocks(sets):
    return [b.tolist() for b in np.split(sets.codes, sets.offsets[1:-1])]


@settings(max_examples=40)
@given(databases, st.randoms(use_true_random=False))
def test_users_and_items_stand_as_ordered(database, random):
    users, items = random.sample(range(len(database)), len(database)), random.sample(range(SIZE), SIZE)
    found = by_rank(sets_of(database, SIZE), np.array(users), np.array(items))
    assert blocks(found) == [sorted(database[v], key=items.index) for v in users]


@settings(max_examples=40)
@given(databases, st.integers(1, 6))
def test_users_are_bounded(database, most):
    assert blocks(bounded(sets_of(database, SIZE), most, Fixed())) == [items[:most] for items in database]


@settings(max_examples=40)
@given(databases, st.sets(st.integers(0, SIZE - 1)))
def test_released_items_leave_everybody(database, gone):
    found = without(sets_of(database, SIZE), np.isin(np.arange(SIZE), list(gone)))
    assert blocks(found) == [[i for i in items if i not in gone] for items in database]


ALL = """CountLaplace CountGaussian WeightedLaplace WeightedGaussian PolicyLaplace PolicyGaussian
    GreedyGeometric""".split()


@pytest.mark.parametrize("name", ALL)
def test_a_call_bounds_orders_weighs_and_flips(name):
    sets = UserSets.from_sets([["b", "c", "d"], *[["a", "b"]] * 60, [], ["a"]])  # codes: b 0, c 1, d 2, a 3
    told = []
    mechanism = named(name)(epsilon=1, delta="1e-4", max_items_per_user=2)
    answer = mechanism(sets, draws=Fixed(), progress=told.append)
    assert answer.tolist() == [0, 3]
    assert answer.dtype == np.int64
    assert told == sorted(told)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("users", [[], [[]], [[], []]], ids=["nobody", "one empty", "two empty"])
def test_nothing_comes_of_nothing(name, users):
    mechanism = named(name)(epsilon=1, delta="1e-4", max_items_per_user=2)
    assert mechanism(UserSets.from_sets(users), draws=Fixed()).tolist() == []


def test_popular_items_are_filled_first():
    """A public list decides who is filled; without one it is the random order, here backwards."""
    sets = UserSets.from_sets([["a", "b", "c"]] * 24)
    terms = {"epsilon": 1, "delta": "1e-4", "alpha": 1}
    assert GreedyGeometric(**terms)(sets, draws=Fixed()).tolist() == [1, 2]
    assert GreedyGeometric(**terms, popular=("a", "z"))(sets, draws=Fixed()).tolist() == [0, 2]
    assert "'a'" not in repr(GreedyGeometric(**terms, popular=("a",)))


def test_a_popular_item_stands_at_its_first_place():
    """The last place of one that comes twice counted, so the best of the list came after the second."""
    assert GreedyGeometric(epsilon=1, delta="1e-6", popular=["a", "b", "a"]).weighting.popular == ("a", "b")
    with pytest.raises(ParameterError, match="popular must hold items that can be looked up"):
        GreedyGeometric(epsilon=1, delta="1e-6", popular=[["a"]])


@pytest.mark.parametrize("name", ALL)
def test_weights_of_unbounded_users_are_refused(name):
    mechanism = named(name)(epsilon=1, delta="1e-4", max_items_per_user=2)
    with pytest.raises(ParameterError, match="max_items_per_user"):
        mechanism.weigh(sets_of([[0, 1, 2]], SIZE))


def test_more_users_than_the_slack_is_for_are_refused():
    mechanism = PolicyGaussian(epsilon=1, delta="1e-4", max_items_per_user=2, most_users=3)
    mechanism.weigh(sets_of([[0]] * 3, SIZE))
    with pytest.raises(ParameterError, match="most_users") as caught:
        mechanism.weigh(sets_of([[0]] * 4, SIZE))
    assert "4" not in str(caught.value)


def test_too_many_users_for_one_sort_are_refused(monkeypatch):
    monkeypatch.setattr("dpselect.mechanisms.set_union.rounds.MOST_USERS", 2)
    with pytest.raises(ParameterError, match="sets"):
        by_rank(sets_of([[0], [0]], SIZE), np.arange(2), np.arange(SIZE))


def test_whole_weights_add_up_exactly_beyond_floats():
    """2^23 users of one item and one of three: the sum of their 2^30 parts needs more bits than a float has."""
    users = 2**23 + 1
    sets = UserSets(
        offsets=np.arange(users + 1, dtype=np.int64), codes=np.zeros(users, dtype=np.int64), size=1, label=str
    )
    last = replace(sets, offsets=sets.offsets.copy(), codes=np.concatenate([sets.codes[:-1], [0, 1, 2]]), size=3)
    last.offsets[-1] += 2
    weights, unit = WeightedLaplace(epsilon=1, delta="0.1", max_items_per_user=3).weigh(last)
    assert weights.tolist() == [(users - 1) * unit + unit // 3, unit // 3, unit // 3]
    assert CountLaplace(epsilon=1, delta="0.1", max_items_per_user=1).weigh(sets)[0].tolist() == [users]
