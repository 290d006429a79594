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
from dpselect.questions.payment import Payment
from dpselect.release.formatting import Json

NO_FORECAST = "There is no forecast for this kind of question, but it costs at most its price."
HARDLY, HALF = 0.005, 0.5
BESIDE = (Fraction(1, 2), Fraction(1), Fraction(2))
"""The prices that are compared, as parts of that of the question."""
_ONE_AT_A_TIME = threading.Lock()  # a forecast takes a processor for up to a second


def price(
    asked: AskedQuestion, standings: Collection[Standing], sentences: Sequence[str], *, free: bool
) -> dict[str, Json]:
    """What a question costs of the quota of whoever asks, and what is left after it.

    `sentences` say how good the answer is about the rows that are there.
    """
    plan = asked.plan
    left, after = min(one.left for one in standings), min(_left_after(plan, one) for one in standings)
    fits = all(one.admits(one.ceiling_at(plan.price_at)) for one in standings)
    more = min(one.left_for(plan.price_at(one.order)) for one in standings)
    sentence = "costs nothing: its answer is stored" if free else describe_cost(left, after, fits=fits)
    return {
        "epsilon": float_rounded_up(plan.ceiling.epsilon),
        "delta": float_rounded_up(plan.ceiling.delta),
        "share": cost_between(left, after),
        "left": rounded_part(left),
        "left_after": rounded_part(left if free else after),
        "more": max(0, more - (0 if free else 1)),
        "fits": fits or free,
        "free": free,
        "sentence": sentence,
        "accuracy": [*sentences],
        "planted": fewest_people(plan, periods=1 if asked.periods is None else len(asked.periods.all)),
    }


def part_of_whole(plan: Plan, standings: Collection[Standing]) -> Fraction:
    """Return the part of a whole budget that a question costs at most by itself, as a share of it is meant."""
    return max(one.part(one.ceiling_at(plan.price_at)) for one in standings)


def _left_after(plan: Plan, standing: Standing) -> Fraction:
    """Return what is left if the answer costs its ceiling, or what is lacking, as a number below 0."""
    return standing.left_with(standing.ceiling_at(plan.price_at))


def forecast(asked: AskedQuestion, standings: Collection[Standing]) -> dict[str, Json]:
    """What would come back at half the price, at this one and at twice as much, and how sure it would be."""
    plans = {part: _at(asked.plan, part) for part in BESIDE}
    found = _planned(asked, [plan for plan in plans.values() if plan is not None])
    by_epsilon = {row.epsilon: row for row in (() if found is None else found.rows)}
    left = min(one.left for one in standings)
    rows: list[Json] = []
    for part, one in plans.items():
        if one is None:
            continue
        row = by_epsilon.get(one.ceiling.epsilon)
        rows.append(
            {
                "epsilon": float_rounded_up(one.ceiling.epsilon),
                "share": cost_between(left, min(_left_after(one, standing) for standing in standings)),
                "items": None if row is None else round(row.items, 1),
                "lost": None if row is None else round(row.error, 4),
                "within": None if row is None else row.within,
                "width": None if row is None else row.width,
                "asked": part == 1,
            }
        )
    return {
        "sentences": [*_said(asked, by_epsilon.get(asked.plan.ceiling.epsilon), known=found is not None)],
        "rows": rows,
    }


def _said(asked: AskedQuestion, row: Any, *, known: bool) -> list[str]:
    sizes = asked.settings.sizes
    if not known:
        return [*asked.plan.accuracy.sentences] or [NO_FORECAST]
    said = [f"This assumes {sizes.users:,} users with {float(sizes.items_per_user):g} items each: no row was read."]
    if row is not None:
        wanted = asked.plan.key.get("k")
        lost = "hardly any of the true best would be missing"
        if row.error >= HARDLY:
            lost = f"{100 * row.error:.0f} % of the users of the true best would be missing"
        said.append(f"About {row.items:,.0f} items would be returned, and {lost}.")
        if row.within is not None:
            said.append(
                f"With 95 % confidence, no returned item is over {row.within:,} counted users below the k-th best."
            )
        if row.smallest_count is not None and (not isinstance(wanted, int) or row.items < wanted - HALF):
            said.append(f"An item needs about {row.smallest_count:,} users to be returned with probability 1/2.")
    return said


def _at(plan: Plan, part: Fraction) -> Plan | None:
    """The same question at another price; none where that is too small or too large for it."""
    if part == 1:
        return plan
    epsilon, delta = (_rounded(number * part) for number in (plan.ceiling.epsilon, plan.ceiling.delta))
    delta_of_part = delta if part < 1 and plan.delta else plan.delta
    try:
        return replace(plan, payment=Payment(epsilon=epsilon, delta=delta_of_part))
    except ParameterError:
        return None


def _rounded(number: Fraction) -> Fraction:
    """To three digits, as people say it."""
    return Fraction(f"{float(number):.3g}")


def _planned(asked: AskedQuestion, plans: list[Plan]) -> Forecast | None:
    """The forecast of the method that would answer; none where there is no simulation of it."""
    plan, sizes = asked.plan, asked.settings.sizes
    like = Population(sizes.users, items=sizes.items, items_per_user=sizes.items_per_user, skew=sizes.skew)
    with _ONE_AT_A_TIME:
        return forecast_plan(plan, like, tuple(one.ceiling.epsilon for one in plans))
