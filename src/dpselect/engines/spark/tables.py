"""What goes to Spark and comes from it: a view of the columns that are meant, small tables, results by column.

A view has a name that nobody guesses, and the small tables hold public or released values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpselect._ground.parameters import suggest_column
from dpselect.engines.filters.column_names import refuse_case_twins
from dpselect.engines.spark.dialect import spark_type
from dpselect.engines.spark.jobs import SparkWork, fresh_name
from dpselect.engines.sql.database import Asked
from dpselect.engines.sql.port import Int64, SqlType, of_tables
from dpselect.errors import ParameterError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


def columns_of(work: SparkWork, frame: DataFrame, asked: Asked) -> dict[str, SqlType]:
    """The types of the columns that are asked for; the schema alone is looked at."""
    fields = work.guarded(lambda: list(frame.schema.fields))
    names = [field.name for field in fields]
    for parameter, column in asked.named:
        if column not in names:
            raise SourceError(parameter, "be a column of the source", repr(column), suggest_column(column, names))
        _refuse_double(parameter, column, names)
    ours = [column for _, column in asked.named]
    others = [name for name in asked.filtered(names) if name not in ours]
    for name in others:
        _refuse_double("where", name, names)
    every = list(dict.fromkeys([*ours, *others]))
    refuse_case_twins(every, asked.named, str.lower)
    return of_tables({name: spark_type(fields[names.index(name)]) for name in every})


def _refuse_double(parameter: str, column: str, names: list[str]) -> None:
    if names.count(column) > 1:
        raise SourceError(parameter, "be one column of the source", f"{column!r}, which is several")
    if "${" in column:  # Spark puts the value of a variable there, in any SQL
        raise SourceError(parameter, "be a name without ${", repr(column), "rename the column")


def view_of(work: SparkWork, frame: DataFrame, columns: Sequence[str]) -> str:
    """A view of these columns, found by their places: how Spark compares names is up to the session."""
    from pyspark.sql.functions import col

    def make() -> str:
        places = [frame.columns.index(name) for name in columns]
        plain = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
        name = fresh_name()
        chosen = [col(f"c{place}").alias(column) for place, column in zip(places, columns, strict=True)]
        view(plain.select(*chosen), name)
        return name

    return work.guarded(make)


def apart(frame: DataFrame, name: str) -> DataFrame:
    """A frame unlike any other: Spark forgets what it keeps of a plan with any view of an equal one."""
    from pyspark.sql.functions import lit

    return frame.where(lit(name) == lit(name))


def view(frame: DataFrame, name: str) -> DataFrame:
    """Such a frame as a view."""
    found = apart(frame, name)
    found.createTempView(name)
    return found


def table_of(columns: Mapping[str, Int64 | Sequence[str]]) -> pa.Table:
    """Columns of whole numbers and texts as Arrow."""
    import pyarrow as pa

    return pa.table(
        {
            name: pa.array(values, pa.int64() if isinstance(values, np.ndarray) else pa.string())
            for name, values in columns.items()
        }
    )


def tuples_of(values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> pa.Table:
    """Public items as Arrow has them, k0, k1, ..., and their places; what it has no type of ours for goes as text."""
    import pyarrow as pa

    arrow = {"integer": pa.int64(), "boolean": pa.bool_(), "number": pa.float64()}
    try:
        return pa.table(
            {
                f"k{at}": pa.array(
                    [_counted(value[at], one) for value in values],
                    pa.string() if one.counted.startswith("DECIMAL") else arrow.get(one.kind, pa.string()),
                )
                for at, one in enumerate(types)
            }
            | {"place": pa.array(range(len(values)), pa.int64())}
        )
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    must = f"hold values that are {', '.join(one.name for one in types)}, like the item column{'s' * (len(types) > 1)}"
    raise ParameterError("domain", must, "some that are not")


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
