"""Brief: what a print shows of an answer. One line each: what came back, how good it is, who counted, and the price.

The words need no theory; `Release.explain` has all that is to be said. What was counted (users, items, ranks, sums) is
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
from dpselect.release.scale import COUNTED, OF_RETURNED, THEREFORE, USERS_BY, format_items, score_name, unit_of_counts
from dpselect.release.statement import PAID_AGAIN, Item, Kind, Receipt, Statement
from dpselect.release.table import Leaflet, TextTable, wrap_text

if TYPE_CHECKING:
    from dpselect.release.accuracy import Accuracy
    from dpselect.release.groups import Groups

SURE = f"With {TIMES} % confidence"
ALONE = " in each group alone"
NOT_ABSENT = "there may be others"
CANDIDATE = re.compile(r"A candidate of [\d,]+ tokens")
LARGEST = 10**300  # of a bound
MOST_ITEMS = "max_items_per_user"
RANKED_BY_ALL = "by all items of every user, "  # before what is said of a ranking where counts are of fewer
OF_ROWS = {"once_in_each", "max_rows_per_user"}  # bounds that decide who has an item
DIGITS = 4  # of a quantile, or of the part of its bounds that a print shows, unless a `step` was asked for


class Answer(Protocol):
    """What a print, or a picture, shows of a release."""

    @property
    def items(self) -> Sequence[Item]:
        """What came back."""
        ...

    @property
    def privacy(self) -> Statement:
        """The promise."""
        ...

    @property
    def secure(self) -> bool:
        """Were the draws made for it?"""
        ...

    @property
    def kind(self) -> Kind:
        """What the items are to each other."""
        ...

    @property
    def counted(self) -> bool:
        """Have they noisy counts?"""
        ...

    @property
    def complete(self) -> bool:
        """Are there as many as were asked for?"""
        ...

    @property
    def charged(self) -> Receipt | None:
        """The receipt of a budget."""
        ...

    @property
    def accuracy(self) -> Accuracy:
        """How good it is."""
        ...

    @property
    def groups(self) -> Groups | None:
        """The groups that are shown."""
        ...

    @property
    def places(self) -> Sequence[tuple[int, int]] | None:
        """The places that items can have by their counts without noise."""
        ...


def brief_leaflet(answer: Answer, table: TextTable, said: str, outcome: Sequence[str], *, apart: bool) -> Leaflet:
    """The answer for a print; `apart` where a lower rank has a larger count."""
    first, below = headline(answer, said), [wrap_text(line) for line in describe_answer(answer, apart=apart)]
    if answer.items and not _is_named(answer):
        return Leaflet(_rounded(answer, table), below, (), headline=first, outcome=outcome)
    return Leaflet(TextTable({}), [*map(wrap_text, [first, *outcome]), *below], ())


def describe_answer(answer: Answer, *, apart: bool = False) -> list[str]:
    """How good it is, who counted where bounds cut, and what it cost."""
    return [
        line
        for line in (describe_accuracy(answer, apart=apart), describe_who_counts(answer), describe_price(answer))
        if line
    ]


# ---- what came back ---------------------------------------------------------------------------------------


def headline(answer: Answer, said: str) -> str:
    """What came back, and what is not said by that."""
    used, found = answer.privacy.parameters, len(answer.items)
    if answer.groups is not None:
        missing = "" if used.get("groups_listed") else " A group that is not shown may still have users."
        return f"{said}{missing}"
    if not found:
        return said.replace(NO_OTHER, NONE).replace(NONE, f"{NONE}, though there may be some")
    asked = used.get("q")
    if answer.kind is Kind.VALUES and isinstance(asked, tuple):
        shown = _values(answer)
        about = shown != [item.item for item in answer.items]
        return formatting.quantiles([float(q) for q in asked], shown, about=about)
    if not answer.complete:
        return said.replace(NO_OTHER, f"{NO_OTHER}, though there may be more")
    return said


def _is_named(answer: Answer) -> bool:
    """Is the one item all that a table would show, and in the sentence already?"""
    if len(answer.items) != 1 or answer.groups is not None or answer.counted or answer.kind is Kind.SET:
        return False
    return answer.complete and "compared_with" not in answer.privacy.parameters


def _rounded(answer: Answer, table: TextTable) -> TextTable:
    """The table, its quantiles without digits that no reader needs."""
    if answer.kind is not Kind.VALUES or "value" not in table.columns:
        return table
    return replace(table, columns={**table.columns, "value": [formatting.text(one) for one in _values(answer)]})


def _values(answer: Answer) -> list[object]:
    """Quantiles: multiples of a step that is not tiny as they are, others in four digits or more."""
    found: list[object] = [item.item for item in answer.items]
    used = answer.privacy.parameters
    if "bounds" not in used:
        return [float(f"{one:.{DIGITS}g}") if isinstance(one, float) else one for one in found]
    digits = _digits(used["bounds"], used.get("step"))
    return found if digits is None else [_about(one, digits) if isinstance(one, float) else one for one in found]


def _about(value: float, digits: int) -> float:
    """A value in so many decimals, or in as many digits of its own where it is small beside the bounds."""
    if not value or not math.isfinite(value):
        return value
    return round(value, max(digits, DIGITS - 1 - math.floor(math.log10(abs(value)))))


def _digits(bounds: object, step: object) -> int | None:
    """Of the decimals that tell parts of the bounds apart; None where the step is no finer, or nobody knows."""
    ends = [one for one in bounds if isinstance(one, Fraction)] if isinstance(bounds, tuple) else []
    if len(ends) != 2 or not isinstance(step, Fraction):
        return None
    part = (ends[1] - ends[0]) / 10**DIGITS
    return -math.floor(math.log10(part.numerator) - math.log10(part.denominator)) if 0 < step < part else None


# ---- how good it is ---------------------------------------------------------------------------------------


def describe_accuracy(answer: Answer, *, apart: bool = False) -> str:
    """The most telling of how good it is, in a line; empty where nothing can be said."""
    numbers = answer.accuracy.numbers
    if not answer.items and "reach" in numbers:
        most, rank = _most(answer, "reach"), format_count(numbers.get("rank_of_reach"))
        said = (
            f"no item{_but(answer)} has over {most} more than the one at rank {rank} (or in total, if there are fewer)"
        )
        return f"{SURE}{_alone(answer)}, {said}."
    if answer.kind is Kind.VALUES and all(name in numbers for name in TOO_MANY):
        return _quantiles(answer)
    if (answer.counted and "width_of_counts" in numbers) or "width_of_measures" in numbers:
        return _counts(answer, apart=apart)
    if "gap" in numbers and _says(answer, *CHOSEN):
        return _chosen(answer)
    order = _order(answer)
    if order:
        return f"{SURE}{_alone(answer)}, {order}."
    return _found(answer) or answer.accuracy.opening_and_remainder[0]


def _says(answer: Answer, *marks: str) -> bool:
    return any(mark in said for said in answer.accuracy.sentences for mark in marks)


def _but(answer: Answer) -> str:
    """Of which missing items nothing is said."""
    return " but the excluded" if EXCLUDED in answer.privacy.parameters else ""


def _alone(answer: Answer) -> str:
    return "" if answer.groups is None else ALONE


def _most(answer: Answer, name: str) -> str:
    """A number of the accuracy and what it counts; of the caller's own scores only the number."""
    number = answer.accuracy.numbers.get(name)
    if isinstance(number, Fraction):
        return formatting.price(number)
    unit = unit_of_counts(_of_ranking(answer))
    return f"{format_count(number)} {unit.replace('users', 'user') if number == 1 else unit}"


