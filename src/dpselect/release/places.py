"""Places that an item can have among those of an answer, by the lead from which an order of counts is certain."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.release.groups import typed_group
from dpselect.release.scale import CERTAIN_PLACE

if TYPE_CHECKING:
    from dpselect.release.statement import Item

WEIGHT_UNIT = "weight_unit"  # the parameter of a statement that says in which units sums are
Place = tuple[int, int]
"""The first and the last place that an item can have; 1 is the best."""


def places_of(items: Sequence[Item], lead: object, parameters: Mapping[str, object]) -> list[Place] | None:
    """Return the places of all items, each among those of its group; None where no lead is known.

    An item is below all whose count is larger by the lead or more, and above all whose count is smaller by it.
    """
    given_unit = parameters.get(WEIGHT_UNIT, 1)
    unit = given_unit if isinstance(given_unit, int | Fraction) and given_unit > 0 else 1
    lead_steps, counts = _steps(lead, unit), [_steps(item.count, unit) for item in items]
    if lead_steps is None or lead_steps < 1 or None in counts:
        return None
    has_groups = any(item.group for item in items)
    groups: list[object] = [typed_group(item.group) for item in items] if has_groups else [()] * len(items)
    rows = [(group, count) for group, count in zip(groups, counts, strict=True) if count is not None]
    members: dict[object, list[int]] = defaultdict(list)
    for group, count in rows:
        members[group].append(count)
    for of_group in members.values():
        of_group.sort()

    def place(of_group: list[int], count: int) -> Place:
        certain_above = len(of_group) - bisect_left(of_group, count + lead_steps)
        return 1 + certain_above, len(of_group) - bisect_right(of_group, count - lead_steps)

    return [place(members[group], count) for group, count in rows]


def is_any_certain(places: Sequence[Place]) -> bool:
    """Return whether any item is certain to be above another."""
    return any(first > 1 for first, _ in places)


def places_column(places: Sequence[Place]) -> dict[str, list[object]]:
    """Return the column of places, by its name."""
    return {CERTAIN_PLACE: [format_place(place) for place in places]}


def format_place(place: Place) -> str:
    """Format a place for a reader.

    >>> format_place((1, 1)), format_place((2, 4))
    ('1', '2 to 4')
    """
    first, last = place
    return f"{first:,}" if first == last else f"{first:,} to {last:,}"


def _steps(number: object, unit: int | Fraction) -> int | None:
    """Return a number in whole units; one for a reader may be the nearest float."""
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction):
        return None
    if isinstance(number, int) and unit == 1:
        return number
    return None if isinstance(number, float) and not math.isfinite(number) else round(Fraction(number) / unit)
