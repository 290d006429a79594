"""Planted texts: over all tiny data none comes back more often than its law says, each law is reached, twins fail."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from flint import arb, ctx

import dpselect as dps
from dpselect import mechanisms
from dpselect.aggregates.groups import GroupedCounts
from dpselect.forecast import planted
from dpselect.forecast.planted import (
    fewest_people,
    law_of_any_mechanism,
    law_of_limited_domain,
    law_of_noisy_threshold,
    law_of_union,
)
from dpselect.mechanisms import LimitedDomain, LimitedDomainByGroup, LimitedDomainSparse
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.questions.parts import Method
from dpselect.testing import Law, law
from tests.exact.laws import BITS, law_of
from tests.exact.union_laws import sets_of, subsets, union_law

Seen = Iterable[tuple[int, arb]]
"""Of some data how many people share the text, and how likely it comes back."""
CLOSE = 1e-12


def kept(bound: Callable[[int], arb], seen: Seen) -> bool:
    """Is the text never likelier than the bound says?"""
    with ctx.workprec(BITS):
        return all(float(p.mid()) <= min(1.0, float(bound(m).mid())) + CLOSE for m, p in seen)


def likely(found: Law, said: Callable[[Any], bool]) -> arb:
    with ctx.workprec(BITS):
        return sum((p for answer, p in found.items() if said(answer)), arb(0))


def reached(bound: Callable[[int], arb], seen: Seen, near: float = 1 - 1e-9) -> bool:
    """Is it anywhere all but as likely?"""
    with ctx.workprec(BITS):
        return any(float(p.mid()) >= near * float(bound(m).mid()) for m, p in seen)


# ---- limited domain -----------------------------------------------------------------------------------------------


def limited(**more: Any) -> LimitedDomain:
    delta = Fraction(1, 100)
    return LimitedDomain(epsilon_per_pick=Fraction(1, 2), delta=delta, delta_threshold=delta, **more)


LIMITED = [
    {"k": 1, "k_bar": 1},
    {"k": 1, "k_bar": 2},
    {"k": 2, "k_bar": 2},
    {"k": 2, "k_bar": 2, "max_items_per_user": 1},
    {"k": 2, "k_bar": 2, "sensitivity": 2},
    {"k": 3, "k_bar": 3, "max_items_per_user": 2},
]


def of_planted_items(mechanism: Any, planted_items: int, people: int = 4, most: int = 2) -> list[tuple[int, arb]]:
    """The first items are planted by up to so many people, each in as many as a user may have, beside another item."""
    scale, bound = getattr(mechanism, "sensitivity", 1), mechanism.max_items_per_user
    return [
        (
            m,
            likely(
                law_of(mechanism, (*(scale * one for one in counts), rest)),
                lambda answer: any(item < planted_items for item in answer),
            ),
        )
        for m in range(1, people + 1)
        for counts in product(range(m + 1), repeat=planted_items)
        if bound is None or sum(counts) <= bound * m
        for rest in range(most + 1)
    ]


@pytest.mark.parametrize("case", LIMITED, ids=str)
def test_limited_domain_shows_planted_texts_no_more_often(case: dict[str, int]) -> None:
    """One text in one item, or many that look alike in as many items as are looked at."""
    mechanism = limited(**case)
    bound = law_of_limited_domain(mechanism.terms)
    assert kept(bound, of_planted_items(mechanism, 1))
    seen = of_planted_items(mechanism, case["k_bar"])
    assert kept(bound, seen)
    assert reached(bound, seen, 0.99)
    assert not kept(lambda m: bound(m) * 0.98, seen)
    assert not kept(lambda m: bound(m - 1), seen)  # as if bottom stood one lower
    swaps = mechanism.terms.swaps(case["k_bar"])
    if swaps > 1:
        assert not kept(lambda m: bound(m) / swaps, seen)  # as if one item held all that was planted
    general = law_of_any_mechanism(mechanism.privacy.epsilon, mechanism.privacy.delta)
    assert kept(general, seen)


@pytest.mark.parametrize(
    ("groups", "most"), [(1, None), (1, 1), (2, None)], ids=["one group", "one item", "two groups"]
)
def test_by_group_planted_texts_are_items_or_names_of_groups(groups: int, most: int | None) -> None:
    delta = Fraction(1, 50)
    mechanism = LimitedDomainByGroup(
        k=2,
        k_bar=2,
        max_groups_per_user=groups,
        epsilon_per_pick=Fraction(1, 2),
        delta=delta,
        delta_threshold=delta / groups,
        max_items_per_user=most,
    )

    def shown(table: tuple[tuple[int, ...], ...]) -> Law:
        found = GroupedCounts.from_counts({g: dict(enumerate(counts)) for g, counts in enumerate(table)})
        return law(
            lambda draws: tuple(
                (found.groups(one.groups)[0], tuple(found.items(one.rows))) for one in mechanism.picks(found, draws)
            )
        )

    def is_planted(answer: Any) -> bool:
        return any(group == 0 or 0 in items for group, items in answer)

    seen = [
        (m, likely(shown(((a, b), (c, 2))), is_planted))
        for m in range(1, 4)
        for in_first in range(m + 1)
        for a, b in product(range(in_first + 1), repeat=2)
        if most is None or a + b <= most * in_first
        for c in range(m - in_first + 1 if groups == 1 else m + 1)
    ]
    bound = law_of_limited_domain(mechanism.each.terms, groups=groups)
    assert kept(bound, seen)
    assert not kept(lambda m: bound(m) * 0.7, seen)
    if groups > 1:
        assert not kept(law_of_limited_domain(mechanism.each.terms), seen)  # as if all were in one group


# ---- noise on both sides ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [{"k": 1, "k_bar": 1}, {"k": 2, "k_bar": 2}, {"k": 1, "k_bar": 1, "sensitivity": 2}])
def test_a_noisy_threshold_shows_planted_texts_no_more_often(case: dict[str, int]) -> None:
    mechanism = LimitedDomainSparse(epsilon=4, delta=Fraction(1, 20), **case)
    bound = law_of_noisy_threshold(mechanism)
    scale = case.get("sensitivity", 1)
    one = [
        (m, likely(law_of(mechanism, (m * scale, rest)), lambda answer: 0 in answer))
        for m in range(1, 5)
        for rest in range(3)
    ]
    assert kept(bound, one)
    if case["k_bar"] == 1:
        assert reached(bound, one, 0.8)
        assert not kept(lambda m: bound(m) * 0.8, one)
    else:
        both = [(m, likely(law_of(mechanism, (m, m)), bool)) for m in range(1, 3)]
        assert kept(bound, both)
        assert not kept(lambda m: bound(m) * 0.34, both)


# ---- set unions ---------------------------------------------------------------------------------------------------


def of_unions(mechanism: Any, most: int, text: set[int]) -> Iterator[tuple[int, arb]]:
    """All databases of at most three users of three items, some of which are planted."""
    every = subsets(3, most)
    for users in range(1, 4):
        for database in product(every, repeat=users):
            people = sum(1 for items in database if text & set(items))
            if people:
                found = union_law(mechanism, database, 3)
                yield people, likely(found, lambda answer: any(answer >> item & 1 for item in text))


NEAR = {"CountLaplace": 0.97, "CountGaussian": 0.97, "WeightedGaussian": 0.6, "GreedyGeometric": 0.49}
"""How much of its law each reaches: where a user's weight is for all items together, the law counts it for each."""


