"""The one type that columns of several files have together, by what their footers declare and never by their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import NoReturn

from dpselect.engines.duckdb.types import FLOATS, INTEGERS, NULL_TYPE, TEXTS, ZONED, base_type
from dpselect.engines.sources.refused_types import GENERAL
from dpselect.errors import SourceError

_CLOCKS = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
_MOMENTS = frozenset({ZONED, "TIMESTAMPTZ_NS"})
_BITS = {name: 8 << exponent for exponent, name in enumerate(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"))}


def common_type(types: Iterable[str]) -> str | None:
    """Return the type that holds every value of these types exactly; None where there is none.

    Harmless are widths of whole numbers, decimals whose digits before and after the point fit 38 together, units of
    moments, text in its encodings, and a column of nulls.
    """
    distinct = {_in_microseconds(sql_type) for sql_type in types if sql_type != NULL_TYPE}
    if not distinct:
        return NULL_TYPE
    if len(distinct) == 1:
        return next(iter(distinct))
    if distinct <= INTEGERS:
        return _integer_type(distinct)
    return _decimal_type(distinct) if all(base_type(sql_type) == "DECIMAL" for sql_type in distinct) else None


def _in_microseconds(sql_type: str) -> str:
    """Return the type of a column alone: its moments are in microseconds whether or not there are other files."""
    return "TIMESTAMP" if sql_type in _CLOCKS else ZONED if sql_type in _MOMENTS else sql_type


def _integer_type(types: Collection[str]) -> str | None:
    """Return the narrowest type of whole numbers; beside a signed one, an unsigned one needs the next width."""
    unsigned = all(sql_type.startswith("U") for sql_type in types)
    min_bits = max(
        _BITS[sql_type] if sql_type in _BITS else _BITS[sql_type[1:]] * (1 if unsigned else 2) for sql_type in types
    )
    name = next((sql_type for sql_type, width in _BITS.items() if width >= min_bits), None)
    return f"U{name}" if unsigned and name is not None else name


def _decimal_type(types: Iterable[str]) -> str | None:
    sizes = [tuple(map(int, re.findall(r"\d+", sql_type))) for sql_type in types]
    scale, whole_digits = (
        max(scale_of_type for _, scale_of_type in sizes),
        max(digits - scale_of_type for digits, scale_of_type in sizes),
    )
    return f"DECIMAL({whole_digits + scale},{scale})" if whole_digits + scale <= 38 else None


def refuse_unequal(column: str, types: Mapping[str, str]) -> NoReturn:
    """Refuse unequal types of a column; `types` has each type with a file that declares it."""
    pairs = combinations(sorted(types.items()), 2)
    (first_type, first_file), (second_type, second_file) = next(
        pair for pair in pairs if common_type(name for name, _ in pair) is None
    )
    came = f"{first_type} in {first_file} and {second_type} in {second_file}"
    raise SourceError("source", f"have one type of column {column!r} in all files", came, _proposal(column, types))


def refuse_unlike_table(column: str, table_type: str, types: Mapping[str, str]) -> None:
    """Refuse a file that has a column of a table in a type whose values the table's need not equal.

    A whole number that does not fit the table's width is missing. A time of 96 bits, which says of no zone, is one of
    the table's moments. Of what is nested a filter asks only whether it is there.
    """
    if table_type.startswith(("INTEGER[", "MAP", "STRUCT")):
        return
    for sql_type, path in types.items():
        pair = {sql_type, table_type}
        if not (pair <= INTEGERS or pair <= _CLOCKS | _MOMENTS or common_type(pair) == table_type):
            came = f"{sql_type} in {path}"
            raise SourceError("source", f"be a table whose files have {column!r} as {table_type}", came, GENERAL)


def proposed_type(types: Collection[str]) -> str | None:
    """Return the type to declare of a column whose files declare these; None where only the owner can say it.

    The zone of clocks is left to the owner: guessing UTC would move rows to other days.
    """
    kinds = {base_type(sql_type) for sql_type in types}
    if kinds & _MOMENTS:
        return None
    if kinds & (TEXTS | {"BLOB"}) and not kinds & (FLOATS | {"DECIMAL"}):
        return "VARCHAR"
    if kinds <= {"DATE", *_CLOCKS}:
        return "TIMESTAMP"
    if decimals := sorted(sql_type for sql_type in types if base_type(sql_type) == "DECIMAL"):
        return decimals[-1]
    return "DOUBLE" if kinds <= FLOATS else "BIGINT"


def _proposal(column: str, types: Collection[str]) -> str:
    """Return the declaration to give, if each of the types can have values of it."""
    from dpselect.engines.sources.scans.declarations import DeclaredType
    from dpselect.engines.sources.scans.reading import read_value

    proposed = proposed_type(types)
    declared = DeclaredType(ZONED, zone="UTC") if proposed is None else DeclaredType(proposed)
    try:
        for sql_type in types:
            read_value("x", sql_type, declared, column)
    except SourceError:
        return "write these files again with one type of that column"
    if proposed is None:
        return (
            f'types={{"{column}": dps.TimeText(zone=...)}} says where the clocks stood that showed times without a zone'
        )
    reason = ": a missing value makes whole numbers doubles in some programs" if proposed == "BIGINT" else ""
    return f'types={{"{column}": "{proposed}"}} declares it{reason}'
