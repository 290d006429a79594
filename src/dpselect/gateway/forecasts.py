"""What to expect of a question, and what it costs: computed from parameters and declared sizes, never from rows."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence

from dpselect import Population
from dpselect._ground.parameters import float_rounded_up
from dpselect.forecast import ForecastRow, compare_prices, fewest_people
from dpselect.gateway.admission import with_limits
from dpselect.gateway.asked import AskedQuestion
from dpselect.gateway.settings.server import Person
from dpselect.ledger import Standing, quote_price, rounded_part
from dpselect.release import Json

NO_FORECAST = "There is no forecast for this kind of question, but it costs at most its price."
_HARDLY, HALF = 0.005, 0.5
_ONE_AT_A_TIME = threading.Lock()  # a forecast takes a processor for up to a second


def price(
    person: Person, question: AskedQuestion, standings: Collection[Standing], sentences: Sequence[str], *, free: bool
) -> dict[str, Json]:
    """Return what a question costs of a person's quota, and what is left after it.

    `sentences` state the accuracy of an answer about the present rows.
    """
    plan = question.plan
    quote = quote_price(plan, standings)
    questions_left = min(standing.left_for(plan.price_at(standing.order)) for standing in standings)
    details: dict[str, Json] = {
        "epsilon": float_rounded_up(plan.ceiling.epsilon),
        "delta": float_rounded_up(plan.ceiling.delta),
        "share": quote.share,
        "left": rounded_part(quote.left),
        "left_after": rounded_part(quote.left if free else quote.left_after),
        "more": max(0, questions_left - (0 if free else 1)),
        "fits": quote.fits or free,
        "free": free,
        "sentence": "costs nothing: its answer is stored" if free else quote.sentence,
        "accuracy": [*sentences],
        "planted": fewest_people(plan, periods=1 if question.periods is None else len(question.periods.all)),
    }
    return with_limits(person, details, quote.part)


def forecast(question: AskedQuestion, standings: Collection[Standing]) -> dict[str, Json]:
    """Forecast a question at half its price, at its price and at twice as much."""
    sizes = question.settings.sizes
    population = Population(sizes.users, items=sizes.items, items_per_user=sizes.items_per_user, skew=sizes.skew)
    with _ONE_AT_A_TIME:
        forecasts = compare_prices(question.plan, population)
    rows: list[Json] = []
    for priced in forecasts:
        row = priced.row
        rows.append(
            {
                "epsilon": float_rounded_up(priced.plan.ceiling.epsilon),
                "share": quote_price(priced.plan, standings).share,
                "items": None if row is None else round(row.items, 1),
                "lost": None if row is None else round(row.error, 4),
                "within": None if row is None else row.within,
                "width": None if row is None else row.width,
                "asked": priced.plan is question.plan,
            }
        )
    row = next(priced.row for priced in forecasts if priced.plan is question.plan)
    return {"sentences": [*_describe(question, row)], "rows": rows}


def _describe(question: AskedQuestion, row: ForecastRow | None) -> list[str]:
    sizes = question.settings.sizes
    if row is None:
        return [*question.plan.accuracy.sentences] or [NO_FORECAST]
    sentences = [
        f"This assumes {sizes.users:,} users with {float(sizes.items_per_user):g} items each: no row was read."
    ]
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
