"""What a Rényi-shaped union is charged by its divergence, against the exact law of real calls on tiny data.

docs/composing.md says which part of the probability of an outcome is within the divergence: with a user more, that of
outcomes without an item that only this user has; with a user less, all but `hidden` of it.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from dpselect.accounting.two_prices import by_divergence, ceiling
from dpselect.mechanisms import RenyiShaped
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED
from tests.exact.laws import BITS
from tests.exact.renyi_laws import call_law, heavy
from tests.exact.union_laws import subsets

SIZE = 3


def made(rounds, epsilon="1", delta="0.1", most=SIZE):
    return RenyiShaped(epsilon=epsilon, delta=delta, max_items_per_user=most, rounds=rounds)


def price_of(mechanism, order):
    spends = sum((one.budget for one in mechanism.conditions), Fraction(0))
    hidden = mechanism.privacy.delta * (1 - COMPOSED)
    return by_divergence(mechanism.privacy, mechanism.order, spends, hidden, order)


def moments(mechanism, order, hidden):
    """Over data and one user more: the largest failure, and the largest E_Q[(g / Q)^a] of one user more and less."""
    failure = more = less = 0.0
    chances = [0, *(mechanism.users_for(chance) for chance in (0.05, 0.6, 0.98))]
    with ctx.workprec(BITS):
        for base in heavy(chances, SIZE):
            common = {item for items in base for item in items}
            q = call_law(mechanism, base, SIZE)
            for added in subsets(SIZE, SIZE):
                p = call_law(mechanism, (*base, added), SIZE)
                good = {outcome: mass for outcome, mass in p.items() if set(outcome) <= common}
                failure = max(failure, float(1 - sum(good.values(), arb(0)).mid()))
                more = max(more, moment(good, q, order))
                less = max(less, moment({o: mass * (1 - hidden) for o, mass in q.items()}, p, order))
    return failure, more, less


def moment(left, right, order):
    return float(sum((mass * (mass / right[o]) ** (order - 1) for o, mass in left.items()), arb(0)).mid())


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("3", "0.01")])
def test_a_union_is_worth_its_divergence_both_ways(rounds, epsilon, delta):
    mechanism = made(rounds, epsilon, delta)
    price = price_of(mechanism, mechanism.order)
    failure, more, less = moments(mechanism, mechanism.order, float(price.failure))
    with ctx.workprec(BITS):
        most = float(((mechanism.order - 1) * arb(float(price.renyi))).exp().mid())
    assert 0.99 < failure / float(price.failure) <= 1
    assert 0.75 < more / most <= 1  # hardly less is refused
    assert 0.7 < less / most <= 1


def test_a_divergence_of_a_smaller_order_than_the_accounts_says_nothing():
    mechanism = made(1)
    own, stated = mechanism.order, ceiling(mechanism.privacy, mechanism.order)
    price = price_of(mechanism, own)
    assert price.renyi == sum(one.budget for one in mechanism.conditions)
    assert price.failure + price.composition == mechanism.privacy.delta == stated.failure
    assert price_of(mechanism, own - 1) == price
    assert price_of(mechanism, own + 1) == ceiling(mechanism.privacy, own + 1)
    assert price_of(mechanism, None) == ceiling(mechanism.privacy, None)
