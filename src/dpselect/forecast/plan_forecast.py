"""What to expect of a plan at several prices: the forecast of the method that would answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from dpselect._ground.dataclass import dataclass
from dpselect._ground.domain import max_domain_size
from dpselect.errors import ParameterError
from dpselect.forecast.forecast import Forecast, ForecastRow
from dpselect.forecast.population import Population
from dpselect.queries.plan import Plan
from dpselect.queries.top.plan import TopKPlan
from dpselect.queries.union.terms import UnionTerms
from dpselect.questions.parts import Method, Payment
from dpselect.questions.questions import Question, TopK, Union

_PARTS_OF_PRICE = (Fraction(1, 2), Fraction(1), Fraction(2))
"""The prices that are compared, as parts of that of the plan."""


@dataclass(frozen=True)
class PricedForecast:
    """A question at one of several prices, and its forecast; None where there is no simulation of its method."""

    plan: Plan
    row: ForecastRow | None


def compare_prices(plan: Plan, like: Population) -> Sequence[PricedForecast]:
    """Forecast a plan at half its price, at its own, and at twice as much, where the question can have these prices."""
    plans = [priced_plan for part in _PARTS_OF_PRICE if (priced_plan := _at_part_of_price(plan, part)) is not None]
    forecast = forecast_plan(plan, like, tuple(priced_plan.ceiling.epsilon for priced_plan in plans))
    rows = {row.epsilon: row for row in (() if forecast is None else forecast.rows)}
    return [PricedForecast(priced_plan, rows.get(priced_plan.ceiling.epsilon)) for priced_plan in plans]


def _at_part_of_price(plan: Plan, part: Fraction) -> Plan | None:
    """Return the same question at another price, or None if that is too small or too large for it."""
    if part == 1:
        return plan
    epsilon, delta = (_round_to_three_digits(number * part) for number in (plan.ceiling.epsilon, plan.ceiling.delta))
    delta_of_part = delta if part < 1 and plan.delta else plan.delta
    try:
        return replace(plan, payment=Payment(epsilon=epsilon, delta=delta_of_part))
    except ParameterError:
        return None


def _round_to_three_digits(number: Fraction) -> Fraction:
    """Round to three significant digits, as people write it."""
    return Fraction(f"{float(number):.3g}")


def forecast_plan(plan: Plan, like: Population, epsilons: tuple[Fraction, ...]) -> Forecast | None:
    """Return the forecast of the plan's method at these epsilons; None where there is no simulation of it."""
    if plan.by or plan.totals or plan.measures or plan.compared_periods:
        return None
    question: Question
    if isinstance(plan, TopKPlan):
        items = None if plan.domain is None else max_domain_size(plan.domain)  # their names are not kept
        method = Method(plan.method, k_bar=plan.requested_method.k_bar)
        question = TopK(plan.question.k, domain=items, counts=plan.request.counts, method=method)
    elif isinstance(plan, UnionTerms) and plan.max_items_per_user is not None:
        question = Union(method=plan.method_for(plan.max_items_per_user), counts=plan.counts)
    else:
        return None
    return _simulate(question, like, epsilons, plan.ceiling.delta, plan.max_items_per_user)


@lru_cache(maxsize=1000)
def _simulate(
    question: Question, like: Population, epsilons: tuple[Fraction, ...], delta: Fraction, max_items: int | None
) -> Forecast | None:
    """Return the forecast, which is the same for the same question."""
    try:
        return question.forecast(like, epsilon=epsilons, delta=delta, max_items_per_user=max_items)
    except ParameterError:
        return None
