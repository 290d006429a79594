"""What to expect of a question, and what it costs: computed from parameters and declared sizes, never from rows."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dpselect import Forecast, Plan, Population
from dpselect._ground.budget_parts import cost_between, describe_cost, rounded_part
from dpselect._ground.parameters import float_rounded_up
from dpselect.errors import ParameterError
from dpselect.forecast.plan_forecast import forecast_plan
from dpselect.gateway.asked import AskedQuestion
from dpselect.ledger import Standing
from dpselect.queries.planted import fewest_people
from dpselect.questions.parts import Payment
from dpselect.release.formatting import Json

NO_FORECAST = "There is no forecast for this kind of question, but it costs at most its price."
_HARDLY, HALF = 0.005, 0.5
_PARTS_OF_PRICE = (Fraction(1, 2), Fraction(1), Fraction(2))
"""The prices that are compared, as parts of that of the question."""
_ONE_AT_A_TIME = threading.Lock()  # a forecast takes a processor for up to a second


def price(
    question: AskedQuestion, standings: Collection[Standing], sentences: Sequence[str], *, free: bool
) -> dict[str, Json]:
    """Return what a question costs of the asker's quota, and what is left after it.

    `sentences` state the accuracy of an answer about the present rows.
    """
    plan = question.plan
    left, left_after = (
        min(standing.left for standing in standings),
        min(_left_after(plan, standing) for standing in standings),
    )
    fits = all(standing.admits(standing.ceiling_at(plan.price_at)) for standing in standings)
    questions_left = min(standing.left_for(plan.price_at(standing.order)) for standing in standings)
    sentence = "costs nothing: its answer is stored" if free else describe_cost(left, left_after, fits=fits)
    return {
        "epsilon": float_rounded_up(plan.ceiling.epsilon),
        "delta": float_rounded_up(plan.ceiling.delta),
        "share": cost_between(left, left_after),
        "left": rounded_part(left),
        "left_after": rounded_part(left if free else left_after),
        "more": max(0, questions_left - (0 if free else 1)),
        "fits": fits or free,
        "free": free,
        "sentence": sentence,
        "accuracy": [*sentences],
        "planted": fewest_people(plan, periods=1 if question.periods is None else len(question.periods.all)),
    }


def part_of_whole(plan: Plan, standings: Collection[Standing]) -> Fraction:
    """Return the part of a whole budget that a question costs at most by itself, as a share of it is meant."""
    return max(standing.part(standing.ceiling_at(plan.price_at)) for standing in standings)


def _left_after(plan: Plan, standing: Standing) -> Fraction:
    """Return what is left if the answer costs its ceiling, or what is lacking, as a number below 0."""
    return standing.left_with(standing.ceiling_at(plan.price_at))


def forecast(question: AskedQuestion, standings: Collection[Standing]) -> dict[str, Json]:
    """Forecast a question at half its price, at its price and at twice as much."""
    plans = {part: _with_part_of_price(question.plan, part) for part in _PARTS_OF_PRICE}
    simulation = _simulate(question, [plan for plan in plans.values() if plan is not None])
    by_epsilon = {row.epsilon: row for row in (() if simulation is None else simulation.rows)}
    left = min(standing.left for standing in standings)
    rows: list[Json] = []
    for part, priced_plan in plans.items():
        if priced_plan is None:
            continue
        row = by_epsilon.get(priced_plan.ceiling.epsilon)
        rows.append(
            {
                "epsilon": float_rounded_up(priced_plan.ceiling.epsilon),
                "share": cost_between(left, min(_left_after(priced_plan, standing) for standing in standings)),
                "items": None if row is None else round(row.items, 1),
                "lost": None if row is None else round(row.error, 4),
                "within": None if row is None else row.within,
                "width": None if row is None else row.width,
                "asked": part == 1,
            }
        )
    return {
        "sentences": [
            *_describe(question, by_epsilon.get(question.plan.ceiling.epsilon), is_simulated=simulation is not None)
        ],
        "rows": rows,
    }


def _describe(question: AskedQuestion, row: Any, *, is_simulated: bool) -> list[str]:
    sizes = question.settings.sizes
    if not is_simulated:
        return [*question.plan.accuracy.sentences] or [NO_FORECAST]
    sentences = [
        f"This assumes {sizes.users:,} users with {float(sizes.items_per_user):g} items each: no row was read."
    ]
    if row is not None:
        k = question.plan.key.get("k")
        loss = "hardly any of the true best would be missing"
        if row.error >= _HARDLY:
            loss = f"{100 * row.error:.0f} % of the users of the true best would be missing"
        sentences.append(f"About {row.items:,.0f} items would be returned, and {loss}.")
        if row.within is not None:
            sentences.append(
                f"With 95 % confidence, no returned item is over {row.within:,} counted users below the k-th best."
            )
        if row.smallest_count is not None and (not isinstance(k, int) or row.items < k - HALF):
            sentences.append(f"An item needs about {row.smallest_count:,} users to be returned with probability 1/2.")
    return sentences


def _with_part_of_price(plan: Plan, part: Fraction) -> Plan | None:
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


def _simulate(question: AskedQuestion, plans: list[Plan]) -> Forecast | None:
    """Return the forecast of the method that would answer, or None if there is no simulation of it."""
    plan, sizes = question.plan, question.settings.sizes
    population = Population(sizes.users, items=sizes.items, items_per_user=sizes.items_per_user, skew=sizes.skew)
    with _ONE_AT_A_TIME:
        return forecast_plan(plan, population, tuple(priced_plan.ceiling.epsilon for priced_plan in plans))
