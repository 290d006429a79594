"""The one type that columns of several files have together, by what their footers declare and never by their values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import NoReturn

from dpselect.engines.duckdb.types import FLOATS, INTEGERS, NOTHING, TEXTS, ZONED, kind
from dpselect.errors import SourceError

_CLOCKS = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
_MOMENTS = frozenset({ZONED, "TIMESTAMPTZ_NS"})
_BITS = {name: 8 << at for at, name in enumerate(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"))}


def common_type(types: Iterable[str]) -> str | None:
    """Return the type that holds every value of these types exactly; None where there is none.

    Harmless are widths of whole numbers, decimals whose digits before and after the point fit 38 together, units of
    moments, text in its encodings, and a column of nulls.
    """
    there = {_in_microseconds(one) for one in types if one != NOTHING}
    if not there:
        return NOTHING
    if len(there) == 1:
        return next(iter(there))
    if there <= INTEGERS:
        return _whole(there)
    return _decimal(there) if all(kind(one) == "DECIMAL" for one in there) else None


def _in_microseconds(sql_type: str) -> str:
    """The type of a column alone: its moments are in microseconds whether or not there are other files."""
    return "TIMESTAMP" if sql_type in _CLOCKS else ZONED if sql_type in _MOMENTS else sql_type


def _whole(types: Collection[str]) -> str | None:
    """The narrowest type of whole numbers; beside a signed one, an unsigned one needs the next width."""
    unsigned = all(one.startswith("U") for one in types)
    need = max(_BITS[one] if one in _BITS else _BITS[one[1:]] * (1 if unsigned else 2) for one in types)
    name = next((one for one, width in _BITS.items() if width >= need), None)
    return f"U{name}" if unsigned and name is not None else name


def _decimal(types: Iterable[str]) -> str | None:
    sizes = [tuple(map(int, re.findall(r"\d+", one))) for one in types]
    scale, whole = max(places for _, places in sizes), max(digits - places for digits, places in sizes)
    return f"DECIMAL({whole + scale},{scale})" if whole + scale <= 38 else None


def refuse_unequal(column: str, types: Mapping[str, str]) -> NoReturn:
    """Refuse unequal types of a column; `types` has each type with a file that declares it."""
    pairs = combinations(sorted(types.items()), 2)
    (one, where), (other, there) = next(pair for pair in pairs if common_type(name for name, _ in pair) is None)
    came = f"{one} in {where} and {other} in {there}"
    raise SourceError("source", f"have one type of column {column!r} in all files", came, _proposal(column, types))


def proposed_type(types: Collection[str]) -> str | None:
    """Return the type to declare of a column whose files declare these; None where only the owner can say it.

    The zone of clocks is left to the owner: guessing UTC would move rows to other days.
    """
    kinds = {kind(one) for one in types}
    if kinds & _MOMENTS:
        return None
    if kinds & (TEXTS | {"BLOB"}) and not kinds & (FLOATS | {"DECIMAL"}):
        return "VARCHAR"
    if kinds <= {"DATE", *_CLOCKS}:
        return "TIMESTAMP"
    if decimals := sorted(one for one in types if kind(one) == "DECIMAL"):
        return decimals[-1]
    return "DOUBLE" if kinds <= FLOATS else "BIGINT"


def _proposal(column: str, types: Collection[str]) -> str:
    """The declaration to give, if each of the types can have values of it."""
    from dpselect.engines.sources.scans.declarations import DeclaredType
    from dpselect.engines.sources.scans.reading import read_value

    proposed = proposed_type(types)
    declared = DeclaredType(ZONED, zone="UTC") if proposed is None else DeclaredType(proposed)
    try:
        for one in types:
            read_value("x", one, declared, column)
    except SourceError:
        return "write these files again with one type of that column"
    if proposed is None:
        return (
            f'types={{"{column}": dps.TimeText(zone=...)}} says where the clocks stood that showed times without a zone'
        )
    why = ": a missing value makes whole numbers doubles in some programs" if proposed == "BIGINT" else ""
    return f'types={{"{column}": "{proposed}"}} declares it{why}'
