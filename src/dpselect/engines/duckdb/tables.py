"""Tables to files: many rows of an example, and the few rows of a result, both as Parquet."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.columns import has_one_type
from dpselect._ground.temporary import Folder
from dpselect.engines.duckdb.library import duckdb
from dpselect.engines.duckdb.workspace import literal, quoted
from dpselect.engines.memory import check_address_space
from dpselect.errors import OutputError

if TYPE_CHECKING:
    import numpy.typing as npt

Codes: TypeAlias = "tuple[npt.NDArray[np.integer[Any]], Sequence[str]]"
"""Many texts, few of them distinct: for each row the index of its text in the list."""


def write_parquet(columns: Mapping[str, npt.NDArray[Any] | Codes], path: str | os.PathLike[str]) -> None:
    """Write arrays of equal length as the columns of a Parquet file."""
    arrays = {f"c{index}": _to_array(values) for index, values in enumerate(columns.values())}
    selected = ", ".join(f"c{index} AS {quoted(name)}" for index, name in enumerate(columns))
    check_address_space()
    with duckdb.connect() as connection:
        connection.execute("SET pandas_analyze_sample = 0").fetchall()
        connection.register("arrays", arrays)
        _copy_to_file(connection, f"SELECT {selected} FROM arrays", [], path)
        connection.unregister("arrays")


def _to_array(values: npt.NDArray[Any] | Codes) -> npt.NDArray[Any]:
    if not isinstance(values, tuple):
        from dpselect.engines.sources.columns import scannable_array

        return scannable_array(values)
    codes, names = values
    # One Python text per name, not one per row.
    return np.array(list(names), dtype=object)[codes]


def parquet_bytes(columns: Mapping[str, Sequence[object]]) -> bytes:
    """Return short lists as a Parquet file."""
    with Folder() as folder:
        path = Path(folder.path, "release.parquet")
        write_table(columns, path)
        return path.read_bytes()


def write_table(columns: Mapping[str, Sequence[object]], path: str | os.PathLike[str]) -> None:
    """Write short lists as the columns of a Parquet file; values of several types in one list become text."""
    lists = [_with_one_type(values) for values in columns.values()]
    selected = ", ".join(
        f"unnest(?{_cast_suffix(lists[index])}) AS {quoted(name)}" for index, name in enumerate(columns)
    )
    check_address_space()
    with duckdb.connect() as connection:
        _copy_to_file(connection, f"SELECT {selected}", lists, path)


def _with_one_type(values: Sequence[object]) -> list[object]:
    """Return the values if one type holds each exactly, integers with floats as floats; else their texts."""
    if has_one_type(values):
        return list(values)
    if {type(value) for value in values} <= {int, float, type(None)} and all(map(_is_double, values)):
        return [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
    return [None if value is None else str(value) for value in values]


def _is_double(value: Any) -> bool:
    """Return whether a value is a double or None. Python compares integers with floats exactly."""
    return value is None or isinstance(value, float) or (abs(value) < 2**1023 and value == float(value))


def _cast_suffix(values: Sequence[object]) -> str:
    """Return the cast of a list: one of only None is text; integers are 64-bit, as every reader expects."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return "::VARCHAR[]"
    return "::BIGINT[]" if kinds == {int} else ""


def _copy_to_file(
    connection: duckdb.DuckDBPyConnection, select: str, values: Sequence[object], path: str | os.PathLike[str]
) -> None:
    target = literal(os.fsdecode(path))
    try:
        connection.execute(f"COPY ({select}) TO {target} (FORMAT parquet)", list(values)).fetchall()
        was_written = True
    except (duckdb.Error, OSError):
        was_written = False
    if not was_written:
        raise OutputError(f"{os.fsdecode(path)} cannot be written", "check that its folder exists and has room")
