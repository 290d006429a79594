"""An account that composes against all strategies at once, and what each of its conditions is for.

`gains` is the exact largest sum of (P - e^E Q)+ that any strategy reaches with the steps of a menu. The account keeps
it at most delta; a twin that drops one condition does not. Deltas are small, as in use: at 0.1 some twins look fine.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dpselect._ground.privacy import BoundedRange, PureDP, Steps
from dpselect.accounting.optimal_adaptive import adaptive_epsilon
from dpselect.accounting.prices import Price, Spent, divergence
from dpselect.accounting.promise import Promise
from dpselect.accounting.renyi import renyi_budget
from dpselect.ledger.stated import Stated
from tests.exact.adversary import Account, Adversary, Call, laws, picks, reversed_law, simple, tell

ROUNDING = 1e-9


def promise(epsilon, delta):
    return Promise.for_account(Fraction(epsilon), Fraction(delta))


def gain(account, menu, unit, **options):
    """The largest gain, in deltas."""
    return Adversary(account, menu, Fraction(unit), **options).gains() / float(account.promise.delta)


def bounded(*epsilons):
    return [BoundedRange(Fraction(e)) for e in epsilons]


def pure(*epsilons):
    return [PureDP(Fraction(e)) for e in epsilons]


def singles(promise, values, *tells):
    """Calls of one step each, and tells of these parts of delta."""
    return [simple(v, promise.order) for v in values] + [tell(promise.delta * Fraction(t)) for t in tells]


# ---- the account ------------------------------------------------------------------------------------------

# Promise, steps, unit of losses, and the gain in deltas, as docs/composing.md has it.
ONE_STEP = [
    ("1", "1e-6", bounded("0.1"), "0.0125", 0.597),
    ("1", "1e-6", bounded("0.1", "0.2"), "0.0125", 0.685),
    ("1", "1e-6", pure("0.05"), "0.05", 0.539),
    ("1", "1e-6", bounded("0.1", "0.3") + pure("0.1"), "0.025", 0.660),
    ("3", "1e-5", bounded("0.3", "0.6"), "0.0375", 0.724),
    ("10", "1e-5", bounded("1", "2") + pure("1"), "0.125", 0.681),
    ("1", "1e-3", bounded("0.1", "0.2"), "0.025", 0.704),
    ("1", "0.1", bounded("0.2", "0.4") + pure("0.2"), "0.05", 0.746),
]


@pytest.mark.parametrize(("epsilon", "delta", "values", "unit", "expected"), ONE_STEP)
def test_no_strategy_gains_more_than_delta(epsilon, delta, values, unit, expected):
    made = promise(epsilon, delta)
    found = gain(Account(made), singles(made, values, "1/2"), unit, calls=35)
    assert found == pytest.approx(expected, abs=0.001)
    assert found <= 1 + ROUNDING


@pytest.mark.parametrize(("first", "expected"), [("0.6", 0.8), ("0.9", 0.95), ("1", 1)])
def test_a_first_question_may_say_how_much_is_set_apart(first, expected):
    """Whichever question is the first: its delta is fixed before a row is read, and so is what it leaves apart."""
    delta = Fraction("1e-6")
    made = Promise.for_account(Fraction(1), delta, first=delta * Fraction(first))
    menu = singles(made, bounded("0.1", "0.2"), first, "1/8") if made.order else [tell(delta), tell(delta / 8)]
    assert made.delta - made.apart >= delta * Fraction(first)
    assert expected - 0.05 < gain(Account(made), menu, "0.025", calls=20) <= 1 + ROUNDING


@pytest.mark.parametrize("value", [*bounded("0.4"), *pure("0.4")])
def test_the_worst_steps_are_the_same_in_both_directions(value):
    forwards = laws(value, Fraction(1, 10))
    for law in forwards:
        assert sum(p for _, p, _ in law) == pytest.approx(1)
        assert sum(q for _, _, q in law) == pytest.approx(1)
        assert all(np.log(p / q) == pytest.approx(loss / 10) for loss, p, q in law)
    for law in map(reversed_law, forwards):
        assert any(np.allclose(law, other) for other in forwards)


@pytest.mark.parametrize(("at_once", "backwards"), [(1, False), (2, False), (2, True)])
def test_calls_may_take_turns_and_end_early_in_both_directions(at_once, backwards):
    made = promise(1, "1e-6")
    several = picks(BoundedRange(Fraction(1, 10)), 3, made.order, failure=made.delta / 8)
    menu = [several, *singles(made, bounded("0.2") + pure("0.1"), "1/4")]
    found = gain(Account(made), menu, "0.025", calls=18, at_once=at_once, backwards=backwards)
    assert found == pytest.approx(0.630, abs=0.001)


def test_a_grant_may_depend_on_answers():
    """It comes when it suits; what is beyond the epsilon that was granted in the end is still at most delta."""
    made = promise(1, "1e-6")
    more = Account(made.granting(Fraction(3, 2), made.delta))
    menu = singles(made, bounded("0.1", "0.2"), "1/2")
    found = gain(Account(made), menu, "0.025", calls=35, later=more)
    assert gain(Account(made), menu, "0.025", calls=35) < found <= 1 + ROUNDING


# ---- twins: one condition less each -------------------------------------------------------------------------


class ApartGivenBack(Account):
    """What is set aside is there for failures where the epsilons fit."""

    def opens(self, settled, pending, call):
        made, ceiling = self.promise, self.promise.charge(settled, call.price(call.picks, False))
        total = settled + pending + ceiling
        adds = total.epsilon <= made.epsilon and total.failure <= made.delta
        return ceiling if adds or made.keeps(total) else None


class RulePerCall(Account):
    """Each call is paid by the rule under which it fits, and only that sum grows."""

    def opens(self, settled, pending, call):
        made, one = self.promise, self.promise.charge(settled, call.price(call.picks, False))
        total = settled + pending
        if total.failure + one.failure > made.delta - made.apart:
            return None
        if total.epsilon + one.epsilon <= made.epsilon:
            return Spent(one.epsilon, Fraction(0), one.failure)
        return Spent(Fraction(0), one.renyi, one.failure) if total.renyi + one.renyi <= made.renyi else None

    def closes(self, ceiling, *_):
        return ceiling


class PendingIgnored(Account):
    """Open calls are charged when they end."""

    def opens(self, settled, _, call):
        return super().opens(settled, Spent(), call)


@dataclass(frozen=True)
class AtOrders:
    """Sums of epsilon, of divergences of several orders, of failures."""

    epsilon: Fraction = Fraction(0)
    renyi: tuple[Fraction, ...] = ()
    failure: Fraction = Fraction(0)

    def __add__(self, other):
        both = zip(self.renyi, other.renyi, strict=True) if self.renyi and other.renyi else ()
        renyi = tuple(a + b for a, b in both) or self.renyi or other.renyi
        return AtOrders(self.epsilon + other.epsilon, renyi, self.failure + other.failure)


class OrderAfterTheFact(Account):
    """The sums of many orders are kept, and any of them may fit in the end."""

    nothing = AtOrders()

    def __init__(self, promise, orders):
        super().__init__(promise)
        self.orders = orders
        self.budgets = [renyi_budget(order, promise.epsilon, promise.apart) for order in orders]

    def opens(self, settled, pending, call):
        ceiling = self.closes(Spent(failure=call.tell), call, call.picks)
        total, made = settled + pending + ceiling, self.promise
        fits = total.epsilon <= made.epsilon or any(r <= b for r, b in zip(total.renyi, self.budgets, strict=True))
        return ceiling if fits and total.failure <= made.delta - made.apart else None

    def closes(self, ceiling, call, taken, *_):
        each = tuple(divergence(call.value, order) for order in self.orders)
        return AtOrders(call.value.epsilon * taken, tuple(r * taken for r in each), ceiling.failure)


def free_bottom(value, k, order):
    """Picks of which bottom is none."""
    each = divergence(value, order)

    def price(taken, bottom):
        return Price(value.epsilon * (taken - bottom), each * (taken - bottom))

    return Call(value, k, Fraction(0), price)


@cache
def capped(epsilon, k, order, composition, charged=True):
    """k picks whose epsilon is that of their composition at this delta, which is charged, or is forgotten."""
    value = BoundedRange(Fraction(epsilon))
    cap, each = adaptive_epsilon([Steps(value, k)], composition), divergence(value, order)
    assert cap < k * value.epsilon
    more = composition if charged else Fraction(0)

    def price(taken, _):
        added = taken * value.epsilon
        return Price(min(cap, added), taken * each, Fraction(0), more, added)

    return Call(value, k, Fraction(0), price)


# The promise, the steps, the unit of losses, and the gain in deltas.
@pytest.mark.parametrize(
    ("epsilon", "delta", "values", "unit", "expected"),
    [
        ("1", "1e-6", bounded("0.1", "0.2"), "0.0125", 1.180),
        ("3", "1e-5", bounded("0.3", "0.6"), "0.0375", 1.213),
        ("10", "1e-5", bounded("1", "2"), "0.125", 1.169),
        ("1", "1e-3", bounded("0.1", "0.3"), "0.025", 1.241),
    ],
)
def test_what_is_apart_must_stay_apart_though_epsilons_fit(epsilon, delta, values, unit, expected):
    made = promise(epsilon, delta)
    menu = singles(made, values, "1/2")
    assert gain(Account(made), menu, unit, calls=35) <= 1 + ROUNDING
    assert gain(ApartGivenBack(made), menu, unit, calls=35) == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize(("values", "expected"), [(bounded("0.1"), 7.594), (bounded("0.1", "0.2"), 149.96)])
def test_one_rule_must_fit_the_whole_total(values, expected):
    made = promise(1, "1e-6")
    menu = singles(made, values, "1/2")
    assert gain(Account(made), menu, "0.025", calls=35) <= 1 + ROUNDING
    assert gain(RulePerCall(made), menu, "0.025", calls=35) == pytest.approx(expected, rel=0.001)


@pytest.mark.parametrize(("at_once", "expected"), [(2, 10.45), (3, 164.7)])
def test_pending_ceilings_must_count(at_once, expected):
    made = promise(1, "1e-6")
    menu = [picks(BoundedRange(Fraction(1, 5)), 3, made.order, failure=made.delta / 8)]
    assert gain(Account(made), menu, "0.05", calls=8, at_once=at_once) <= 1 + ROUNDING
    assert gain(PendingIgnored(made), menu, "0.05", calls=8) <= 1 + ROUNDING  # one after the other
    assert gain(PendingIgnored(made), menu, "0.05", calls=8, at_once=at_once) == pytest.approx(expected, rel=0.001)


@pytest.mark.parametrize(("calls", "expected"), [(6, 86.90), (20, 5910.0)])
def test_bottom_must_be_paid(calls, expected):
    made, pick = promise(1, "1e-6"), BoundedRange(Fraction(1, 5))
    assert gain(Account(made), [picks(pick, 2, made.order)], "0.05", calls=calls) <= 1 + ROUNDING
    assert gain(Account(made), [free_bottom(pick, 2, made.order)], "0.05", calls=calls) == pytest.approx(
        expected, rel=0.001
    )


@pytest.mark.parametrize(
    ("epsilon", "k", "pick", "unit", "expected"),
    [("1", 10, "0.1533", "1533/80000", 1.372), ("3", 6, "0.5832", "0.0729", 1.472)],
)
def test_a_capped_price_must_pay_for_its_composition(epsilon, k, pick, unit, expected):
    """Ten picks that are (1, 1e-6) together, in an account of (1, 1e-6): their delta is there, or they are refused."""
    made = promise(epsilon, "1e-6")
    honest = [capped(pick, k, made.order, made.delta), tell(made.delta / 4)]
    forgotten = [capped(pick, k, made.order, made.delta, False), tell(made.delta / 4)]
    assert gain(Account(made), honest, unit, calls=8) <= 1 + ROUNDING
    assert gain(Account(made), forgotten, unit, calls=8) == pytest.approx(expected, abs=0.001)


def test_a_capped_price_that_pays_is_safe():
    made, pick = promise(1, "1e-6"), BoundedRange(Fraction(1, 10))
    twelve = capped("0.1", 12, made.order, made.delta / 4)
    menu = [twelve, simple(pick, made.order), tell(made.delta / 4)]
    assert gain(Account(made), menu, "0.0125", calls=18) == pytest.approx(0.587, abs=0.001)


def test_the_order_must_be_chosen_before():
    """All but nothing of delta is set aside: the account spends half of it at most, and many orders more than all."""
    first = promise(1, "1e-6")
    made = Promise(first.epsilon, first.delta, first.order, first.delta)
    menu = singles(made, bounded("0.05", "0.1", "0.2", "0.4"))
    assert gain(Account(made), menu, "0.025", calls=50) <= 0.51
    found = gain(OrderAfterTheFact(made, range(8, 120, 4)), menu, "0.025", calls=50)
    assert found == pytest.approx(1.058, abs=0.001)


# ---- prices that are stated ---------------------------------------------------------------------------------


def stated(epsilon, delta, order, charged=1):
    """What another library does at this price: a tell with all of delta, of which this part is charged."""
    one = Stated(Fraction(epsilon), delta, "one user", "a mean")
    price = one.price_at(order)
    price = Price(price.epsilon, price.renyi, price.failure * Fraction(charged), price.composition)
    return Call(PureDP(one.epsilon), 1, delta, lambda *_: price)


@pytest.mark.parametrize(("epsilon", "delta", "unit"), [("1", "1e-6", "0.05"), ("3", "1e-5", "0.1")])
@pytest.mark.parametrize("part", ["1/4", "1/20"])
def test_a_stated_price_fails_with_all_of_its_delta(epsilon, delta, unit, part):
    """Between our own picks; the twin puts half of delta, as composition by an even split would."""
    made = promise(epsilon, delta)
    picks_of_ours = [simple(one, made.order) for one in bounded(2 * Fraction(unit))]
    for charged, holds in ((1, True), ("1/2", False)):
        menu = [stated(unit, made.delta * Fraction(part), made.order, charged), *picks_of_ours]
        found = gain(Account(made), menu, Fraction(unit) / 4, calls=35)
        assert (found <= 1 + ROUNDING) is holds, found


def test_what_is_stated_is_charged_no_less_than_randomised_response():
    """The twin counts the divergence of a pick, which is about a quarter of it."""
    made, e = promise(1, "1e-6"), Fraction(1, 20)
    honest = stated(e, Fraction(0), made.order)
    cheap = Call(PureDP(e), 1, Fraction(0), lambda *_: Price(e, divergence(BoundedRange(e), made.order)))
    assert gain(Account(made), [honest, tell(made.delta / 2)], e, calls=60) <= 1 + ROUNDING
    assert gain(Account(made), [cheap, tell(made.delta / 2)], e, calls=60) > 2
