"""The place of a double among points without bounds, as SQL: `Unbounded.places`, operation by operation."""

from __future__ import annotations

from collections.abc import Callable

from dpselect.aggregates.unbounded import DECADE, DENSE, Unbounded

TINY = 2.0**-40  # of a width: less is taken for as much, which has the same place, for PostgreSQL fails on underflow


def unbounded_place(points: Unbounded, value: str, number: Callable[[float], str]) -> str:
    """A whole number; `number` writes a double."""
    widths = [float(width) for width in points.widths]
    size = f"least(greatest({value}, -({value})), {number(widths[-1] * DENSE)})"
    above = [
        f"floor(greatest({size}, {number(width * TINY)}) / {number(width)} + {number(0.5)}) + "
        f"{number(float(times * DECADE))}"
        for times, width in enumerate(widths)
    ]
    steps = [
        f"WHEN {size} < {number(width * DENSE)} THEN {one}" for width, one in zip(widths[:-1], above[:-1], strict=True)
    ]
    found = f"CASE {' '.join(steps)} ELSE {above[-1]} END" if steps else above[-1]
    side = f"CASE WHEN {value} < {number(0.0)} THEN -1 ELSE 1 END"
    return f"CAST({side} * ({found}) + {number(float(points.last))} AS BIGINT)"
