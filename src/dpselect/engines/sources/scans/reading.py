"""The SQL that reads a value of a source as the type that was declared of its column.

A value is exactly one of the declared type, or it is missing: nothing is rounded into a type, and a text is read only
where it matches a pattern, since an engine's own reading of odd text (0x10, 1_000, epoch, 19.7 as 20) is not asked for.
"""

from __future__ import annotations

import re

from dpselect.engines.duckdb.types import (
    FLOATS,
    INTEGERS,
    NULL_TYPE,
    TEXTS,
    base_type,
    floor_to_microseconds,
    number_form,
)
from dpselect.engines.duckdb.workspace import literal
from dpselect.engines.filters.casts import DAY, MOMENT, MOMENT_WITH_ZONE
from dpselect.engines.sources.scans.declarations import UNITS, ZONED, DeclaredType, pattern_of_format
from dpselect.errors import SourceError

ONCE = "current_connection_id() IS NOT NULL"
"""A condition that always holds and that DuckDB does not copy into a filter below, so that a value is read once."""
_LONGEST = 100
"""Bytes of a text that is read as another type; a longer one is missing."""


def read_value(value: str, source_type: str, declared: DeclaredType, column: str) -> str:
    """Return the SQL of a value of `source_type` as what is declared; refuse types of which no value is one."""
    if source_type in (NULL_TYPE, "NULL"):
        return f"CAST(NULL AS {declared.type})"
    if base_type(source_type) in TEXTS | {"ENUM"}:
        text = value if base_type(source_type) == "VARCHAR" else f"CAST({value} AS VARCHAR)"
        return text if declared.type == "VARCHAR" else f"CASE WHEN {ONCE} THEN {_text_as(text, declared)} END"
    sql = (
        _number_as(value, source_type, declared)
        or _time_as(value, source_type, declared)
        or _as_text(value, source_type, declared)
    )
    if sql is None:
        requirement = f"be a type that values of {base_type(source_type)} can have, for column {column!r}"
        raise SourceError("types", requirement, declared.text, _hint(source_type, declared))
    return sql


def _hint(source_type: str, declared: DeclaredType) -> str | None:
    if declared.type == ZONED and base_type(source_type) in (
        "DATE",
        "TIMESTAMP",
        "TIMESTAMP_S",
        "TIMESTAMP_MS",
        "TIMESTAMP_NS",
    ):
        return "TimeText(zone=...) or TIME(zone='...') says where the clocks stood that showed these times"
    if declared.type == "VARCHAR" and base_type(source_type) in FLOATS | {"DECIMAL"}:
        return "numbers are no texts: 7.0 and 7 would be two values; declare BIGINT or DECIMAL(18,2)"
    return None


# ---- values that have a type ----------------------------------------------------------------------------------


def _number_as(value: str, source_type: str, declared: DeclaredType) -> str | None:
    """Return a number where casting it back gives it again; a double becomes the nearest decimal."""
    to, is_float = declared.type, source_type in FLOATS
    if base_type(source_type) not in INTEGERS | FLOATS | {"DECIMAL"} or declared.format is not None:
        return None
    if declared.unit is not None:
        integer = value if source_type in INTEGERS else _same(value, source_type, "HUGEINT")
        return _moment_of(integer, declared.unit)
    if source_type == "FLOAT" and to != "FLOAT":  # the number that was written, whose binary digits are another one's
        value, source_type = f"CAST(CAST({value} AS VARCHAR) AS DOUBLE)", "DOUBLE"
    if source_type == to:
        return value
    if to == "DOUBLE" and base_type(source_type) == "DECIMAL":
        return f"CAST(CAST({value} AS VARCHAR) AS DOUBLE)"
    if base_type(to) == "DECIMAL" and (is_float or source_type in INTEGERS):
        return f"TRY_CAST({value} AS {to})"
    if to in INTEGERS and source_type in INTEGERS:
        return f"TRY_CAST({value} AS {to})"
    if to in INTEGERS | {"DOUBLE"} or base_type(to) == "DECIMAL":
        return _same(value, source_type, to)
    if to == "BOOLEAN" and source_type in INTEGERS:
        return f"CASE {value} WHEN 1 THEN true WHEN 0 THEN false END"
    return None


def _same(value: str, source_type: str, to: str) -> str:
    cast = f"TRY_CAST({value} AS {to})"
    return f"CASE WHEN TRY_CAST({cast} AS {source_type}) = {value} THEN {cast} END"


