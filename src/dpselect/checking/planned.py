"""Plan the question of a release again, without data, and compare every field of the release with the new plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpselect._ground.domain import max_domain_size
from dpselect._ground.periods import END_OF_TIME
from dpselect.checking.finding import Finding, fails, follows, stated
from dpselect.queries.outline import plan_from_outline
from dpselect.queries.plan import Plan
from dpselect.release import formatting
from dpselect.release.rows import not_ended_sentences

if TYPE_CHECKING:
    from dpselect.release.answers.outcome import Outcome
    from dpselect.release.formatting import Json
    from dpselect.release.release import Release
    from dpselect.release.rows import OfRows

_MAX_LISTED_DIFFERENCES = 5  # the others are only counted
_LARGEST_NUMBER = 10**300  # of a count or a sum, which is a float if its unit is not whole
_UNKNOWN_DOMAIN_SIZE = "its accuracy depends on a number of candidates that it does not contain"
_HasInterval = Any  # an Item, a Measurement or a Group: each has `low` and `high`
HOSTILE_VALUE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What planning may raise on values from an untrusted file."""


def parse_question(release: Release) -> tuple[Plan, OfRows | None] | None:
    """Return the plan and the rows of the release's question, or None if the release does not contain it.

    Raises: ValueError if the release's question is malformed.
    """
    return None if release.question is None else plan_from_outline(release.question)


def check_promise(release: Release, document: dict[str, Json]) -> tuple[Finding, ...]:
    """Check the form of a release, and each field of its JSON document against the plan of its question."""
    findings = list(_check_form(release))
    try:
        question = parse_question(release)
        if question is None:
            return *findings, stated("it does not contain its question, so it cannot be planned again")
        plan, rows = question
        outcome = plan.outcome_of(release)
        expected = _expected_release(release, outcome, plan, rows)
        has_inexact_size = _has_inexact_domain_size(release.question or {})
        if has_inexact_size or (plan.needs_candidates and outcome.candidates is None):
            # the accuracy depends on the number of candidates, which the release does not contain
            expected = replace(expected, accuracy=release.accuracy)
        findings += _check_items(release, plan, has_inexact_size=has_inexact_size)
        differing = list(_differences(document, expected.to_dict()))
        findings += [
            fails(
                f"{formatting.brief(path)} is {formatting.brief(actual)}, and the plan has {formatting.brief(planned)}"
            )
            for path, actual, planned in differing[:_MAX_LISTED_DIFFERENCES]
        ]
    except HOSTILE_VALUE_ERRORS as error:
        return *findings, fails(f"its question cannot be planned: {formatting.brief(str(error))}")
    if len(differing) > _MAX_LISTED_DIFFERENCES:
        findings.append(fails(f"{len(differing) - _MAX_LISTED_DIFFERENCES:,} more fields differ from the plan"))
    cost = f"{plan.verb} costs {expected.privacy.amounts}"
    agreement = (
        "all its fields agree"
        if expected.accuracy is not release.accuracy
        else f"all other fields agree, but {_UNKNOWN_DOMAIN_SIZE}"
    )
    return tuple(findings) or (follows(f"planned again, {cost} by {expected.privacy.mechanism}; {agreement}"),)


def _has_inexact_domain_size(question: Mapping[str, Json]) -> bool:
    """Return whether the question has only an upper bound, as text, on the size of its domain (of `users`: its groups).

    A list of labels in several types or spellings may name one item twice; only the type of the column decides.
    """
    return isinstance(question.get("groups" if question.get("verb") == "users" else "domain"), str)


def _expected_release(release: Release, outcome: Outcome, plan: Plan, rows: OfRows | None) -> Release:
    """Return the release that the plan gives for an outcome.

    Whether a period had ended at the time of the release cannot be replanned, so that sentence is kept.
    """
    expected = replace(plan.answer(outcome), question=release.question, charged=release.charged)
    if rows is None:
        return expected
    expected, last_sentence = rows.describe_rows(expected, now=END_OF_TIME), release.privacy.sentences[-1:]
    if rows.periods is None or not set(last_sentence) & not_ended_sentences(rows.periods):
        return expected
    statement = expected.privacy
    return replace(expected, privacy=replace(statement, sentences=(*statement.sentences, *last_sentence)))


