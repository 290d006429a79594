"""Values that go to Spark and come from it: small tables of public or released values, and results by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpselect.aggregates.user_sets import Int64
from dpselect.engines.sql.port import SqlType
from dpselect.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa


def table_of(columns: Mapping[str, Int64 | Sequence[str]]) -> pa.Table:
    """Columns of whole numbers and texts as Arrow."""
    import pyarrow as pa

    return pa.table(
        {
            name: pa.array(values, pa.int64() if isinstance(values, np.ndarray) else pa.string())
            for name, values in columns.items()
        }
    )


def items_of(values: Sequence[object], item_type: SqlType) -> pa.Table:
    """Public items, each once, as Arrow has them; what it has no type of ours for goes as text, which Spark casts."""
    import pyarrow as pa

    types = {"integer": pa.int64(), "boolean": pa.bool_(), "number": pa.float64()}
    arrow = pa.string() if item_type.counted.startswith("DECIMAL") else None
    try:
        counted = list(dict.fromkeys(_counted(value, item_type) for value in values))
        return pa.table({"i": pa.array(counted, arrow or types.get(item_type.kind, pa.string()))})
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    raise ParameterError("domain", f"hold values that are {item_type.name}, like the item column", "some that are not")


def _counted(value: object, item_type: SqlType) -> object:
    """A value in its one form."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if item_type.kind in ("date", "time", "timestamp") or item_type.counted.startswith("DECIMAL"):
        return str(value)
    return value


def arrays_of(table: pa.Table, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """A result by column, in arrays of our own: int64 for whole numbers, float64, objects for the rest."""
    return {name: _array(table.column(at)) for at, name in enumerate(names)}


def _array(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        column = column.cast(pa.int64())
    if pa.types.is_integer(column.type):
        return np.require(column.to_numpy(), np.int64, "W")
    if pa.types.is_floating(column.type):
        return np.require(column.to_numpy(), np.float64, "W")
    return np.asarray(column.to_numpy(), dtype=object)
