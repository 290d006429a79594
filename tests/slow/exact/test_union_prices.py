"""What a Rényi-shaped union is charged by its divergence, against the exact law of real calls on tiny data.

docs/composing.md says which part of the probability of an outcome is within the divergence: with a user more, that of
outcomes without an item that only this user has; with a user less, all but `hidden` of it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.privacy import BoundedRange, PureDP
from dpselect._ground.reals import enclose
from dpselect.accounting.prices import ceiling, divergence
from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import RenyiShaped
from dpselect.queries.union import bound, terms
from dpselect.queries.union.bounded_union import BoundedUnion
from dpselect.queries.union.plan import draw_union, union_price
from dpselect.testing import SeededDraws, law
from dpselect.texts.text import NgramRange
from dpselect.texts.tokenizer import Tokenizer
from tests.by_names import plan_of
from tests.covering import covering
from tests.exact.laws import BITS
from tests.exact.renyi_laws import call_law, heavy
from tests.exact.union_laws import sets_of, subsets

SIZE = 3


def made(rounds, epsilon="1", delta="0.1", most=SIZE):
    return RenyiShaped(epsilon=epsilon, delta=delta, max_items_per_user=most, rounds=rounds)


def laws(mechanism):
    """Over data and one user more: the items that are there without that user, the law without, and that with them."""
    chances = [0, *(mechanism.users_for(chance) for chance in (0.05, 0.6, 0.98))]
    for base in heavy(chances, SIZE):
        common, q = {item for items in base for item in items}, call_law(mechanism, base, SIZE)
        for added in subsets(SIZE, SIZE):
            yield common, q, call_law(mechanism, (*base, added), SIZE)


def moments(pairs, order, hidden):
    """The largest failure, and the largest E_Q[(g / Q)^a] of one user more and less."""
    failure = more = less = 0.0
    with ctx.workprec(BITS):
        for common, q, p in pairs:
            good = {outcome: mass for outcome, mass in p.items() if set(outcome) <= common}
            failure = max(failure, float(1 - sum(good.values(), arb(0)).mid()))
            more = max(more, moment(good, q, order))
            less = max(less, moment({o: mass * (1 - hidden) for o, mass in q.items()}, p, order))
    return failure, more, less


def moment(left, right, order):
    return float(sum((mass * (mass / right[o]) ** (order - 1) for o, mass in left.items()), arb(0)).mid())


def log_of(mean, order):
    """The divergence of a moment."""
    return float(np.log(mean)) / (order - 1)


def hidden_chance(mechanism):
    """The probability, at most, that an item is released that only one user has."""
    return float(sum(one.delta for one in mechanism.conditions))


@pytest.mark.parametrize(("rounds", "price", "first"), covering([1, 2], [("1", "0.1"), ("3", "0.01")], [True, False]))
def test_a_union_is_worth_its_divergence_both_ways(rounds, price, first):
    """At its own order, which is 3 here, and at a smaller one; of the first shares alone, hardly less is refused.

    With all shares the chance moves less than the curve that bounds it, where users have different numbers of items.
    """
    every = made(rounds, *price)
    mechanism = every.of_first_shares() if first else every
    pairs, hidden = list(laws(mechanism)), hidden_chance(mechanism)
    assert mechanism.order == 3
    for order, least in ((2, 0.7), (3, 0.9)):
        failure, more, less = moments(pairs, order, hidden)
        most = float(mechanism.divergence(order))
        assert every.divergence(order) >= mechanism.divergence(order)
        assert (0.99 if first else 0) < failure / hidden <= 1
        assert (least if first else 0) < log_of(more, order) / most <= 1
        assert (0.68 if first else 0) < log_of(less, order) / most <= 1


@pytest.mark.parametrize("order", [5, 9])
def test_a_divergence_of_a_larger_order_than_the_unions_own_is_no_smaller(order):
    mechanism = made(1)
    _, more, less = moments(laws(mechanism), order, hidden_chance(mechanism))
    own = mechanism.divergence(mechanism.order)
    assert log_of(more, order) > float(own)  # so whoever charged that of the own order would charge too little
    assert max(log_of(more, order), log_of(less, order)) <= float(mechanism.divergence(order))


def test_at_its_own_order_a_union_spends_what_its_curves_were_made_for():
    mechanism = RenyiShaped(epsilon=1, delta="1e-6", max_items_per_user=10)
    budget = sum(one.budget for one in mechanism.conditions)
    found = [mechanism.divergence(order) for order in range(2, mechanism.order + 1)]
    assert budget * Fraction(9999, 10000) < found[-1] <= budget
    assert found == sorted(found)
    assert found[2] < budget / 3
    assert mechanism.divergence(2**20) is None  # floats do not hold such powers


def test_calls_that_share_a_budget_spend_it_together():
    """Two calls of a half each, the second on what the first left; the levels of a text are such calls."""
    halves = [RenyiShaped(epsilon=1, delta="0.1", max_items_per_user=2, part=Fraction(1, 2))] * 2
    hidden = sum(map(hidden_chance, halves))
    chances = [0, *(halves[0].users_for(chance) for chance in (0.05, 0.6, 0.98))]
    failure = more = 0.0

    def run(database):
        def both(draws):
            first = tuple(halves[0](sets_of(database, 2), draws=draws).tolist())
            left = [[item for item in items if item not in first] for items in database]
            return first, tuple(halves[1](sets_of(left, 2), draws=draws).tolist())

        return law(both)

    with ctx.workprec(BITS):
        for base in heavy(chances, 2):
            common, q = {item for items in base for item in items}, run(base)
            for added in subsets(2, 2):
                p = run((*base, added))
                good = {o: mass for o, mass in p.items() if set(o[0]) | set(o[1]) <= common}
                failure = max(failure, float(1 - sum(good.values(), arb(0)).mid()))
                more = max(more, moment(good, q, 3))
    assert 0.9 * hidden < failure <= hidden
    each = [float(one.divergence(3)) for one in halves]
    assert max(each) * 1.05 < log_of(more, 3) <= sum(each)  # one of them alone is not the price


# ---- whole questions: a chosen bound, items, counts -------------------------------------------------------

EVERYBODY = ((0,), (0, 1), (0,))
CASES = {"auto": ({}, EVERYBODY, (0, 1)), "counts": ({"max_items_per_user": 1, "counts": True}, ((0,),) * 2, (0,))}


@pytest.fixture(autouse=True)
def few_bounds(monkeypatch):
    """To choose from, so that the law of the choice is short."""
    for module in (bound, terms):
        monkeypatch.setattr(module, "ITEM_BOUNDS", (1, 2, 3))
        monkeypatch.setattr(module, "LEAST_LAST_BOUND", 3)


@cache
def asked(case):
    return plan_of("union", epsilon=8, delta="0.1", method="renyi-shaped", **CASES[case][0])


@cache
def law_of(case, base):
    """Of the bound, the items and their counts."""
    query, sets = asked(case), sets_of(base, 2)

    def run(draws):
        union = BoundedUnion.choose(query, sets if query.chooses_bound else None, draws)
        items = union.draw_level(sets, 0, draws, None)
        return union.max_items_per_user, tuple((code, item.score) for code, item in items.items())

    return law(run)


def worst(case, order, price):
    """The larger mean of (g / Q)^(a - 1) e^(-(a - 1) r), and the larger failure, with a user more and with one less."""
    query, (_, small, added) = asked(case), CASES[case]
    found = []
    with ctx.workprec(BITS):
        hidden = enclose(query.price_of_union(1)[1] / 4)
        top = enclose(Fraction(query.epsilon)).exp()
        p, q = law_of(case, (*small, added)), law_of(case, small)
        common = {item for items in small for item in items}
        more = {o: mass for o, mass in p.items() if {item for item, _ in o[1]} <= common}
        for left, right in ((more, q), ({o: mass * (1 - hidden) for o, mass in q.items()}, p)):
            mean, within = arb(0), arb(0)
            for o in set(left) & set(right):  # counts that are too far out are not enumerated
                factor = (-enclose(price(query, o[0], order)) * (order - 1)).exp()
                mean += left[o] * (left[o] / right[o]) ** (order - 1) * factor
                within += top * right[o] if top * right[o] < left[o] else left[o]
            found.append((float(mean.mid()), float(1 - within.mid()) / float(Fraction(query.delta))))
    return [max(values) for values in zip(*found, strict=True)]


def renyi(query, most, order):
    return union_price(query, most, order).renyi


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", [2, 4])
def test_a_whole_answer_is_worth_its_price(case, order):
    highest, failure = worst(case, order, renyi)
    assert highest <= 1
    assert failure <= 1


@pytest.mark.parametrize("case", CASES)
def test_an_answer_whose_items_are_free_is_worth_more(case):
    def twin(query, most, order):
        return renyi(query, most, order) - query.mechanisms(most)[0].divergence(order)

    assert worst(case, 2, twin)[0] > 1.1


@pytest.mark.parametrize("epsilon", ["0.3", "1"])
def test_a_bound_chosen_in_a_budget_has_one_kind_of_price(epsilon, monkeypatch):
    """Up to the order of the budget each bound its own, and none above the ceiling; beyond it one for all."""
    monkeypatch.setattr(bound, "LEAST_LAST_BOUND", 20)
    monkeypatch.setattr(bound, "ITEM_BOUNDS", (1, 2, 3, 5, 20))
    monkeypatch.setattr(terms, "ITEM_BOUNDS", (1, 2, 3, 5, 20))
    query = plan_of("union", epsilon=epsilon, delta="1e-6", counts=True)
    own = query.shared_budget.order
    for order in (2, own // 2, own):
        found = [renyi(query, most, order) for most in query.bound_choice.bounds]
        assert max(found) <= renyi(query, None, order)
        spent = [one - divergence(BoundedRange(query.epsilon_for_bound), order) for one in found[1:]]
        assert max(spent) <= query.budget_of_rounds
        assert order < own or min(spent) > query.budget_of_rounds * Fraction(99, 100)
    for order in (own + 1, 5 * own):
        assert {renyi(query, most, order) for most in (*query.bound_choice.bounds, None)} == {
            divergence(PureDP(Fraction(epsilon)), order)
        }


def counted(variance, order):
    """The divergence of a count with discrete Gaussian noise that a user moves by 1."""
    noise = np.arange(-400, 400)
    logs = -(noise**2) / (2 * float(variance))
    logs -= np.log(np.exp(logs).sum())
    return float(np.log(np.exp(order * logs[1:] - (order - 1) * logs[:-1]).sum())) / (order - 1)


@pytest.mark.parametrize("most", [1, 5])
@pytest.mark.parametrize("order", [2, 8, 23])
def test_counts_cost_what_a_user_moves_of_all_of_them(most, order):
    """The rest of the price is that of the items; the levels of a text share it."""
    words, asked = NgramRange(Tokenizer("words", True), 1, 2), {"method": "renyi-shaped", "max_items_per_user": most}
    for levels in ({}, {"words": words, "shares": ["1/4", "3/4"]}):
        query = plan_of("union", epsilon=2, delta="1e-4", counts=True, **asked, **levels)
        told = sum(most * counted(query.noise(place, most), order) for place in range(len(query.shares_of_levels)))
        items = float(sum(one.divergence(order) for one in query.mechanisms(most)))
        price, cap = float(renyi(query, most, order)), float(divergence(PureDP(Fraction(2)), order))
        assert 0.999 * price < min(items + told, cap) <= price * (1 + 1e-9)


@pytest.mark.parametrize(
    "given",
    [
        {"method": "weighted-gaussian", "max_items_per_user": 3},
        {"method": "truncated-geometric"},
        {"max_items_per_user": 5},
        {},
    ],
    ids=str,
)
def test_no_union_costs_more_than_the_step_that_is_stated(given):
    for counts in (False, True):
        query = plan_of("union", epsilon=1, delta="1e-6", counts=counts, **given)
        for order in (2, 23, 2**20):
            stated, price = ceiling(query.price, order), query.price_at(order)
            assert (price.whole.epsilon, price.whole.failure) == (stated.whole.epsilon, stated.whole.failure)
            assert price.without_composition == price.whole
            assert price.renyi <= stated.renyi
        assert query.price_at(None) == ceiling(query.price, None)


@pytest.mark.parametrize("method", ["auto", "by-bound"])
def test_an_answer_whose_bound_was_chosen_costs_what_that_bound_does(method):
    query = plan_of("union", epsilon="0.3", delta="1e-6", method=method)
    sets = UserSets.from_sets(["a", "b"] * 200)
    found = {seed: query.answer(draw_union(sets, query, SeededDraws(seed), None)) for seed in range(8)}
    assert len({one.privacy.parameters["max_items_per_user"] for one in found.values()}) > 1
    for release in found.values():
        most = release.privacy.parameters["max_items_per_user"]
        price, most_of_all = query.cost_at(release, 23), query.price_at(23)
        assert price == union_price(query, most, 23)
        assert price.whole.failure == most_of_all.whole.failure
        assert price.renyi <= most_of_all.renyi
        if most == 1 or method == "by-bound":  # an (epsilon, delta) step after the choice
            steps = PureDP(Fraction(57, 200)), BoundedRange(Fraction(3, 200))
            assert price.renyi == sum(divergence(step, 23) for step in steps) <= most_of_all.renyi
        else:
            assert price.renyi < most_of_all.renyi
