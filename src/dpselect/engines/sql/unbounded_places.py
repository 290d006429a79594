"""The place of a double among points without bounds, as SQL: `Unbounded.places`, operation by operation."""

from __future__ import annotations

from collections.abc import Callable

from dpselect.aggregates.unbounded import DECADE, DENSE, Unbounded

TINY = 2.0**-40  # of a width; a smaller value has the same place, and PostgreSQL would fail on its underflow


def unbounded_place(points: Unbounded, value: str, number: Callable[[float], str]) -> str:
    """Compile the place of a value to an integer; `number` writes a double."""
    widths = [float(width) for width in points.widths]
    size = f"least(greatest({value}, -({value})), {number(widths[-1] * DENSE)})"
    places_by_width = [
        f"floor(greatest({size}, {number(width * TINY)}) / {number(width)} + {number(0.5)}) + "
        f"{number(float(decade * DECADE))}"
        for decade, width in enumerate(widths)
    ]
    steps = [
        f"WHEN {size} < {number(width * DENSE)} THEN {compiled_place}"
        for width, compiled_place in zip(widths[:-1], places_by_width[:-1], strict=True)
    ]
    place_above_zero = f"CASE {' '.join(steps)} ELSE {places_by_width[-1]} END" if steps else places_by_width[-1]
    side = f"CASE WHEN {value} < {number(0.0)} THEN -1 ELSE 1 END"
    return f"CAST({side} * ({place_above_zero}) + {number(float(points.last))} AS BIGINT)"
