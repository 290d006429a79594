"""What is said of a question: in its release all that a plan depends on, of lists the length and of no item its name.

A log has less: what was asked and what that costs at most.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping, Sized
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect._ground import parameters
from dpselect._ground.domain import MAX_COUNTED_ITEMS, MAX_DOMAIN_SIZE, Column, Listed, Size, Span, max_domain_size
from dpselect.errors import ParameterError
from dpselect.queries.facts import Facts
from dpselect.queries.plan import PLANS, Plan, kind, part_of
from dpselect.questions.kinds import domain_from_json, domain_to_json
from dpselect.questions.payment import Payment
from dpselect.questions.questions import QUESTIONS, OneEach, Scores
from dpselect.release import formatting

if TYPE_CHECKING:
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release
    from dpselect.release.rows import OfRows

LISTS = ("domain", "groups", "exclude", "popular")  # of items, which a release does not name
UNSAID = ("tokenizer", "lower")  # in a release: no plan depends on them
ALONE = ({str}, {int}, {bytes}, {datetime.date})  # types of items that no column takes for equal
AT_MOST = "at most "
LONGEST = 3000  # characters of a number that a question can have: two of `parameters.MAX_BITS`


def outline(plan: Plan, rows: OfRows | None = None) -> dict[str, Json]:
    """What is asked. `rows` says whose rows it is about, where they are those of a data set."""
    said = plan.question.flat() | plan.payment.flat() | plan.facts.flat()
    written: dict[str, Json] = {"verb": plan.verb, **_unusual(plan.question)}
    for name, value in said.items():
        if name not in UNSAID:
            written[name] = _counted(value) if name in LISTS else _plain(value)
    return written if rows is None else {**written, "rows": rows.to_dict()}


def _unusual(question: object) -> dict[str, Json]:
    """How an outline tells a question about values of the caller's own."""
    if isinstance(question, Scores):
        return {"of_scores": True}
    return {"per_user": None} if isinstance(question, OneEach) else {}


def planned_like(found: Mapping[str, Json]) -> tuple[Plan, OfRows | None]:
    """One that is planned as that of which this is the outline, and whose rows it was about."""
    from dpselect.release.rows import OfRows

    verb = parameters.one_of("verb", found.get("verb"), PLANS)
    make, what = kind(verb), QUESTIONS[verb]
    given = {name: _any(name, value) for name, value in found.items() if name not in ("verb", "rows")}
    if verb == "choose" and given.get("of_scores") is True:
        what = Scores
        del given["of_scores"]
    elif "per_user" in given and given["per_user"] is None and verb == "quantile":
        what = OneEach
    known = [*what.flat_fields(), *Payment.flat_fields(), *Facts.flat_fields()]
    parameters.refuse_unknown_names(given, known, f"be a parameter of {verb}")
    plan = make(question=part_of(what, given), payment=part_of(Payment, given), facts=part_of(Facts, given))
    if "rows" not in found:
        return plan, None
    rows = OfRows.from_dict(found["rows"])
    return plan.for_rows(rows), rows


def asked_with(said: Mapping[str, Json], release: Release) -> Release:
    """The answer, which says what was asked."""
    return replace(release, question=said)


def log_question(plan: Plan, payer: object | None) -> None:
    """One line in the log of this program, if it has any, before anything is read or paid.

    It holds what was asked and what that costs at most, and nothing of data. No filter and no domain is in it, since
    their constants may name somebody; nor any SQL, which has the secret key of the contribution bound in it; nor
    whether it was answered, how long that took or what the answer cost.
    """
    if "logging" not in sys.modules:
        return
    from dpselect._ground.logs import LOG

    most = plan.price
    paid = "nobody keeps account" if payer is None else f"paid by {type(payer).__name__}"
    promise = f"({formatting.price(most.epsilon)}, {formatting.price(most.delta)})-DP for {most.neighbors} neighbours"
    LOG.debug("%s by %s, at most %s, %s", plan.verb, plan.method, promise, paid)


def _counted(value: object) -> Json:
    """A list as its length, or what that is at most; a column of another source, which has an unknown one, as its name.

    Some items a column may take for equal: of several types, or numbers that are written in several ways.
    """
    if isinstance(value, Column):
        return {"column": value.column}
    if isinstance(value, Span):
        return domain_to_json(value)
    if isinstance(value, Listed):
        alone = {type(item) for item in value.items if item is not None} in ALONE
        return max_domain_size(value) if alone else f"{AT_MOST}{max_domain_size(value)}"
    if isinstance(value, Size):
        return value.items
    return len(value) if isinstance(value, Sized) else None


def _any(name: str, value: Json) -> object:
    """A list of any items of the length that an outline names."""
    if name not in LISTS or value is None:
        exact = isinstance(value, str) and parameters.MAX_DIGITS < len(value) <= LONGEST and "/" in value
        if isinstance(value, dict):
            raise ParameterError(name, "be a number, a text or a list", "an object")
        return Fraction(str(value)) if exact else value
    if isinstance(value, dict):
        return Column("", str(value["column"])) if set(value) == {"column"} else domain_from_json(name, value)
    if isinstance(value, str) and value.startswith(AT_MOST) and value.removeprefix(AT_MOST).isdecimal():
        value = int(value.removeprefix(AT_MOST)[:40])
    if name == "domain":
        number = parameters.whole_number(name, value, minimum=1, maximum=MAX_DOMAIN_SIZE)
        return Span(0, number) if number <= MAX_COUNTED_ITEMS else Size(number)
    return tuple(range(parameters.whole_number(name, value, minimum=0, maximum=MAX_COUNTED_ITEMS)))


def _plain(value: object) -> Json:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int)) else str(value)
