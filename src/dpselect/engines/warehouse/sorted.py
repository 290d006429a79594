"""Warehouses' values as texts that tell which they are, where keys have several columns; whole numbers sort as numbers.

Floats sort as their texts. Of decimals the text says how many places a column has, which the caller does not, so they
are refused: 1.5 and 1.50 would be two items.
"""

from __future__ import annotations

from collections.abc import Callable

from dpselect.engines.sql.port import SqlType
from dpselect.engines.sql.sorted_texts import Sorted, whole_numbers

_WIDTH = 2  # 38 digits and a sign are the most


def sorted_by(text: str) -> Callable[[SqlType], Sorted | None]:
    """The texts of each kind but decimals, from a dialect's own text of a value."""
    whole = whole_numbers(_WIDTH, text=text)

    def sorted_text(one: SqlType) -> Sorted | None:
        if one.name == "integer":
            return whole
        if one.name == "decimal":
            return None
        if one.name == "boolean":
            return Sorted(text, lambda found: found.lower() == "true")
        return Sorted(text, one.label)

    return sorted_text
