"""Brief: the print of an answer. One line each: its headline, its accuracy, who counted, and the price.

The words need no theory; `Release.explain` has every sentence. What was counted (users, items, ranks, sums) is
written with separators of thousands; values of a column (items, quantiles) are as the column has them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from dpselect.release import formatting
from dpselect.release.accuracy import (
    ABOUT_VALUES,
    AS_ASKED,
    AT_ONCE,
    BELOW,
    CHOSEN,
    EXCLUDED,
    LEAD,
    NO_OTHER,
    NONE,
    OF_VALUES,
    TIMES,
    TOO_MANY,
    format_at_most,
)
from dpselect.release.formatting import format_count
from dpselect.release.scale import (
    ALL_ITEMS,
    COUNTED,
    OF_RETURNED,
    THEREFORE,
    USERS_BY,
    format_items,
    score_name,
    unit_of_counts,
)
from dpselect.release.statement import OUTSIDE, PAID_AGAIN, Item, Kind, Receipt, Statement, describe_outside
from dpselect.release.table import Leaflet, TextTable, wrap_text

if TYPE_CHECKING:
    from dpselect.release.accuracy import Accuracy
    from dpselect.release.groups import Groups

SURE = f"With {TIMES} % confidence"
ALONE = " in each group alone"
NOT_ABSENT = "there may be others"
CANDIDATE = re.compile(r"A candidate of [\d,]+ tokens")
LARGEST = 10**300  # of a bound
MAX_ITEMS_PARAMETER = "max_items_per_user"
RANKED_BY_ALL = "by all items of every user, "  # before what is said of a ranking where counts are of fewer
OF_ROWS = {"once_in_each", "max_rows_per_user"}  # bounds that decide who has an item
DIGITS = 4  # of a quantile, or of the part of its bounds that a print shows, unless a `step` was asked for


class Answer(Protocol):
    """The parts of a release that a print, or a picture, shows."""

    @property
    def items(self) -> Sequence[Item]:
        """The items that were returned."""
        ...

    @property
    def privacy(self) -> Statement:
        """The promise of privacy."""
        ...

    @property
    def secure(self) -> bool:
        """True unless the draws were made for tests."""
        ...

    @property
    def kind(self) -> Kind:
        """The relation of the items to each other."""
        ...

    @property
    def counted(self) -> bool:
        """True if the items have noisy counts."""
        ...

    @property
    def complete(self) -> bool:
        """True if there are as many items as were asked for."""
        ...

    @property
    def charged(self) -> Receipt | None:
        """The receipt of a budget."""
        ...

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy of the answer."""
        ...

    @property
    def groups(self) -> Groups | None:
        """The groups that are shown."""
        ...

    @property
    def places(self) -> Sequence[tuple[int, int]] | None:
        """The places that items can have by their counts without noise."""
        ...


def brief_leaflet(
    answer: Answer, table: TextTable, sentence: str, outcome: Sequence[str], *, ranks_disagree: bool
) -> Leaflet:
    """Return the answer for a print; `ranks_disagree` if a lower rank has a larger count."""
    first_line, lines_below = (
        headline(answer, sentence),
        [wrap_text(line) for line in describe_answer(answer, ranks_disagree=ranks_disagree)],
    )
    if answer.items and not _is_named(answer):
        return Leaflet(_round_table(answer, table), lines_below, (), headline=first_line, outcome=outcome)
    return Leaflet(TextTable({}), [*map(wrap_text, [first_line, *outcome]), *lines_below], ())


def describe_answer(answer: Answer, *, ranks_disagree: bool = False) -> list[str]:
    """Return lines with the accuracy, who counted if a bound cut, and the cost."""
    return [
        line
        for line in (
            describe_accuracy(answer, ranks_disagree=ranks_disagree),
            describe_who_counts(answer),
            describe_reader(answer),
            describe_price(answer),
        )
        if line
    ]


# ---- what came back ---------------------------------------------------------------------------------------


