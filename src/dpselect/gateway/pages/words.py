"""Questions in plain English."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dpselect.gateway.pages import numbers
from dpselect.release import formatting

QUANTILES = {
    Fraction(1, 2): "median",
    Fraction(1, 4): "lower quartile",
    Fraction(3, 4): "upper quartile",
    Fraction(0): "smallest value",
    Fraction(1): "largest value",
}
STATES = {
    "approval": "waits for somebody to approve it",
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
    return numbers.listed([formatting.text(one) for one in names])


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
    return QUANTILES.get(exact, f"{float(exact * 100):g}{numbers.SPACE}% quantile")


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
    return numbers.listed([numbers.period(one) for one in names])


def price(body: Mapping[str, Any]) -> str:
    """At which price, or how near, it was asked."""
    near = body.get("within") or body.get("threshold")
    if near:
        return f"within {near:,} users" if body.get("within") else f"found at {near:,} users"
    return f"epsilon {numbers.decimal(body.get('epsilon', 'unknown'))}"


def _what(body: Mapping[str, Any]) -> str:
    item, verb = body.get("item") or "item", body.get("verb")
    if verb == "top_k":
        weight = body.get("by_weight")
        users = "by users gained" if body.get("compared_with") else "by number of users"
        ranked = f"by {formatting.text(weight)}" if weight else users
        more = f", with {numbers.listed(list(map(str, body['measures'])))}" if body.get("measures") else ""
        k = body.get("k", 10)
        which = f"top {key(item)}" if k == 1 and isinstance(item, str) else f"top {k} {things(item)}"
        return f"{which} {ranked}{more}"
    if verb == "union":
        return f"all {things(item)} that enough users share"
    if verb == "quantile":
        q = body.get("q", "1/2")
        qs = q if isinstance(q, (list, tuple)) else [q]
        return f"{numbers.listed([quantile(one) for one in qs])} of {key(item)}"
    if verb == "users":
        return "number of users"
    if verb == "histogram":
        return f"number of users of each {key(item)}"
    return f"the {key(item)} with most users"
