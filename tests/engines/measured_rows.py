"""The plain Python that judges measures on every engine: floats by the formula of a grid, integers after it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dpselect.aggregates.measures import HALF_OF_MEAN_STEPS, MAX_ROW_UNITS, PARTS_PER_UNIT, Mean, Measure, Sum

Row = tuple[object, object, object]  # user, item and value
# Plain decimal notation: what else Python reads as a number, such as inf and 1_000, is none.
WRITTEN = re.compile("[ ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?[ ]*")


def number(value: object) -> float | None:
    """A value as a float; None for what is none."""
    if isinstance(value, str):
        return float(value) if WRITTEN.fullmatch(value) else None
    if value is None or isinstance(value, (bool, bytes)):
        return None
    try:
        found = float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    return None if math.isnan(found) else found


def place(value: float, low: Fraction, high: Fraction, step: Fraction) -> int:
    """Steps from the lower bound to the nearest point."""
    inside = min(max(value, float(low)), float(high))
    return min(math.floor((inside - float(low)) / float(step) + 0.5), int((high - low) / step))


def of_one(measure: Measure, values: Sequence[object]) -> tuple[int, int]:
    """What one user's rows of an item give: steps, and whether the user counts."""
    numbers = [found for found in map(number, values) if found is not None]
    if isinstance(measure, Sum):
        far = MAX_ROW_UNITS * measure.step
        parts = sum(
            place(one, -far, far, measure.step / PARTS_PER_UNIT) - MAX_ROW_UNITS * PARTS_PER_UNIT for one in numbers
        )
        cut = min(max(parts, measure.least * PARTS_PER_UNIT), measure.most * PARTS_PER_UNIT)
        return math.floor(Fraction(cut, PARTS_PER_UNIT) + Fraction(1, 2)), 1
    places = [place(one, Fraction(measure.low), Fraction(measure.high), measure.step) for one in numbers]
    return (
        (math.floor(Fraction(sum(places), len(places)) + Fraction(1, 2)) - HALF_OF_MEAN_STEPS, 1) if places else (0, 0)
    )


def judged(measures: Sequence[Measure], rows: Iterable[Row], items: Sequence[object]) -> list[list[tuple[int, int]]]:
    """The measures of each of these items, over all users."""
    held: dict[object, dict[object, list[object]]] = {item: {} for item in items}
    for user, item, value in rows:
        if user is not None and item in held:
            held[item].setdefault(user, []).append(value)
    return [
        [
            tuple(map(sum, zip(*(of_one(one, values) for values in held[item].values()), strict=True))) or (0, 0)
            for one in measures
        ]
        for item in items
    ]  # type: ignore[misc]


def told(found: Sequence[Sequence[object]]) -> list[list[tuple[int, int]]]:
    """What an engine found."""
    return [[(one.total, one.users) for one in row] for row in found]  # type: ignore[attr-defined]


ALL: list[Measure] = [
    Sum("w", 0, 60),
    Sum("w", -5, "2.5", unit="0.5"),
    Mean("w", -1, 5),
    Mean("w", "0.1", "0.3"),
    Sum("w", 2, 9),
]
