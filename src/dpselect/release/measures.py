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
    from dpselect.mechanisms.top_k.noisy_measures import Estimate, NoisyMeasures
    from dpselect.release.statement import Item, Measurement

MEASURES, PRICE = "measures", "epsilon_per_measure"
"""The parameters of a statement that say what was measured, and at which epsilon each noisy number."""
OF_SUMS = "_of_sums"
"""What the names of parameters of noise of sums of one sign end with."""
DIGITS = 6  # of a mean: its last one is this many below the first of the distance of its bounds
FIXED = "The bounds of measures are part of the question; the promise holds if they were not chosen by these data."


def of_measures(noisy: NoisyMeasures) -> tuple[dict[str, object], list[str]]:
    """Parameters and sentences of a statement; noise of sums of one sign is stated for users who move them by 1."""
    used: dict[str, object] = {MEASURES: tuple(map(str, noisy.measures)), PRICE: noisy.epsilon_per_noise}
    if noisy.sums is not None:
        used |= {f"{name}{OF_SUMS}": value for name, value in noisy.sums.parameters.items()}
    if noisy.max_items_per_user is not None:  # so many items are moved by one user
        used["max_items_per_user"] = noisy.max_items_per_user
    return used, [*(_said(one, noisy) for one in noisy.measures), FIXED]


def _said(measure: Measure, noisy: NoisyMeasures) -> str:
    """What a measure is, and how noisy."""
    each = float(Fraction(noisy.epsilon_per_noise))
    name, column = formatting.text(measure.name), formatting.text(measure.column)
    low, high = (formatting.short(Fraction(end)) for end in (measure.low, measure.high))
    if isinstance(measure, Sum):
        return (
            f"{name} is over the users of an item: of every one the total of {column} in their rows of it, rounded to "
            f"units of {formatting.short(measure.step)} and moved to {low} to {high}, where rows that hold no number "
            f"give nothing. It carries discrete {_noise_of(measure, noisy)}."
        )
    scale = float(measure.sensitivity * measure.step) / each
    return (
        f"{name} is over the users of an item who have a number there: for each of them, the mean of {column} in "
        f"their rows of it, each row moved to {low} to {high}. It is a sum of distances from the middle with discrete "
        f"Laplace noise of scale {formatting.few(scale, 4)}, over a number of users with noise of scale "
        f"{formatting.few(1 / each, 4)}."
    )


def _noise_of(measure: Sum, noisy: NoisyMeasures) -> str:
    """How noisy a sum is."""
    most, sums = float(measure.sensitivity * measure.step), noisy.sums
    if sums is None or not measure.has_one_sign:
        return f"Laplace noise of scale {formatting.few(most / float(Fraction(noisy.epsilon_per_noise)), 4)}"
    noise = f"{sums.shape} noise of standard deviation {formatting.few(most * float(sums.noise.variance) ** 0.5, 3)}"
    if not sums.is_shared:
        return noise
    return (
        f"{noise}, of which one part is the same for all items, so that differences of items are more accurate than "
        "their sums, and totals of several less"
    )


def accuracy_of(measures: Sequence[Measure], widths: Sequence[Fraction | None]) -> Accuracy:
    """How good measures are; the width of a mean's interval hangs on its users."""
    said: list[str] = []
    numbers: list[int | float | None] = []
    for measure, width in zip(measures, widths, strict=True):
        name = formatting.text(measure.name)
        wide = None if width is None else number(measure, width)
        spread = "" if wide is None else f": that number plus or minus {wide:,}"
        low, high = (formatting.short(Fraction(end)) for end in (measure.low, measure.high))
        of = f"each {'user' if isinstance(measure, Sum) else 'row'} moved to {low} to {high}"
        said.append(f"The counted {name} of {ONE_ROW} {of}, is between its low and its high{spread}; {OUTSIDE}.")
        numbers.append(wide)
    return Accuracy(tuple(said), {"width_of_measures": tuple(numbers)})


def number(measure: Measure, exact: Fraction) -> int | float:
    """A number for a reader: an integer where steps are integers, else the nearest float."""
    whole = isinstance(measure, Sum) and measure.step.denominator == 1
    return int(exact) if whole else float(exact)


def told(measure: Measure, found: Estimate) -> Measurement:
    """A noisy number and its interval; those of a mean in few digits, of which the outer ones are rounded outward."""
    from dpselect.release.statement import Measurement

    value, low, high = found.value, found.low, found.high
    if isinstance(measure, Mean):
        bounds = Fraction(measure.low), Fraction(measure.high)
        unit = Fraction(10) ** (math.floor(math.log10(bounds[1] - bounds[0])) - DIGITS)
        rounded = (round(value / unit) * unit, math.floor(low / unit) * unit, math.ceil(high / unit) * unit)
        value, low, high = (min(max(one, bounds[0]), bounds[1]) for one in rounded)
    return Measurement(measure.name, *(number(measure, one) for one in (value, low, high)))


def names_of(parameters: Mapping[str, object]) -> tuple[str, ...]:
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


def heads(name: str) -> tuple[str, str, str]:
    """The columns of a measure, which counts what its bounds leave of every user."""
    return f"counted {name}", f"counted {name} low", f"counted {name} high"


def to_columns(items: Iterable[Item], parameters: Mapping[str, object]) -> dict[str, list[object]]:
    """The columns of all measures, each with the ends of its interval."""
    rows = [item.measures for item in items]
    columns: dict[str, list[object]] = {}
    for at, name in enumerate(names_of(parameters)):
        for head, which in zip(heads(name), ("value", "low", "high"), strict=True):
            columns[head] = [getattr(row[at], which) for row in rows]
    return columns


def check(items: Iterable[Item], parameters: Mapping[str, object]) -> None:
    """ValueError where an item has other measures than the statement names."""
    names = names_of(parameters)
    if any(tuple(one.name for one in item.measures) != names for item in items):
        raise ValueError("an item has other measures")
