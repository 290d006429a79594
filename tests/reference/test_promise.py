"""The promise of an account that composes: its order and budget, and how many questions it pays, each found twice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import pytest

from dpselect._ground.privacy import BoundedRange, PureDP, Steps
from dpselect.accounting.composition import basic
from dpselect.accounting.prices import Price, Spent, ceiling, divergence, divergences, of_outcome
from dpselect.accounting.promise import MOST, Promise, at_least, how_many
from dpselect.accounting.renyi import renyi_budget
from dpselect.errors import ParameterError
from tests.by_names import plan_of
from tests.reference.test_renyi_prices import exact, worst_two_points


def promise(epsilon, delta):
    return Promise.for_account(Fraction(epsilon), Fraction(delta))


def budget(epsilon, delta, order):
    """epsilon - ln(1 - 1/a) + (ln D_c + ln a) / (a - 1), in 40 digits."""
    with mpmath.workdps(40):
        e, d, a = exact(Fraction(epsilon)), exact(Fraction(delta)), mpmath.mpf(order)
        return e - mpmath.log(1 - 1 / a) + (mpmath.log(d) + mpmath.log(a)) / (a - 1)


# ---- the order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "order"),
    [("1", "1e-6", 23), ("1", "1e-5", 19), ("3", "1e-6", 9), ("3", "1e-5", 8), ("10", "1e-6", 4), ("10", "1e-5", 4)],
)
def test_usual_promises_have_these_orders(epsilon, delta, order):
    made = promise(epsilon, delta)
    assert (made.order, made.apart) == (order, Fraction(delta) / 2)
    best = max(range(2, 500), key=lambda a: budget(epsilon, made.apart, a) / a)  # of all, in 40 digits
    assert best == order
    with mpmath.workdps(40):
        lost = budget(epsilon, made.apart, order) - exact(made.renyi)
        assert 0 <= lost < mpmath.mpf(2) ** -59


@pytest.mark.parametrize("epsilon", ["0.05", "0.3", "2.5", "60"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-3", "0.9"])
def test_the_order_is_the_best_of_all(epsilon, delta):
    made = promise(epsilon, delta)
    best = max(range(2, 1500), key=lambda a: renyi_budget(a, Fraction(epsilon), made.apart) / a)
    assert made.order == best


def test_without_a_delta_an_account_adds_up():
    made = promise(1, 0)
    assert (made.order, made.apart, made.renyi) == (None, 0, None)
    assert made.keeps(Spent(epsilon=Fraction(1)))
    assert not made.keeps(Spent(epsilon=Fraction(11, 10)))
    assert promise("1e-9", "1e-300").order is None  # no order is of use, and all of delta is for failures
    assert promise("1e-9", "1e-300").apart == 0


@pytest.mark.parametrize(("first", "apart"), [("5e-7", "5e-7"), ("6e-7", "2e-7"), ("1e-6", 0), ("2e-6", 0)])
def test_what_a_first_question_needs_of_delta_is_not_set_apart(first, apart):
    made = Promise.for_account(Fraction(1), Fraction("1e-6"), first=Fraction(first))
    assert made.apart == Fraction(apart)
    assert made.keeps(Spent(failure=min(Fraction(first), made.delta)))


def test_a_grant_keeps_the_order_and_what_is_apart():
    first = promise(1, "1e-6")
    more = first.granting(Fraction(3), Fraction(1, 10**5))
    assert (more.order, more.apart) == (first.order, first.apart)
    assert more.order != promise(3, "1e-5").order
    assert more.renyi - first.renyi == 2
    with pytest.raises(ParameterError, match=r"^delta must be at least 5e-07, set aside"):
        first.granting(Fraction(1), Fraction(1, 10**7))


def test_an_account_that_was_lowered_below_its_order_adds_up_until_it_is_raised():
    first = promise(1, "1e-6")
    less = first.granting(Fraction(2, 5), first.delta)
    assert (less.order, less.renyi) == (first.order, None)
    some = Spent(Fraction(1, 5), Fraction(1, 100))
    assert less.part(some) == Fraction(1, 2)
    assert less.keeps(some)
    assert not less.keeps(Spent(Fraction(1, 2)))
    assert less.cap(Fraction(1, 5), first.delta).part(some) == 1
    assert less.granting(first.epsilon, first.delta) == first


# ---- the rule ---------------------------------------------------------------------------------------------


def test_either_sum_may_fit_but_of_one_whole_total():
    made = promise(1, "1e-6")
    much = Fraction(10)
    assert made.keeps(Spent(Fraction(1), much, made.apart))
    assert made.keeps(Spent(much, made.renyi, made.apart))
    assert not made.keeps(Spent(Fraction(1) + Fraction(1, 10**9), made.renyi + Fraction(1, 10**9), Fraction(0)))
    assert not made.keeps(Spent(Fraction(0), Fraction(0), made.apart + Fraction(1, 10**20)))
    settled, pending, one = Spent(Fraction(1, 2), much), Spent(Fraction(1, 4)), Spent(Fraction(1, 4))
    assert made.admits(settled, pending, one)
    assert not made.admits(settled, pending + Spent(Fraction(1, 100)), one)


def test_delta_of_composition_is_charged_while_it_buys_something():
    made, delta = promise(1, "1e-6"), Fraction(1, 10**9)
    price = Price(Fraction(1, 10), Fraction(1, 100), delta, 9 * delta, Fraction(1, 5))
    one = Price(Fraction(1, 50), Fraction(1, 500), delta, 9 * delta, Fraction(1, 50))
    whole, steps = Spent(Fraction(1, 10), Fraction(1, 100), 10 * delta), Spent(Fraction(1, 5), Fraction(1, 100), delta)
    assert made.charge(Spent(Fraction(1)), price) == whole
    assert made.charge(Spent(Fraction(101, 100)), price) == steps
    assert made.settled_charge(whole, one) == Spent(Fraction(1, 50), Fraction(1, 500), 10 * delta)
    assert made.settled_charge(steps, one) == Spent(Fraction(1, 50), Fraction(1, 500), delta)
    curve = Price(Fraction(1, 10), Fraction(1, 100), delta, 9 * delta)  # its steps have no epsilon of their own
    assert made.charge(Spent(Fraction(2)), curve) == whole


def test_no_epsilon_is_charged_without_the_delta_that_it_needs():
    """A later grant may let adding hold again: what was charged without composition counts by its steps for good."""
    made, query = promise(1, "1e-6"), top(1, "1e-8")
    most = ceiling(query.price, made.order)
    pick = query.selection.selector.terms.epsilon_per_pick
    held = made.charge(Spent(Fraction(2)), most)
    assert (held.epsilon, held.failure) == (10 * pick, query.price.failure)
    found = made.settled_charge(held, of_outcome(query.price, query.steps(SimpleNamespace(found=(9,))), made.order))
    assert found == held
    assert found.epsilon > query.price.epsilon


# ---- prices of questions ----------------------------------------------------------------------------------


def top(epsilon, delta, k=10):
    return plan_of(
        "top_k",
        k=k,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        domain=None,
        counts=False,
        k_bar=None,
        max_items_per_user=None,
        method="limited-domain",
    )


def test_a_limited_domain_is_priced_by_the_picks_it_made():
    query, order = top(1, "1e-8"), 23
    pick = query.selection.selector.terms.epsilon_per_pick
    each = divergence(BoundedRange(pick), order)
    whole = ceiling(query.price, order)
    assert (whole.epsilon, whole.renyi) == (1, 10 * each)
    assert whole.failure + whole.composition == Fraction(1, 10**8)
    assert 0 < whole.composition < Fraction(1, 10**8)
    for found in range(11):
        taken = min(found + 1, 10)  # bottom is a pick
        cost = of_outcome(query.price, query.steps(SimpleNamespace(found=(found,))), order)
        assert (cost.epsilon, cost.renyi) == (min(Fraction(1), taken * pick), taken * each)
        assert (cost.failure, cost.composition) == (whole.failure, whole.composition)


def test_without_an_order_a_divergence_counts_as_its_epsilon():
    query = top(1, "1e-8")
    added = basic(query.price.steps)
    assert ceiling(query.price, None).renyi == added > 1
    assert all(divergences(query.price.steps, order) <= added for order in (2, 23, 2**20))


# ---- how many questions -----------------------------------------------------------------------------------


def by_hand(promise, price, typical, settled, pending):
    """One question after the other."""
    asked = 0
    while promise.admits(settled, pending, promise.charge(settled, price)):
        settled += promise.charge(settled, typical)
        asked += 1
    return asked


PICK = Price(Fraction(1, 10), divergence(BoundedRange(Fraction(1, 10)), 23))


@pytest.mark.parametrize(
    "settled", [Spent(), Spent(Fraction(7, 10), Fraction(1, 5), Fraction(1, 10**7)), Spent(Fraction(2))]
)
@pytest.mark.parametrize("pending", [Spent(), Spent(Fraction(1, 3), Fraction(1, 9), Fraction(1, 10**8))])
@pytest.mark.parametrize(
    ("price", "typical"),
    [
        (PICK, PICK),
        (Price(Fraction(1, 3), Fraction(1, 7), Fraction(1, 10**8), Fraction(1, 10**7)), None),
        (Price(Fraction(1, 3), Fraction(1, 7), Fraction(1, 10**8), Fraction(1, 10**7)), PICK),
        (Price(Fraction(1, 50), Fraction(1, 900), Fraction(1, 10**9), Fraction(1, 10**8)), None),
        (Price(Fraction(1, 2), Fraction(1, 4), Fraction(1, 10**8), Fraction(1, 10**7)), PICK),
        (Price(Fraction(1, 50), Fraction(1, 900), Fraction(1, 10**9), Fraction(1, 10**8), Fraction(1, 30)), None),
        (Price(Fraction(1, 3), Fraction(1, 90), Fraction(1, 10**8), Fraction(1, 10**7), Fraction(1, 2)), PICK),
        (Price(Fraction(0), Fraction(0), Fraction(1, 10**8), Fraction(1, 10**7)), None),
        (Price(Fraction(5), Fraction(4)), None),
        (Price(Fraction(0), Fraction(0), Fraction(1, 10**6)), None),
    ],
)
def test_how_many_is_what_can_be_asked_one_after_the_other(price, typical, settled, pending):
    made = promise(1, "1e-6")
    found = how_many(made, price, typical=typical, settled=settled, pending=pending)
    assert found == by_hand(made, price, typical or price, settled, pending)


@pytest.mark.parametrize("each", ["0.01", "0.1", "1"])
@pytest.mark.parametrize("picks", [10, 5, 0])
@pytest.mark.parametrize("settled", [Spent(), Spent(Fraction(7, 2), Fraction(1, 5), Fraction(1, 10**7))])
def test_at_least_so_many_can_be_asked_whatever_comes_back(each, picks, settled):
    """Cheap answers are charged all of their delta for longer: how many fit at the ceiling is more than fit then."""
    made, query = promise(3, "1e-6"), top(each, Fraction(1, 10**9))
    price, steps = (
        ceiling(query.price, made.order),
        Steps(BoundedRange(query.selection.selector.epsilon_per_pick), picks + 1),
    )
    typical = price if picks == 10 else of_outcome(query.price, [steps], made.order)
    found = at_least(made, price, settled=settled)
    asked = by_hand(made, price, typical, settled, Spent())
    assert found <= asked
    if picks == 0 and each == "0.01" and not settled.epsilon:
        assert (how_many(made, price), asked, found) == (627, 500, 500)


def test_so_many_fit_into_the_delta_of_a_quota_too():
    made = promise(3, "1e-6")
    price = ceiling(top("0.01", Fraction(1, 10**9)).price, made.order)
    quota = replace(made.limits, failure=made.limits.failure * 4 / 5)
    assert how_many(made, price, caps=[(quota, Spent())]) > 400
    assert at_least(made, price, caps=[(quota, Spent())]) == 400


def test_free_questions_never_end():
    assert how_many(promise(1, "1e-6"), Price(Fraction(0), Fraction(0))) == MOST


TOP_TEN = [  # epsilon and delta of the grant, epsilon of a question, how many by adding, how many by this rule
    ("1", "1e-6", "0.05", 20, 429),
    ("1", "1e-6", "0.1", 10, 111),
    ("1", "1e-6", "0.2", 5, 28),
    ("1", "1e-6", "0.5", 2, 4),
    ("3", "1e-5", "0.1", 30, 842),
    ("3", "1e-5", "0.2", 15, 231),
    ("3", "1e-5", "0.5", 6, 40),
    ("3", "1e-5", "1", 3, 10),
    ("10", "1e-5", "0.5", 20, 316),
    ("10", "1e-5", "1", 10, 82),
]


@pytest.mark.parametrize(("epsilon", "delta", "each", "adding", "expected"), TOP_TEN)
def test_so_many_questions_of_ten_items_fit_into_a_grant(epsilon, delta, each, adding, expected):
    """With delta / 1000 for each question, and the picks' epsilons added up without a cap."""
    made, query = promise(epsilon, delta), top(each, Fraction(delta) / 1000)
    pick, failure = query.selection.selector.terms.epsilon_per_pick, query.price.failure
    price = Price(10 * pick, divergences(query.price.steps, made.order), failure)
    assert made.epsilon // Fraction(each) == adding
    assert how_many(made, price) == expected
    with mpmath.workdps(40):  # the same from the definitions, with the worst law of a pick found by search
        worst = worst_two_points(exact(pick), made.order)
        by_order = int(budget(epsilon, made.apart, made.order) // (10 * worst))
        assert expected == min(max(by_order, int(made.epsilon // (10 * pick))), int(made.apart // failure))


@pytest.mark.parametrize(("each", "expected"), [("0.05", 734), ("0.1", 183), ("0.2", 45), ("0.5", 7)])
def test_picks_of_a_tenth_of_the_epsilon_each_are_cheaper(each, expected):
    made, pick = promise(1, "1e-6"), BoundedRange(Fraction(each) / 10)
    assert how_many(made, Price(Fraction(each), divergence(pick, made.order) * 10)) == expected


@pytest.mark.parametrize(("epsilon", "delta", "each", "adding", "expected"), [*TOP_TEN, ("1", "1e-6", "1", 1, 1)])
def test_the_price_of_a_query_never_pays_fewer_than_adding(epsilon, delta, each, adding, expected):
    """With the cap on the epsilon, whose delta is charged while adding may hold."""
    made, query = promise(epsilon, delta), top(each, Fraction(delta) / 1000)
    found = how_many(made, ceiling(query.price, made.order))
    assert adding <= found <= expected
    assert found >= expected * 97 // 100


def test_pure_questions_are_never_fewer_than_by_adding():
    for epsilon in ("0.01", "0.1", "0.3", "0.5", "1"):
        made, step = promise(1, "1e-6"), Steps(PureDP(Fraction(epsilon)), 1)
        price = Price(Fraction(epsilon), divergences([step], made.order))
        assert how_many(made, price) >= 1 // Fraction(epsilon)
