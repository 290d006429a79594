"""The accuracy of an answer in one line, as a print has it: the most useful of what is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from dpselect.release import formatting
from dpselect.release.accuracy import (
    AS_ASKED,
    AT_ONCE,
    BELOW,
    CHOSEN,
    CONFIDENCE_PERCENT,
    EXCLUDED,
    LEAD,
    TOO_MANY,
    format_at_most,
)
from dpselect.release.formatting import format_count
from dpselect.release.scale import COUNTED, USERS_BY, score_name, unit_of_counts
from dpselect.release.shown import ShownRelease
from dpselect.release.statement import Kind
from dpselect.release.who_counts import MAX_ITEMS_PARAMETER, bound_names, counts_returned_only

SURE = f"With {CONFIDENCE_PERCENT} % confidence"
IN_EACH_GROUP = " in each group alone"
NOT_ABSENT = "there may be others"
LONG_CANDIDATE = re.compile(r"A candidate of [\d,]+ tokens")
RANKED_BY_ALL = "by all items of every user, "  # before what is said of a ranking where counts are of fewer
ROW_BOUNDS = {"once_in_each", "max_rows_per_user"}  # bounds that decide who has an item


def describe_accuracy(release: ShownRelease, *, ranks_disagree: bool = False) -> str:
    """Return the most useful line on the accuracy, or "" if nothing can be said."""
    numbers = release.accuracy.numbers
    if not release.items and "reach" in numbers:
        reach, rank = _format_bound(release, "reach"), format_count(numbers.get("rank_of_reach"))
        sentence = (
            f"no item{_but_excluded(release)} has over {reach} more than the one at rank {rank} (or in total, if there "
            "are fewer)"
        )
        return f"{SURE}{_in_each_group(release)}, {sentence}."
    if release.kind is Kind.VALUES and all(name in numbers for name in TOO_MANY):
        return _describe_quantiles(release)
    if (release.counted and "width_of_counts" in numbers) or "width_of_measures" in numbers:
        return _describe_counts(release, ranks_disagree=ranks_disagree)
    if "gap" in numbers and _has_phrase(release, *CHOSEN):
        return _describe_choice(release)
    order_text = _describe_order(release)
    if order_text:
        return f"{SURE}{_in_each_group(release)}, {order_text}."
    return _describe_found_items(release) or release.accuracy.opening_and_remainder[0]


def _has_phrase(release: ShownRelease, *phrases: str) -> bool:
    return any(phrase in sentence for sentence in release.accuracy.sentences for phrase in phrases)


def _but_excluded(release: ShownRelease) -> str:
    """Return the exception for missing items that a list excludes, of which nothing is known."""
    return " but the excluded" if EXCLUDED in release.privacy.parameters else ""


def _in_each_group(release: ShownRelease) -> str:
    return "" if release.groups is None else IN_EACH_GROUP


def _format_bound(release: ShownRelease, name: str) -> str:
    """Format a number of the accuracy and what it counts; of the caller's own scores only the number."""
    number = release.accuracy.numbers.get(name)
    if isinstance(number, Fraction):
        return formatting.price(number)
    unit = unit_of_counts(_ranking_parameters(release))
    return f"{format_count(number)} {unit.replace('users', 'user') if number == 1 else unit}"


def _ranking_parameters(release: ShownRelease) -> Mapping[str, object]:
    """Return the parameters of the ranking, in which everybody counts if a bound is on returned items only."""
    parameters = release.privacy.parameters
    if not counts_returned_only(release):
        return parameters
    bounds = parameters.get(COUNTED)
    ranking_bounds = (
        {bound_name: bound for bound_name, bound in bounds.items() if bound_name != MAX_ITEMS_PARAMETER}
        if isinstance(bounds, Mapping)
        else {}
    )
    other_parameters = {name: value for name, value in parameters.items() if name != COUNTED}
    return {**other_parameters, COUNTED: ranking_bounds} if ranking_bounds else other_parameters


def _describe_order(release: ShownRelease) -> str:
    """Return by how much a ranking is off at most; not the lead of one item over another."""
    numbers = release.accuracy.numbers
    target_sentence = next((sentence for sentence in release.accuracy.sentences if sentence.endswith(AS_ASKED)), "")
    if target_sentence and "within" in numbers:
        return f"{target_sentence[0].lower()}{target_sentence[1:]}".removesuffix(".")
    if "gap" not in numbers or not _has_phrase(release, BELOW):
        return ""
    bound = _format_bound(release, "gap")
    if "found_with_users" in numbers:
        return f"no lower item has over {bound} more; {NOT_ABSENT}"
    return f"no lower or missing item{_but_excluded(release)} has over {bound} more"