def _of_ranking(answer: Answer) -> Mapping[str, object]:
    """The parameters of the ranking: a bound on the items that came back keeps nobody from counting there."""
    used = answer.privacy.parameters
    if not _is_of_winners(answer):
        return used
    bounds = used.get(COUNTED)
    more = {one: most for one, most in bounds.items() if one != MOST_ITEMS} if isinstance(bounds, Mapping) else {}
    rest = {name: value for name, value in used.items() if name != COUNTED}
    return {**rest, COUNTED: more} if more else rest


def _is_of_winners(answer: Answer) -> bool:
    """Were items counted once more when they had come back, of every user some?"""
    return OF_RETURNED in _who_counts(answer)


def _who_counts(answer: Answer) -> str:
    """The sentence that says who counts, without what follows for numbers; empty where all do."""
    if COUNTED not in answer.privacy.parameters:
        return ""
    said = (one for one in answer.privacy.sentences if one.startswith("Each ") and f"{THEREFORE}{COUNTED} " in one)
    return next(said, "").partition(THEREFORE)[0]


def _order(answer: Answer) -> str:
    """By how much a ranking is off at most: how far a mistake goes, and no lead of one item over another."""
    numbers = answer.accuracy.numbers
    asked = next((said for said in answer.accuracy.sentences if said.endswith(AS_ASKED)), "")
    if asked and "within" in numbers:
        return f"{asked[0].lower()}{asked[1:]}".removesuffix(".")
    if "gap" not in numbers or not _says(answer, BELOW):
        return ""
    most = _most(answer, "gap")
    if "found_with_users" in numbers:
        return f"no lower item has over {most} more; {NOT_ABSENT}"
    return f"no lower or missing item{_but(answer)} has over {most} more"


