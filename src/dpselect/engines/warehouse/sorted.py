"""Warehouses' values as texts that tell which they are, where keys have several columns; whole numbers sort as numbers.

Floats and decimals sort as their texts: none of the four can write others.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from dpselect.engines.sql.port import SqlType
from dpselect.engines.sql.sorted_texts import Sorted, whole_numbers

_WIDTH = 2  # 38 digits and a sign are the most


def sorted_by(text: str) -> Callable[[SqlType], Sorted]:
    """The texts of each kind, from a dialect's own text of a value."""
    whole = whole_numbers(_WIDTH, text=text)

    def sorted_text(one: SqlType) -> Sorted:
        if one.name == "integer":
            return whole
        if one.name == "decimal":
            return Sorted(text, Decimal)
        if one.name == "boolean":
            return Sorted(text, lambda found: found.lower() == "true")
        return Sorted(text, one.label)

    return sorted_text
