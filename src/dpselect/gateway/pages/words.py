"""Questions and answers in plain English: what was asked, what came back, how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpselect.gateway.pages import numbers
from dpselect.gateway.pages.promises import odds
from dpselect.release import formatting
from dpselect.release.groups import told_apart
from dpselect.release.statement import Ended, Kind

if TYPE_CHECKING:
    from dpselect.release.release import Release
    from dpselect.release.statement import Item

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
FINAL = frozenset(("answered", "refused", "failed", "lost", "cancelled", "rejected"))


# ---- questions --------------------------------------------------------------------------------------------


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


# ---- answers ----------------------------------------------------------------------------------------------


def came_back(release: Release, body: Mapping[str, Any]) -> list[str]:
    """What came back, before any number: a sentence or two."""
    if release.groups is not None:
        said = release.groups.outcome(release.items)
        return [f"{said[:1].upper()}{said[1:]}."]
    if release.kind is Kind.VALUES:
        return [_value(one.item, q) for one, q in zip(release.items, _asked(release), strict=True)]
    counted = body.get("by") if body.get("verb") == "users" else body.get("item")
    what, wanted = things(counted or "item"), release.privacy.parameters.get("k")
    users = "users" if release.weight is None else "weight"
    if not release.items:
        hint = "A larger part of the budget, or a wider filter, may show some."
        return [f"Nothing came back: none of the {what} has enough {users} to tell.", hint]
    found = numbers.count(len(release), "place" if release.ranked else "item")
    if body.get("verb") == "choose":
        return [f"The answer is {formatting.text(release.items[0].item)}."]
    if body.get("verb") == "users" and not body.get("by"):
        return [f"There are {release.items[0].count:,} {release.unit}, with noise."]
    if body.get("verb") in ("histogram", "users"):
        return [f"The numbers of all {len(release):,} {what} came back."]
    if release.ended is not Ended.FULL and wanted is not None:
        return [f"{_capital(found)} of at most {wanted} came back: no other has enough {users} to tell."]
    if wanted is None:
        return [f"{len(release):,} {what} came back: those that enough users share."]
    return [f"All {found} came back." if len(release) > 1 else "The one place came back."]


def _capital(said: str) -> str:
    return said[:1].upper() + said[1:]


def _value(value: object, q: object) -> str:
    return f"The {quantile(q)} is {numbers.number(value)}."


def _asked(release: Release) -> Sequence[object]:
    q = release.privacy.parameters.get("q")
    return q if isinstance(q, tuple) else [q] * len(release)


def order(release: Release) -> str | None:
    """Why a lower place shows a larger number, where one does."""
    for above, below in _neighbours(release):
        if above.count is not None and below.count is not None and above.count < below.count:
            what = "number of users" if release.weight is None else f"sum of {formatting.text(release.weight)}"
            what = what if release.compared is None else "gain"
            group = f"In {', '.join(map(formatting.text, above.group))}: place" if above.group else "Place"
            return (
                f"{group} {below.rank}, {formatting.text(below.item)}, shows a larger {what} than place {above.rank}, "
                f"{formatting.text(above.item)}. That is no mistake: places and numbers were drawn apart, each with "
                "noise of its own, and these two are so near that the noise decides."
            )
    return None


def below_zero(release: Release) -> str | None:
    """Why a number is below 0, where one is."""
    if all(one.count is None or one.count >= 0 for one in release.items):
        return None
    return "Some numbers are below 0. That is no mistake: noise is added to each, and it may be larger than the number."


def _neighbours(release: Release) -> Iterator[tuple[Item, Item]]:
    """Each item and the next one of its group."""
    if release.kind is not Kind.RANKING:
        return
    for above, below in pairwise(release.items):
        if told_apart(above.group) == told_apart(below.group):
            yield above, below


def sure(release: Release) -> tuple[str, ...]:
    """How good it is, each line 95 times of 100."""
    return release.accuracy.sentences


def promise(release: Release) -> str:
    """What anybody may take from it, without theory."""
    said = release.privacy
    return f"{odds(said.epsilon, said.delta, said.unit)} As the field writes it: {said.promise}."
