"""Limited domain by group: the law is a product, the price is that of a user's groups, and every twin is refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import pytest
from flint import arb, ctx

from dpselect.aggregates.groups import GroupedCounts
from dpselect.mechanisms import LimitedDomainByGroup
from dpselect.mechanisms.top_k import group_draws
from dpselect.mechanisms.top_k.limited_domain import LimitedDomain
from dpselect.testing import law
from tests.exact.laws import BITS, at_most, delta_between, law_of, same
from tests.twins import by_group as broken

Table = tuple[tuple[int, ...], ...]  # the counts of every group


def answered(mechanism):
    """From counts to the law of what is shown: for each group that has any, its picked places."""

    def run(table: Table):
        found = GroupedCounts.of({g: dict(enumerate(counts)) for g, counts in enumerate(table)})
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


def moves(counts: tuple[int, ...], most: int) -> Iterator[tuple[int, ...]]:
    """One group after one more user who has up to so many items of it."""
    for size in range(1, most + 1):
        for chosen in combinations(range(len(counts)), size):
            yield tuple(c + (i in chosen) for i, c in enumerate(counts))


def neighbours(groups: int, items: int, largest: int, touched: int, most: int) -> Iterator[tuple[Table, Table]]:
    """All pairs of tables, the second with one more user, who is in at most `touched` groups."""
    one = list(product(range(largest + 1), repeat=items))
    for table in product(one, repeat=groups):
        for size in range(1, touched + 1):
            for where in combinations(range(groups), size):
                for moved in product(*(list(moves(table[g], most)) for g in where)):
                    after = dict(zip(where, moved, strict=True))
                    yield table, tuple(after.get(g, counts) for g, counts in enumerate(table))


@pytest.mark.parametrize("rate", [Fraction(1, 2), Fraction(3)], ids=["soft", "hard"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(1, 10**6)])
@pytest.mark.parametrize("k_bar", [2, 4])  # of items, one is missing, or several that share their place
def test_the_law_is_the_product_of_those_of_the_groups(rate, k, delta, k_bar):
    """Whichever way groups are drawn, one by one or all from a bound."""
    mechanism = by_group(k=k, k_bar=k_bar, epsilon_per_pick=rate, delta=delta, max_items_per_user=2)
    each = LimitedDomain(
        k=k, k_bar=k_bar, epsilon_per_pick=rate, delta=delta, delta_threshold=delta, max_items_per_user=2
    )
    for table in [((0, 0),), ((2, 1), (0, 1)), ((3, 3, 1), (1, 0)), ((6, 1, 0), (0, 2), (1, 1, 1))]:
        found = answered(mechanism)(table)
        assert same({o: p for o, p in found.items() if p != 0}, product_of(each, table))


def test_both_ways_of_drawing_are_taken(monkeypatch):
    """Or the test above would be about one of them."""
    taken = set()
    units = group_draws._units
    monkeypatch.setattr(group_draws, "_units", lambda *given: taken.update((found := units(*given)) > 0) or found)
    for rate, delta in ((Fraction(1, 2), Fraction(1, 10**6)), (Fraction(3), Fraction(1, 3))):
        answered(by_group(epsilon_per_pick=rate, delta=delta))(((2, 1), (0, 1)))
    assert taken == {True, False}


CASES = [
    {"k": 1, "max_groups_per_user": 1},
    {"k": 1, "max_groups_per_user": 2},
    {"k": 2, "max_groups_per_user": 1},
    {"k": 2, "max_groups_per_user": 1, "max_items_per_user": 1},
    {"k": 1, "max_groups_per_user": 2, "max_items_per_user": 1},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("pick", [Fraction(1, 20), Fraction(2)], ids=["soft", "hard"])
def test_the_price_is_kept_over_all_neighbours(case, pick):
    """By adding up: the hockey-stick at G k epsilon_per_pick is at most G delta_threshold."""
    mechanism = by_group(epsilon_per_pick=pick, **case)
    groups, most = case["max_groups_per_user"], case.get("max_items_per_user", 2)
    assert mechanism.privacy.epsilon == groups * case["k"] * pick
    assert mechanism.privacy.delta == Fraction(1, 5)
    laws = memoized(answered(mechanism))
    for a, b in neighbours(2, 2, 1, groups, most):
        assert at_most(delta_between(laws(a), laws(b), mechanism.privacy.epsilon), Fraction(1, 5))


@pytest.mark.parametrize("groups", [1, 2])
def test_a_wanted_total_is_kept_over_all_neighbours(groups):
    mechanism = LimitedDomainByGroup(k=2, k_bar=2, max_groups_per_user=groups, epsilon=1, delta=Fraction(1, 10))
    assert mechanism.privacy.epsilon == 1
    laws = memoized(answered(mechanism))
    for a, b in neighbours(2, 2, 1, groups, 2):
        assert at_most(delta_between(laws(a), laws(b), Fraction(1)), Fraction(1, 10))


def test_a_claim_is_nearly_reached():
    """So that a bound which is half as large would be refused."""
    mechanism = by_group(max_groups_per_user=2, k_bar=1, epsilon_per_pick=Fraction(1, 20), delta=Fraction(1, 50))
    laws = memoized(answered(mechanism))
    worst = max(
        float(delta_between(laws(a), laws(b), mechanism.privacy.epsilon).mid()) for a, b in neighbours(2, 1, 1, 2, 1)
    )
    assert worst > 0.9 / 50


def memoized(run):
    known = {}
    return lambda table: known.setdefault(table, None) or known.__setitem__(table, run(table)) or known[table]


# ---- what is refused --------------------------------------------------------------------------------------


def refused(run, pairs, epsilon, delta) -> bool:
    laws = memoized(run)
    return not all(at_most(delta_between(laws(a), laws(b), epsilon), delta) for a, b in pairs)


def test_a_user_in_any_number_of_groups_is_refused():
    """Priced for one group, a user who counts in two breaks the promise."""
    mechanism = by_group()
    assert refused(answered(mechanism), neighbours(2, 2, 1, 2, 2), mechanism.privacy.epsilon, Fraction(1, 5))


def test_the_threshold_of_one_group_for_each_of_two_is_refused():
    """delta_threshold once, where a user is in two groups: 2 delta_threshold are needed."""
    twin = by_group(max_groups_per_user=2, delta=Fraction(2, 50), k_bar=1, epsilon_per_pick=Fraction(1, 20))
    epsilon = twin.privacy.epsilon
    assert refused(answered(twin), neighbours(2, 1, 1, 2, 1), epsilon, Fraction(1, 50))
    assert not refused(answered(twin), neighbours(2, 1, 1, 2, 1), epsilon, Fraction(2, 50))


def test_a_known_domain_tells_that_a_group_exists():
    """Peeling answers in every group that exists, so who is alone in one is told from the answer."""
    run = broken.peeled_in_groups_that_exist(Fraction(1, 2))
    assert refused(run, [(((0, 0),), ((1, 0),))], Fraction(1, 2), Fraction(1, 5))


def test_the_price_by_the_outcome_counts_every_group_that_a_user_may_be_in():
    """Two groups cost both, and one that is not shown costs the pick of its bottom."""
    pick, delta = Fraction(2), Fraction(1, 10**4)
    run = answered(by_group(k=2, max_groups_per_user=2, epsilon_per_pick=pick, delta=delta))

    def worst(price) -> float:
        return broken.worst_excess(run, neighbours(2, 1, 6, 2, 1), price)

    assert worst(lambda found: broken.charged(found, 2, 2, pick)) <= float(delta) * (1 + 1e-9)
    assert worst(lambda found: broken.largest_alone(found, 2, pick)) > float(delta) * 1.5
    assert worst(lambda found: broken.unseen_free(found, 2, pick)) > float(delta) * 1.5
