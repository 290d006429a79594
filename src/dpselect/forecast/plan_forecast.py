"""What to expect of a plan at several prices: the forecast of the method that would answer it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from dpselect._ground.domain import max_domain_size
from dpselect.errors import ParameterError
from dpselect.forecast.forecast import Forecast
from dpselect.forecast.population import Population
from dpselect.queries.plan import Plan
from dpselect.queries.top.plan import TopKPlan
from dpselect.queries.union.terms import UnionTerms, chosen_method
from dpselect.questions.parts import Method
from dpselect.questions.questions import Question, TopK, Union


def forecast_plan(plan: Plan, like: Population, epsilons: tuple[Fraction, ...]) -> Forecast | None:
    """Return the forecast of the plan's method at these epsilons; None where there is no simulation of it."""
    if plan.by or plan.totals or plan.measuring or plan.others:
        return None
    question: Question
    if isinstance(plan, TopKPlan):
        items = None if plan.domain is None else max_domain_size(plan.domain)  # their names are not kept
        method = Method(plan.method, k_bar=plan.how.k_bar)
        question = TopK(plan.question.k, domain=items, counts=plan.request.counts, method=method)
    elif isinstance(plan, UnionTerms) and plan.most is not None:
        question = Union(method=chosen_method(plan, plan.most), counts=plan.counts)
    else:
        return None
    return _simulate(question, like, epsilons, plan.ceiling.delta, plan.most)


@lru_cache(maxsize=1000)
def _simulate(
    question: Question, like: Population, epsilons: tuple[Fraction, ...], delta: Fraction, most: int | None
) -> Forecast | None:
    """Return the forecast, which is the same for the same question."""
    try:
        return question.forecast(like, epsilon=epsilons, delta=delta, max_items_per_user=most)
    except ParameterError:
        return None
