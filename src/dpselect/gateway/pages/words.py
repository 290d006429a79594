"""Questions, numbers and times in plain English."""

from __future__ import annotations

import datetime
import math
import re
from calendar import month_name
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dpselect import ledger
from dpselect._ground.parameters import rounded_up
from dpselect.release import format_price, format_text

SPACE = "\N{NO-BREAK SPACE}"
MEANINGLESS_EPSILON = 700  # an epsilon that promises nothing
QUANTILES = {
    Fraction(1, 2): "median",
    Fraction(1, 4): "lower quartile",
    Fraction(3, 4): "upper quartile",
    Fraction(0): "smallest value",
    Fraction(1): "largest value",
}
STATES = {
    "approval": "waits for approval",
    "queued": "waits for its turn",
    "running": "is being answered",
    "answered": "answered",
    "refused": "refused",
    "failed": "failed",
    "lost": "lost when the server stopped",
    "cancelled": "cancelled",
    "rejected": "not approved",
}


def key(columns: object) -> str:
    """Format a column, or several, by name."""
    names = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, (list, tuple)) else []
    return join_words([format_text(name) for name in names])


def plural(noun: str) -> str:
    """Return the plural of a noun: artists, countries, matches."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun if noun.endswith("s") else f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def format_items(columns: object) -> str:
    """Describe the items of a column, or the pairs of two."""
    if isinstance(columns, (list, tuple)) and len(columns) > 1:
        return f"{'pairs' if len(columns) == 2 else 'combinations'} of {key(columns)}"
    return plural(key(columns)) or "items"


def quantile(q: object) -> str:
    """Describe a quantile: median, 90 % quantile."""
    try:
        exact = Fraction(str(q))
    except (ValueError, ZeroDivisionError):
        return f"quantile {format_text(q)}"
    return QUANTILES.get(exact, f"{float(exact * 100):g}{SPACE}% quantile")


def format_question(body: Mapping[str, Any]) -> str:
    """Describe a question as the title of its answer."""
    title = _describe_question(body)
    by = body.get("by")
    if by:
        title += f" in every {key(by)}" if isinstance(by, str) or len(by) == 1 else f" for all of {key(by)}"
    if body.get("compared_with"):
        title += f" from {_periods(body['compared_with'])} to {_periods(body.get('during'))}"
    elif body.get("during"):
        title += f", {_periods(body['during'])}"
    if body.get("where"):
        title += f", where {format_text(body['where'])}"
    return title[:1].upper() + title[1:]


def _periods(argument: object) -> str:
    names = [argument] if isinstance(argument, str) else list(argument) if isinstance(argument, (list, tuple)) else []
    return join_words([period(name) for name in names])


def price(body: Mapping[str, Any]) -> str:
    """Describe the price of a question, or the accuracy that sets it."""
    accuracy = body.get("within") or body.get("threshold")
    if accuracy:
        return f"within {accuracy:,} users" if body.get("within") else f"found at {accuracy:,} users"
    return f"epsilon {decimal(body.get('epsilon', 'unknown'))}"


def _describe_question(body: Mapping[str, Any]) -> str:
    item, verb = body.get("item") or "item", body.get("verb")
    if verb == "top_k":
        weight = body.get("by_weight")
        users = "by number of users"
        if body.get("compared_with"):
            users = f"by users {'lost' if body.get('lost') else 'gained'}"
        ranking = f"by {format_text(weight)}" if weight else users
        measures = f", with {join_words(list(map(str, body['measures'])))}" if body.get("measures") else ""
        k = body.get("k", 10)
        count = f"top {key(item)}" if k == 1 and isinstance(item, str) else f"top {k} {format_items(item)}"
        return f"{count} {ranking}{measures}"
    if verb == "union":
        return f"all {format_items(item)} that enough users share"
    if verb == "quantile":
        q = body.get("q", "1/2")
        qs = q if isinstance(q, (list, tuple)) else [q]
        return f"{join_words([quantile(rank) for rank in qs])} of {key(item)}"
    if verb == "users":
        return "number of users"
    if verb == "histogram":
        return f"number of users of each {key(item)}"
    return f"the {key(item)} with most users"


# ---- numbers and times ---------------------------------------------------------------------------------------------


def percent(part: float | Fraction, *, up: bool = False) -> str:
    """Format a part of a budget in the decimals of `cost`: what is used is rounded up, what is left down."""
    return ledger.percent(float(part), up=up).replace(" ", SPACE)


def cost(share: float, *, after: float | None = None, before: float | None = None) -> list[str]:
    """Format what is taken of a budget, what was left before and what is left after, as receipts do."""
    return [part.replace(" ", SPACE) for part in ledger.format_cost(share, left_after=after, left_before=before)]


def number(value: object) -> str:
    """Format a number with thousands separators; a text stays as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        return format_text(value)
    return f"{value:,}" if isinstance(value, int) else f"{float(value):,.6g}"


def amount(epsilon: object, delta: object) -> str:
    """Format an (epsilon, delta) in words that can be read aloud."""
    return f"epsilon {decimal(epsilon)}" + (f", delta {decimal(delta)}" if decimal(delta) != "0" else "")


def decimal(value: object) -> str:
    """Format an exact number, such as "1/2", in a few digits."""
    try:
        return format_price(Fraction(str(value)))
    except (ValueError, ZeroDivisionError):
        return format_text(value)


def count(how_many: int, singular: str, plural: str | None = None) -> str:
    """Format a number of things: 1 user, 2,000 users."""
    return f"{how_many:,} {singular if how_many == 1 else plural or singular + 's'}"


def join_words(parts: Sequence[str], word: str = "and") -> str:
    """Join words: A, B and C."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def moment(text: str, *, seconds: bool = False) -> str:
    """Format a time in ISO form for a person: 22 November 2026, 12:00 UTC."""
    time = datetime.datetime.fromisoformat(text)
    clock = f"{time:%H:%M:%S}" if seconds else f"{time:%H:%M}"
    return f"{time.day}{SPACE}{month_name[time.month]} {time.year}, {clock} UTC"


def period(name: str) -> str:
    """Format a period for a person: October 2026 for 2026-10; other names stay as they are."""
    match = re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])", name)
    return f"{month_name[int(match[2])]} {match[1]}" if match else name


def odds(promise: Mapping[str, float]) -> str:
    """Describe the promise as odds: a reader learns little more of anybody than if their rows were not in the data."""
    factor = rounded_up(Fraction(math.exp(min(promise["epsilon"], MEANINGLESS_EPSILON))))
    delta = f", but for a probability of {decimal(promise['delta'])}" if promise["delta"] else ""
    beginning = "Whether any one user is in the data changes the chance of anything that answers may show"
    return f"{beginning} by a factor of at most {factor}{delta}."