def _differences(actual: Json, expected: Json, path: str = "") -> Iterator[tuple[str, Json, Json]]:
    """Yield the path and both values of each difference between two JSON documents.

    A bool differs from the number that equals it.
    """
    if isinstance(actual, dict) and isinstance(expected, dict):
        for key in dict.fromkeys([*expected, *actual]):
            yield from _differences(actual.get(key), expected.get(key), f"{path}.{key}" if path else key)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (actual_element, expected_element) in enumerate(zip(actual, expected, strict=True)):
            yield from _differences(actual_element, expected_element, f"{path}[{index}]")
    elif actual != expected or isinstance(actual, bool) is not isinstance(expected, bool):
        yield path, actual, expected


# ---- its form -------------------------------------------------------------------------------------------------


def _check_form(release: Release) -> Iterator[Finding]:
    """Yield a failure for each property that no release can have, whatever its question."""
    if not release.secure:
        yield fails("it was made with test draws, which anybody can repeat, so it is not private at all")
    if any((item.count is None) is release.counted for item in release.items):
        yield fails("some items have counts and some have none, or it says that it has none")
    groups = () if release.groups is None else release.groups.shown
    if release.groups is not None and any((group.users is None) is release.groups.counted for group in groups):
        yield fails("some groups have numbers of users and some have none, or it says that it has none")
    numbers: list[tuple[_HasInterval, float | None]] = [(item, item.count) for item in release.items]
    numbers += [(group, group.users) for group in groups]
    numbers += [(measurement, measurement.value) for item in release.items for measurement in item.measures]
    if not all(_is_within_interval(number, holder.low, holder.high) for holder, number in numbers):
        yield fails("a number is outside its own interval, or impossibly large")


def _is_within_interval(number: float | None, low: float | None, high: float | None) -> bool:
    """Return whether a noisy number lies between its ends, or all three are missing.

    An end is cut at 0 if no true number lies beyond it; the noisy number may still do so.
    """
    if number is None or low is None or high is None:
        return number is None and low is None and high is None
    beyond_cut = (number < 0 and low == 0) or (number > 0 and high == 0)
    return all(abs(value) < _LARGEST_NUMBER for value in (number, low, high)) and (beyond_cut or low <= number <= high)


def _check_items(release: Release, plan: Plan, *, has_inexact_size: bool) -> Iterator[Finding]:
    """Yield a failure for each way in which the numbers of items and groups contradict the question."""
    groups = release.groups
    if (() if groups is None else groups.columns) != (plan.by if plan.items is None else ()):
        yield fails("it is not by the groups that were asked for")
    max_items, max_groups = _max_items(plan), None if plan.groups is None else max_domain_size(plan.groups)
    if groups is not None and max_groups is not None and len(groups.shown) > max_groups:
        yield fails(f"there are more groups than the {max_groups:,} that were listed")
    if plan.verb != "top_k" and groups is None and not release.complete:
        yield fails(f"it says that it was cut short, and no answer of {plan.verb} is")
    low, high = getattr(plan.question, "bounds", None) or (None, None)
    if low is not None and not all(low <= item.item <= high for item in release.items):
        yield fails("a value is outside the bounds")
    if max_items is not None and max(release.found, default=0) > max_items:
        yield fails(f"there are more items than the {max_items:,} that were asked for")
    if (
        max_items is not None
        and not has_inexact_size
        and plan.verb in ("choose", "histogram", "users")
        and groups is None
        and len(release) != max_items
    ):
        yield fails(f"there are not the {max_items:,} items that were asked for")
    if plan.verb == "top_k" and groups is None and release.complete is not (len(release) == max_items):
        yield fails("it says that it is complete and has too few items, or has all and says that it is not")


def _max_items(plan: Plan) -> int | None:
    """Return the largest number of items in an answer (by group: in each group), or None if it is unbounded."""
    if plan.verb in ("top_k", "choose"):
        return getattr(plan.question, "k", 1)
    if plan.verb in ("histogram", "users"):
        return max_domain_size(plan.require_domain())
    return len(plan.question.q) if plan.verb == "quantile" else None