def headline(answer: Answer, sentence: str) -> str:
    """Return the headline of an answer, and what it does not say about missing items or groups."""
    parameters, item_count = answer.privacy.parameters, len(answer.items)
    if answer.groups is not None:
        missing = "" if parameters.get("groups_listed") else " A group that is not shown may still have users."
        return f"{sentence}{missing}"
    if not item_count:
        return sentence.replace(NO_OTHER, NONE).replace(NONE, f"{NONE}, though there may be some")
    shares = parameters.get("q")
    if answer.kind is Kind.VALUES and isinstance(shares, tuple):
        values = _rounded_values(answer)
        is_rounded = values != [item.item for item in answer.items]
        return formatting.quantiles([float(q) for q in shares], values, is_rounded=is_rounded)
    if not answer.complete:
        return sentence.replace(NO_OTHER, f"{NO_OTHER}, though there may be more")
    return sentence


def _is_named(answer: Answer) -> bool:
    """Return whether the headline names the one item, and a table would show nothing else."""
    if len(answer.items) != 1 or answer.groups is not None or answer.counted or answer.kind is Kind.SET:
        return False
    return answer.complete and "compared_with" not in answer.privacy.parameters


def _round_table(answer: Answer, table: TextTable) -> TextTable:
    """Return the table, its quantiles without digits that no reader needs."""
    if answer.kind is not Kind.VALUES or "value" not in table.columns:
        return table
    return replace(
        table, columns={**table.columns, "value": [formatting.text(value) for value in _rounded_values(answer)]}
    )


def _rounded_values(answer: Answer) -> list[object]:
    """Return quantiles: multiples of a step that is not tiny as they are, others in four digits or more."""
    values: list[object] = [item.item for item in answer.items]
    parameters = answer.privacy.parameters
    if "bounds" not in parameters:
        return [float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value for value in values]
    digits = _needed_decimals(parameters["bounds"], parameters.get("step"))
    return (
        values
        if digits is None
        else [_round_value(value, digits) if isinstance(value, float) else value for value in values]
    )


def _round_value(value: float, digits: int) -> float:
    """Round a value to so many decimals, or to as many digits of its own if it is small beside the bounds."""
    if not value or not math.isfinite(value):
        return value
    return round(value, max(digits, DIGITS - 1 - math.floor(math.log10(abs(value)))))


def _needed_decimals(bounds: object, step: object) -> int | None:
    """Return the decimals that a part of the bounds needs; None if the step is no finer, or is not known."""
    ends = [end for end in bounds if isinstance(end, Fraction)] if isinstance(bounds, tuple) else []
    if len(ends) != 2 or not isinstance(step, Fraction):
        return None
    resolution = (ends[1] - ends[0]) / 10**DIGITS
    return (
        -math.floor(math.log10(resolution.numerator) - math.log10(resolution.denominator))
        if 0 < step < resolution
        else None
    )


# ---- how good it is ---------------------------------------------------------------------------------------


def describe_accuracy(answer: Answer, *, ranks_disagree: bool = False) -> str:
    """Return the most useful line on the accuracy, or "" if nothing can be said."""
    numbers = answer.accuracy.numbers
    if not answer.items and "reach" in numbers:
        reach, rank = _format_bound(answer, "reach"), format_count(numbers.get("rank_of_reach"))
        sentence = (
            f"no item{_but_excluded(answer)} has over {reach} more than the one at rank {rank} (or in total, if there "
            "are fewer)"
        )
        return f"{SURE}{_in_each_group(answer)}, {sentence}."
    if answer.kind is Kind.VALUES and all(name in numbers for name in TOO_MANY):
        return _describe_quantiles(answer)
    if (answer.counted and "width_of_counts" in numbers) or "width_of_measures" in numbers:
        return _describe_counts(answer, ranks_disagree=ranks_disagree)
    if "gap" in numbers and _has_phrase(answer, *CHOSEN):
        return _describe_choice(answer)
    order_text = _describe_order(answer)
    if order_text:
        return f"{SURE}{_in_each_group(answer)}, {order_text}."
    return _describe_found_items(answer) or answer.accuracy.opening_and_remainder[0]


