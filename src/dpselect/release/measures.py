"""Measures in a release: what the statement says of them, and their columns in a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.aggregates.measures import Mean, Measure, Sum, measures_of
from dpselect.release import formatting
from dpselect.release.accuracy import ONE_ROW, OUTSIDE, Accuracy

if TYPE_CHECKING:
    from dpselect.mechanisms.top_k.noisy_measures import Estimate
    from dpselect.release.statement import Item, Measurement

MEASURES, EPSILON_PER_MEASURE = "measures", "epsilon_per_measure"
"""The parameters of a statement that say what was measured, and at which epsilon each noisy number."""
DIGITS = 6  # of a mean: its last one is this many below the first of the distance of its bounds
FIXED = "The bounds of measures are part of the question; the promise holds if they were not chosen by these data."


def describe_measures(
    measures: Sequence[Measure], each: Fraction | object, most: int | None
) -> tuple[dict[str, object], list[str]]:
    """Parameters and sentences of a statement; `most` is how many items one user counts for."""
    used: dict[str, object] = {MEASURES: tuple(map(str, measures)), EPSILON_PER_MEASURE: each}
    if most is not None:  # so many items are moved by one user
        used["max_items_per_user"] = most
    return used, [*(_said(one, Fraction(each)) for one in measures), FIXED]  # type: ignore[arg-type]


def _said(measure: Measure, each: Fraction) -> str:
    """What a measure is, and how noisy."""
    name, column = formatting.text(measure.name), formatting.text(measure.column)
    low, high = (formatting.short(Fraction(end)) for end in (measure.low, measure.high))
    if isinstance(measure, Sum):
        scale = float(measure.sensitivity * measure.step / each)
        return (
            f"{name} is over the users of an item: of every one the total of {column} in their rows of it, rounded to "
            f"units of {formatting.short(measure.step)} and moved to {low} to {high}, where rows that hold no number "
            f"give nothing. It carries discrete Laplace noise of scale {formatting.round_digits(scale, 4)}."
        )
    scale = float(measure.sensitivity * measure.step / each)
    return (
        f"{name} is over the users of an item who have a number there: for each of them, the mean of {column} in "
        f"their rows of it, each row moved to {low} to {high}. It is a sum of distances from the middle with discrete "
        f"Laplace noise of scale {formatting.round_digits(scale, 4)}, over a number of users with noise of scale "
        f"{formatting.round_digits(1 / float(each), 4)}."
    )


def accuracy_of_measures(measures: Sequence[Measure], widths: Sequence[Fraction | None]) -> Accuracy:
    """How good measures are; the width of a mean's interval hangs on its users."""
    said: list[str] = []
    numbers: list[int | float | None] = []
    for measure, width in zip(measures, widths, strict=True):
        name = formatting.text(measure.name)
        wide = None if width is None else to_plain_number(measure, width)
        spread = "" if wide is None else f": that number plus or minus {wide:,}"
        low, high = (formatting.short(Fraction(end)) for end in (measure.low, measure.high))
        of = f"each {'user' if isinstance(measure, Sum) else 'row'} moved to {low} to {high}"
        said.append(f"The counted {name} of {ONE_ROW} {of}, is between its low and its high{spread}; {OUTSIDE}.")
        numbers.append(wide)
    return Accuracy(tuple(said), {"width_of_measures": tuple(numbers)})


def to_plain_number(measure: Measure, exact: Fraction) -> int | float:
    """A number for a reader: an integer where steps are integers, else the nearest float."""
    whole = isinstance(measure, Sum) and measure.step.denominator == 1
    return int(exact) if whole else float(exact)


def to_measurement(measure: Measure, found: Estimate) -> Measurement:
    """A noisy number and its interval; those of a mean in few digits, of which the outer ones are rounded outward."""
    from dpselect.release.statement import Measurement

    value, low, high = found.value, found.low, found.high
    if isinstance(measure, Mean):
        bounds = Fraction(measure.low), Fraction(measure.high)
        unit = Fraction(10) ** (math.floor(math.log10(bounds[1] - bounds[0])) - DIGITS)
        rounded = (round(value / unit) * unit, math.floor(low / unit) * unit, math.ceil(high / unit) * unit)
        value, low, high = (min(max(one, bounds[0]), bounds[1]) for one in rounded)
    return Measurement(measure.name, *(to_plain_number(measure, one) for one in (value, low, high)))


def parse_measure_names(parameters: Mapping[str, object]) -> tuple[str, ...]:
    """What the measures of a release are called. ValueError where they are none."""
    found = parameters.get(MEASURES)
    if found is None:
        return ()
    if not isinstance(found, tuple) or not all(isinstance(one, str) for one in found):
        raise ValueError("no measures")
    measures, users = measures_of(list(found))
    if users:
        raise ValueError("the number of users is a count")
    return tuple(one.name for one in measures)


def measure_columns(name: str) -> tuple[str, str, str]:
    """The columns of a measure, which counts what its bounds leave of every user."""
    return f"counted {name}", f"counted {name} low", f"counted {name} high"


def tabulate_measures(items: Iterable[Item], parameters: Mapping[str, object]) -> dict[str, list[object]]:
    """The columns of all measures, each with the ends of its interval."""
    rows = [item.measures for item in items]
    columns: dict[str, list[object]] = {}
    for at, name in enumerate(parse_measure_names(parameters)):
        for head, which in zip(measure_columns(name), ("value", "low", "high"), strict=True):
            columns[head] = [getattr(row[at], which) for row in rows]
    return columns


def check_measures(items: Iterable[Item], parameters: Mapping[str, object]) -> None:
    """ValueError where an item has other measures than the statement names."""
    names = parse_measure_names(parameters)
    if any(tuple(one.name for one in item.measures) != names for item in items):
        raise ValueError("an item has other measures")