def _describe_counts(release: ShownRelease, *, ranks_disagree: bool) -> str:
    """Describe the columns low and high, and of a ranking how accurate it is."""
    parameters, numbers = release.privacy.parameters, release.accuracy.numbers
    score, is_cut = score_name(parameters), COUNTED in parameters
    truth = "counted users" if is_cut and score == "count" else f"{'counted' if is_cut else 'true'} {score}"
    truth = "counted numbers" if "width_of_measures" in numbers else truth
    verb = "are" if truth.endswith(("users", "numbers")) else "is"
    if parameters.get(USERS_BY) == ():
        clauses = [f"{SURE}, the {truth} {verb} from low to high"]
    elif _has_phrase(release, AT_ONCE):
        confidence = SURE if LEAD not in numbers else f"Each {SURE[0].lower()}{SURE[1:]}"
        clauses = [f"{confidence}, all rows at once: the {truth} {verb} from low to high"]
    else:
        clauses = [f"Each {SURE[0].lower()}{SURE[1:]}: a row's {truth} {verb} from low to high"]
    clauses += _describe_lead(release, score)
    order = _describe_order(release)
    if ranks_disagree:
        clauses.append("ranks and counts have separate noise, so they may disagree")
    elif order and "within" not in numbers and "found_with_users" not in numbers:
        which_item = "no" if release.groups is None else "in a group, no"
        ranking_basis, is_short = RANKED_BY_ALL if counts_returned_only(release) else "", truth == "counted users"
        bound = format_count(numbers["gap"]) if is_short and not ranking_basis else _format_bound(release, "gap")
        clauses.append(
            f"{ranking_basis}{which_item} lower or missing item{_but_excluded(release)} has over {bound} more"
        )
    elif order or "found_with_users" in numbers:
        clauses.append(order or NOT_ABSENT)
    if "width_of_group_users" in numbers:
        clauses.append(
            f"the {'counted ' if is_cut else ''}users of a group are within "
            f"{format_count(numbers['width_of_group_users'])}"
        )
    return f"{'; '.join(clauses)}."


def _describe_lead(release: ShownRelease, score: str) -> list[str]:
    """Return from which lead on the order of counts is certain, or that no count has such a lead."""
    places = release.places
    if places is None:
        return []
    lead, unit = format_count(release.accuracy.numbers[LEAD]), unit_of_counts(release.privacy.parameters)
    difference = (
        f"a larger {'counted' if unit.startswith('counted') else 'true'} sum" if score == "sum" else f"more {unit}"
    )
    if all(first == 1 for first, _ in places):
        return [f"no {score} is {lead} above another, so which has {difference} is open"]
    pairs = "" if _has_phrase(release, AT_ONCE) else ", for all pairs at once"
    return [f"a {score} {lead} or more above another means {difference}{pairs}"]


def _describe_choice(release: ShownRelease) -> str:
    """Describe how far the item that was chosen is below the best at most."""
    if _has_phrase(release, CHOSEN[1]):
        return f"{SURE}, its score is at most {_format_bound(release, 'gap')} below the best."
    subject, in_domain = ("it", " of the domain") if release.groups is None else ("a choice", "")
    gap = _format_bound(release, "gap")
    return f"{SURE}{_in_each_group(release)}, {subject} has at most {gap} fewer than the best{in_domain}."


def _describe_quantiles(release: ShownRelease) -> str:
    """Describe quantiles by users; nothing is known of the distance in values."""
    numbers, unit = release.accuracy.numbers, unit_of_counts(release.privacy.parameters)
    if release.groups is not None:
        bounds = f"at most too_many_below {unit} too many lie below a value, and too_many_above above"
        return f"{SURE}{IN_EACH_GROUP}, {bounds}."
    subject = "it" if len(release.items) == 1 else "any of them"
    users = numbers.get("users")
    of_users = f"of about {format_count(max(0, users) if isinstance(users, int) else users)} {unit} "
    below_text, above_text = (
        format_at_most(number) if isinstance(number := numbers[name], int) else "some" for name in TOO_MANY
    )
    sentence = f"{of_users}{below_text} too many lie below {subject}, and {above_text} above"
    return f"{SURE}, {sentence}, at any distance in value."


def _describe_found_items(release: ShownRelease) -> str:
    """Describe how many users an item of a union needs."""
    numbers = release.accuracy.numbers
    if "found_with_users" not in numbers:
        return ""
    name = "counted users" if bound_names(release.privacy.parameters) & ROW_BOUNDS else "users"
    if "found_with_users_of_many" in numbers:
        users, items = format_count(numbers["found_with_users_of_many"]), format_count(numbers.get("items_of_many"))
        users_needed = f"{users} {name} with up to {items} items each"
    else:
        users_needed = f"{format_count(numbers['found_with_users'])} {name} who have no other item"
    noun = next(
        (match[0].lower() for match in map(LONG_CANDIDATE.match, release.accuracy.sentences) if match), "an item"
    )
    noun += " other than the excluded" if EXCLUDED in release.privacy.parameters else ""
    in_no_other_group = "" if release.groups is None else " and no other group"
    return f"{SURE}, {noun} with {users_needed}{in_no_other_group} is found; {NOT_ABSENT}."
