"""Values: an expression with its type, and the bounds that are known of it before any row is read.

Exact numbers know their largest magnitude and their digits after the point, so that no sum or product can overflow;
doubles know between which powers of ten they lie unless they are 0.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NoReturn

from dpselect.engines.filters.constants import day, moment
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Plain, refuse
from dpselect.engines.sql.port import SqlType

_BITS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
_BITS |= {f"U{name}": bits + 1 for name, bits in _BITS.items()}
DIGITS = 38
"""Digits of an exact number at most."""
_OF_BIGINT = 20  # digits before the point that an engine may keep free for one
ROUNDED = 6
"""Digits after the point that Spark keeps whatever comes before it; of more it may round the last ones away."""
WRITTEN_OUT = ("json", "jsonb", "long bpchar")
"""Types of PostgreSQL that are made a text, however long, each time that their form is named."""
RANGE = 100
"""A double whose magnitude is beyond 10 to this power, or below its inverse, is null outside of comparisons."""
_KINDS = {"text": "a text", "boolean": "TRUE or FALSE", "date": "a date", "timestamp": "a date or a moment"}


@dataclass(frozen=True)
class Value:
    """An expression of one kind: exact, double, text, boolean, date, timestamp, null, or other."""

    kind: str
    sql: str
    shown: str = "a value"  # what a message calls it
    safe: str = ""  # what operations work on, where that is not what is compared: null for infinities, very long texts
    most: int | None = 0  # of an exact number times 10 ** scale: its magnitude at most; None: any
    scale: int = 0
    low: int = 0  # of a double: powers of ten between which its magnitude lies, unless it is 0
    high: int = 0
    constant: Plain = None
    type_name: str = ""  # of a column: the type as which constants beside it are written

    @property
    def used(self) -> str:
        """The SQL for everything but comparisons."""
        return self.safe or self.sql


def column(name: str, sql: str, sql_type: SqlType, spelling: Spelling) -> Value:
    """A column in its one form, by its type."""
    form = f"({sql_type.form.replace('{}', sql)})"
    shown = f"{name!r}, a column of {sql_type.name}"
    zoned = "ZONE" in (sql_type.duckdb or "")
    kind = "timestamp" if zoned else sql_type.kind
    if kind == "text":
        long = sql_type.name in WRITTEN_OUT
        return Value("other", sql, shown) if long else Value(kind, form, shown, spelling.short(form))
    if kind == "boolean":
        return Value(kind, form, shown)
    if kind in ("date", "timestamp"):
        return Value(kind, form, shown, spelling.in_calendar(form, kind), type_name=sql_type.form_type)
    if kind not in ("integer", "number"):
        return Value("other", form, shown)
    if sql_type.duckdb in ("DOUBLE", "FLOAT"):
        return Value("double", form, shown, spelling.in_range(form), low=-RANGE, high=RANGE)
    most, scale = _exact(sql_type.duckdb)
    if most is None:
        form = spelling.few_digits.replace("{}", sql).replace("[]", form)
    safe = form if kind == "integer" else spelling.finite.replace("{}", form)
    return Value("exact", form, shown, safe, most=most, scale=scale)


def _exact(duckdb: str | None) -> tuple[int | None, int]:
    if found := re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", duckdb or ""):
        return 10 ** int(found[1]) - 1, int(found[2])
    return (2 ** _BITS[duckdb], 0) if duckdb in _BITS else (None, 0)


def constant(value: Plain, spelling: Spelling) -> Value:
    """A constant; a date is written when it is known beside what it stands."""
    shown = f"{value[:40]!r}" if isinstance(value, str) else str(value)
    if value is None:
        return Value("null", "NULL", "NULL")
    if isinstance(value, bool):
        return Value("boolean", "TRUE" if value else "FALSE", shown.upper(), constant=value)
    if isinstance(value, str):
        return Value("text", spelling.literal(value), shown, constant=value)
    if isinstance(value, float):
        return double(value, spelling)
    if isinstance(value, int | Decimal):
        text = format(Decimal(value), "f")
        scale = len(text.partition(".")[2])
        sql = f"({text})" if text.startswith("-") else text
        return Value("exact", sql, shown, most=abs(int(Decimal(value).scaleb(scale))), scale=scale, constant=value)
    kind = "timestamp" if isinstance(value, datetime.datetime) else "date"
    return Value(kind, spelling.moment(value, kind), shown, constant=value)


def double(value: float, spelling: Spelling) -> Value:
    """A constant as a double."""
    power = int(f"{abs(value):e}".partition("e")[2]) if value else 0
    return Value("double", spelling.number(value + 0.0), repr(value), low=power, high=power + 1, constant=value)


def to_double(value: Value, spelling: Spelling) -> Value:
    """A number as a double."""
    if value.kind == "double":
        return value
    if isinstance(value.constant, int | Decimal):
        return double(float(value.constant), spelling)
    if value.most is None:
        # PostgreSQL's numeric: 1e100 is one as well, for beside a double it would be made one, and may be too large.
        held = f"abs({value.sql}) BETWEEN 1e-{RANGE} AND 1e{RANGE} OR {value.sql} = 0"
        sql = f"CASE WHEN {held} THEN CAST({value.sql} AS {spelling.double}) END"
        return Value("double", sql, value.shown, low=-RANGE, high=RANGE)
    sql = spelling.as_double(value.used, exactly=value.most <= 2**53 or (value.most <= 2**64 and not value.scale))
    return Value("double", sql, value.shown, low=-value.scale, high=len(str(value.most)) - value.scale + 1)


def is_small(value: Value) -> bool:
    """Is it a whole number that may have less than 64 bits?"""
    return value.kind == "exact" and not value.scale and value.most is not None and value.most < 2**63


def digits(most: int, scale: int) -> int:
    """The digits of a decimal type that holds such numbers."""
    return max(len(str(most)), scale, 1)


def as_exact(value: Value, most: int, scale: int, spelling: Spelling) -> str:
    """An exact number in the type of numbers up to `most`, with `scale` digits after the point, which hold it."""
    if value.most is None:
        too_long(value)
    return f"CAST({value.used} AS {exact_type(most, scale, spelling)})"


def exact_type(most: int, scale: int, spelling: Spelling) -> str:
    """A type for numbers of at most 38 digits that no engine rounds."""
    if digits(most, scale) > DIGITS or (scale > ROUNDED and digits(most, scale) > DIGITS - 2):
        refuse(f"exact numbers that may have more than {DIGITS} digits", "write CAST(x AS DOUBLE) for one of them")
    return spelling.integer if scale == 0 and most < 2**63 else spelling.decimal(digits(most, scale), scale)


def too_long(value: Value) -> NoReturn:
    """Refuse an exact number that can be of any size."""
    refuse(f"an operation on {value.shown}, which may have any number of digits", "write CAST(x AS DOUBLE)")


def alike(values: Sequence[Value], spelling: Spelling, *, ordered: bool = False) -> list[str]:
    """The SQL of values that are compared with each other: which is first, or only whether they are equal."""
    kinds = {value.kind for value in values}
    if "null" in kinds:
        refuse("a comparison with NULL, which is never true", "write IS NULL or IS NOT NULL")
    if kinds & {"date", "timestamp"}:
        return _moments(values, spelling)
    if kinds == {"text"}:
        return _texts(values, spelling, ordered=ordered)
    if kinds == {"boolean"}:
        return [value.sql for value in values]
    if kinds == {"exact"}:
        scale = _together(values)
        if scale + _OF_BIGINT <= DIGITS:
            return [value.sql for value in values]
        name = spelling.decimal(DIGITS, scale)
        return [value.sql if value.constant is not None else f"CAST({value.sql} AS {name})" for value in values]
    if kinds <= {"exact", "double"}:
        return [to_double(value, spelling).sql for value in values]
    return misfit(values)


def _texts(values: Sequence[Value], spelling: Spelling, *, ordered: bool) -> list[str]:
    """Texts of any length only where a column may equal constants: an engine reads one that is as long as a constant.

    Of what is first PostgreSQL would fetch all of a stored text, for each comparison anew.
    """
    whole = not ordered and sum(value.constant is None for value in values) == 1
    columns = (spelling.binary(value.sql if whole else value.used) for value in values if value.constant is None)
    return [next(columns) if value.constant is None else value.sql for value in values]


def _together(values: Sequence[Value]) -> int:
    """The digits after the point of a common type; refuses exact numbers without one, which engines would round."""
    known = [(value.most, value.scale) for value in values if value.most is not None]
    scale = max((one for _, one in known), default=0)
    whole = max((len(str(most)) - one for most, one in known), default=0)
    columns = [value for value in values if value.constant is None]
    if whole + scale > DIGITS and (scale or len(columns) > 1):
        misfit(values, f"numbers that fit {DIGITS} digits together")
    return scale


def _moments(values: Sequence[Value], spelling: Spelling) -> list[str]:
    """Dates as moments where one is there; a text beside them is one."""
    is_day = all(value.kind in ("date", "text") for value in values)
    read = [_read(value, spelling, is_day=is_day) for value in values]
    kind = "timestamp" if any(value.kind == "timestamp" for value in read) else "date"
    name = next((value.type_name for value in read if value.kind == kind and value.type_name), "")
    found = []
    for value in read:
        if value.kind not in ("date", "timestamp"):
            misfit(values)
        if isinstance(value.constant, datetime.date):
            found.append(spelling.moment(value.constant, kind, name))
        else:
            found.append(value.sql if value.kind == kind else as_moment(value, spelling).sql)
    return found


def _read(value: Value, spelling: Spelling, *, is_day: bool) -> Value:
    if isinstance(value.constant, str):
        return constant(day(value.constant) if is_day else moment(value.constant), spelling)
    return value


def as_moment(value: Value, spelling: Spelling) -> Value:
    """A date as its midnight."""
    if value.kind == "timestamp":
        return replace(value, sql=value.used, safe="")
    return Value("timestamp", f"CAST({value.used} AS {spelling.timestamp})", value.shown)


def misfit(values: Sequence[Value], must: str = "") -> NoReturn:
    """Refuse values that do not go together, in words for the kind of the first that is no constant."""
    place = next((place for place, value in enumerate(values) if value.constant is None), 0)
    first, other = values[place], values[0 if place else -1]
    may = must or _KINDS.get(first.kind, "a number" if first.kind in ("exact", "double") else "IS NULL alone")
    refuse(f"{other.shown} beside {first.shown}", f"use {may}; CAST(x AS DOUBLE) and other casts return one")
