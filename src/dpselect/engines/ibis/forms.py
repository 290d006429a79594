"""Columns of a table of Ibis: the one form in which the backend compares their values, and how a fetched one is read.

A form is a value or NULL on every row, whatever the row holds: it casts whole numbers to wider ones and dates to whole
numbers, and nothing else. What is fetched is text, for some drivers make floats of decimals, and of whole numbers where
others are missing.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpselect.engines.ibis.backends import Backend, Value, call
from dpselect.engines.sources.refused_types import refused_type

_STORED = {"text": "text", "integer": "integer", "double": "real"}
_UNICODE = ("utf8mb4", "utf8mb3", "utf8", "ascii")
_HINTS = {
    ("float", "double"): 'cast it to whole numbers or decimals in the expression, as in table.mutate({0}=table[{0}].cast("decimal(18, 6)"))',
    ("timestamp",): "use its days: table.mutate({0}=table[{0}].date())",
}
_CAST = "cast it to text, a whole number or a date in the expression, as in table.mutate({0}=table[{0}].cast(...))"


@dataclass(frozen=True)
class Form:
    """How one column is compared, and read. Doubles are only fetched: backends compare 0.0 and -0.0 as they like."""

    kind: str
    duckdb: str
    value: Callable[[Value], Value]
    """From the column to its form, which is NULL where the value is missing."""
    read: Callable[[Any], object]
    """From a fetched form to a value of Python."""

    @property
    def is_compared(self) -> bool:
        """Does the backend tell its values apart as they are told apart here?"""
        return self.kind != "double"


def form_of(name: str, data_type: Any, backend: Backend) -> Form:
    """Return the form of a column, by its declared type alone, or refuse it."""
    kind = _kind(data_type)
    if kind not in backend.types:
        hint = next((hint for prefixes, hint in _HINTS.items() if kind.startswith(prefixes)), _CAST)
        raise refused_type(name, f"{str(data_type).lower()} of {backend.name}", hint.replace("{0}", repr(name)))
    if kind in ("text", "uuid"):
        return Form(kind, "VARCHAR", lambda column: _digits(column, kind, backend), _read_text)
    if kind == "double":
        return Form(kind, "DOUBLE", lambda column: _stored(column, column, kind, backend), float)
    if kind == "date":
        return Form(kind, "DATE", _day_number, _read_date)
    if kind == "boolean":
        return Form(kind, "BOOLEAN", _zero_or_one, lambda text: int(text) == 1)
    if kind == "decimal":
        return Form(kind, f"DECIMAL({data_type.precision},{data_type.scale})", lambda column: column, Decimal)
    if str(data_type).lstrip("!") == "uint64":
        return Form(kind, "UBIGINT", lambda column: column, int)
    return Form(kind, "BIGINT", lambda column: _stored(column.cast("int64"), column, kind, backend), _read_whole)


def check_character_sets(table: Value, names: list[str], backend: Backend) -> Value | None:
    """Return an expression of the character set of each text, which reads no row; None where all is in Unicode."""
    if backend.character_set is None or not names:
        return None
    import ibis

    empty = table.filter(ibis.literal(1) == ibis.literal(0))  # an aggregate of no row has the type of its column
    sets = {f"c{index}": call(backend.character_set, "string", empty[name].max()) for index, name in enumerate(names)}
    return empty.aggregate(**sets)


def refuse_character_set(name: str, character_set: str | None) -> None:
    """Refuse text whose bytes are not those of UTF-8."""
    if character_set not in _UNICODE:
        hint = f"read it in a view: SELECT CONVERT({name} USING utf8mb4) AS {name}, ..."
        raise refused_type(name, f"text in the character set {character_set}", hint)


def _kind(data_type: Any) -> str:
    if data_type.is_string():
        return "text"
    if data_type.is_integer():
        return "integer"
    if data_type.is_float64():
        return "double"
    if data_type.is_decimal():
        precision, scale = data_type.precision, data_type.scale
        known = precision is not None and scale is not None and 0 <= scale <= precision <= 38
        return "decimal" if known else "decimal of unknown digits"
    return type(data_type).__name__.lower()


def _stored(form: Value, column: Value, kind: str, backend: Backend) -> Value:
    """Return the form of values that are stored as their column's type: SQLite keeps any value in any column."""
    import ibis

    if backend.stored_as is None:
        return form
    return ibis.cases((call(backend.stored_as, "string", column) == _STORED[kind], form))


def _digits(column: Value, kind: str, backend: Backend) -> Value:
    import ibis

    text = column.cast("string").lower() if kind == "uuid" else column
    form = ibis.cases((backend.size(text) <= backend.max_bytes, backend.form(text)))
    return _stored(form, column, kind, backend)


def _zero_or_one(column: Value) -> Value:
    import ibis

    return ibis.cases((column, ibis.literal(1, "int64")), (~column, ibis.literal(0, "int64")))


def _day_number(column: Value) -> Value:
    """Return 20261231 for the last day of 2026, NULL for what Python has no date for, such as the day 0 of MariaDB."""
    import ibis

    year, month, day = (part.cast("int64") for part in (column.year(), column.month(), column.day()))
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last = ibis.cases((month.isin([4, 6, 9, 11]), 30), (month != 2, 31), (leap, 29), else_=28)
    exists = year.between(1, 9999) & month.between(1, 12) & (day >= 1) & (day <= last)
    return ibis.cases((exists, year * 10000 + month * 100 + day))


def _read_text(form: str | bytes) -> str:
    """Return a text; bytes that are no UTF-8 become U+FFFD."""
    return (bytes.fromhex(form) if isinstance(form, str) else form).decode("utf-8", "replace")


def _read_whole(text: str) -> int | None:
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _read_date(number: str) -> datetime.date:
    year_and_month, day = divmod(int(number), 100)
    return datetime.date(*divmod(year_and_month, 100), day)


def read_or_none(form: Form, fetched: Any) -> object:
    """Return a fetched value; None for one that is missing, or that the backend writes as nobody knows."""
    if fetched is not None:
        with suppress(ValueError, ArithmeticError, TypeError):
            return form.read(fetched)
    return None
