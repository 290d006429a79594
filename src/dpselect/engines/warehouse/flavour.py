"""What a warehouse writes in its own way, beyond a `Dialect`: the kinds of its columns and small tables in a query."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dpselect.engines.number_text import LETTERS, NUMBER
from dpselect.engines.sql.port import Dialect, SqlType, read_by


@dataclass(frozen=True)
class Kind:
    """A kind of column: how it is counted, and how a filter compares it where it names neither users nor items."""

    counted: SqlType
    read: str  # the SQL of a value in its one form from the text {}, which is public
    compared: SqlType


@dataclass(frozen=True)
class Flavour:
    """A warehouse's dialect, its kinds of columns by name, and a query whose rows stand in one JSON text."""

    dialect: Dialect
    kinds: Mapping[str, Kind]
    table: Callable[[str, Sequence[tuple[str, bool]]], str]  # (a JSON array of rows, names and are they texts)
    levels: int = 3  # names that a table's full name has at most
    hidden: frozenset[str] = frozenset()  # names that no column may have


@dataclass(frozen=True)
class Words:
    """The SQL of each kind; in all of them {} is an expression."""

    text: str  # the type of texts
    plain: str  # a text without its collation
    integer: str
    decimal: str  # a type of 38 digits, 9 of them after the point
    double: str
    boolean: str
    date: str
    moment: str  # the type of a moment
    day_text: str  # a date as YYYY-MM-DD
    moment_text: str  # a moment as YYYY-MM-DD HH:MM:SS.ffffff
    not_nan: str
    try_double: str  # a text as a double, NULL where it cannot be read
    float_text: str = ""  # where the texts of floats may be fewer than the floats: the text that one is counted by
    present_text: str = "{} IS NOT NULL"


_whole, _float = read_by(int), read_by(float)
_day, _moment = read_by(datetime.date.fromisoformat), read_by(datetime.datetime.fromisoformat)


def kinds(words: Words, matches: str) -> dict[str, Kind]:
    """The seven kinds.

    Dates and moments are counted by their text in one format, so that neither a session's setting nor what a driver
    makes of them matters.
    """
    text, double = words.text, f"CAST({{}} AS {words.double})"
    number = f"{matches.format(text='{}', pattern=f'^{NUMBER}$')} AND length({{}}) < {LETTERS}"
    written = f"CASE WHEN {number} THEN {words.try_double} END"
    texts = SqlType("text", "text", words.plain, text, "VARCHAR", words.present_text, number=written)
    integer = SqlType("integer", "integer", "{}", words.integer, "BIGINT", number=double, label=_whole)
    decimal = SqlType("decimal", "number", "{}", words.decimal, "DECIMAL(38,9)", number=double)
    boolean = SqlType("boolean", "boolean", f"CAST({{}} AS {words.boolean})", words.boolean, "BOOLEAN", label=bool)
    date = SqlType("date", "date", words.day_text, text, "DATE", label=_day)
    moment = SqlType("timestamp", "other", words.moment_text, text, "TIMESTAMP", label=_moment)
    return {
        "text": Kind(texts, "{}", texts),
        "integer": Kind(integer, f"CAST({{}} AS {words.integer})", integer),
        "number": _floats(words),
        "decimal": Kind(decimal, f"CAST({{}} AS {words.decimal})", decimal),
        "boolean": Kind(boolean, f"CAST({{}} AS {words.boolean})", boolean),
        "date": Kind(date, "{}", SqlType("date", "date", "{}", words.date, "DATE")),
        "timestamp": Kind(moment, "{}", SqlType("timestamp", "timestamp", "{}", words.moment, "TIMESTAMP")),
    }


def _floats(words: Words) -> Kind:
    """-0.0 + 0.0 is 0.0. Two floats of one text are one item, so what is released by its text names one item only."""
    double = f"(CAST({{}} AS {words.double}) + CAST('0' AS {words.double}))"
    read = double.replace("{}", f"CAST({{}} AS {words.double})")
    plain = SqlType("number", "number", double, words.double, "DOUBLE", words.not_nan, number="{}", label=_float)
    if not words.float_text:
        return Kind(plain, read, plain)
    form, number = words.float_text.replace("{}", double), words.try_double
    counted = SqlType("number", "other", form, words.text, "DOUBLE", words.not_nan, number=number, label=_float)
    return Kind(counted, words.float_text.replace("{}", read), plain)


def as_text(value: object) -> str:
    """A public value as the text that `Kind.read` takes."""
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ", "microseconds")
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime.date) else str(value)
