"""Types: which columns can be users and items, and the canonical form in which each value is counted and named.

Values that compare as equal must look equal too. Otherwise the label of a group would be whichever of its forms
came first, which depends on the rows. So text loses its collation, negative zero its sign, an ENUM its order.
"""

from __future__ import annotations

import datetime
import re
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from dpselect.engines.duckdb.workspace import literal, quoted
from dpselect.engines.values import (
    BYTES,
    DATE,
    INFINITY,
    MAX_NUMBER_LETTERS,
    MAX_VALUE_BYTES,
    MINUS_INFINITY,
    MOMENT,
    NUMBER_PATTERN,
    TYPE_MARK,
    sql_cast_hint,
)
from dpselect.engines.values import ZONED as ZONE_GIVEN
from dpselect.errors import DataError, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpselect._ground.periods import Periods
    from dpselect.engines.row_periods import RowPeriods
    from dpselect.engines.sql.port import SqlType

OBJECT = "OBJECT"
"""The type of a column without a declared type: its values are texts in the form of `objects.encode_values`."""

INTEGERS = frozenset(
    {
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT",
        "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    }
)  # fmt: skip
FLOATS = frozenset({"FLOAT", "DOUBLE"})
TEXTS = frozenset({"VARCHAR", "JSON"})
ZONED = "TIMESTAMP WITH TIME ZONE"
# Counted as they are: equal values of these types have one form only, and Python has a type for it.
_COUNTED_UNCHANGED = INTEGERS | {"BOOLEAN", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "BLOB"}
# Counted as text, because Python has no type that holds every value of these.
_ENUMS = frozenset({"ENUM"})
NULL_TYPE = '"NULL"'
_NULL_TYPES = frozenset({NULL_TYPE, "NULL"})  # a column of nulls only, as polars and PyArrow have it
_COUNTED_AS_TEXT = _ENUMS | _NULL_TYPES | {"UUID", "BIT", "BIGNUM", "TIMESTAMP_NS", "TIMESTAMPTZ_NS", "TIME_NS"}
# The ends of what Python has too; beyond them DuckDB itself fails to write or convert a value.
_NAMEABLE_RANGES = {
    "DATE": ("0001-01-01", "9999-12-31"),
    "TIMESTAMP_S": ("0001-01-01", "9999-12-31 23:59:59"),
    "TIMESTAMP_MS": ("0001-01-01", "9999-12-31 23:59:59.999"),
    "TIMESTAMP": ("0001-01-01", "9999-12-31 23:59:59.999999"),
    ZONED: ("0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00"),
    "TIMESTAMP_NS": ("1677-09-22", "2262-04-11"),
    "TIMESTAMPTZ_NS": ("1677-09-22 00:00:00+00", "2262-04-11 00:00:00+00"),
    "TIME": ("00:00:00", "23:59:59.999999"),
    "TIME_NS": ("00:00:00", "23:59:59.999999999"),
}


# Parquet files may hold moments of the day before the first of DuckDB, which it reads and then fails to convert.
_MOMENT_IN_UTC = (
    "CASE WHEN {} = '-infinity'::TIMESTAMPTZ OR {} >= '290309-12-22 (BC) 00:00:00+00'::TIMESTAMPTZ "
    "THEN ({}) AT TIME ZONE 'UTC' END"
)
_NESTED = frozenset({"LIST", "STRUCT", "MAP", "UNION", "VARIANT"})
_LENGTH_FUNCTIONS = {"VARCHAR": "strlen", "JSON": "strlen", "BLOB": "octet_length", "BIT": "octet_length"}
_SQL_OF_INFINITY = {INFINITY: "'inf'", MINUS_INFINITY: "'-inf'"}


def base_type(sql_type: str) -> str:
    """Return the name of a type without its parameters; the members of an ENUM are data and must not be shown."""
    if sql_type.endswith("]"):
        return "LIST"
    return re.sub(r"\(.*", "", sql_type, flags=re.DOTALL).strip()


def is_text(sql_type: str) -> bool:
    """Return whether an item of this type is a text as it is counted, and declared as one."""
    return base_type(sql_type) in TEXTS | _ENUMS | _NULL_TYPES


def has_text(sql_type: str) -> bool:
    """Return whether an item of this type can be a text."""
    return is_text(sql_type) or sql_type == OBJECT


def item_form(expression: str, sql_type: str) -> str:
    """Compile an item to its canonical form."""
    name = base_type(sql_type)
    if name in TEXTS or name == OBJECT:
        return f'({expression})::VARCHAR COLLATE "C"'
    if name in _COUNTED_AS_TEXT:
        return f'CAST({expression} AS VARCHAR) COLLATE "C"'
    if name in FLOATS:
        # -0.0 + 0.0 is 0.0.
        return f"{expression} + 0.0::{name}"
    if name == ZONED:
        return f"({expression}) AT TIME ZONE 'UTC'"
    if name in _COUNTED_UNCHANGED or name == "DECIMAL":
        return expression
    raise DataError(f"a column of type {name} cannot name items", sql_cast_hint(name))


def number_form(expression: str, sql_type: str) -> str:
    """Compile a value to its canonical form, a DOUBLE; null for text that is no number."""
    name = base_type(sql_type)
    if name == OBJECT:
        infinities = " ".join(
            f"WHEN {literal(marked)} THEN {number}::DOUBLE" for marked, number in _SQL_OF_INFINITY.items()
        )
        is_number = f"starts_with({expression}, {literal(TYPE_MARK)}) AND substr({expression}, 2, 1) > 'z'"
        value = f"CASE WHEN {is_number} THEN {number_form(f'substr({expression}, 3)', 'VARCHAR')} END"
        return f"CASE {expression} {infinities} ELSE {value} END"
    if is_text(sql_type):
        is_number_text = (
            f"regexp_full_match({expression}, '{NUMBER_PATTERN}') AND length({expression}) < {MAX_NUMBER_LETTERS}"
        )
        return f"CASE WHEN {is_number_text} THEN TRY_CAST({expression} AS DOUBLE) END"
    if name in INTEGERS | FLOATS or name == "DECIMAL":
        return f"CAST({expression} AS DOUBLE)"
    hint = "cast it to a number in the source, for example in a view or a data frame"
    raise DataError(f"a column of type {name} holds no numbers", hint)


def plain_form(expression: str) -> str:
    """Compile a value of a column without a declared type to plain text; null for bytes, which have none."""
    mark, plain = literal(TYPE_MARK), f"substr({expression}, 3)"
    bytes_ = f"WHEN starts_with({expression}, {literal(TYPE_MARK + BYTES)}) THEN NULL"
    return f"CASE {bytes_} WHEN starts_with({expression}, {mark}) THEN {plain} ELSE {expression} END"


def time_form(expression: str, sql_type: str) -> str:
    """Compile a time as a filter compares it; of values without a declared type, those that are times."""
    if sql_type != OBJECT:
        return expression
    marks = ", ".join(literal(TYPE_MARK + mark) for mark in (DATE, MOMENT, ZONE_GIVEN))
    return f"(CASE WHEN substr({expression}, 1, 2) IN ({marks}) THEN substr({expression}, 3) END)"


def duckdb_row_periods(periods: Periods, types: Mapping[str, str], column: str) -> RowPeriods:
    """Return the periods over the column of times, from the SQL of that column as the source has it.

    Some values without a declared type may have a zone, which is lost.
    """
    from dpselect._ground.periods import UTC
    from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
    from dpselect.engines.row_periods import row_periods

    sql_type = types[periods.column]
    if sql_type == OBJECT and periods.timezone != UTC:
        hint = "give dates, timestamps or texts in an array or a frame that has their type"
        raise SourceError("timezone", "be UTC if a column of times has no declared type", periods.timezone, hint)
    return row_periods(periods, time_form(column, sql_type), filter_type(sql_type), DUCKDB_SPELLING)


def length_limited_form(expression: str, sql_type: str, nothing: str = "NULL") -> str:
    """Compile a value as its source has it, or `nothing` if it is longer than allowed, from its length alone.

    A longer value is never copied, compared or kept.
    """
    length = _LENGTH_FUNCTIONS.get(base_type(sql_type))
    if length is None:
        return expression
    return f"CASE WHEN {length}({expression}) <= {MAX_VALUE_BYTES} THEN {expression} ELSE {nothing} END"


def validated_form(expression: str, sql_type: str) -> str:
    """Compile an unchecked value, which another library wrote to memory: null if it is invalid.

    DuckDB accepts invalid text and moments beyond the years 1 to 9999, and fails on them later.
    """
    name = base_type(sql_type)
    if name in TEXTS:
        return f"TRY(decode(encode({length_limited_form(f'CAST({expression} AS VARCHAR)', 'VARCHAR')})))"
    if name in _NAMEABLE_RANGES:
        return f"CASE WHEN {nameable_condition(expression, sql_type)} THEN {expression} END"
    return length_limited_form(expression, sql_type)


def user_form(expression: str, sql_type: str, *, is_field: bool = False) -> str:
    """Compile a user, who is never named: more types are allowed than for an item, but none with a text inside.

    A column by itself may be of any type that DuckDB groups. DuckDB does not promise that equal values of any type stay
    equal inside a struct, so a field is in the canonical form of an item, except values that cannot be named.
    """
    name = base_type(sql_type)
    if is_field:
        form = item_form(expression, sql_type)
        return form if name in FLOATS else user_form(expression, sql_type)
    if name in _NESTED:
        hint = "name its parts as several columns, or make one text of them, in a view or a data frame"
        raise DataError(f"a column of type {name} cannot say who a user is", hint)
    if name in TEXTS or name in ("ENUM", OBJECT):
        return item_form(expression, sql_type)
    return expression


def present_condition(expression: str, sql_type: str) -> str:
    """Compile the condition that a user or a number is present; NaN is null, as it is for pandas."""
    # Not a comparison with NaN: that is true of all, and left out, where a file says that its largest value is less.
    if base_type(sql_type) in FLOATS:
        return f"{expression} IS NOT NULL AND NOT isnan({expression})"
    if (
        base_type(sql_type) == "DECIMAL"
    ):  # memory and files can hold more digits than their type has, and then DuckDB fails
        digits, scale = map(int, re.findall(r"\d+", sql_type))
        maximum = f"'{Decimal(10**digits - 1).scaleb(-scale, Context(prec=digits)):f}'::{sql_type}"
        return f"{expression} BETWEEN -{maximum} AND {maximum}"
    return f"{expression} IS NOT NULL"


def nameable_condition(expression: str, sql_type: str) -> str:
    """Compile the condition that an item is present and can be named: no infinity, and within Python's years."""
    name = base_type(sql_type)
    if name in FLOATS:  # NaN and null are not finite either
        return f"isfinite({expression})"
    if name == OBJECT:
        return f"{expression} NOT IN ({', '.join(map(literal, _SQL_OF_INFINITY))})"
    if name in _NAMEABLE_RANGES:
        minimum, maximum = (f"{literal(end)}::{name}" for end in _NAMEABLE_RANGES[name])
        return f"{expression} BETWEEN {minimum} AND {maximum}"
    return present_condition(expression, sql_type)


def floor_to_microseconds(expression: str, sql_type: str) -> str:
    """Compile a moment in nanoseconds to one in microseconds, rounded down: the engine's own cast rounds up."""
    nanoseconds = f"epoch_ns({expression})"
    microseconds = f"({nanoseconds} - (({nanoseconds} % 1000) + 1000) % 1000) // 1000"
    return f"TRY({'make_timestamptz' if base_type(sql_type) == 'TIMESTAMPTZ_NS' else 'make_timestamp'}({microseconds}))"


def filter_type(sql_type: str) -> SqlType:
    """Return the type of a column as the filter compares it; a type that it does not know has IS NULL alone."""
    from dpselect.engines.sql.port import SqlType

    name = base_type(sql_type)
    if has_text(sql_type):
        return SqlType(name, "text", '({})::VARCHAR COLLATE "C"', "VARCHAR", "VARCHAR")
    if name in INTEGERS and name != "UHUGEINT":
        return SqlType(name, "integer", "{}", name, name)
    if name in FLOATS:
        return SqlType(name, "number", "{}" if name == "DOUBLE" else "CAST({} AS DOUBLE)", "DOUBLE", name)
    if name == "DECIMAL":
        return SqlType(sql_type, "number", "{}", sql_type, sql_type)
    if name in ("BOOLEAN", "DATE", "TIMESTAMP"):
        return SqlType(name, name.lower(), "{}", name, name)
    if name in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return SqlType(name, "timestamp", "TRY_CAST({} AS TIMESTAMP)", "TIMESTAMP", "TIMESTAMP")
    if name == "TIMESTAMP_NS":
        return SqlType(name, "timestamp", floor_to_microseconds("{}", name), "TIMESTAMP", "TIMESTAMP")
    if name == ZONED:
        return SqlType(name, "timestamp", _MOMENT_IN_UTC, "TIMESTAMP", ZONED)
    if name == "TIMESTAMPTZ_NS":  # frames of nanoseconds with a zone
        return SqlType(
            name, "timestamp", _MOMENT_IN_UTC.replace("{}", floor_to_microseconds("{}", name)), "TIMESTAMP", ZONED
        )
    return SqlType(name, "other", "{}", name, None)


def filter_form(column: str, sql_type: str) -> str:
    """Compile a column as the filter sees it: objects as text, and ENUMs, whose members no message can quote then."""
    name = quoted(column)
    if sql_type == OBJECT:
        return f"{plain_form(name)} AS {name}"
    return f"CAST({name} AS VARCHAR) AS {name}" if base_type(sql_type) == "ENUM" else name


def plain_type(sql_type: str) -> str:
    """Return the type of a column whose objects are read as plain text."""
    return "VARCHAR" if sql_type == OBJECT else sql_type


def label_function(sql_type: str) -> Callable[[object], object]:
    """Return the function from a counted item of this type to a plain Python value."""
    if sql_type == OBJECT:
        return _decode_object
    return _with_utc if base_type(sql_type) == ZONED else _unchanged


def _decode_object(value: object) -> object:
    from dpselect.engines.sources import objects

    return objects.decode_value(value) if isinstance(value, str) else value


def _with_utc(value: object) -> object:
    return value.replace(tzinfo=datetime.UTC) if isinstance(value, datetime.datetime) else value


def _unchanged(value: object) -> object:
    return value