def _counts(answer: Answer, *, apart: bool) -> str:
    """What the columns low and high hold, and of a ranking how good it is."""
    used, numbers = answer.privacy.parameters, answer.accuracy.numbers
    score, cut = score_name(used), COUNTED in used
    truth = "counted users" if cut and score == "count" else f"{'counted' if cut else 'true'} {score}"
    truth = "counted numbers" if "width_of_measures" in numbers else truth
    be = "are" if truth.endswith(("users", "numbers")) else "is"
    if used.get(USERS_BY) == ():
        said = [f"{SURE}, the {truth} {be} from low to high"]
    elif _says(answer, AT_ONCE):
        sure = SURE if LEAD not in numbers else f"Each {SURE[0].lower()}{SURE[1:]}"
        said = [f"{sure}, all rows at once: the {truth} {be} from low to high"]
    else:
        said = [f"Each {SURE[0].lower()}{SURE[1:]}: a row's {truth} {be} from low to high"]
    said += _lead(answer, score)
    order = _order(answer)
    if apart:
        said.append("ranks and counts have separate noise, so they may disagree")
    elif order and "within" not in numbers and "found_with_users" not in numbers:
        whose = "no" if answer.groups is None else "in a group, no"
        by, short = RANKED_BY_ALL if _is_of_winners(answer) else "", truth == "counted users"
        most = format_count(numbers["gap"]) if short and not by else _most(answer, "gap")
        said.append(f"{by}{whose} lower or missing item{_but(answer)} has over {most} more")
    elif order or "found_with_users" in numbers:
        said.append(order or NOT_ABSENT)
    if "width_of_group_users" in numbers:
        said.append(
            f"the {'counted ' if cut else ''}users of a group are within {format_count(numbers['width_of_group_users'])}"
        )
    return f"{'; '.join(said)}."


def _lead(answer: Answer, score: str) -> list[str]:
    """From which lead on the order of counts is certain, or that no count has one."""
    places = answer.places
    if places is None:
        return []
    lead, unit = format_count(answer.accuracy.numbers[LEAD]), unit_of_counts(answer.privacy.parameters)
    more = f"a larger {'counted' if unit.startswith('counted') else 'true'} sum" if score == "sum" else f"more {unit}"
    if all(first == 1 for first, _ in places):
        return [f"no {score} is {lead} above another, so which has {more} is open"]
    pairs = "" if _says(answer, AT_ONCE) else ", for all pairs at once"
    return [f"a {score} {lead} or more above another means {more}{pairs}"]


def _chosen(answer: Answer) -> str:
    """Of one that was chosen: how far it is below the best at most."""
    if _says(answer, CHOSEN[1]):
        return f"{SURE}, its score is at most {_most(answer, 'gap')} below the best."
    what, of = ("it", " of the domain") if answer.groups is None else ("a choice", "")
    return f"{SURE}{_alone(answer)}, {what} has at most {_most(answer, 'gap')} fewer than the best{of}."


