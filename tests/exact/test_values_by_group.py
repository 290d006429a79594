"""Quantiles and choices by group: the law is a product, the price is that of a user's groups, twins are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.privacy import BoundedRange, PureDP, Steps
from dpselect.aggregates.groups import FoundGroups, GroupedCounts
from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import ChoiceByGroup, QuantileByGroup
from dpselect.queries.choose import ChoosePlan, choose_by_group
from dpselect.queries.groups import SHARE_FOR_FINDING
from dpselect.testing import law
from tests.by_names import plan_of
from tests.exact.cells import WithoutNoise, both_ways, values_and_cells, with_noise
from tests.exact.grids import tables
from tests.exact.laws import (
    BITS,
    at_most,
    delta_between,
    equals,
    log_range,
    max_log_ratio,
    private,
    same,
    worst_delta,
)
from tests.twins import values_by_group as broken

POINTS = range(3)
DOMAIN = ("a", "b", "c")
Table = tuple[tuple, ...]  # of every group: the values of its users, or the counts of its items


def quantiles(**more) -> QuantileByGroup:
    usual = {"bounds": (0, 2), "step": 1, "max_groups_per_user": 1, "epsilon": 2}
    return QuantileByGroup(**usual | more)


def choices(**more) -> ChoiceByGroup:
    return ChoiceByGroup(**{"max_groups_per_user": 1, "epsilon": 2} | more)


def real_law(mechanism, table: Table):
    """The law of the answers of all groups, by the real call."""
    of = dict(enumerate(table))
    if isinstance(mechanism, ChoiceByGroup):
        of = {g: dict(zip(DOMAIN, counts, strict=False)) for g, counts in of.items()}
        return law(lambda draws: tuple(str(answer) for answer in mechanism(of, draws=draws).values()))
    of = {g: list(values) for g, values in of.items()}
    return law(lambda draws: tuple(map(values_and_cells, mechanism(of, draws=draws).values())), WithoutNoise)


def noisy_laws_of(mechanism):
    """The laws of two tables that are compared, cells of quantiles with their noise."""
    laws = laws_of(mechanism)
    if isinstance(mechanism, ChoiceByGroup):
        return lambda both: laws(both[0])
    of_all = cache(lambda table: flat(laws(table)))
    return lambda both: with_noise(of_all(both[0]), of_all(both[1]), mechanism.each.rate)


def flat(of_groups):
    """The values of all groups, and their cells."""
    return {
        (tuple(v for v, _ in found), tuple(cell for _, cells in found for cell in cells)): p
        for found, p in of_groups.items()
    }


def laws_of(mechanism):
    """The same as a product, which a test below compares with the real call: each group is enumerated once."""
    each = cache(lambda of: real_law(mechanism, (of,)))

    def run(table: Table):
        found = {(): arb(1)}
        with ctx.workprec(BITS):
            for of in table:
                found = {(*a, *b): p * q for a, p in found.items() for b, q in each(of).items()}
        return found

    return cache(run)


def of_values(groups: int, most: int, touched: int, points: Iterable[int] = POINTS) -> Iterator[tuple[Table, Table]]:
    """Tables of the values of up to so many users in each group, the second with one more user in some groups."""
    one = [values for n in range(most + 1) for values in combinations_with_replacement(points, n)]
    for table in product(one, repeat=groups):
        for where in some(groups, touched):
            for values in product(points, repeat=len(where)):
                more = dict(zip(where, values, strict=True))
                yield table, tuple((*of, more[g]) if g in more else of for g, of in enumerate(table))


def some(groups: int, touched: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, touched + 1):
        yield from combinations(range(groups), size)


CASES = {
    "median": (quantiles(), lambda: of_values(2, 2, 1)),
    "medians of two": (quantiles(max_groups_per_user=2), lambda: of_values(2, 1, 2)),
    "quartiles of two": (
        quantiles(q=(Fraction(1, 4), Fraction(3, 4)), bounds=(0, 1), max_groups_per_user=2),
        lambda: of_values(2, 1, 2, (0, 1)),
    ),
    "medians of two with a delta": (
        quantiles(q=(Fraction(1, 4), Fraction(3, 4)), bounds=(0, 1), max_groups_per_user=2, delta=Fraction(1, 4)),
        lambda: of_values(2, 1, 2, (0, 1)),
    ),
    "choice": (choices(), lambda: tables(2, 2, 1, 1)),
    "choices of two": (choices(max_groups_per_user=2), lambda: tables(2, 2, 1, 2)),
    "flips of two": (choices(max_groups_per_user=2, method="permute-and-flip"), lambda: tables(2, 2, 1, 2)),
    "choices of two with a delta": (
        choices(max_groups_per_user=2, delta=Fraction(1, 4)),
        lambda: tables(2, 2, 1, 2),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_price_is_kept_over_all_neighbours(case):
    mechanism, neighbours = CASES[case]
    assert mechanism.privacy.epsilon == 2
    assert private(noisy_laws_of(mechanism), both_ways(neighbours()), Fraction(2), mechanism.privacy.delta)


def test_the_law_is_the_product_of_those_of_the_groups():
    for mechanism, table in (
        (quantiles(q=(Fraction(1, 4), Fraction(1, 2)), bounds=(0, 1)), ((0, 1, 1), ())),
        (quantiles(max_groups_per_user=2), ((0, 2, 2), (), (1,))),
        (choices(), ((3, 1), (0, 0), (1, 2))),
    ):
        assert same(real_law(mechanism, table), laws_of(mechanism)(table))
    assert same(real_law(choices(), ((0, 0),)), {("a",): arb("0.5"), ("b",): arb("0.5")})  # a group without users


def test_what_it_is_made_of():
    of_two = quantiles(q=(Fraction(1, 4), Fraction(3, 4)), max_groups_per_user=3)
    assert of_two.privacy.steps == (Steps(BoundedRange(Fraction(3, 10)), 6), Steps(PureDP(Fraction(1, 15)), 3))
    assert of_two.each.epsilon_per_pick == Fraction(3, 10)
    assert of_two.each.rate == Fraction(1, 15)
    assert choices(max_groups_per_user=4).privacy.steps == (Steps(BoundedRange(Fraction(1, 2)), 4),)
    flips = choices(max_groups_per_user=4, method="permute-and-flip")
    assert flips.privacy.steps == (Steps(PureDP(Fraction(1, 2)), 4),)
    with_delta = choices(max_groups_per_user=50, epsilon=1, delta="1e-6")
    assert with_delta.each.epsilon > Fraction(3, 2) * Fraction(1, 50)


def test_the_price_is_reached():
    """The range of the loss is that of all steps of a user's groups: no smaller number would be true of it.

    Picks have a range of their price, and cells, whose loss goes either way, one of twice theirs.
    """
    laws = noisy_laws_of(quantiles(max_groups_per_user=2))
    crowd = ((1,) * 8, (1,) * 8), ((*(1,) * 8, 0), (*(1,) * 8, 0))
    assert equals(log_range(*map(laws, next(both_ways([crowd])))), 2 + Fraction(2, 10))
    laws = laws_of(choices(max_groups_per_user=2, epsilon=20))
    assert max_log_ratio(laws(((0, 0), (0, 0))), laws(((1, 0), (1, 0)))) > 18


# ---- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["median", "choice"])
def test_the_price_of_one_group_for_a_user_in_two_is_refused(kind):
    """So is a bound of one item in each of any number of groups: that bounds nothing."""
    made, pairs = {
        "median": (quantiles(), list(of_values(2, 1, 2))),
        "choice": (choices(), list(tables(2, 2, 1, 2))),
    }[kind]
    assert not private(noisy_laws_of(made), both_ways(pairs), Fraction(2), Fraction(0))
    assert private(noisy_laws_of(made), both_ways(pairs), Fraction(4), Fraction(0))


@pytest.mark.parametrize(("kind", "exists"), [("median", bool), ("choice", lambda of: any(of.values()))])
def test_answers_in_groups_that_exist_tell_who_is_alone(kind, exists):
    mechanism = {"median": quantiles(), "choice": choices()}[kind]
    alone = {"median": ({"p": []}, {"p": [1]}), "choice": ({"p": {"a": 0}}, {"p": {"a": 1}})}[kind]
    run = broken.in_groups_that_exist(mechanism, exists)
    assert not at_most(delta_between(*map(run, alone), Fraction(2)), Fraction(1, 2))


# ---- groups that are found --------------------------------------------------------------------------------


class Held:
    """What engines say of users with one group and one item each, in plain Python; every engine is compared so."""

    def __init__(self, users: tuple[tuple[str, object], ...], domain: Sequence[object]) -> None:
        self.users, self.domain = users, domain

    def check(self, domain: object, *, max_items: int) -> None:
        pass

    def item_names(self, domain: object) -> Sequence[object]:  # noqa: ARG002
        return self.domain

    def group_sets(self, *, progress: object) -> UserSets:  # noqa: ARG002
        return UserSets.from_sets([[group] for group, _ in sorted(self.users)])

    def keep_groups(self, codes: np.ndarray) -> FoundGroups:
        return FoundGroups(",".join(sorted(map(str, self.group_sets(progress=None).labels(codes)))))

    def counts_by(self, domain: object, most: int, groups: FoundGroups, *, progress: object) -> GroupedCounts:  # noqa: ARG002
        return GroupedCounts.from_counts(
            {g: {i: self.users.count((g, i)) for i in self.domain} for g in groups.stored_at.split(",")}
        )


def found_laws(query: ChoosePlan):
    """From users to the law of the whole release: which groups are shown, and the choice of each."""

    def run(users):
        return law(
            lambda draws: tuple((i.group, i.item) for i in query.bind(Held(users, query.domain.items))(draws, None))
        )

    return cache(run)


def one_more(most: int) -> Iterator[tuple]:
    every = list(product("pq", DOMAIN[:2]))
    for n in range(most + 1):
        for users in combinations_with_replacement(every, n):
            for one in every:
                yield users, tuple(sorted((*users, one)))


def finding(**more) -> ChoosePlan:
    usual = {"domain": DOMAIN[:2], "epsilon": 4, "delta": Fraction(1, 5), "by": "g"}
    return plan_of("choose", **usual | more)


def test_finding_and_choosing_keep_one_promise():
    query = finding()
    laws = found_laws(query)
    worst = worst_delta(laws, one_more(3), query.price.epsilon)
    assert query.price.epsilon == 4
    assert query.price.delta == Fraction(1, 5)
    assert at_most(worst, Fraction(1, 5))
    assert float(worst.mid()) > 0.19
    shown = {groups for users in [(("p", "a"),) * 2] for groups in laws(users)}
    assert () in shown
    assert ((("p",), "a"),) in shown


def test_the_union_is_paid_for():
    """Both parts of the price add up: with the second alone, one more user of a group tells too much."""
    query = finding(domain=list(range(40)), epsilon=1, delta=Fraction(1, 1000))
    twin = broken.found_for_nothing(query)
    assert twin.price.epsilon == 1 - SHARE_FOR_FINDING
    laws, users = found_laws(query), tuple(("p", n) for n in range(30))
    pairs = [(users[:n], users[: n + 1]) for n in range(20, 30)]
    assert not private(laws, pairs, twin.price.epsilon, twin.price.delta)
    assert private(laws, pairs, query.price.epsilon, query.price.delta)


def test_unseen_items_of_a_group_are_chosen_by_name():
    counts = GroupedCounts.from_counts({"p": {"b": 2}, "q": {}})
    mechanism = ChoiceByGroup(max_groups_per_user=1, epsilon=Fraction(1, 2))
    found = law(lambda draws: tuple(choose_by_group(mechanism.each, counts, DOMAIN, draws)))
    full = {"p": {"a": 0, "b": 2, "c": 0}, "q": dict.fromkeys(DOMAIN, 0)}
    assert same(found, law(lambda draws: tuple(mechanism(full, draws=draws).values())))


def test_items_that_python_takes_for_equal_are_told_apart():
    names = ((True, "x"), (1, "x"), ("1", "x"), (1.5, "x"))
    counts = GroupedCounts.from_counts({"p": {(True, "x"): 2, ("1", "x"): 1}})
    mechanism = ChoiceByGroup(max_groups_per_user=1, epsilon=Fraction(1, 2))
    found = law(lambda draws: tuple(map(str, choose_by_group(mechanism.each, counts, names, draws))))
    full = {"p": dict(zip(map(str, names), (2, 0, 1, 0), strict=True))}
    assert same(found, law(lambda draws: tuple(mechanism(full, draws=draws).values())))
