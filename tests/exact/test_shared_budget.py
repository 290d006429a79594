"""A bound that is chosen in the budget of what follows: the worst of all choices is within delta; twins are not."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

from dpselect._ground.privacy import BoundedRange
from dpselect.accounting.prices import divergence
from dpselect.mechanisms.set_union.renyi_shaped import COMPOSED, _best_order, _order
from dpselect.queries.top import discovery
from dpselect.queries.union import bound, terms
from dpselect.queries.union.bound import BOUND_SHARE, plan_shared_budget
from dpselect.queries.union.bounded_union import BoundedUnion
from dpselect.testing import hockey_stick, law
from tests.by_names import plan_of
from tests.exact.laws import at_most
from tests.exact.union_laws import sets_of

DELTA = Fraction(1, 10**6)
EPSILONS = ("0.1", "0.3", "1", "3")
NEAR = float(COMPOSED)


def budget_at(epsilon):
    return plan_shared_budget(Fraction(epsilon), DELTA, Fraction(epsilon) * BOUND_SHARE, Fraction(0))


def worst(excess, e, points=2001):
    """The largest sum over two bounds, chosen with losses t and t - e, of probability times the excess of each.

    Given the bound, what follows can have exactly that excess (a step of two outcomes), so this is reached.
    """
    t = np.linspace(0, e, points)
    first = -np.expm1(t - e) / -math.expm1(-e)
    return float(np.max(first * excess[0](t) + (1 - first) * excess[1](t - e)))


def in_budget(order, spent):
    """Of rounds at this order, where the choice was charged so much: in parts of near."""
    return lambda loss: np.exp((order - 1) * (loss - float(spent)))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_order_for_all_bounds_is_enough_and_two_are_not(epsilon):
    """The twin has the best order of each bound, and the choice is charged at its own, or at the larger one."""
    e, budget = float(Fraction(epsilon) * BOUND_SHARE), budget_at(epsilon)
    one = in_budget(budget.order, budget.spent)
    assert 0.999 < worst((one, one), e) <= 1 + 1e-9
    left = Fraction(epsilon)
    orders = [_best_order(left, DELTA, most)[0] for most in (2, 5)]
    charged = [divergence(BoundedRange(left * BOUND_SHARE), order) for order in orders]
    assert orders[0] > orders[1]
    for of_choice in (charged, [max(charged)] * 2):
        own = [in_budget(order, spent) for order, spent in zip(orders, of_choice, strict=True)]
        assert max(worst(own, e), worst(own[::-1], e)) > 1.01


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_bound_that_another_method_answers_has_less_of_delta(epsilon):
    """The whole of delta is too much: docs/mechanisms/renyi-shaped.md."""
    e, budget = float(Fraction(epsilon) * BOUND_SHARE), budget_at(epsilon)
    near = in_budget(budget.order, budget.spent)
    others = float(budget.delta_of_others / DELTA)
    assert 0.5 < others < 0.65

    def total(part):
        both = (lambda loss: 1 - NEAR + NEAR * near(loss), lambda loss: part + 0 * loss)
        return max(worst(both, e), worst(both[::-1], e))

    assert total(others) <= 1 + 1e-9
    assert 1.1 < total(1.0) < 1.25


def test_no_choice_among_several_bounds_is_worse():
    """Random choosers of 2 to 6 bounds, some of which another method answers, at their own largest divergence."""
    random = Random(5)
    for _ in range(2000):
        epsilon = random.choice(EPSILONS)
        e, budget = float(Fraction(epsilon) * BOUND_SHARE), budget_at(epsilon)
        n, others = budget.order - 1, float(budget.delta_of_others / DELTA)
        start = random.uniform(0, e)
        losses = np.array([start - e * random.choice([0, 1, random.random()]) for _ in range(random.randint(2, 6))])
        p = np.array([random.random() ** 3 for _ in losses])
        q = p * np.exp(-losses)
        losses = losses + math.log(q.sum() / p.sum())  # so that both add up to 1
        p /= p.sum()
        if abs(losses).max() > e:
            continue
        rounds = np.array([random.random() < 0.6 for _ in losses])
        excess = np.where(rounds, 1 - NEAR + NEAR * np.exp(n * (losses - float(budget.spent))), others)
        assert float(p @ excess) <= 1 + 1e-9


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "50"])
def test_every_bound_that_may_be_chosen_has_a_curve_at_the_one_order(epsilon, counts):
    """Else an answer that was paid could not be given; the one order costs most bounds hardly anything."""
    plan = plan_of("union", epsilon=epsilon, counts=counts)
    share, budget = plan.counts_share(plan.bound_choice.bounds[-1]), plan.shared_budget
    for most in (*plan.bound_choice.bounds[3::9], plan.bound_choice.bounds[-1]):
        common = _order(plan.total_epsilon, plan.delta, most, share, budget.order, budget.spent)
        best = _best_order(plan.total_epsilon, plan.delta, most, share)
        assert common[0] == budget.order
        assert best[1] <= common[1] * (1 + 1e-9) < best[1] * 1.06


# ---- real calls ---------------------------------------------------------------------------------------------


@pytest.fixture
def few_bounds(monkeypatch):
    """To choose from, so that the law of the choice is short."""
    for module in (bound, terms):
        monkeypatch.setattr(module, "ITEM_BOUNDS", (1, 2))
        monkeypatch.setattr(module, "LEAST_LAST_BOUND", 2)


@pytest.mark.parametrize(
    "method", [pytest.param({}, id="auto"), pytest.param({"method": "renyi-shaped"}, id="rounds for all")]
)
@pytest.mark.usefixtures("few_bounds")
def test_the_law_of_bound_and_items_is_private(method):
    """Real calls on data of few users of two items, with a user of one or two items more and less."""
    query = plan_of("union", epsilon=2, delta="0.1", **method)
    assert query.shared_budget is not None
    assert {query.uses_rounds(most) for most in (1, 2)} == ({True} if method else {False, True})

    @cache
    def law_of(base):
        sets = sets_of(base, 2)

        def run(draws):
            union = BoundedUnion.choose(query, sets, draws)
            return union.max_items_per_user, tuple(union.draw_level(sets, 0, draws, None))

        return law(run)

    assert worst_of(law_of) > 0.01


@pytest.fixture
def three_methods(monkeypatch):
    """Truncated geometric selection for a bound of 1, greedy updates for 2, rounds for 3; half of epsilon chooses."""
    for module in (bound, terms):
        monkeypatch.setattr(module, "ITEM_BOUNDS", (1, 2, 3))
        monkeypatch.setattr(module, "LEAST_LAST_BOUND", 3)
        monkeypatch.setattr(module, "BOUND_SHARE", Fraction(1, 2))
    monkeypatch.setattr(terms, "FEW_ITEMS", 2)
    terms._mechanisms.cache_clear()
    yield
    terms._mechanisms.cache_clear()


ALL, TWO, ONE = (0, 1, 2), (0, 1), (0,)
PAYS = {"epsilon": 4, "delta": "0.02"}
MANY_MORE = ((ALL, ALL), (ALL, ALL, ALL))  # items than the bound of greedy updates, which look at all of them
ONE_OF_MANY = ((ONE, ONE), (ALL, ONE, ONE))
NEIGHBOURS = (*(((), (added,)) for added in (ONE, TWO, ALL)), ((TWO, TWO), (TWO, TWO, TWO)), MANY_MORE, ONE_OF_MANY)


def largest_part(neighbours, decide=lambda chosen, _: chosen):
    """The largest excess of real calls over delta, both ways; `decide` says by which bound the method is taken."""
    query = plan_of("union", method="by-bound", **PAYS)

    @cache
    def law_of(base):
        sets = sets_of(base, 3)

        def run(draws):
            chosen = query.bound_choice.of_sets(sets, draws)
            union = BoundedUnion.with_bound(query, decide(chosen, base))
            items = tuple(union.draw_level(sets, 0, draws, None))
            return chosen, type(union.mechanisms[0]).__name__, items  # as a statement has them

        return law(run)

    excess = [
        hockey_stick(law_of(one), law_of(other), query.total_epsilon)
        for pair in neighbours
        for one, other in (pair, pair[::-1])
    ]
    return max(float(found.mid()) for found in excess) / float(query.delta)


@pytest.mark.usefixtures("three_methods")
def test_the_law_of_a_method_by_the_chosen_bound_is_private():
    query = plan_of("union", method="by-bound", **PAYS)
    methods = [query.method_for(most) for most in query.bound_choice.bounds]
    assert methods == ["truncated-geometric", "greedy-geometric", "renyi-shaped"]
    assert query.mechanisms(2)[0].max_items_per_user is None
    assert 0.2 < largest_part(NEIGHBOURS) <= 1


@pytest.mark.usefixtures("three_methods")
def test_greedy_updates_at_the_whole_epsilon_are_too_much(monkeypatch):
    """What chose the bound has spent a part of it: 2.2 times delta."""
    whole = property(lambda plan: (plan.total_epsilon, plan.shared_budget.delta_of_others))
    monkeypatch.setattr(terms.UnionTerms, "_price_outside_shared", whole)
    assert largest_part([MANY_MORE]) > 2


@pytest.mark.usefixtures("three_methods")
def test_a_method_by_the_bound_that_nine_of_ten_users_really_have_is_too_much():
    """The bound that is released is private, and a statement names the method: 50 times delta."""

    def really(_, base):
        return sorted(map(len, base))[len(base) * 9 // 10] if base else 1

    assert largest_part([ONE_OF_MANY], really) > 49


@pytest.mark.parametrize("share", [BOUND_SHARE, Fraction(1, 2)])
@pytest.mark.usefixtures("few_bounds")
def test_the_law_of_bound_items_and_ranking_is_private(monkeypatch, share):
    """A top k by discovery, where the bound is chosen; how many items were found shows too."""
    monkeypatch.setattr(discovery, "BOUND_SHARE", share)
    selection = plan_of("top_k", k=1, epsilon=2, delta="0.1", method="discover", counts=False).selection
    assert selection.selector.bound_choice.bounds == (1, 2)

    @cache
    def law_of(base):
        sets = sets_of(base, 2)

        def run(draws):
            drawn = selection.draw(sets, draws)
            return drawn.max_items_per_user, drawn.discovered, tuple(item.label for item in drawn.items)

        return law(run)

    assert worst_of(law_of) > 0.01


def worst_of(law_of):
    """The largest excess over all bases and users, both ways; each is within delta."""
    worst_here = 0.0
    for base in ((), ((0,),), ((0,), (0, 1))):
        for added in ((0,), (1,), (0, 1)):
            pair = [law_of(tuple(sorted(one))) for one in (base, (*base, added))]
            for one, other in (pair, pair[::-1]):
                found = hockey_stick(one, other, Fraction(2))
                assert at_most(found, Fraction(1, 10))
                worst_here = max(worst_here, float(found.mid()))
    return worst_here
