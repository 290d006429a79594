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

from dpselect._ground import budget_parts
from dpselect._ground.parameters import rounded_up
from dpselect.release import formatting

SPACE = "\N{NO-BREAK SPACE}"
HUGE = 700  # an epsilon that promises nothing
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
    """A column, or several, by name."""
    names = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, (list, tuple)) else []
    return listed([formatting.text(one) for one in names])


def plural(noun: str) -> str:
    """Artists, countries, matches."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun if noun.endswith("s") else f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def things(columns: object) -> str:
    """The items of a column, or the pairs of two."""
    if isinstance(columns, (list, tuple)) and len(columns) > 1:
        return f"{'pairs' if len(columns) == 2 else 'combinations'} of {key(columns)}"
    return plural(key(columns)) or "items"


def quantile(q: object) -> str:
    """The median, the 90 % quantile."""
    try:
        exact = Fraction(str(q))
    except (ValueError, ZeroDivisionError):
        return f"quantile {formatting.text(q)}"
    return QUANTILES.get(exact, f"{float(exact * 100):g}{SPACE}% quantile")


def asked(body: Mapping[str, Any]) -> str:
    """A question as the title of its answer."""
    said = _what(body)
    by = body.get("by")
    if by:
        said += f" in every {key(by)}" if isinstance(by, str) or len(by) == 1 else f" for all of {key(by)}"
    if body.get("compared_with"):
        said += f" from {_periods(body['compared_with'])} to {_periods(body.get('during'))}"
    elif body.get("during"):
        said += f", {_periods(body['during'])}"
    if body.get("where"):
        said += f", where {formatting.text(body['where'])}"
    return said[:1].upper() + said[1:]


def _periods(given: object) -> str:
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, (list, tuple)) else []
    return listed([period(one) for one in names])


def price(body: Mapping[str, Any]) -> str:
    """At which price, or how near, it was asked."""
    near = body.get("within") or body.get("threshold")
    if near:
        return f"within {near:,} users" if body.get("within") else f"found at {near:,} users"
    return f"epsilon {decimal(body.get('epsilon', 'unknown'))}"


def _what(body: Mapping[str, Any]) -> str:
    item, verb = body.get("item") or "item", body.get("verb")
    if verb == "top_k":
        weight = body.get("by_weight")
        users = "by number of users"
        if body.get("compared_with"):
            users = f"by users {'lost' if body.get('lost') else 'gained'}"
        ranked = f"by {formatting.text(weight)}" if weight else users
        more = f", with {listed(list(map(str, body['measures'])))}" if body.get("measures") else ""
        k = body.get("k", 10)
        which = f"top {key(item)}" if k == 1 and isinstance(item, str) else f"top {k} {things(item)}"
        return f"{which} {ranked}{more}"
    if verb == "union":
        return f"all {things(item)} that enough users share"
    if verb == "quantile":
        q = body.get("q", "1/2")
        qs = q if isinstance(q, (list, tuple)) else [q]
        return f"{listed([quantile(one) for one in qs])} of {key(item)}"
    if verb == "users":
        return "number of users"
    if verb == "histogram":
        return f"number of users of each {key(item)}"
    return f"the {key(item)} with most users"


# ---- numbers and times ---------------------------------------------------------------------------------------------


def percent(part: float | Fraction, *, up: bool = False) -> str:
    """Format a part of a budget in the decimals of `cost`: what is used is rounded up, what is left down."""
    return budget_parts.percent(float(part), up=up).replace(" ", SPACE)


def cost(share: float, *, after: float | None = None, before: float | None = None) -> list[str]:
    """What is taken of a budget, what is left before and what is left after, as receipts have it."""
    return [one.replace(" ", SPACE) for one in budget_parts.format_cost(share, left_after=after, left_before=before)]


def number(value: object) -> str:
    """With thousands separators; a text as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        return formatting.text(value)
    return f"{value:,}" if isinstance(value, int) else f"{float(value):,.6g}"


def amount(epsilon: object, delta: object) -> str:
    """An (epsilon, delta) in words that can be read aloud."""
    return f"epsilon {decimal(epsilon)}" + (f", delta {decimal(delta)}" if decimal(delta) != "0" else "")


def decimal(value: object) -> str:
    """An exact number, such as "1/2", in a few digits."""
    try:
        return formatting.price(Fraction(str(value)))
    except (ValueError, ZeroDivisionError):
        return formatting.text(value)


def count(how_many: int, one: str, more: str | None = None) -> str:
    """1 user, 2,000 users."""
    return f"{how_many:,} {one if how_many == 1 else more or one + 's'}"


def listed(parts: Sequence[str], word: str = "and") -> str:
    """A, B and C."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def moment(text: str, *, seconds: bool = False) -> str:
    """A time in ISO form for a person: 22 November 2026, 12:00 UTC."""
    at = datetime.datetime.fromisoformat(text)
    clock = f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"
    return f"{at.day}{SPACE}{month_name[at.month]} {at.year}, {clock} UTC"


def period(name: str) -> str:
    """A period for a person: October 2026 for 2026-10; other names say what they are."""
    found = re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])", name)
    return f"{month_name[int(found[2])]} {found[1]}" if found else name


def odds(promise: Mapping[str, float]) -> str:
    """The promise as odds: whoever reads learns little more of anybody than if that one were not in the data."""
    factor = rounded_up(Fraction(math.exp(min(promise["epsilon"], HUGE))))
    delta = f", but for a probability of {decimal(promise['delta'])}" if promise["delta"] else ""
    said = "Whether any one user is in the data changes the chance of anything that answers may show"
    return f"{said} by a factor of at most {factor}{delta}."
