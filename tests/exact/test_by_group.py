"""Limited domain by group, of users and of units: the law is a product, the price that of a user's groups; twins."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from flint import arb, ctx

from dpselect.aggregates.groups import GroupedCounts
from dpselect.mechanisms import LimitedDomainByGroup
from dpselect.mechanisms.top_k import group_draws
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
from dpselect.testing import law
from tests.exact.grids import Table, tables
from tests.exact.laws import BITS, at_most, law_of, private, same, worst_delta
from tests.twins import by_group as broken
from tests.twins import by_group_weights as of_weights


def answered(mechanism):
    """From counts to the law of what is shown: for each group that has any, its picked places."""

    def run(table: Table):
        found = GroupedCounts.from_counts({g: dict(enumerate(counts)) for g, counts in enumerate(table)})
        return law(lambda draws: tuple(shown(mechanism, found, draws)))

    return run


def shown(mechanism, found, draws):
    for one in mechanism.picks(found, draws):
        yield found.groups(one.groups)[0], tuple(found.items(one.rows))


def product_of(each: LimitedDomain, table: Table) -> dict[object, arb]:
    """The laws of the groups by themselves, multiplied."""
    expected = {(): arb(1)}
    with ctx.workprec(BITS):
        for g, scores in enumerate(table):
            one = law_of(each, scores)
            expected = {
                (*before, *([(g, picks)] if picks else [])): p * q
                for before, p in expected.items()
                for picks, q in one.items()
            }
    return expected


def by_group(**settings) -> LimitedDomainByGroup:
    settings = {
        "k": 1,
        "max_groups_per_user": 1,
        "delta": Fraction(1, 5),
        "epsilon_per_pick": Fraction(1, 2),
    } | settings
    groups = settings["max_groups_per_user"]
    return LimitedDomainByGroup(**{"k_bar": 2, "delta_threshold": settings["delta"] / groups} | settings)


def some(law: dict[object, arb]) -> dict[object, arb]:
    return {outcome: p for outcome, p in law.items() if p != 0}


# Rates and units of a score; one user moves a number of users by one unit.
RATES = [(Fraction(1, 2), 1), (Fraction(3), 1), (Fraction(1, 2), 2), (Fraction(6), 3)]
DELTAS = [Fraction(1, 3), Fraction(1, 10**6)]
TABLES = [((0, 0),), ((2, 1), (0, 1)), ((4, 2), (0, 2)), ((5, 3, 1), (1, 0)), ((9, 1, 0), (0, 4), (2, 1, 1))]


@pytest.mark.parametrize(("rate", "s"), RATES)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("k_bar", [2, 4])  # of items, one is missing, or several that share their place
def test_the_law_is_the_product_of_those_of_the_groups(rate, s, k, delta, k_bar):
    """Whichever way groups are drawn, one by one or all from a bound, and for scores between the multiples of s."""
    given = {"k": k, "k_bar": k_bar, "epsilon_per_pick": rate, "delta": delta, "max_items_per_user": 2}
    mechanism, each = by_group(sensitivity=s, **given), LimitedDomain(delta_threshold=delta, sensitivity=s, **given)
    for table in TABLES:
        assert same(some(answered(mechanism)(table)), product_of(each, table))


@pytest.mark.parametrize("s", [2, 7])
def test_s_times_the_scores_have_the_law_of_the_scores(s):
    """What is weighed is score / s, and bottom stands one s above: nothing else may know of s."""
    for rate, delta in ((Fraction(1, 2), DELTAS[1]), (Fraction(3), DELTAS[0])):
        given = {"k": 2, "epsilon_per_pick": rate, "delta": delta}
        for table in (TABLES[0], TABLES[2]):
            larger = tuple(tuple(s * score for score in row) for row in table)
            found = some(answered(by_group(sensitivity=s, **given))(larger))
            assert same(found, some(answered(by_group(**given))(table)))


@pytest.mark.parametrize("rates", [RATES[:2], RATES[2:]], ids=["users", "units"])
def test_both_ways_of_drawing_are_taken(monkeypatch, rates):
    """Or the tests above would be about one of them."""
    taken, units = set(), group_draws._units
    monkeypatch.setattr(group_draws, "_units", lambda *given: taken.update((found := units(*given)) > 0) or found)
    for (rate, s), delta in product(rates, DELTAS):
        answered(by_group(epsilon_per_pick=rate, delta=delta, sensitivity=s))(TABLES[2])
    assert taken == {True, False}


@pytest.mark.parametrize("twin", of_weights.BOUNDS, ids=lambda twin: twin.__name__)
def test_a_bound_that_is_none_gives_another_law(monkeypatch, twin):
    """All groups are drawn from it first, so what it misses is never made up for."""
    monkeypatch.setattr(group_draws.FirstPick, "for_terms", twin)
    given = {"epsilon_per_pick": Fraction(1, 2), "delta": DELTAS[1], "sensitivity": 3}
    each = LimitedDomain(k=1, k_bar=2, delta_threshold=DELTAS[1], **given)
    assert not same(some(answered(by_group(**given))(((1, 0),))), product_of(each, ((1, 0),)))


CASES = [
    {"k": 1, "max_groups_per_user": 1},
    {"k": 1, "max_groups_per_user": 2},
    {"k": 2, "max_groups_per_user": 1},
    {"k": 2, "max_groups_per_user": 1, "max_items_per_user": 1},
    {"k": 1, "max_groups_per_user": 2, "max_items_per_user": 1},
    {"k": 1, "max_groups_per_user": 1, "sensitivity": 3},
    {"k": 1, "max_groups_per_user": 2, "sensitivity": 2, "max_items_per_user": 1},
    {"k": 2, "max_groups_per_user": 1, "sensitivity": 2, "max_items_per_user": 1},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("pick", [Fraction(1, 20), Fraction(2)], ids=["soft", "hard"])
def test_the_price_is_kept_over_all_neighbours(case, pick):
    """By adding up: the hockey-stick at G k epsilon_per_pick is at most G delta_threshold."""
    mechanism, groups = by_group(epsilon_per_pick=pick, **case), case["max_groups_per_user"]
    assert mechanism.privacy.epsilon == groups * case["k"] * pick
    assert mechanism.privacy.delta == Fraction(1, 5)
    near = tables(2, 2, 1, groups, most=case.get("max_items_per_user"), cap=case.get("sensitivity", 1))
    assert private(cache(answered(mechanism)), near, mechanism.privacy.epsilon, Fraction(1, 5))


@pytest.mark.parametrize("groups", [1, 2])
def test_a_wanted_total_is_kept_over_all_neighbours(groups):
    mechanism = LimitedDomainByGroup(k=2, k_bar=2, max_groups_per_user=groups, epsilon=1, delta=Fraction(1, 10))
    assert mechanism.privacy.epsilon == 1
    assert private(cache(answered(mechanism)), tables(2, 2, 1, groups), Fraction(1), Fraction(1, 10))


@pytest.mark.parametrize("s", [1, 2])
def test_a_claim_is_nearly_reached(s):
    """So that a bound which is half as large would be refused."""
    given = {"max_groups_per_user": 2, "k_bar": 1, "epsilon_per_pick": Fraction(1, 20), "delta": Fraction(1, 50)}
    mechanism = by_group(sensitivity=s, **given)
    worst = worst_delta(cache(answered(mechanism)), tables(2, 1, 1, 2, cap=s), mechanism.privacy.epsilon)
    assert float(worst.mid()) > 0.9 / 50


# ---- what is refused --------------------------------------------------------------------------------------


def test_a_user_in_any_number_of_groups_is_refused():
    """Priced for one group, a user who counts in two breaks the promise."""
    mechanism = by_group()
    assert not private(cache(answered(mechanism)), tables(2, 2, 1, 2), mechanism.privacy.epsilon, Fraction(1, 5))


def test_the_threshold_of_one_group_for_each_of_two_is_refused():
    """delta_threshold once, where a user is in two groups: 2 delta_threshold are needed."""
    twin = by_group(max_groups_per_user=2, delta=Fraction(2, 50), k_bar=1, epsilon_per_pick=Fraction(1, 20))
    worst = worst_delta(cache(answered(twin)), tables(2, 1, 1, 2), twin.privacy.epsilon)
    assert at_most(worst, Fraction(2, 50))
    assert not at_most(worst, Fraction(1, 50))


def test_a_known_domain_tells_that_a_group_exists():
    """Peeling answers in every group that exists, so who is alone in one is told from the answer."""
    run = broken.peeled_in_groups_that_exist(Fraction(1, 2))
    assert not private(run, [(((0, 0),), ((1, 0),))], Fraction(1, 2), Fraction(1, 5))


def test_the_price_by_the_outcome_counts_every_group_that_a_user_may_be_in():
    """Two groups cost both, and one that is not shown costs the pick of its bottom."""
    pick, delta = Fraction(2), Fraction(1, 10**4)
    run = answered(by_group(k=2, max_groups_per_user=2, epsilon_per_pick=pick, delta=delta))

    def worst(price) -> float:
        return broken.worst_excess(run, tables(2, 1, 6, 2), price)

    assert worst(lambda found: broken.charged(found, 2, 2, pick)) <= float(delta) * (1 + 1e-9)
    assert worst(lambda found: broken.largest_alone(found, 2, pick)) > float(delta) * 1.5
    assert worst(lambda found: broken.unseen_free(found, 2, pick)) > float(delta) * 1.5


@pytest.mark.parametrize("delta", [Fraction(1, 5), Fraction(1, 10**6)], ids=["large", "small"])
def test_bottom_one_unit_above_is_refused(delta):
    """After + 1, as for numbers of users, in either way of drawing: an item of one user stands up to s above."""
    given = {"k": 1, "k_bar": 1, "epsilon_per_pick": Fraction(2), "delta": delta, "sensitivity": 3}
    near = list(tables(1, 2, 1, 1, cap=3))
    assert private(cache(answered(by_group(**given))), near, Fraction(2), delta)
    assert not private(cache(answered(of_weights.OneUnitAbove(by_group(**given)))), near, Fraction(2), delta)


def test_a_rate_that_forgets_s_is_refused():
    twin = by_group(epsilon_per_pick=Fraction(1))
    assert not private(cache(answered(twin)), tables(1, 2, 2, 1, cap=2), Fraction(1), Fraction(1, 5))


def worst_of_rows(mechanism, scores) -> arb:
    """The largest delta over some users and one more, of rows (group, item, units); the bound is one group a user."""
    crowds = ([], [[(0, 0, 2)]], [[(1, 1, 2)], [(0, 1, 1)]])
    added = ([(0, 0, 2), (0, 0, 2)], [(0, 0, 1), (0, 1, 1), (0, 1, 2)], [(1, 0, 2)] * 4)
    near = [(scores(users), scores([*users, more])) for users in crowds for more in added]
    return worst_delta(cache(answered(mechanism)), near, mechanism.privacy.epsilon)


def test_rows_that_are_cut_one_by_one_are_refused():
    mechanism = by_group(sensitivity=2, epsilon_per_pick=Fraction(1))
    assert at_most(worst_of_rows(mechanism, of_weights.scores), Fraction(1, 5))
    assert not at_most(worst_of_rows(mechanism, of_weights.cut_by_row), Fraction(1, 5))