@pytest.mark.parametrize("name", NEAR)
def test_a_union_shows_planted_texts_no_more_often(name: str) -> None:
    more = {"alpha": 0} if name == "GreedyGeometric" else {}
    mechanism = getattr(mechanisms, name)(epsilon=1, delta=Fraction(1, 10), max_items_per_user=2, **more)
    seen = list(of_unions(mechanism, 2, {0}))
    bound = law_of_union(mechanism)
    assert kept(bound, seen)
    pairs = list(of_unions(mechanism, 2, {0, 1}))
    assert kept(bound, pairs)
    assert not kept(lambda m: bound(m) * NEAR[name], pairs)
    assert kept(law_of_any_mechanism(Fraction(1), Fraction(1, 10)), [*seen, *pairs])


def test_no_release_shows_a_text_more_often_than_the_best_for_one_item() -> None:
    mechanism = mechanisms.TruncatedGeometric(epsilon=1, delta=Fraction(1, 10))
    seen = list(of_unions(mechanism, 1, {0}))
    bound = law_of_any_mechanism(Fraction(1), Fraction(1, 10))
    assert kept(bound, seen)
    assert reached(bound, seen)
    assert not kept(law_of_any_mechanism(Fraction(1), Fraction(9, 100)), seen)


def test_rounds_show_a_text_no_more_often() -> None:
    mechanism = RenyiShaped(epsilon=1, delta=Fraction(1, 10), max_items_per_user=2, rounds=2)
    bound = law_of_union(mechanism)

    def chance(database: tuple[tuple[int, ...], ...], text: set[int]) -> arb:
        sets = sets_of(database, 2)
        return likely(
            law(lambda draws: tuple(mechanism(sets, draws=draws).tolist())), lambda found: bool(text & {*found})
        )

    seen = [(m, chance(((0,),) * m, {0})) for m in (1, 2, 3)]
    seen += [(m, chance(((0, 1),) * m + ((1,),), {0})) for m in (1, 2)]
    assert kept(bound, seen)
    pairs = [(m, chance(((0, 1),) * m, {0, 1})) for m in (1, 2)]
    assert kept(bound, pairs)
    assert not kept(lambda m: bound(m) * 0.49, pairs)
    one_round = RenyiShaped(epsilon=1, delta=Fraction(1, 10), max_items_per_user=2, rounds=1, part=Fraction(1, 6))
    assert not kept(law_of_union(one_round), pairs)  # as if only the first of the rounds counted


