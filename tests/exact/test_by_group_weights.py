"""Sums by group: the law is that of scores in units of s, the price is kept over all neighbours, twins are refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import pytest
from flint import arb

from dpselect.mechanisms.top_k import group_draws
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
from tests.exact.laws import at_most, delta_between, same
from tests.exact.test_by_group import Table, answered, by_group, memoized, product_of, refused
from tests.twins import by_group_weights as twins


def weighed(groups: int, items: int, largest: int, s: int, touched: int, most: int) -> Iterator[tuple[Table, Table]]:
    """All pairs of tables, the second with one more user, who gives 1 .. s units to at most `most` items of groups."""
    given = [g for g in product(range(s + 1), repeat=items) if 0 < sum(map(bool, g)) <= most]
    for table in product(product(range(largest + 1), repeat=items), repeat=groups):
        for size in range(1, touched + 1):
            for where in combinations(range(groups), size):
                for units in product(given, repeat=size):
                    more = dict(zip(where, units, strict=True))
                    yield (
                        table,
                        tuple(
                            tuple(map(sum, zip(row, more.get(g, (0,) * items), strict=True)))
                            for g, row in enumerate(table)
                        ),
                    )


def some(law: dict[object, arb]) -> dict[object, arb]:
    return {outcome: p for outcome, p in law.items() if p != 0}


RATES = [(Fraction(1, 2), 2), (Fraction(6), 3)]
DELTAS = [Fraction(1, 3), Fraction(1, 10**6)]
TABLES = [((0, 0),), ((4, 2), (0, 2)), ((5, 3, 1), (1, 0)), ((9, 1, 0), (0, 4), (2, 1, 1))]


@pytest.mark.parametrize(("rate", "s"), RATES, ids=["soft", "hard"])
@pytest.mark.parametrize("delta", DELTAS, ids=["large", "small"])
def test_the_law_is_the_product_of_those_of_the_groups(rate, s, delta):
    """Whichever way groups are drawn, and also for scores between the multiples of s."""
    given = {"k": 2, "epsilon_per_pick": rate, "delta": delta, "max_items_per_user": 2, "sensitivity": s}
    each = LimitedDomain(k_bar=2, delta_threshold=delta, **given)
    for table in TABLES:
        assert same(some(answered(by_group(**given))(table)), product_of(each, table))


@pytest.mark.parametrize("s", [2, 7])
def test_s_times_the_scores_have_the_law_of_the_scores(s):
    """What is weighed is score / s, and bottom stands one s above: nothing else may know of s."""
    for rate, delta in ((Fraction(1, 2), DELTAS[1]), (Fraction(3), DELTAS[0])):
        given = {"k": 2, "epsilon_per_pick": rate, "delta": delta}
        for table in TABLES[:2]:
            larger = tuple(tuple(s * score for score in row) for row in table)
            assert same(
                some(answered(by_group(sensitivity=s, **given))(larger)), some(answered(by_group(**given))(table))
            )


def test_both_ways_of_drawing_are_taken(monkeypatch):
    """Or the tests above would be about one of them."""
    taken, units = set(), group_draws._units
    monkeypatch.setattr(group_draws, "_units", lambda *given: taken.update((found := units(*given)) > 0) or found)
    for rate, s in RATES:
        for delta in DELTAS:
            answered(by_group(epsilon_per_pick=rate, delta=delta, sensitivity=s))(TABLES[1])
    assert taken == {True, False}


@pytest.mark.parametrize("twin", twins.BOUNDS, ids=lambda twin: twin.__name__)
def test_a_bound_that_is_none_gives_another_law(monkeypatch, twin):
    """All groups are drawn from it first, so what it misses is never made up for."""
    monkeypatch.setattr(group_draws.FirstPick, "of", twin)
    given = {"epsilon_per_pick": Fraction(1, 2), "delta": DELTAS[1], "sensitivity": 3}
    each = LimitedDomain(k=1, k_bar=2, delta_threshold=DELTAS[1], **given)
    assert not same(some(answered(by_group(**given))(((1, 0),))), product_of(each, ((1, 0),)))


CASES = [
    {"k": 1, "max_groups_per_user": 1, "sensitivity": 3},
    {"k": 1, "max_groups_per_user": 2, "sensitivity": 2, "max_items_per_user": 1},
    {"k": 2, "max_groups_per_user": 1, "sensitivity": 2, "max_items_per_user": 1},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("pick", [Fraction(1, 20), Fraction(2)], ids=["soft", "hard"])
def test_the_price_is_kept_over_all_neighbours(case, pick):
    """By adding up: the hockey-stick at G k epsilon_per_pick is at most G delta_threshold."""
    mechanism = by_group(epsilon_per_pick=pick, **case)
    groups, most = case["max_groups_per_user"], case.get("max_items_per_user", 2)
    assert mechanism.privacy.epsilon == groups * case["k"] * pick
    laws = memoized(answered(mechanism))
    for a, b in weighed(2, 2, 1, case["sensitivity"], groups, most):
        assert at_most(delta_between(laws(a), laws(b), mechanism.privacy.epsilon), Fraction(1, 5))


def test_a_claim_is_nearly_reached():
    """So that a bound which is half as large would be refused."""
    given = {"max_groups_per_user": 2, "k_bar": 1, "epsilon_per_pick": Fraction(1, 20), "delta": Fraction(1, 50)}
    mechanism = by_group(sensitivity=2, **given)
    laws = memoized(answered(mechanism))
    deltas = [delta_between(laws(a), laws(b), mechanism.privacy.epsilon) for a, b in weighed(2, 1, 1, 2, 2, 1)]
    assert max(float(delta.mid()) for delta in deltas) > 0.9 / 50


# ---- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [Fraction(1, 5), Fraction(1, 10**6)], ids=["large", "small"])
def test_bottom_one_unit_above_is_refused(delta):
    """After + 1, as for numbers of users, in either way of drawing: an item of one user stands up to s above."""
    given = {"k": 1, "k_bar": 1, "epsilon_per_pick": Fraction(2), "delta": delta, "sensitivity": 3}
    pairs = list(weighed(1, 2, 1, 3, 1, 2))
    assert not refused(answered(by_group(**given)), pairs, Fraction(2), delta)
    assert refused(answered(twins.OneUnitAbove(by_group(**given))), pairs, Fraction(2), delta)


def test_a_rate_that_forgets_s_is_refused():
    twin = by_group(epsilon_per_pick=Fraction(1))
    assert refused(answered(twin), weighed(1, 2, 2, 2, 1, 2), Fraction(1), Fraction(1, 5))


def largest(mechanism, scores) -> arb:
    """The largest delta over some users and one more, of rows (group, item, units); the bound is one group a user."""
    run = memoized(answered(mechanism))
    found = []
    for users in ([], [[(0, 0, 2)]], [[(1, 1, 2)], [(0, 1, 1)]]):
        for more in ([(0, 0, 2), (0, 0, 2)], [(0, 0, 1), (0, 1, 1), (0, 1, 2)], [(1, 0, 2)] * 4):
            before, after = scores(users), scores([*users, more])
            found.append(delta_between(run(before), run(after), mechanism.privacy.epsilon))
    return max(found, key=lambda delta: float(delta.mid()))


def test_rows_that_are_cut_one_by_one_are_refused():
    mechanism = by_group(sensitivity=2, epsilon_per_pick=Fraction(1))
    assert at_most(largest(mechanism, twins.scores), Fraction(1, 5))
    assert not at_most(largest(mechanism, twins.cut_by_row), Fraction(1, 5))