def _has_phrase(answer: Answer, *phrases: str) -> bool:
    return any(phrase in sentence for sentence in answer.accuracy.sentences for phrase in phrases)


def _but_excluded(answer: Answer) -> str:
    """Return the exception for missing items that a list excludes, of which nothing is known."""
    return " but the excluded" if EXCLUDED in answer.privacy.parameters else ""


def _in_each_group(answer: Answer) -> str:
    return "" if answer.groups is None else ALONE


def _format_bound(answer: Answer, name: str) -> str:
    """Format a number of the accuracy and what it counts; of the caller's own scores only the number."""
    number = answer.accuracy.numbers.get(name)
    if isinstance(number, Fraction):
        return formatting.price(number)
    unit = unit_of_counts(_ranking_parameters(answer))
    return f"{format_count(number)} {unit.replace('users', 'user') if number == 1 else unit}"


def _ranking_parameters(answer: Answer) -> Mapping[str, object]:
    """Return the parameters of the ranking, in which everybody counts if a bound is on returned items only."""
    parameters = answer.privacy.parameters
    if not _counts_returned_only(answer):
        return parameters
    bounds = parameters.get(COUNTED)
    ranking_bounds = (
        {bound_name: bound for bound_name, bound in bounds.items() if bound_name != MAX_ITEMS_PARAMETER}
        if isinstance(bounds, Mapping)
        else {}
    )
    other_parameters = {name: value for name, value in parameters.items() if name != COUNTED}
    return {**other_parameters, COUNTED: ranking_bounds} if ranking_bounds else other_parameters


def _counts_returned_only(answer: Answer) -> bool:
    """Return whether returned items were counted once more, for each user only some of them."""
    return OF_RETURNED in _who_counts(answer)


def _who_counts(answer: Answer) -> str:
    """Return the sentence that says who counts, without what follows for numbers; "" if all do."""
    if COUNTED not in answer.privacy.parameters:
        return ""
    sentences = (
        sentence
        for sentence in answer.privacy.sentences
        if sentence.startswith("Each ") and f"{THEREFORE}{COUNTED} " in sentence
    )
    return next(sentences, "").partition(THEREFORE)[0]


def _describe_order(answer: Answer) -> str:
    """Return by how much a ranking is off at most; not the lead of one item over another."""
    numbers = answer.accuracy.numbers
    target_sentence = next((sentence for sentence in answer.accuracy.sentences if sentence.endswith(AS_ASKED)), "")
    if target_sentence and "within" in numbers:
        return f"{target_sentence[0].lower()}{target_sentence[1:]}".removesuffix(".")
    if "gap" not in numbers or not _has_phrase(answer, BELOW):
        return ""
    bound = _format_bound(answer, "gap")
    if "found_with_users" in numbers:
        return f"no lower item has over {bound} more; {NOT_ABSENT}"
    return f"no lower or missing item{_but_excluded(answer)} has over {bound} more"


