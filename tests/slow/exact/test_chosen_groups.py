"""A bound on groups that is chosen: the choice and the answer keep one promise, and forgetting its price is refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import dpselect as dps
from dpselect.accounting.composition import basic
from dpselect.accounting.prices import Price
from dpselect.aggregates.groups import GroupedCounts
from dpselect.queries.top import group_bound
from dpselect.queries.top.group_bound import ChosenGroups
from dpselect.queries.top.plan import TopKPlan
from dpselect.testing import SeededDraws, law
from tests.by_names import plan_of
from tests.exact.laws import private
from tests.twins import chosen_groups as broken

GROUPS = ("p", "q")
Crowd = tuple[tuple[str, ...], ...]  # the groups of every user, who has the one item in each


class Held:
    """What engines say of users with one item, who keep the first of their groups; every engine is compared so."""

    def __init__(self, users: Crowd) -> None:
        self.users = users

    def groups_of_users(self, listed: object, *, progress: object) -> tuple[np.ndarray, np.ndarray]:  # noqa: ARG002
        return np.unique(np.array([len(groups) for groups in self.users], dtype=np.int64), return_counts=True)

    def top_by(self, rows: int, most: int, listed: object, **_: object) -> GroupedCounts:  # noqa: ARG002
        kept = [group for groups in self.users for group in groups[:most]]
        return GroupedCounts.from_counts({group: {"a": kept.count(group)} for group in GROUPS if group in kept})


def question(**more: object) -> TopKPlan:
    usual = {"k": 1, "k_bar": 1, "by": "g", "epsilon": 2, "delta": Fraction(1, 10)}
    return plan_of("top_k", **usual | more)


def laws_of(query: ChosenGroups, crowds=Held):
    """From users to the law of the whole release: the bound, and what is shown."""

    def run(users: Crowd):
        def answer(draws):
            found = query.answer(query.bind_draw(crowds(users), None)(draws, None))
            return found.privacy.parameters["max_groups_per_user"], tuple(item.group for item in found.items)

        return law(answer)

    return cache(run)


def one_more(most: int) -> Iterator[tuple[Crowd, Crowd]]:
    """All crowds of up to so many users, each in one group or in both, and the same with one user more."""
    every = [("p",), ("q",), GROUPS]
    for size in range(most + 1):
        for users in combinations_with_replacement(every, size):
            for one in every:
                yield users, (*users, one)


@pytest.fixture(autouse=True)
def two_bounds(monkeypatch):
    monkeypatch.setattr(group_bound, "GROUP_BOUNDS", (1, 2))


@pytest.mark.parametrize("share", [Fraction(1, 20), Fraction(1, 2)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_choosing_and_answering_keep_one_promise(monkeypatch, share, epsilon):
    monkeypatch.setattr(group_bound, "BOUND_SHARE", share)
    query = question(epsilon=epsilon)
    assert (query.price.epsilon, query.price.delta) == (epsilon, Fraction(1, 10))
    laws = laws_of(query.selection)
    assert private(laws, one_more(3), epsilon, Fraction(1, 10))
    assert {most for most, _ in laws((GROUPS,))} == {1, 2}


def test_the_price_of_the_bound_may_not_be_forgotten(monkeypatch):
    """The twin asks the question for the whole of epsilon once the bound is chosen."""
    monkeypatch.setattr(group_bound, "BOUND_SHARE", Fraction(1, 2))
    query = question(delta=Fraction(1, 10**9), epsilon=Fraction(1, 2))
    twin = broken.BoundForNothing(**vars(query.selection) | {"_selections": {}})
    crowds = [(("p",),) * n + (("q",),) * n for n in (60, 70, 80)]
    pairs = [(crowd, (*crowd, GROUPS)) for crowd in crowds]
    assert private(laws_of(query.selection), pairs, query.price.epsilon, query.price.delta)
    assert not private(laws_of(twin), pairs, query.price.epsilon, query.price.delta)


@pytest.mark.parametrize("order", [None, 2, 8, 64])
@pytest.mark.parametrize(("k", "counts"), [(1, False), (5, True)])
def test_no_bound_costs_more_than_the_ceiling(order, k, counts):
    """In either of its two prices, and what may fail is the same for every answer."""
    query = question(k=k, k_bar=10, counts=counts, epsilon=1, delta=Fraction(1, 10**6))
    ceiling = query.price_at(order)
    assert ceiling.whole.epsilon == 1
    assert ceiling.whole.failure == Fraction(1, 10**6)
    costs = list(answers(query, order))
    assert {most for most, _ in costs} == {1, 2}
    for _, cost in costs:
        assert cost.failure == ceiling.failure
        assert cost.whole.failure == ceiling.whole.failure
        for one, other in ((cost.whole, ceiling.whole), (cost.without_composition, ceiling.without_composition)):
            assert one.epsilon <= other.epsilon
            assert one.renyi <= other.renyi
    chosen = query.selection
    assert isinstance(chosen, ChosenGroups)
    fullest = max(cost.renyi for _, cost in costs)
    for most in (1, 2):
        given = chosen.selection_with(most).price_at(order)
        assert given.failure <= ceiling.failure
        assert given.epsilon + chosen.epsilon_for_bound <= 1
        assert given.renyi < ceiling.renyi
    assert fullest == ceiling.renyi  # and it is reached


def answers(query: TopKPlan, order: int | None) -> Iterator[tuple[object, Price]]:
    """Bounds that come out, and what the answers cost."""
    rows = {group: {f"i{n}": 500 - n for n in range(8)} for group in ("p", "q", "r")}

    class Many(Held):
        def top_by(self, rows_wanted: int, most: int, listed: object, **_: object) -> GroupedCounts:  # noqa: ARG002
            return GroupedCounts.from_counts(rows)

    for crowd, seed in product(([("p",)] * 300, [GROUPS] * 300, []), range(3)):
        release = query.bind(Many(tuple(crowd)))(SeededDraws(seed), None)
        assert query.cost_at(release, None).epsilon == min(1, basic(query.steps(release)))
        yield release.privacy.parameters["max_groups_per_user"], query.cost_at(release, order)


def test_what_is_said_is_what_was_done():
    query = question(epsilon=40)
    release = query.bind(Held((GROUPS,) * 60))(SeededDraws(1), None)
    said = release.privacy
    assert (said.epsilon, said.delta) == (40, Fraction(1, 10))
    assert said.parameters["max_groups_per_user"] == 2
    assert said.parameters["epsilon_of_max_groups"] == 2
    assert said.sentences[-1] == (
        "max_groups_per_user = 2 was chosen privately, with 1/20 of epsilon, so that 9 of 10 users are in no more "
        "groups. The choice is noisy, and with a few thousand users mostly random; at most 2 can be chosen."
    )
    alone = query.bind(Held((("p",),) * 60))(SeededDraws(1), None)
    assert alone.privacy.parameters["max_groups_per_user"] == 1


def test_listed_groups_leave_nothing_to_choose():
    for groups in (["p"], ["p", "q", "r"]):
        assert question(groups=groups).key["max_groups_per_user"] == len(groups)
        assert not isinstance(question(groups=groups).selection, ChosenGroups)
    by_column = question(groups=dps.Column("groups.csv", "name"))
    assert by_column.key["max_groups_per_user"] is None
    assert isinstance(by_column.selection, ChosenGroups)
