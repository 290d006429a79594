"""Who counts in an answer: which users, or parts of them, where a bound keeps others from counting."""

from __future__ import annotations

from collections.abc import Mapping, Set
from fractions import Fraction

from dpselect.release import formatting
from dpselect.release.accuracy import ABOUT_VALUES, OF_VALUES
from dpselect.release.quantile_values import needed_decimals
from dpselect.release.scale import ALL_ITEMS, COUNTED, OF_RETURNED, THEREFORE, format_items
from dpselect.release.shown import ShownRelease
from dpselect.release.statement import Kind

LARGEST_BOUND = 10**300
MAX_ITEMS_PARAMETER = "max_items_per_user"


def describe_who_counts(release: ShownRelease) -> str:
    """Describe what counts of a user if a bound cuts; "" if everything does."""
    parameters = release.privacy.parameters
    max_items = parameters.get(MAX_ITEMS_PARAMETER)
    unit_is_part = "once_in_each" in bound_names(parameters) or release.privacy.unit.startswith("(")
    unit, sentences = release.privacy.unit if unit_is_part else "user", []
    if COUNTED in parameters:
        sentences.append(_name_group_column(release, who_counts(release)))
    if (
        "found_with_users" in release.accuracy.numbers
        and isinstance(max_items, int)
        and ALL_ITEMS not in parameters
        and not bound_names(parameters) & {MAX_ITEMS_PARAMETER}
    ):
        counting = f"Each {unit} counts" if release.kind is Kind.SET else f"To find items each {unit} counts"
        counted_items = format_items(max_items, in_groups=release.groups is not None)
        sentences.append(f"{counting} for at most {counted_items} (chosen at random)")
    sentences.append(_describe_values(release))
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def bound_names(parameters: Mapping[str, object]) -> Set[str]:
    """Return the names of the bounds that keep users, or parts of them, from counting."""
    bounds = parameters.get(COUNTED)
    return bounds.keys() if isinstance(bounds, Mapping) else set()


def _describe_values(release: ShownRelease) -> str:
    """Describe which value of a user counts for quantiles, where it is moved, and steps that are not tiny."""
    sentences = (sentence for sentence in release.accuracy.sentences if OF_VALUES in sentence)
    value = next((sentence.partition(OF_VALUES)[2].partition(ABOUT_VALUES)[0] for sentence in sentences), "")
    bounds, step = release.privacy.parameters.get("bounds"), release.privacy.parameters.get("step")
    if isinstance(bounds, tuple):
        ends = [formatting.of_column(end) for end in bounds if isinstance(end, Fraction) and abs(end) <= LARGEST_BOUND]
        steps = ""
        if isinstance(step, Fraction) and 0 < step <= LARGEST_BOUND and needed_decimals(bounds, step) is None:
            steps = f", in steps of {formatting.of_column(step)}"
        value = value.replace("into the bounds, in steps", f"into {' to '.join(ends)}{steps}")
    return f"Counted: {value}" if value else ""


def _name_group_column(release: ShownRelease, sentence: str) -> str:
    """Return the sentence with the column of groups by its name, if there is one column."""
    columns = () if release.groups is None else release.groups.columns
    return sentence.replace("at most 1 group", f"one {formatting.text(columns[0])}") if len(columns) == 1 else sentence


def counts_returned_only(release: ShownRelease) -> bool:
    """Return whether returned items were counted once more, for each user only some of them."""
    return OF_RETURNED in who_counts(release)


def who_counts(release: ShownRelease) -> str:
    """Return the sentence that says who counts, without what follows for numbers; "" if all do."""
    if COUNTED not in release.privacy.parameters:
        return ""
    sentences = (
        sentence
        for sentence in release.privacy.sentences
        if sentence.startswith("Each ") and f"{THEREFORE}{COUNTED} " in sentence
    )
    return next(sentences, "").partition(THEREFORE)[0]