def _time_as(value: str, source_type: str, declared: DeclaredType) -> str | None:
    to, name = declared.type, base_type(source_type)
    if declared.format is not None or declared.unit is not None:
        return None
    if source_type == to and (declared.zone is None or to == ZONED):
        return value
    if name == "TIMESTAMPTZ_NS" and to == ZONED:
        return floor_to_microseconds(value, source_type)
    if name not in ("DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"):
        return None
    clock = floor_to_microseconds(value, source_type) if name == "TIMESTAMP_NS" else f"TRY_CAST({value} AS TIMESTAMP)"
    if to == "TIMESTAMP":
        return clock
    if to == ZONED and declared.zone is not None:
        return f"TRY({clock} AT TIME ZONE {literal(declared.zone)})"
    return _same(clock, "TIMESTAMP", "DATE") if to == "DATE" else None


def _as_text(value: str, source_type: str, declared: DeclaredType) -> str | None:
    if declared.type == "VARCHAR" and source_type == "BLOB":
        return f"TRY(decode({value}))"
    if declared.type == "VARCHAR" and (source_type in INTEGERS or source_type in ("DATE", "BOOLEAN", "UUID")):
        return f"CAST({value} AS VARCHAR)"
    return value if source_type == declared.type else None


def _moment_of(number: str, unit: str) -> str:
    """Return the moment so many units after 1970 began, in whole microseconds; nanoseconds are rounded down."""
    digits = UNITS[unit]
    integer = f"TRY_CAST({number} AS HUGEINT)"  # a UHUGEINT may be beyond it
    micros = f"{integer} * {10 ** (6 - digits)}" if digits <= 6 else _floored(integer, 1000)
    return f"TRY(make_timestamptz(TRY_CAST(TRY({micros}) AS BIGINT)))"


def _floored(number: str, by: int) -> str:
    return f"(({number}) - ((({number}) % {by}) + {by}) % {by}) // {by}"


# ---- texts ----------------------------------------------------------------------------------------------------


def _text_as(text: str, declared: DeclaredType) -> str:
    to = declared.type
    if declared.format is not None:
        return _fits(text, pattern_of_format(declared.format), _in_format(text, declared))
    if declared.unit is not None:
        return _fits(text, "-?[0-9]{1,25}", _moment_of(f"TRY_CAST({text} AS HUGEINT)", declared.unit))
    if to == "BOOLEAN":
        return _fits(text, "(?i)true|false|t|f|1|0", f"TRY_CAST({text} AS BOOLEAN)")
    if to == "DATE":
        return _fits(text, DAY, f"TRY_CAST({text} AS DATE)")
    if to == "TIMESTAMP":
        return _fits(text, MOMENT, f"TRY_CAST({text} AS TIMESTAMP)")
    if to == ZONED:
        return _moment(text, declared)
    return _number(text, declared)


def _fits(text: str, pattern: str, sql: str) -> str:
    return f"CASE WHEN strlen({text}) <= {_LONGEST} AND regexp_full_match({text}, {literal(pattern)}) THEN {sql} END"


def _in_format(text: str, declared: DeclaredType) -> str:
    parsed = f"try_strptime({text}, {literal(declared.format or '')})"
    if declared.zone is not None:
        return f"TRY({parsed} AT TIME ZONE {literal(declared.zone)})"
    return parsed


def _moment(text: str, declared: DeclaredType) -> str:
    """Return a moment with its zone, or what the clocks of the declared zone showed."""
    plain = f"left({text}, 10) || 'T' || replace(replace(substr({text}, 12), ' ', ''), 'UTC', 'Z')"
    moment = _fits(text, MOMENT_WITH_ZONE, f"TRY_CAST({plain} AS {ZONED})")
    if declared.zone is None:
        return moment
    clock = f"TRY(TRY_CAST({text} AS TIMESTAMP) AT TIME ZONE {literal(declared.zone)})"
    return f"coalesce({_fits(text, MOMENT, clock)}, {moment})"


def _number(text: str, declared: DeclaredType) -> str:
    to, point, group = declared.type, re.escape(declared.decimal), re.escape(declared.thousands)
    # Thousands follow a number of them: 0.005 with a point between thousands is not 5.
    digits = f"([1-9][0-9]{{0,2}}({group}[0-9]{{3}})+|[0-9]+)" if group else "[0-9]+"
    plain = f"replace({text}, {literal(declared.thousands)}, '')" if group else text
    plain = plain if declared.decimal == "." else f"replace({plain}, {literal(declared.decimal)}, '.')"
    if to == "DOUBLE" and plain == text:
        number = number_form(text, "VARCHAR")
        return f"CASE WHEN isfinite({number}) THEN {number} END"
    scale = int(to.partition(",")[2].rstrip(")") or 0)
    decimals = "[0-9]*" if to == "DOUBLE" else f"[0-9]{{0,{scale}}}0*"
    return _fits(text, f"[ ]*[+-]?{digits}({point}{decimals})?[ ]*", f"TRY_CAST({plain} AS {to})")
