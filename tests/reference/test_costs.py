"""What is shown as cost is what was left before less what is left after, at that moment and in the same decimals."""

from __future__ import annotations

import re
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

import pytest

import dpselect as dps
from dpselect._ground.budget_parts import cost_between, format_cost, percent, rounded_part
from dpselect.accounting.limits import Limits
from dpselect.accounting.prices import Spent
from dpselect.ledger.standing import format_hold

ROWS = {"user": [*range(300), *range(200)], "item": ["ant"] * 300 + ["bee"] * 200}
SENTENCE = re.compile(r"^([0-9.]+) % of the budget.*\); (?:of the quota )?([0-9.]+) %")
EPSILONS = ["3", "0.5", "0.5", "0.2", "3.1", "0.5", "0.02", "0.2"]


def floor(percent: Decimal) -> Decimal:
    return percent.quantize(Decimal("0.01"), rounding=ROUND_FLOOR)


@pytest.mark.parametrize("kept", ["in memory", "in a ledger"])
def test_costs_and_what_is_left_add_up_where_two_sums_keep_a_budget(kept: str, ledger: dps.Ledger) -> None:
    in_ledger = kept == "in a ledger"
    budget = dps.Budget.open(ledger, analyst="ann") if in_ledger else dps.Budget(epsilon=10, delta="1e-4")
    data = dps.Dataset(ROWS, user="user", item="item", budget=budget)
    left, more = Decimal(100), list[float]()
    for epsilon in EPSILONS:
        question = dps.TopK(1, domain=["ant", "bee"])
        plan = question.at(epsilon=epsilon)
        alone, forecast = budget.share_of(plan), budget.describe_cost(plan)
        charged = data.ask(question, epsilon=epsilon, fresh=True).charged
        assert charged is not None
        shown = SENTENCE.match(charged.sentence)
        assert shown is not None
        cost, after = map(Decimal, shown.groups())
        assert floor(after + cost) == floor(left), charged.sentence
        assert forecast.startswith(f"costs up to {shown[1]} % of the budget, of which "), charged.sentence
        assert re.search(r" ([0-9.]+) % after it$", forecast)
        more.append(float(cost) / 100 - alone)
        left = after
    assert max(more) > 0.01  # a part by itself would not have added up


@pytest.mark.parametrize("tenths", range(0, 1000, 7))
def test_formatted_parts_add_up_whatever_they_are(tenths: int) -> None:
    before, after = Fraction(1) - Fraction(tenths, 3001), Fraction(1) - Fraction(tenths, 2999) - Fraction(1, 777)
    cost, left = cost_between(before, after), rounded_part(after)
    texts = format_cost(cost, left_after=left)
    taken, had, has = (Decimal(text.removesuffix(" %")) for text in texts)
    assert had - has == taken
    assert len({len(text.partition(".")[2]) for text in texts}) == 1
    assert texts == format_cost(cost, left_before=rounded_part(before))


def test_a_refusal_has_the_decimals_of_costs() -> None:
    """2.001 % beside 1.99 % were digits of two kinds."""
    limits, used = Limits(Fraction(1), None, Fraction(1)), Spent(Fraction(98001, 100000))
    assert format_hold(limits, used, Spent(Fraction(2001, 100000))) == ("2.00 %", "1.99 %")
    assert format_hold(limits, used, Spent(Fraction(2999, 100000))) == ("2.99 %", "1.99 %")
    assert [percent(Fraction(2001, 10**5), up=up) for up in (True, False)] == ["2.01 %", "2 %"]
    assert [percent(Fraction(1, 10**9), up=up) for up in (True, False)] == ["0.0001 %", "under 0.0001 %"]
    for thousandth in range(1, 999, 37):
        for more in (Fraction(1, 10**7), Fraction(1, 10**4), Fraction(1, 7)):
            used, ceiling = Spent(Fraction(thousandth, 999)), Spent(1 - Fraction(thousandth, 999) + more)
            held, left = format_hold(limits, used, ceiling)
            assert len({len(one.partition(".")[2]) for one in (held, left)}) == 1, (held, left)
            assert Decimal(held.removesuffix(" %")) > Decimal(left.removesuffix(" %"))


@pytest.mark.parametrize("kept", ["in memory", "in a ledger"])
def test_a_forecast_of_what_does_not_fit_costs_more_than_is_left_now(kept: str, ledger: dps.Ledger) -> None:
    in_ledger = kept == "in a ledger"
    budget = dps.Budget.open(ledger, analyst="ann") if in_ledger else dps.Budget(epsilon=10, delta="1e-4")
    data = dps.Dataset(ROWS, user="user", item="item", budget=budget)
    question = dps.TopK(1, domain=["ant", "bee"])
    data.ask(question, epsilon=8)
    shown = re.fullmatch(
        "costs up to ([0-9.]+) % of the budget, of which only ([0-9.]+) % is left now",
        budget.describe_cost(question.at(epsilon=9)),
    )
    assert shown is not None
    assert Decimal(shown[1]) > Decimal(shown[2])
