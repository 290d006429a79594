"""What a limited domain is charged in both currencies, against the exact law of the real code, over all neighbours.

docs/composing.md asks of a price: but for failures of mass d, P is at most e^e Q, outcome by outcome, and the mean of
(P / Q)^(a - 1) e^(-(a - 1) r) is at most 1. Failures are the outcomes with an item that the other side does not name.
"""

from __future__ import annotations

from functools import cache

import pytest
from flint import arb, ctx

from dpselect._ground.privacy import Steps
from dpselect._ground.reals import enclose
from dpselect.accounting.prices import of_outcome
from tests.exact.laws import BITS
from tests.slow.exact.test_budgets import answers, neighbours, plan

ORDERS = (2, 8, 23)
ROUNDING = 1e-20


@cache
def asked(k, k_bar, delta):
    return plan(k, k_bar, delta=delta)


@cache
def law_of(k, k_bar, delta, counts):
    return answers(asked(k, k_bar, delta), counts)


def picks_of(k, outcome):
    """One for each item, and one for bottom."""
    return min(len(outcome) + 1, k)


def excesses(k, k_bar, delta, order, taken=picks_of):
    """Over all neighbours: the largest failure, excess over e^e Q, and mean of (P / Q)^(a - 1) e^(-(a - 1) r)."""
    query = asked(k, k_bar, delta)
    failure = beyond = moment = 0.0
    with ctx.workprec(BITS):
        for left, right in neighbours((6, 9)):
            p, q = law_of(k, k_bar, delta, left), law_of(k, k_bar, delta, right)
            named = {item for outcome in q for item in outcome}
            lost, over, mean = arb(0), arb(0), arb(0)
            for outcome, mass in p.items():
                if not set(outcome) <= named:
                    lost += mass
                    continue
                one = query.privacy.steps[0].value
                price = of_outcome(query.privacy, [Steps(one, taken(k, outcome))], order)
                assert price.failure == query.privacy.failure  # never less for a short answer
                other = q[outcome]
                gap = mass - (enclose(one.epsilon) * taken(k, outcome)).exp() * other
                over += gap if not gap <= 0 else 0
                mean += mass * ((mass / other).log() * (order - 1) - enclose(price.renyi) * (order - 1)).exp()
            failure = max(failure, float(lost.mid()))
            beyond = max(beyond, float(over.mid()))
            moment = max(moment, float(mean.mid()))
    return failure, beyond, moment


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("k", "k_bar"), [(1, 1), (2, 2), (2, 3), (3, 3)])
def test_an_answer_is_worth_its_price_in_both_currencies(k, k_bar, order):
    query = asked(k, k_bar, "0.01")
    failure, beyond, moment = excesses(k, k_bar, "0.01", order)
    assert 0.99 < failure / float(query.privacy.failure) <= 1 + ROUNDING
    assert beyond <= ROUNDING
    assert moment <= 1 + ROUNDING
    assert moment > 0.65 or k == 3  # one or two picks nearly use the whole price


@pytest.mark.parametrize("order", ORDERS)
def test_an_answer_whose_bottom_is_free_is_worth_more(order):
    _, beyond, moment = excesses(2, 2, "0.01", order, taken=lambda _, outcome: len(outcome))
    assert beyond > 1e-3
    assert moment > 1.01