def _quantiles(answer: Answer) -> str:
    """In users, which says nothing of how far that is in values."""
    numbers, unit = answer.accuracy.numbers, unit_of_counts(answer.privacy.parameters)
    if answer.groups is not None:
        return f"{SURE}{ALONE}, at most too_many_below {unit} too many lie below a value, and too_many_above above."
    whom = "it" if len(answer.items) == 1 else "any of them"
    users = numbers.get("users")
    of = f"of about {format_count(max(0, users) if isinstance(users, int) else users)} {unit} "
    below, above = (format_at_most(number) if isinstance(number := numbers[name], int) else "some" for name in TOO_MANY)
    said = f"{of}{below} too many lie below {whom}, and {above} above"
    return f"{SURE}, {said}, at any distance in value."


def _found(answer: Answer) -> str:
    """Of a union: how many users an item needs."""
    numbers = answer.accuracy.numbers
    if "found_with_users" not in numbers:
        return ""
    name = "counted users" if _bounds(answer.privacy.parameters) & OF_ROWS else "users"
    if "found_with_users_of_many" in numbers:
        users, items = format_count(numbers["found_with_users_of_many"]), format_count(numbers.get("items_of_many"))
        whose = f"{users} {name} with up to {items} items each"
    else:
        whose = f"{format_count(numbers['found_with_users'])} {name} who have no other item"
    what = next((one[0].lower() for one in map(CANDIDATE.match, answer.accuracy.sentences) if one), "an item")
    what += " other than the excluded" if EXCLUDED in answer.privacy.parameters else ""
    where = "" if answer.groups is None else " and no other group"
    return f"{SURE}, {what} with {whose}{where} is found; {NOT_ABSENT}."


# ---- who counted, and the price ---------------------------------------------------------------------------


def describe_who_counts(answer: Answer) -> str:
    """What of a user was counted, where a bound cut; empty where all was."""
    used = answer.privacy.parameters
    most = used.get(MOST_ITEMS)
    several = "once_in_each" in _bounds(used) or answer.privacy.unit.startswith("(")
    unit, found = answer.privacy.unit if several else "user", []
    if COUNTED in used:
        found.append(_named(answer, _who_counts(answer)))
    if "found_with_users" in answer.accuracy.numbers and isinstance(most, int) and not _bounds(used) & {MOST_ITEMS}:
        whose = f"Each {unit} counts" if answer.kind is Kind.SET else f"To find items each {unit} counts"
        some = format_items(most, in_groups=answer.groups is not None)
        found.append(f"{whose} for at most {some} (chosen at random)")
    found.append(_values_counted(answer))
    return " ".join(f"{one}." for one in found if one)


def _bounds(parameters: Mapping[str, object]) -> Set[str]:
    """The names of the bounds that keep users, or parts of them, from counting."""
    bounds = parameters.get(COUNTED)
    return bounds.keys() if isinstance(bounds, Mapping) else set()


def _values_counted(answer: Answer) -> str:
    """Of quantiles: which value of a user, and where values are moved; of steps, where they are not tiny."""
    told = (said for said in answer.accuracy.sentences if OF_VALUES in said)
    value = next((said.partition(OF_VALUES)[2].partition(ABOUT_VALUES)[0] for said in told), "")
    bounds, step = answer.privacy.parameters.get("bounds"), answer.privacy.parameters.get("step")
    if isinstance(bounds, tuple):
        ends = [formatting.of_column(one) for one in bounds if isinstance(one, Fraction) and abs(one) <= LARGEST]
        steps = ""
        if isinstance(step, Fraction) and 0 < step <= LARGEST and _digits(bounds, step) is None:
            steps = f", in steps of {formatting.of_column(step)}"
        value = value.replace("into the bounds, in steps", f"into {' to '.join(ends)}{steps}")
    return f"Counted: {value}" if value else ""


def _named(answer: Answer, said: str) -> str:
    """The group of the question by its column's name."""
    columns = () if answer.groups is None else answer.groups.columns
    return said.replace("at most 1 group", f"one {formatting.text(columns[0])}") if len(columns) == 1 else said


def describe_price(answer: Answer) -> str:
    """What it cost: of a budget its share first, since epsilon is no price where questions compose."""
    promise, receipt = answer.privacy, answer.charged
    if receipt is None:
        return f"spent: {promise.amounts} per {promise.unit}"
    whose = "" if promise.unit == "user" else f"; per {promise.unit}"
    return f"charged: {formatting.text(receipt.sentence.removesuffix(f'; {PAID_AGAIN}'))}{whose}"
