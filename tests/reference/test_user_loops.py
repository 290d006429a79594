"""Loops of policies against slow forms, part by part; how far one user moves the weights of random neighbours."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.mechanisms import CountLaplace, GreedyGeometric, WeightedGaussian
from dpselect.mechanisms.set_union.greedy import give_one
from dpselect.mechanisms.set_union.user_loop import PARTS, USERS, contribute_in_turn
from dpselect.papers import PolicyGaussian, PolicyLaplace, WeightedLaplace
from dpselect.papers.policy import l1_descent, l2_descent, rounding_of_one
from tests.exact.union_laws import sets_of, weights_of
from tests.twins import unions as broken

SHAPES = {
    "empty": [],
    "nobody has anything": [[], []],
    "one user holds everything": [list(range(8))],
    "alike": [[0, 1, 2]] * 9,
    "nested": [list(range(n)) for n in range(9)],
    "disjoint": [[0, 1], [2, 3], [4], [5, 6, 7]],
    "one item": [[3]] * 12,
    "orders differ": [[0, 1, 2], [2, 1, 0], [1, 2, 0]] * 3,
}
SIZE = 8
databases = st.lists(
    st.permutations(range(SIZE)).flatmap(lambda p: st.integers(0, 5).map(lambda n: p[:n])), max_size=25
)


def round_robin(database, cutoff, unit):
    """l1-descent part by part: one part for each item in order, again and again."""
    weights = [0] * SIZE
    for items in database:
        rest = unit
        while rest and any(weights[i] < cutoff for i in items):
            for i in items:
                if rest and weights[i] < cutoff:
                    weights[i] += 1
                    rest -= 1
    return weights


def first_with_room(database, cutoff):
    """Greedy updates: 1 to the first item below the cutoff."""
    weights = [0] * SIZE
    for items in database:
        room = [i for i in items if weights[i] < cutoff]
        if room:
            weights[room[0]] += 1
    return weights


def straight(database, cutoff):
    """l2-descent in fifty decimal digits."""
    getcontext().prec = 50
    weights = [Decimal(0)] * SIZE
    for items in database:
        gaps = [cutoff - weights[i] for i in items]
        norm = sum((g * g for g in gaps), Decimal(0)).sqrt()
        for i, gap in zip(items, gaps, strict=True):
            weights[i] += gap if norm <= 1 else gap / norm
    return weights


def run(loop, database, zero, **terms):
    weights = [zero] * SIZE
    contribute_in_turn(partial(loop, **terms), sets_of(database, SIZE), weights, None)
    return weights


@pytest.mark.parametrize("database", SHAPES.values(), ids=list(SHAPES))
@pytest.mark.parametrize(("cutoff", "unit"), [(7, 5), (30, 12), (3, 12), (1, 1), (12, 12)])
def test_integer_loops_are_part_by_part(database, cutoff, unit):
    assert run(l1_descent, database, 0, cutoff=cutoff, unit=unit) == round_robin(database, cutoff, unit)
    assert run(give_one, database, 0, cutoff=cutoff) == first_with_room(database, cutoff)


@given(databases, st.integers(1, 40), st.integers(1, 20))
def test_integer_loops_are_part_by_part_on_any_data(database, cutoff, unit):
    assert run(l1_descent, database, 0, cutoff=cutoff, unit=unit) == round_robin(database, cutoff, unit)
    assert run(give_one, database, 0, cutoff=cutoff) == first_with_room(database, cutoff)


@given(databases, st.integers(1, 30).map(lambda n: n / 7))
def test_l2_descent_stays_within_its_rounding(database, cutoff):
    exact = straight(database, Decimal(cutoff))
    found = run(l2_descent, database, 0.0, cutoff=cutoff)
    apart = math.sqrt(sum(float(Decimal(a) - b) ** 2 for a, b in zip(found, exact, strict=True)))
    assert apart <= len(database) * float(rounding_of_one(SIZE, Fraction(cutoff)))
    assert all(0 <= w <= cutoff for w in found)


# ---- one user moves the final weights by at most 1 ----------------------------------------------------------


def with_one_more(database, place, added):
    place = place % (len(database) + 1)
    return [*database[:place], added, *database[place:]]


def moves(mechanism, database, place, added):
    before = weights_of(mechanism, database, SIZE)
    after = weights_of(mechanism, with_one_more(database, place, added), SIZE)
    return [b - a for a, b in zip(before, after, strict=True)]


added_users = st.permutations(range(SIZE)).map(lambda p: p[:5])
TERMS = {"epsilon": 3, "delta": "0.3", "max_items_per_user": 5}  # a low cutoff, which few users reach


@pytest.mark.parametrize("kind", [PolicyLaplace, GreedyGeometric])
@settings(max_examples=60)
@given(databases, st.integers(0, 25), added_users, st.sampled_from([0, Fraction(1, 3), 3]))
def test_l1_policies_only_rise_and_by_one_in_all(kind, database, place, added, alpha):
    moved = moves(kind(alpha=alpha, **TERMS), database, place, added)
    assert min(moved) >= 0
    assert sum(moved) <= 1
    if kind is GreedyGeometric:
        assert set(moved) <= {0, 1}


@settings(max_examples=120)
@given(databases, st.integers(0, 25), added_users, st.sampled_from([0, Fraction(1, 3), 5]))
def test_l2_descent_moves_by_one_in_the_euclidean_norm(database, place, added, alpha):
    mechanism = PolicyGaussian(alpha=alpha, most_users=26, **TERMS)
    assert mechanism.slack < Fraction(1, 10**12)
    assert sum(m * m for m in moves(mechanism, database, place, added)) <= (1 + mechanism.slack) ** 2


@given(databases, added_users, st.sampled_from([WeightedLaplace, WeightedGaussian, CountLaplace]))
def test_uniform_weights_move_by_their_shares(database, added, kind):
    mechanism = kind(**TERMS)
    moved = [m for m in moves(mechanism, database, 0, added) if m]
    assert moved == [mechanism.share(5)] * 5
    assert {WeightedLaplace: sum(moved), WeightedGaussian: sum(m * m for m in moved), CountLaplace: 1}[kind] <= 1


def test_greedy_has_no_sensitivity_bound():
    """The reason of Gopi et al. 2020 against the greedy policy: one user turns all who follow."""
    base = [[0], [1], [1], *[[0, 1]] * 100]
    moved = moves(broken.Greedy(cutoff=1000), base, 0, [0])
    assert sum(map(abs, moved)) == 201
    assert sum(map(abs, moves(GreedyGeometric(epsilon=1, delta="1e-6"), base, 0, [0]))) <= 1


def test_l1_shaped_descent_is_refused_under_gaussian_noise():
    """Trap (a), found by search: adding a user ends further away than the user alone could go."""
    base = [[3, 1], [1], [3], [2, 3, 0], [0, 3], [2, 3], [3, 2, 1]]
    moved = moves(broken.MaxSum(cutoff=3.0), base, 0, [1, 0, 2, 3])
    assert math.sqrt(sum(float(m) ** 2 for m in moved)) > 1.04
    right = PolicyGaussian(alpha=0, **TERMS)
    assert sum(m * m for m in moves(right, base, 0, [1, 0, 2, 3])) <= (1 + right.slack) ** 2


def test_a_shuffle_with_a_fixed_seed_is_refused():
    """Trap (c): one user more moves the places of all others, and so what they give."""
    inner, base = PolicyLaplace(alpha=0, **TERMS), [[2, 1], [3, 1, 2], [2]]
    assert sum(map(abs, moves(broken.FixedShuffle(inner=inner), base, 3, [0]))) > 1.3
    assert sum(map(abs, moves(inner, base, 3, [0]))) <= 1


def test_items_in_the_order_of_the_data_are_refused():
    """Trap (e): the first user decides in which order all others contribute."""
    inner = GreedyGeometric(epsilon=1, delta="0.1")
    base = [[1], [0], *[[0, 1]] * 5]
    assert sum(map(abs, moves(broken.DataOrder(inner=inner), base, 0, [0]))) > 1
    assert sum(map(abs, moves(inner, base, 0, [0]))) == 1


# ---- users in turn ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("users", [1, 7, USERS])
def test_parts_of_users_do_not_change_what_they_give(monkeypatch, users):
    monkeypatch.setattr("dpselect.mechanisms.set_union.user_loop.USERS", users)
    database = SHAPES["nested"] * 9
    assert run(give_one, database, 0, cutoff=5) == first_with_room(database, 5)
    assert run(l1_descent, database, 0, cutoff=7, unit=5) == round_robin(database, 7, 5)


@pytest.mark.parametrize("users", [0, 1, 19, 3000])
def test_progress_is_the_same_for_any_number_of_users(users):
    seen = []
    contribute_in_turn(partial(give_one, cutoff=5), sets_of([[0]] * users, SIZE), [0] * SIZE, seen.append)
    assert seen == [part / PARTS for part in range(PARTS)]  # their number is private
