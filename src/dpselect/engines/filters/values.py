"""Values: an expression with its type, and its bounds that are known before any row is read.

Exact numbers know their largest magnitude and their digits after the point, so that no sum or product can overflow;
doubles know between which powers of ten they lie unless they are 0.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NoReturn

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.tree import Plain, refuse
from dpselect.engines.filters.words import parse_day, parse_moment
from dpselect.engines.sql.port import SqlType

_BITS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
_BITS |= {f"U{name}": bits + 1 for name, bits in _BITS.items()}
MAX_EXACT_DIGITS = 38
"""The largest number of digits of an exact number."""
_BIGINT_DIGITS = 20  # digits before the point that an engine may reserve for an integer
SPARK_EXACT_DIGITS = 6
"""Digits after the point that Spark keeps whatever comes before it; of more it may round the last ones away."""
SLOW_TEXT_TYPES = ("json", "jsonb", "long bpchar")
"""Types of PostgreSQL that are converted to text, however long, each time that their form is used."""
MAX_DOUBLE_POWER = 100
"""A double whose magnitude is beyond 10 to this power, or below its inverse, is null outside of comparisons."""
_DESCRIPTION_OF_KIND = {
    "text": "a text",
    "boolean": "TRUE or FALSE",
    "date": "a date",
    "timestamp": "a date or a moment",
}


@dataclass(frozen=True)
class Value:
    """An expression of one kind: exact, double, text, boolean, date, timestamp, null, or other."""

    kind: str
    sql: str
    description: str = "a value"  # in messages
    safe: str = ""  # the operand, if it differs from what is compared: null for infinities and very long texts
    max_magnitude: int | None = 0  # the largest magnitude of an exact number times 10 ** scale; None: any
    scale: int = 0
    low: int = 0  # with `high`, the powers of ten between which a double's magnitude is, unless it is 0
    high: int = 0
    constant: Plain = None
    type_name: str = ""  # of a column: the type of constants that are compared with it

    @property
    def operand_sql(self) -> str:
        """The SQL for everything but comparisons."""
        return self.safe or self.sql


def column_value(name: str, sql: str, sql_type: SqlType, spelling: Spelling) -> Value:
    """Return a column in its canonical form, by its type."""
    form = f"({sql_type.canonical_form.replace('{}', sql)})"
    description = f"{name!r}, a column of {sql_type.name}"
    zoned = "ZONE" in (sql_type.duckdb_type or "")
    kind = "timestamp" if zoned else sql_type.kind
    if kind == "text":
        is_long = sql_type.name in SLOW_TEXT_TYPES
        return (
            Value("other", sql, description) if is_long else Value(kind, form, description, spelling.null_if_long(form))
        )
    if kind == "boolean":
        return Value(kind, form, description)
    if kind in ("date", "timestamp"):
        return Value(kind, form, description, spelling.in_calendar(form, kind), type_name=sql_type.canonical_type)
    if kind not in ("integer", "number"):
        return Value("other", form, description)
    if sql_type.duckdb_type in ("DOUBLE", "FLOAT"):
        return Value("double", form, description, spelling.in_range(form), low=-MAX_DOUBLE_POWER, high=MAX_DOUBLE_POWER)
    max_magnitude, scale = _exact_bounds(sql_type.duckdb_type)
    if max_magnitude is None:
        form = spelling.few_digits.replace("{}", sql).replace("[]", form)
    safe = form if kind == "integer" else spelling.finite.replace("{}", form)
    return Value("exact", form, description, safe, max_magnitude=max_magnitude, scale=scale)


def _exact_bounds(duckdb: str | None) -> tuple[int | None, int]:
    if match := re.fullmatch(r"DECIMAL\((\d+), ?(\d+)\)", duckdb or ""):
        return 10 ** int(match[1]) - 1, int(match[2])
    return (2 ** _BITS[duckdb], 0) if duckdb in _BITS else (None, 0)


def constant_value(value: Plain, spelling: Spelling) -> Value:
    """Return a constant. A date is compiled again when the value next to it is known."""
    description = f"{value[:40]!r}" if isinstance(value, str) else str(value)
    if value is None:
        return Value("null", "NULL", "NULL")
    if isinstance(value, bool):
        return Value("boolean", "TRUE" if value else "FALSE", description.upper(), constant=value)
    if isinstance(value, str):
        return Value("text", spelling.literal(value), description, constant=value)
    if isinstance(value, float):
        return double_constant(value, spelling)
    if isinstance(value, int | Decimal):
        text = format(Decimal(value), "f")
        scale = len(text.partition(".")[2])
        sql = f"({text})" if text.startswith("-") else text
        return Value(
            "exact", sql, description, max_magnitude=abs(int(Decimal(value).scaleb(scale))), scale=scale, constant=value
        )
    kind = "timestamp" if isinstance(value, datetime.datetime) else "date"
    return Value(kind, spelling.moment(value, kind), description, constant=value)


def double_constant(value: float, spelling: Spelling) -> Value:
    """Return a constant as a double."""
    power = int(f"{abs(value):e}".partition("e")[2]) if value else 0
    return Value("double", spelling.number(value + 0.0), repr(value), low=power, high=power + 1, constant=value)


def to_double(value: Value, spelling: Spelling) -> Value:
    """Convert a number to a double."""
    if value.kind == "double":
        return value
    if isinstance(value.constant, int | Decimal):
        return double_constant(float(value.constant), spelling)
    if value.max_magnitude is None:
        # PostgreSQL's numeric: 1e100 is numeric as well. Next to a double it would become one, and may be too large.
        in_range = f"abs({value.sql}) BETWEEN 1e-{MAX_DOUBLE_POWER} AND 1e{MAX_DOUBLE_POWER} OR {value.sql} = 0"
        sql = f"CASE WHEN {in_range} THEN CAST({value.sql} AS {spelling.double}) END"
        return Value("double", sql, value.description, low=-MAX_DOUBLE_POWER, high=MAX_DOUBLE_POWER)
    sql = spelling.as_double(
        value.operand_sql, exactly=value.max_magnitude <= 2**53 or (value.max_magnitude <= 2**64 and not value.scale)
    )
    return Value(
        "double", sql, value.description, low=-value.scale, high=len(str(value.max_magnitude)) - value.scale + 1
    )


def is_small(value: Value) -> bool:
    """Return whether a value is an integer that may have less than 64 bits."""
    return value.kind == "exact" and not value.scale and value.max_magnitude is not None and value.max_magnitude < 2**63


def decimal_digits(max_magnitude: int, scale: int) -> int:
    """Return the digits of a decimal type that holds numbers up to this magnitude."""
    return max(len(str(max_magnitude)), scale, 1)


def as_exact(value: Value, max_magnitude: int, scale: int, spelling: Spelling) -> str:
    """Compile an exact number to the type of numbers up to `max_magnitude`, with `scale` digits after the point."""
    if value.max_magnitude is None:
        refuse_any_size(value)
    return f"CAST({value.operand_sql} AS {exact_type(max_magnitude, scale, spelling)})"


def exact_type(max_magnitude: int, scale: int, spelling: Spelling) -> str:
    """Return a type for numbers of at most 38 digits that no engine rounds."""
    if decimal_digits(max_magnitude, scale) > MAX_EXACT_DIGITS or (
        scale > SPARK_EXACT_DIGITS and decimal_digits(max_magnitude, scale) > MAX_EXACT_DIGITS - 2
    ):
        refuse(
            f"exact numbers that may have more than {MAX_EXACT_DIGITS} digits",
            "write CAST(x AS DOUBLE) for one of them",
        )
    return (
        spelling.integer
        if scale == 0 and max_magnitude < 2**63
        else spelling.decimal(decimal_digits(max_magnitude, scale), scale)
    )


def refuse_any_size(value: Value) -> NoReturn:
    """Refuse an exact number that can be of any size."""
    refuse(f"an operation on {value.description}, which may have any number of digits", "write CAST(x AS DOUBLE)")


def compile_comparable(values: Sequence[Value], spelling: Spelling, *, ordered: bool = False) -> list[str]:
    """Compile values that are compared with each other: by order if `ordered`, or only for equality."""
    kinds = {value.kind for value in values}
    if "null" in kinds:
        refuse("a comparison with NULL, which is never true", "write IS NULL or IS NOT NULL")
    if kinds & {"date", "timestamp"}:
        return _comparable_moments(values, spelling)
    if kinds == {"text"}:
        return _comparable_texts(values, spelling, ordered=ordered)
    if kinds == {"boolean"}:
        return [value.sql for value in values]
    if kinds == {"exact"}:
        scale = _common_scale(values)
        if scale + _BIGINT_DIGITS <= MAX_EXACT_DIGITS:
            return [value.sql for value in values]
        name = spelling.decimal(MAX_EXACT_DIGITS, scale)
        return [value.sql if value.constant is not None else f"CAST({value.sql} AS {name})" for value in values]
    if kinds <= {"exact", "double"}:
        return [to_double(value, spelling).sql for value in values]
    return refuse_misfit(values)


def _comparable_texts(values: Sequence[Value], spelling: Spelling, *, ordered: bool) -> list[str]:
    """Compile texts of any length only if one column may equal constants: an engine reads no text of another length.

    For an order PostgreSQL would fetch all of a stored text, again for each comparison.
    """
    is_one_equality = not ordered and sum(value.constant is None for value in values) == 1
    columns = (
        spelling.binary(value.sql if is_one_equality else value.operand_sql)
        for value in values
        if value.constant is None
    )
    return [next(columns) if value.constant is None else value.sql for value in values]


def _common_scale(values: Sequence[Value]) -> int:
    """Return the scale of a common type; refuse exact numbers without one, which engines would round."""
    bounds_and_scales = [(value.max_magnitude, value.scale) for value in values if value.max_magnitude is not None]
    scale = max((scale_of_value for _, scale_of_value in bounds_and_scales), default=0)
    integer_digits = max(
        (len(str(magnitude)) - scale_of_value for magnitude, scale_of_value in bounds_and_scales), default=0
    )
    columns = [value for value in values if value.constant is None]
    if integer_digits + scale > MAX_EXACT_DIGITS and (scale or len(columns) > 1):
        refuse_misfit(values, f"numbers that fit {MAX_EXACT_DIGITS} digits together")
    return scale


def _comparable_moments(values: Sequence[Value], spelling: Spelling) -> list[str]:
    """Compile dates as moments if one value is a moment; a text next to them is parsed."""
    is_day = all(value.kind in ("date", "text") for value in values)
    parsed_values = [_read_text(value, spelling, is_day=is_day) for value in values]
    kind = "timestamp" if any(value.kind == "timestamp" for value in parsed_values) else "date"
    name = next((value.type_name for value in parsed_values if value.kind == kind and value.type_name), "")
    sqls = []
    for value in parsed_values:
        if value.kind not in ("date", "timestamp"):
            refuse_misfit(values)
        if isinstance(value.constant, datetime.date):
            sqls.append(spelling.moment(value.constant, kind, name))
        else:
            sqls.append(value.sql if value.kind == kind else as_moment(value, spelling).sql)
    return sqls


def _read_text(value: Value, spelling: Spelling, *, is_day: bool) -> Value:
    if isinstance(value.constant, str):
        return constant_value(parse_day(value.constant) if is_day else parse_moment(value.constant), spelling)
    return value


def as_moment(value: Value, spelling: Spelling) -> Value:
    """Convert a date to its midnight."""
    if value.kind == "timestamp":
        return replace(value, sql=value.operand_sql, safe="")
    return Value("timestamp", f"CAST({value.operand_sql} AS {spelling.timestamp})", value.description)


def refuse_misfit(values: Sequence[Value], suggestion: str = "") -> NoReturn:
    """Refuse values that cannot be compared, in words for the kind of the first that is no constant."""
    index = next((index for index, value in enumerate(values) if value.constant is None), 0)
    column_operand, other_operand = values[index], values[0 if index else -1]
    accepted = suggestion or _DESCRIPTION_OF_KIND.get(
        column_operand.kind, "a number" if column_operand.kind in ("exact", "double") else "IS NULL alone"
    )
    refuse(
        f"{other_operand.description} beside {column_operand.description}",
        f"use {accepted}; CAST(x AS DOUBLE) and other casts return one",
    )
