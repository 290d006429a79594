"""The real calls, every order and sample followed: private, and averages of the laws proved for each order."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import pytest
from flint import arb, ctx

from dpselect.aggregates.user_sets import UserSets
from dpselect.draws import Draws
from dpselect.mechanisms import GreedyGeometric, TruncatedGeometric
from dpselect.papers import PolicyGaussian
from dpselect.testing import Law, law
from tests.exact.laws import BITS, private, same
from tests.exact.test_set_union import ONE_ROUND, made
from tests.exact.union_laws import union_law

TERMS = {"epsilon": 1, "delta": "0.1"}
BASES = ["", "ab", "a", "ab ab", "ab bc", "a bc"]


@cache
def law_of(mechanism: Any, users: Sequence[str]) -> Law:
    """The law of the released labels."""
    sets = UserSets.from_sets(users)

    def run(draws: Draws) -> str:
        return "".join(sorted(str(sets.label(code)) for code in mechanism(sets, draws=draws).tolist()))

    return law(run)


def averaged(mechanism: Any, users: Sequence[str], most: int) -> Law:
    """The average over samples, orders of users and orders of the items a, b, c of the laws given all of these."""
    kept = list(product(*(list(combinations(items, min(most, len(items)))) for items in users)))
    cases = [(k, u, i) for k in kept for u in permutations(range(len(users))) for i in permutations("abc")]
    found: Law = {}
    for sample, order, items in cases:
        database = tuple(tuple("abc".index(i) for i in sorted(sample[v], key=items.index)) for v in order)
        for answer, p in union_law(mechanism, database, 3).items():
            label = "".join("abc"[i] for i in range(3) if answer >> i & 1)
            with ctx.workprec(BITS):
                found[label] = found.get(label, arb(0)) + p / len(cases)
    return found


# The floats of l2-descent depend on the order of three items or more by some 10^-16, which its slack pays for.
@pytest.mark.parametrize(
    ("name", "most"),
    [(name, most) for name in ONE_ROUND for most in (1, 2, 3) if (name, most) != ("PolicyGaussian", 3)],
)
def test_a_call_is_the_average_over_orders_and_samples(name, most):
    for users in (["ab", "bc"], ["abc", "b"]):
        mechanism = made(name, 1, "0.1", most)
        assert same(law_of(mechanism, tuple(users)), averaged(mechanism, users, most))


@pytest.mark.parametrize("name", ONE_ROUND)
@pytest.mark.parametrize("most", [1, 2])
def test_calls_are_private(name, most):
    assert_private(made(name, 1, "0.1", most))


def test_calls_of_truncated_geometric_selection_are_private():
    assert_private(TruncatedGeometric(**TERMS))


def assert_private(mechanism: Any) -> None:
    bases = [tuple(base.split()) for base in BASES]
    pairs = [(base, (*base, added)) for base in bases for added in ("c", "bc")]
    assert private(lambda users: law_of(mechanism, users), pairs, Fraction(1), Fraction(1, 10))


def test_nobody_s_place_in_the_data_matters():
    """The same people in another order of rows and items: the same law."""
    for mechanism in (GreedyGeometric(alpha=0, **TERMS), PolicyGaussian(alpha=0, max_items_per_user=2, **TERMS)):
        assert same(law_of(mechanism, ("ab", "bc")), law_of(mechanism, ("cb", "ba")))