# ---- plans ----------------------------------------------------------------------------------------------------------


def union_at(**more: Any) -> dps.Plan:
    return dps.Union().at(epsilon=1, delta="1e-6", **more)


PLANS: dict[str, tuple[dps.Plan, int, int]] = {
    "limited domain": (dps.TopK(10).at(epsilon=1, delta="1e-6"), 60, 70),
    "sparse": (dps.TopK(10, method="limited-domain-sparse").at(epsilon=1, delta="1e-6"), 20, 80),
    "discovery": (dps.TopK(10, method="discover").at(epsilon=1, delta="1e-6", max_items_per_user=5), 10, 40),
    "discovery, its bound chosen": (dps.TopK(10, method="discover").at(epsilon=1, delta="1e-6"), 9, 11),
    "by group": (dps.TopK(3, by=dps.By("c", max_groups_per_user=1)).at(epsilon=1, delta="1e-6"), 20, 60),
    "by group, its bound chosen": (dps.TopK(3, by="c").at(epsilon=1, delta="1e-6"), 9, 11),
    "union": (union_at(max_items_per_user=5), 10, 40),
    "union, its bound chosen": (union_at(), 9, 11),
    "quantiles of groups that are found": (dps.Quantile(bounds=(0, 9), by="c").at(epsilon=1, delta="1e-6"), 20, 40),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_says_how_few_people_do_not_matter(name: str) -> None:
    plan, low, high = PLANS[name]
    found = fewest_people(plan)
    assert found is not None
    assert low <= found <= high
    general = planted._least_people(law_of_any_mechanism(plan.price.epsilon, plan.price.delta), planted.PLANTED_CHANCE)
    assert found >= general
    rarer = fewest_people(plan, chance=Fraction(1, 10**4))
    assert rarer is not None
    assert rarer < found
    assert fewest_people(plan, periods=3) == (found - 1) // 3 + 1  # one person counts in each


def test_it_is_the_number_of_the_page() -> None:
    """N is the least m at which A delta_t is above 1 %, with A = e^(e (m - 1)) + (m - 1) e^-e."""
    plan = PLANS["limited domain"][0]
    terms = plan.selection.selector.terms  # type: ignore[attr-defined]
    pick, threshold = float(terms.epsilon_per_pick), float(terms.delta_threshold)
    chances = [threshold * (math.exp(pick * (m - 1)) + (m - 1) * math.exp(-pick)) for m in range(1, 200)]
    assert fewest_people(plan) == next(m for m, chance in enumerate(chances, 1) if chance > 0.01)


LISTED = [
    dps.TopK(2, domain=["a", "b"]),
    dps.Histogram(["a", "b"]),
    dps.Users(),
    dps.Choose(["a", "b"]),
    dps.Quantile(bounds=(0, 9)),
    dps.Quantile(bounds=(0, 9), by=dps.By("c", groups=["DE"])),
]


@pytest.mark.parametrize("question", LISTED, ids=repr)
def test_where_all_is_listed_nothing_of_strangers_comes_back(question: dps.Question) -> None:
    assert fewest_people(question.at(epsilon=1)) is None


def test_an_answer_says_more_than_its_price_where_a_bound_was_chosen() -> None:
    rows = {"user": [*range(2000)] * 2, "item": ["a"] * 2000 + ["b"] * 2000, "c": ["x"] * 4000}
    data, told = dps.Dataset(rows, user="user", item="item"), []
    for question in (
        dps.Union(),
        dps.TopK(2, by="c"),
        dps.TopK(2, method=Method("discover")),
        dps.TopK(2, by="c", method="discover"),
    ):
        plan = data.plan(question, epsilon=1, delta="1e-6")
        release = data.ask(plan)
        assert set(release.labels) == {"a", "b"}
        told.append((fewest_people(plan) or 0, fewest_people(plan, release=release) or 0))
    assert all(before <= after for before, after in told)
    before, after = told[1]
    assert before < after  # whatever bound was chosen