def _describe_counts(answer: Answer, *, ranks_disagree: bool) -> str:
    """Describe the columns low and high, and of a ranking how accurate it is."""
    parameters, numbers = answer.privacy.parameters, answer.accuracy.numbers
    score, is_cut = score_name(parameters), COUNTED in parameters
    truth = "counted users" if is_cut and score == "count" else f"{'counted' if is_cut else 'true'} {score}"
    truth = "counted numbers" if "width_of_measures" in numbers else truth
    verb = "are" if truth.endswith(("users", "numbers")) else "is"
    if parameters.get(USERS_BY) == ():
        clauses = [f"{SURE}, the {truth} {verb} from low to high"]
    elif _has_phrase(answer, AT_ONCE):
        confidence = SURE if LEAD not in numbers else f"Each {SURE[0].lower()}{SURE[1:]}"
        clauses = [f"{confidence}, all rows at once: the {truth} {verb} from low to high"]
    else:
        clauses = [f"Each {SURE[0].lower()}{SURE[1:]}: a row's {truth} {verb} from low to high"]
    clauses += _describe_lead(answer, score)
    order = _describe_order(answer)
    if ranks_disagree:
        clauses.append("ranks and counts have separate noise, so they may disagree")
    elif order and "within" not in numbers and "found_with_users" not in numbers:
        which_item = "no" if answer.groups is None else "in a group, no"
        ranking_basis, is_short = RANKED_BY_ALL if _counts_returned_only(answer) else "", truth == "counted users"
        bound = format_count(numbers["gap"]) if is_short and not ranking_basis else _format_bound(answer, "gap")
        clauses.append(
            f"{ranking_basis}{which_item} lower or missing item{_but_excluded(answer)} has over {bound} more"
        )
    elif order or "found_with_users" in numbers:
        clauses.append(order or NOT_ABSENT)
    if "width_of_group_users" in numbers:
        clauses.append(
            f"the {'counted ' if is_cut else ''}users of a group are within "
            f"{format_count(numbers['width_of_group_users'])}"
        )
    return f"{'; '.join(clauses)}."


def _describe_lead(answer: Answer, score: str) -> list[str]:
    """Return from which lead on the order of counts is certain, or that no count has such a lead."""
    places = answer.places
    if places is None:
        return []
    lead, unit = format_count(answer.accuracy.numbers[LEAD]), unit_of_counts(answer.privacy.parameters)
    difference = (
        f"a larger {'counted' if unit.startswith('counted') else 'true'} sum" if score == "sum" else f"more {unit}"
    )
    if all(first == 1 for first, _ in places):
        return [f"no {score} is {lead} above another, so which has {difference} is open"]
    pairs = "" if _has_phrase(answer, AT_ONCE) else ", for all pairs at once"
    return [f"a {score} {lead} or more above another means {difference}{pairs}"]


def _describe_choice(answer: Answer) -> str:
    """Describe how far the item that was chosen is below the best at most."""
    if _has_phrase(answer, CHOSEN[1]):
        return f"{SURE}, its score is at most {_format_bound(answer, 'gap')} below the best."
    subject, in_domain = ("it", " of the domain") if answer.groups is None else ("a choice", "")
    gap = _format_bound(answer, "gap")
    return f"{SURE}{_in_each_group(answer)}, {subject} has at most {gap} fewer than the best{in_domain}."


def _describe_quantiles(answer: Answer) -> str:
    """Describe quantiles by users; nothing is known of the distance in values."""
    numbers, unit = answer.accuracy.numbers, unit_of_counts(answer.privacy.parameters)
    if answer.groups is not None:
        return f"{SURE}{ALONE}, at most too_many_below {unit} too many lie below a value, and too_many_above above."
    subject = "it" if len(answer.items) == 1 else "any of them"
    users = numbers.get("users")
    of_users = f"of about {format_count(max(0, users) if isinstance(users, int) else users)} {unit} "
    below_text, above_text = (
        format_at_most(number) if isinstance(number := numbers[name], int) else "some" for name in TOO_MANY
    )
    sentence = f"{of_users}{below_text} too many lie below {subject}, and {above_text} above"
    return f"{SURE}, {sentence}, at any distance in value."


