"""Columns of files and frames: whether one type holds all values of a column, each exactly as it is."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

_NATIVE = (bool, int, float, str, bytes, Decimal, datetime.datetime, datetime.date, datetime.time)
_DIGITS = 38  # of a decimal in Parquet readers, polars and DuckDB


def has_one_type(values: Iterable[object]) -> bool:
    """Return whether one type of files and frames holds all of these values exactly. None has no type.

    >>> has_one_type([1, None, 2]), has_one_type([1, "a"]), has_one_type([2**53 + 1, 0.5])
    (True, False, False)
    """
    cells = [value for value in values if value is not None]
    kinds = {_kind(cell) for cell in cells}
    return not kinds or (len(kinds) == 1 and _fits(next(iter(kinds))[0], cells))


def _kind(cell: object) -> tuple[type, bool]:
    """Return the type of a value, and whether it is a moment with a zone: a column has all with one, or none."""
    return type(cell), isinstance(cell, datetime.datetime) and cell.tzinfo is not None


def _fits(kind: type, cells: Sequence[Any]) -> bool:
    if kind is int:
        return all(-(2**63) <= cell < 2**63 for cell in cells)
    if kind is Decimal:
        return all(map(Decimal.is_finite, cells)) and sum(_most_digits(cells)) <= _DIGITS
    return kind in _NATIVE


def _most_digits(cells: Iterable[Decimal]) -> tuple[int, int]:
    """Return the largest numbers of digits before and behind the decimal point."""
    integer_digits, decimal_places = zip(
        *((max(1, cell.adjusted() + 1), -int(cell.as_tuple().exponent)) for cell in cells), strict=True
    )
    return max(integer_digits), max(0, *decimal_places)
