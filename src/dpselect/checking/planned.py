"""The question of a release, planned anew without data: is everything that the release says what the plan says?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpselect._ground.domain import max_domain_size
from dpselect._ground.periods import END_OF_TIME
from dpselect.checking.finding import Finding, fails, follows, stated
from dpselect.queries.outline import planned_like
from dpselect.queries.plan import Plan
from dpselect.release import formatting
from dpselect.release.rows import not_ended_sentences

if TYPE_CHECKING:
    from dpselect.release.answers.outcome import Outcome
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release
    from dpselect.release.rows import OfRows

FEW = 5  # differences that are told one by one
LARGEST = 10**300  # of a count or a sum, which is a float where its unit is not whole
UNKNOWN = "its accuracy depends on a number of candidates that it does not contain"
Interval = Any  # an item, a measure of it, or a group: with low and high
UNFIT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)  # of hostile values


def question_of(release: Release) -> tuple[Plan, OfRows | None] | None:
    """What was asked and whose rows it was about, None where it says nothing of it. ValueError for what is none."""
    return None if release.question is None else planned_like(release.question)


def promised(release: Release, found: dict[str, Json]) -> tuple[Finding, ...]:
    """Everything that was looked at; `found` is the release as its file has it."""
    findings = list(_form(release))
    try:
        asked = question_of(release)
        if asked is None:
            return *findings, stated("it does not contain its question, so it cannot be planned again")
        outcome, alike = asked[0].outcome_of(release), _told_apart_there(release.question or {})
        planned = _planned(release, outcome, *asked)
        if alike or (asked[0].needs_candidates and outcome.candidates is None):
            # how many items there are to choose from, on which the accuracy rests, is not in it
            planned = replace(planned, accuracy=release.accuracy)
        findings += _shape(release, asked[0], alike=alike)
        places = list(differences(found, planned.to_dict()))
        findings += [
            fails(f"{formatting.brief(place)} is {_brief(here)}, and the plan has {_brief(there)}")
            for place, here, there in places[:FEW]
        ]
    except UNFIT as error:
        return *findings, fails(f"its question cannot be planned: {formatting.brief(str(error))}")
    if len(places) > FEW:
        findings.append(fails(f"{len(places) - FEW:,} more fields differ from the plan"))
    cost = f"{asked[0].verb} costs {planned.privacy.amounts}"
    rest = (
        "all its fields agree" if planned.accuracy is not release.accuracy else f"all other fields agree, but {UNKNOWN}"
    )
    return tuple(findings) or (follows(f"planned again, {cost} by {planned.privacy.mechanism}; {rest}"),)


def _told_apart_there(question: Mapping[str, Json]) -> bool:
    """Can only a column tell how many of the listed items, or groups whose users were counted, there are?"""
    return isinstance(question.get("groups" if question.get("verb") == "users" else "domain"), str)


def _planned(release: Release, outcome: Outcome, plan: Plan, rows: OfRows | None) -> Release:
    """Write the release of an outcome anew, by its plan. Which periods had not ended then is the clock's."""
    planned = replace(plan.answer(outcome), question=release.question, charged=release.charged)
    if rows is None:
        return planned
    planned, last = rows.describe_rows(planned, now=END_OF_TIME), release.privacy.sentences[-1:]
    if rows.periods is None or not set(last) & not_ended_sentences(rows.periods):
        return planned
    said = planned.privacy
    return replace(planned, privacy=replace(said, sentences=(*said.sentences, *last)))


def differences(found: Json, told: Json, place: str = "") -> Iterator[tuple[str, Json, Json]]:
    """Where the one is not the other, and what both have there."""
    if isinstance(found, dict) and isinstance(told, dict):
        for key in dict.fromkeys([*told, *found]):
            yield from differences(found.get(key), told.get(key), f"{place}.{key}" if place else key)
    elif isinstance(told, list) and isinstance(found, list) and len(told) == len(found):
        for at, (here, there) in enumerate(zip(found, told, strict=True)):
            yield from differences(here, there, f"{place}[{at}]")
    elif found != told or isinstance(found, bool) is not isinstance(told, bool):
        yield place, found, told


def _brief(value: Json) -> str:
    return formatting.brief(value)


# ---- its form -------------------------------------------------------------------------------------------------


def _form(release: Release) -> Iterator[Finding]:
    """What no answer can have, whatever was asked."""
    if not release.secure:
        yield fails("it was made with test draws, which anybody can repeat, so it is not private at all")
    if any((item.count is None) is release.counted for item in release.items):
        yield fails("some items have counts and some have none, or it says that it has none")
    shown = () if release.groups is None else release.groups.shown
    if release.groups is not None and any((one.users is None) is release.groups.counted for one in shown):
        yield fails("some groups have numbers of users and some have none, or it says that it has none")
    told: list[tuple[Interval, float | None]] = [(one, one.count) for one in release.items]
    told += [(one, one.users) for one in shown]
    told += [(one, one.value) for item in release.items for one in item.measures]
    if not all(_within(one, number) for one, number in told):
        yield fails("a number is outside its own interval, or impossibly large")


def _within(one: Interval, number: float | None) -> bool:
    """Does a noisy number lie between its ends? They are cut at 0 where no true number is beyond."""
    if number is None or one.low is None or one.high is None:
        return number is None and one.low is None and one.high is None
    cut = (number < 0 and one.low == 0) or (number > 0 and one.high == 0)
    return all(abs(each) < LARGEST for each in (number, one.low, one.high)) and (cut or one.low <= number <= one.high)


def _shape(release: Release, plan: Plan, *, alike: bool) -> Iterator[Finding]:
    """Is it an answer to this question, of as many items as were asked for?"""
    groups = release.groups
    if (() if groups is None else groups.columns) != (plan.by if plan.items is None else ()):
        yield fails("it is not by the groups that were asked for")
    most, many = _most(plan), None if plan.groups is None else max_domain_size(plan.groups)
    if groups is not None and many is not None and len(groups.shown) > many:
        yield fails(f"there are more groups than the {many:,} that were listed")
    if plan.verb != "top_k" and groups is None and not release.complete:
        yield fails(f"it says that it was cut short, and no answer of {plan.verb} is")
    low, high = getattr(plan.question, "bounds", None) or (None, None)
    if low is not None and not all(low <= item.item <= high for item in release.items):
        yield fails("a value is outside the bounds")
    if most is not None and max(release.found, default=0) > most:
        yield fails(f"there are more items than the {most:,} that were asked for")
    if (
        most is not None
        and not alike
        and plan.verb in ("choose", "histogram", "users")
        and groups is None
        and len(release) != most
    ):
        yield fails(f"there are not the {most:,} items that were asked for")
    if plan.verb == "top_k" and groups is None and release.complete is not (len(release) == most):
        yield fails("it says that it is complete and has too few items, or has all and says that it is not")


def _most(plan: Plan) -> int | None:
    """How many items an answer has at most, in groups each of them; None where there may be any number."""
    if plan.verb in ("top_k", "choose"):
        return getattr(plan.question, "k", 1)
    if plan.verb in ("histogram", "users"):
        return max_domain_size(plan.known_domain())
    return len(plan.question.q) if plan.verb == "quantile" else None
