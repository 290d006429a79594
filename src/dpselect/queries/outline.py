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
from dpselect.queries.plan import Plan
from dpselect.queries.planning import PLANS, part_from_flat, plan_class
from dpselect.questions.kinds import domain_from_json, domain_to_json
from dpselect.questions.parts import Payment
from dpselect.questions.questions import QUESTIONS, OneEach, Scores
from dpselect.release import formatting

if TYPE_CHECKING:
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release
    from dpselect.release.rows import OfRows

UNNAMED_LISTS = ("domain", "groups", "exclude", "popular")  # of items, which a release does not name
UNSTATED = ("tokenizer", "lower")  # in a release: no plan depends on them
EXACT_TYPES = ({str}, {int}, {bytes}, {datetime.date})  # types of items that no column takes for equal
AT_MOST = "at most "
MAX_NUMBER_CHARACTERS = 3000  # characters of a number that a question can have: two of `parameters.MAX_BITS`


def outline(plan: Plan, rows: OfRows | None = None) -> dict[str, Json]:
    """Return what is asked. `rows` names the rows it is about, where they are those of a data set."""
    parameters_of_plan = plan.question.flat() | plan.payment.flat() | plan.facts.flat()
    written: dict[str, Json] = {"verb": plan.verb}
    if isinstance(plan.question, Scores):  # of the caller's own, as are those of one each
        written["of_scores"] = True
    elif isinstance(plan.question, OneEach):
        written["per_user"] = None
    for name, value in parameters_of_plan.items():
        if name not in UNSTATED:
            written[name] = _list_length(value) if name in UNNAMED_LISTS else _to_json(value)
    return written if rows is None else {**written, "rows": rows.to_dict()}


def plan_from_outline(outlined: Mapping[str, Json]) -> tuple[Plan, OfRows | None]:
    """Return a plan like the one of which this is the outline, and the rows that it was about."""
    from dpselect.release.rows import OfRows

    verb = parameters.one_of("verb", outlined.get("verb"), PLANS)
    make, question_type = plan_class(verb), QUESTIONS[verb]
    arguments = {name: _substitute(name, value) for name, value in outlined.items() if name not in ("verb", "rows")}
    if verb == "choose" and arguments.get("of_scores") is True:
        question_type = Scores
        del arguments["of_scores"]
    elif "per_user" in arguments and arguments["per_user"] is None and verb == "quantile":
        question_type = OneEach
    known_names = [*question_type.flat_fields(), *Payment.flat_fields(), *Facts.flat_fields()]
    parameters.refuse_unknown_names(arguments, known_names, f"be a parameter of {verb}")
    plan = make(
        question=part_from_flat(question_type, arguments),
        payment=part_from_flat(Payment, arguments),
        facts=part_from_flat(Facts, arguments),
    )
    if "rows" not in outlined:
        return plan, None
    rows = OfRows.from_dict(outlined["rows"])
    return plan.for_rows(rows), rows


def with_question(outlined: Mapping[str, Json], release: Release) -> Release:
    """Return the release with the outline of its question."""
    return replace(release, question=outlined)


def log_question(plan: Plan, payer: object | None) -> None:
    """Log one line, if this program has a log, before anything is read or paid.

    It holds what was asked and what that costs at most, and nothing of data. No filter and no domain is in it, since
    their constants may name somebody; nor any SQL, which has the secret key of the contribution bound in it; nor
    whether it was answered, how long that took or what the answer cost.
    """
    if "logging" not in sys.modules:
        return
    from dpselect._ground.logs import LOG

    ceiling = plan.price
    payment = "nobody keeps account" if payer is None else f"paid by {type(payer).__name__}"
    epsilon, delta = formatting.price(ceiling.epsilon), formatting.price(ceiling.delta)
    promise = f"({epsilon}, {delta})-DP for {ceiling.neighbors} neighbours"
    LOG.debug("%s by %s, at most %s, %s", plan.verb, plan.method, promise, payment)


def _list_length(value: object) -> Json:
    """Return the length of a list, or its upper bound; for a column of another source, of unknown length, its name.

    Some items a column may take for equal: of several types, or numbers that are written in several ways.
    """
    if isinstance(value, Column):
        return {"column": value.column}
    if isinstance(value, Span):
        return domain_to_json(value)
    if isinstance(value, Listed):
        is_exact = {type(item) for item in value.items if item is not None} in EXACT_TYPES
        return max_domain_size(value) if is_exact else f"{AT_MOST}{max_domain_size(value)}"
    if isinstance(value, Size):
        return value.items
    return len(value) if isinstance(value, Sized) else None


def _substitute(name: str, value: Json) -> object:
    """Return any items of the length that an outline names."""
    if name not in UNNAMED_LISTS or value is None:
        exact = isinstance(value, str) and parameters.MAX_DIGITS < len(value) <= MAX_NUMBER_CHARACTERS and "/" in value
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


def _to_json(value: object) -> Json:
    if isinstance(value, (list, tuple)):
        return [_to_json(element) for element in value]
    return value if value is None or isinstance(value, (bool, int)) else str(value)