def _describe_found_items(answer: Answer) -> str:
    """Describe how many users an item of a union needs."""
    numbers = answer.accuracy.numbers
    if "found_with_users" not in numbers:
        return ""
    name = "counted users" if _bound_names(answer.privacy.parameters) & OF_ROWS else "users"
    if "found_with_users_of_many" in numbers:
        users, items = format_count(numbers["found_with_users_of_many"]), format_count(numbers.get("items_of_many"))
        users_needed = f"{users} {name} with up to {items} items each"
    else:
        users_needed = f"{format_count(numbers['found_with_users'])} {name} who have no other item"
    noun = next((match[0].lower() for match in map(CANDIDATE.match, answer.accuracy.sentences) if match), "an item")
    noun += " other than the excluded" if EXCLUDED in answer.privacy.parameters else ""
    in_no_other_group = "" if answer.groups is None else " and no other group"
    return f"{SURE}, {noun} with {users_needed}{in_no_other_group} is found; {NOT_ABSENT}."


# ---- who counted, and the price ---------------------------------------------------------------------------


def describe_who_counts(answer: Answer) -> str:
    """Describe what counts of a user if a bound cuts; "" if everything does."""
    parameters = answer.privacy.parameters
    max_items = parameters.get(MAX_ITEMS_PARAMETER)
    unit_is_part = "once_in_each" in _bound_names(parameters) or answer.privacy.unit.startswith("(")
    unit, sentences = answer.privacy.unit if unit_is_part else "user", []
    if COUNTED in parameters:
        sentences.append(_name_group_column(answer, _who_counts(answer)))
    if (
        "found_with_users" in answer.accuracy.numbers
        and isinstance(max_items, int)
        and ALL_ITEMS not in parameters
        and not _bound_names(parameters) & {MAX_ITEMS_PARAMETER}
    ):
        counting = f"Each {unit} counts" if answer.kind is Kind.SET else f"To find items each {unit} counts"
        counted_items = format_items(max_items, in_groups=answer.groups is not None)
        sentences.append(f"{counting} for at most {counted_items} (chosen at random)")
    sentences.append(_describe_values(answer))
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _bound_names(parameters: Mapping[str, object]) -> Set[str]:
    """Return the names of the bounds that keep users, or parts of them, from counting."""
    bounds = parameters.get(COUNTED)
    return bounds.keys() if isinstance(bounds, Mapping) else set()


def _describe_values(answer: Answer) -> str:
    """Describe which value of a user counts for quantiles, where it is moved, and steps that are not tiny."""
    sentences = (sentence for sentence in answer.accuracy.sentences if OF_VALUES in sentence)
    value = next((sentence.partition(OF_VALUES)[2].partition(ABOUT_VALUES)[0] for sentence in sentences), "")
    bounds, step = answer.privacy.parameters.get("bounds"), answer.privacy.parameters.get("step")
    if isinstance(bounds, tuple):
        ends = [formatting.of_column(end) for end in bounds if isinstance(end, Fraction) and abs(end) <= LARGEST]
        steps = ""
        if isinstance(step, Fraction) and 0 < step <= LARGEST and _needed_decimals(bounds, step) is None:
            steps = f", in steps of {formatting.of_column(step)}"
        value = value.replace("into the bounds, in steps", f"into {' to '.join(ends)}{steps}")
    return f"Counted: {value}" if value else ""


def _name_group_column(answer: Answer, sentence: str) -> str:
    """Return the sentence with the column of groups by its name, if there is one column."""
    columns = () if answer.groups is None else answer.groups.columns
    return sentence.replace("at most 1 group", f"one {formatting.text(columns[0])}") if len(columns) == 1 else sentence


def describe_reader(answer: Answer) -> str:
    """Return the sentence about another package that read the rows, if one did."""
    package = answer.privacy.parameters.get(OUTSIDE)
    return "" if package is None else describe_outside(str(package))


def describe_price(answer: Answer) -> str:
    """Describe the cost: from a budget its share first, since epsilon is no price where questions compose."""
    promise, receipt = answer.privacy, answer.charged
    if receipt is None:
        return f"spent: {promise.amounts} per {promise.unit}"
    per_unit = "" if promise.unit == "user" else f"; per {promise.unit}"
    return f"charged: {formatting.text(receipt.sentence.removesuffix(f'; {PAID_AGAIN}'))}{per_unit}"
