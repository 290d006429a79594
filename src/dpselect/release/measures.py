"""Measures in a release: their parameters and sentences in the statement, and their columns in a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.aggregates.measures import Mean, Measure, Sum, measures_of
from dpselect.release import formatting
from dpselect.release.accuracy import ONE_ROW, ROWS_OUTSIDE, Accuracy

if TYPE_CHECKING:
    from dpselect.mechanisms.top_k.noisy_measures import Estimate, NoisyMeasures
    from dpselect.release.statement import Item, Measurement

MEASURES, EPSILON_PER_MEASURE = "measures", "epsilon_per_measure"
"""Parameters of a statement: the measures, and the epsilon of each of their noisy numbers."""
SUFFIX_OF_SUMS = "_of_sums"
"""The end of the names of parameters of the noise of sums of one sign."""
_MEAN_DIGITS = 6  # of a mean, after the leading digit of the distance of its bounds
_BOUNDS_ARE_PUBLIC = (
    "The bounds of measures are part of the question; the promise holds if they were not chosen by these data."
)


def describe_measures(noisy: NoisyMeasures) -> tuple[dict[str, object], list[str]]:
    """Return the parameters and the sentences that a statement has for its measures.

    The noise of sums of one sign is stated for users who move them by 1.
    """
    parameters: dict[str, object] = {
        MEASURES: tuple(map(str, noisy.measures)),
        EPSILON_PER_MEASURE: noisy.epsilon_per_noise,
    }
    if noisy.sums is not None:
        parameters |= {f"{name}{SUFFIX_OF_SUMS}": value for name, value in noisy.sums.parameters.items()}
    if noisy.max_items_per_user is not None:
        parameters["max_items_per_user"] = noisy.max_items_per_user
    return parameters, [*(_describe(measure, noisy) for measure in noisy.measures), _BOUNDS_ARE_PUBLIC]


def _describe(measure: Measure, noisy: NoisyMeasures) -> str:
    """Return a sentence with the measure's definition, its bounds, and its noise."""
    epsilon = float(Fraction(noisy.epsilon_per_noise))
    name, column = formatting.text(measure.name), formatting.text(measure.column)
    low, high = (formatting.short(Fraction(end)) for end in (measure.low, measure.high))
    if isinstance(measure, Sum):
        return (
            f"{name} is over the users of an item: of every one the total of {column} in their rows of it, rounded to "
            f"units of {formatting.short(measure.step)} and moved to {low} to {high}, where rows that hold no number "
            f"give nothing. It carries discrete {_describe_noise(measure, noisy)}."
        )
    scale = float(measure.sensitivity * measure.step) / epsilon
    return (
        f"{name} is over the users of an item who have a number there: for each of them, the mean of {column} in "
        f"their rows of it, each row moved to {low} to {high}. It is a sum of distances from the middle with discrete "
        f"Laplace noise of scale {formatting.round_digits(scale, 4)}, over a number of users with noise of scale "
        f"{formatting.round_digits(1 / epsilon, 4)}."
    )


def _describe_noise(measure: Sum, noisy: NoisyMeasures) -> str:
    """Return the law of a sum's noise, with its scale or its standard deviation."""
    largest_move, sums = float(measure.sensitivity * measure.step), noisy.sums
    if sums is None or not measure.has_one_sign:
        scale = largest_move / float(Fraction(noisy.epsilon_per_noise))
        return f"Laplace noise of scale {formatting.round_digits(scale, 4)}"
    deviation = largest_move * float(sums.noise.variance) ** 0.5
    noise = f"{sums.shape} noise of standard deviation {formatting.round_digits(deviation, 3)}"
    if not sums.is_shared:
        return noise
    return (
        f"{noise}, of which one part is the same for all items, so that differences of items are more accurate than "
        "their sums, and totals of several less"
    )


def accuracy_of_measures(measures: Sequence[Measure], widths: Sequence[Fraction | None]) -> Accuracy:
    """Return the accuracy of the measures, each with the half width of its interval.

    A mean has no width, because its interval depends on the item's number of users.
    """
    sentences: list[str] = []
    reported_widths: list[int | float | None] = []
    for measure, width in zip(measures, widths, strict=True):
        name = formatting.text(measure.name)
        reported_width = None if width is None else to_plain_number(measure, width)
        margin = "" if reported_width is None else f": that number plus or minus {reported_width:,}"
        low, high = (formatting.short(Fraction(end)) for end in (measure.low, measure.high))
        clipping = f"each {'user' if isinstance(measure, Sum) else 'row'} moved to {low} to {high}"
        sentences.append(
            f"The counted {name} of {ONE_ROW} {clipping}, is between its low and its high{margin}; {ROWS_OUTSIDE}."
        )
        reported_widths.append(reported_width)
    return Accuracy(tuple(sentences), {"width_of_measures": tuple(reported_widths)})


def to_plain_number(measure: Measure, exact: Fraction) -> int | float:
    """Return an int if the measure is a sum in whole steps, otherwise the nearest float."""
    is_whole = isinstance(measure, Sum) and measure.step.denominator == 1
    return int(exact) if is_whole else float(exact)


def to_measurement(measure: Measure, estimate: Estimate) -> Measurement:
    """Return the estimate and its interval in plain numbers.

    A mean is rounded to `_MEAN_DIGITS`, its interval outward, and all three are clipped to the measure's bounds.
    """
    from dpselect.release.statement import Measurement

    value, low, high = estimate.value, estimate.low, estimate.high
    if isinstance(measure, Mean):
        bounds = Fraction(measure.low), Fraction(measure.high)
        unit = Fraction(10) ** (math.floor(math.log10(bounds[1] - bounds[0])) - _MEAN_DIGITS)
        rounded = (round(value / unit) * unit, math.floor(low / unit) * unit, math.ceil(high / unit) * unit)
        value, low, high = (min(max(exact, bounds[0]), bounds[1]) for exact in rounded)
    return Measurement(measure.name, *(to_plain_number(measure, exact) for exact in (value, low, high)))


def parse_measure_names(parameters: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the measures that a statement has; empty if it has none.

    Raises: ValueError if the parameter is malformed, or holds a number of users, which is no measure.
    """
    texts = parameters.get(MEASURES)
    if texts is None:
        return ()
    if not isinstance(texts, tuple) or not all(isinstance(text, str) for text in texts):
        raise ValueError("no measures")
    measures, has_user_count = measures_of(list(texts))
    if has_user_count:
        raise ValueError("the number of users is a count")
    return tuple(measure.name for measure in measures)


def measure_columns(name: str) -> tuple[str, str, str]:
    """Return the names of a measure's three columns. `counted` marks that values outside the bounds were clipped."""
    return f"counted {name}", f"counted {name} low", f"counted {name} high"


def tabulate_measures(items: Iterable[Item], parameters: Mapping[str, object]) -> dict[str, list[object]]:
    """Return three columns for each measure: its values, and both ends of their intervals."""
    measurements = [item.measures for item in items]
    columns: dict[str, list[object]] = {}
    for index, name in enumerate(parse_measure_names(parameters)):
        for column, attribute in zip(measure_columns(name), ("value", "low", "high"), strict=True):
            columns[column] = [getattr(row[index], attribute) for row in measurements]
    return columns


def check_measures(items: Iterable[Item], parameters: Mapping[str, object]) -> None:
    """Raise ValueError if an item has other measures than the statement names."""
    names = parse_measure_names(parameters)
    if any(tuple(measurement.name for measurement in item.measures) != names for item in items):
        raise ValueError("an item has other measures")
