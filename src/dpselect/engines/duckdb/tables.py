"""Tables to files: many rows of an example, and the few rows of a result, both as Parquet."""

from __future__ import annotations

import datetime
import decimal
import os
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from dpselect.engines.duckdb.workspace import literal, quoted
from dpselect.engines.memory import check_address_space
from dpselect.engines.sources.array_columns import array_of
from dpselect.errors import OutputError

Codes = tuple[npt.NDArray[np.integer[Any]], Sequence[str]]
"""Many texts of which few differ: for each row the position of its text in the list."""

_TYPED = (bool, int, float, str, bytes, decimal.Decimal, datetime.datetime, datetime.date, datetime.time)


def write_parquet(columns: Mapping[str, npt.NDArray[Any] | Codes], path: str | os.PathLike[str]) -> None:
    """Write arrays of equal length as the columns of a Parquet file."""
    arrays = {f"c{place}": _array(values) for place, values in enumerate(columns.values())}
    named = ", ".join(f"c{place} AS {quoted(name)}" for place, name in enumerate(columns))
    check_address_space()
    with duckdb.connect() as connection:
        connection.execute("SET pandas_analyze_sample = 0").fetchall()
        connection.register("arrays", arrays)
        _copy(connection, f"SELECT {named} FROM arrays", [], path)
        connection.unregister("arrays")


def _array(values: npt.NDArray[Any] | Codes) -> npt.NDArray[Any]:
    if not isinstance(values, tuple):
        return array_of(values)
    codes, names = values
    # One Python text per name, not one per row.
    return np.array(list(names), dtype=object)[codes]


def write_table(columns: Mapping[str, Sequence[object]], path: str | os.PathLike[str]) -> None:
    """Write short lists as the columns of a Parquet file; values of several types in one list become text."""
    lists = [_one_type(values) for values in columns.values()]
    named = ", ".join(f"unnest(?{_cast(lists[at])}) AS {quoted(name)}" for at, name in enumerate(columns))
    check_address_space()
    with duckdb.connect() as connection:
        _copy(connection, f"SELECT {named}", lists, path)


def _one_type(values: Sequence[object]) -> list[object]:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or (len(kinds) == 1 and kinds <= set(_TYPED)):
        return list(values)
    return [None if value is None else str(value) for value in values]


def _cast(values: Sequence[object]) -> str:
    """A list of nothing but None is text; whole numbers are 64-bit, as every reader expects."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return "::VARCHAR[]"
    small = kinds == {int} and all(isinstance(v, int) and -(2**63) <= v < 2**63 for v in values if v is not None)
    return "::BIGINT[]" if small else ""


def _copy(
    connection: duckdb.DuckDBPyConnection, select: str, values: Sequence[object], path: str | os.PathLike[str]
) -> None:
    target = literal(os.fsdecode(path))
    try:
        connection.execute(f"COPY ({select}) TO {target} (FORMAT parquet)", list(values)).fetchall()
        written = True
    except (duckdb.Error, OSError):
        written = False
    if not written:
        raise OutputError(f"{os.fsdecode(path)} cannot be written", "check that its folder exists and has room")
