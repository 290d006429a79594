"""Types of PostgreSQL: which columns can be users and items, and the one form in which each value is counted.

Values that compare as equal must look equal too, and must be the ones that DuckDB counts as equal. So text loses its
collation and char(n) its padding, negative zero its sign, a numeric its trailing zeros, an enum its order. A type that
is not here is refused: two forms of one value would make two users of one.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from dpselect.errors import DataError

_TEXTS = frozenset({"text", "varchar", "bpchar", "name", "json", "jsonb"})
_NUMBERS = {"int2": "SMALLINT", "int4": "INTEGER", "int8": "BIGINT"}
_FLOATS = {"float4": "FLOAT", "float8": "DOUBLE"}
_TIMES = {"date": "DATE", "time": "TIME", "timestamp": "TIMESTAMP"}


@dataclass(frozen=True)
class PgType:
    """How a column of one type is counted. In `form` and `present` {} is the column."""

    name: str
    form: str  # the SQL of its one form, NULL dropped before
    counted: str  # the type of that form
    duckdb: str | None  # the type that DuckDB has for it, None where it has no exact one
    present: str = "{} IS NOT NULL"
    label: Callable[[object], object] = lambda value: value

    @property
    def is_text(self) -> bool:
        """Is it text, and meant as one?"""
        return self.duckdb == "VARCHAR"

    @property
    def named(self) -> str:
        """The SQL of what `label` takes: Python has no value for every date of PostgreSQL, so those come as text."""
        return "i::text" if self.counted in _TIMES else "i"


def pg_type(name: str, kind: str, modifier: int) -> PgType:
    """The type of a column by its name, its kind ('b' base, 'e' enum) and its modifier (-1 without)."""
    if name in _TEXTS or kind == "e":
        return PgType(name, '({})::text COLLATE "C"', "text", "VARCHAR")
    if name == "uuid":
        return PgType(name, '({})::text COLLATE "C"', "text", "UUID")
    if name in _NUMBERS:
        return PgType(name, "{}", name, _NUMBERS[name])
    if name in _FLOATS:
        # -0.0 + 0.0 is 0.0, and a float4 has the same value as float8.
        here = "{} IS NOT NULL AND {} <> 'NaN'"
        return PgType(name, "(({})::float8 + '0'::float8)", "float8", _FLOATS[name], here)
    if name == "numeric":
        return _numeric(modifier)
    if name in _TIMES:
        return PgType(name, "{}", name, _TIMES[name], label=_when(name))
    if name == "timestamptz":
        form = "(({}) AT TIME ZONE 'UTC')"
        return PgType(name, form, "timestamp", "TIMESTAMP WITH TIME ZONE", label=_when(name))
    if name in ("bool", "bytea"):
        return PgType(name, "{}", name, {"bool": "BOOLEAN", "bytea": "BLOB"}[name])
    hint = "cast it to text or to a number in a view, and name the view as the table"
    raise DataError(f"a column of type {name} can name neither users nor items", hint)


def _numeric(modifier: int) -> PgType:
    """Numbers of one scale look equal where they are equal; without a scale 1.0 and 1.00 are two forms of one."""
    digits, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    here = "{} IS NOT NULL AND {} <> 'NaN'"
    if modifier >= 4 and digits <= 38 and scale <= digits:
        return PgType("numeric", "{}", "numeric", f"DECIMAL({digits},{scale})", here)
    return PgType("numeric", "trim_scale({})", "numeric", None, here)


def _when(name: str) -> Callable[[object], object]:
    """From PostgreSQL's ISO text to Python; what Python cannot hold (infinity, 44 BC, 24:00) stays text."""

    def label(value: object) -> object:
        text = str(value)
        try:
            if name == "date":
                return datetime.date.fromisoformat(text)
            if name == "time":
                return datetime.time.fromisoformat(text)
            moment = datetime.datetime.fromisoformat(text)
        except ValueError:
            return text
        return moment.replace(tzinfo=datetime.UTC) if name == "timestamptz" else moment

    return label
