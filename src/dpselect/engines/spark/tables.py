"""Data to and from Spark: a view of the requested columns, small tables, results by column, and how large they are.

A view has a name that nobody guesses, and the small tables hold public or released values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpselect._ground.parameters import suggest_column
from dpselect.engines.duckdb.elsewhere import misfit
from dpselect.engines.filters.column_names import refuse_case_twins
from dpselect.engines.spark import connect
from dpselect.engines.spark.dialect import spark_type
from dpselect.engines.spark.jobs import SparkWork, fresh_name
from dpselect.engines.sql.database import ReadRequest
from dpselect.engines.sql.port import Int64, SqlType, with_view_declarations
from dpselect.errors import SourceError

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def read_columns(work: SparkWork, frame: DataFrame, request: ReadRequest) -> dict[str, SqlType]:
    """Return the types of the requested columns; only the schema is read."""
    fields = work.guarded(lambda: list(frame.schema.fields))
    names = [field.name for field in fields]
    for parameter, column in request.named_columns:
        if column not in names:
            raise SourceError(parameter, "be a column of the source", repr(column), suggest_column(column, names))
        _refuse_ambiguous(parameter, column, names)
    counted_columns = [column for _, column in request.named_columns]
    filter_columns = [name for name in request.filter_columns(names) if name not in counted_columns]
    for name in filter_columns:
        _refuse_ambiguous("where", name, names)
    all_columns = list(dict.fromkeys([*counted_columns, *filter_columns]))
    refuse_case_twins(all_columns, request.named_columns, str.lower)
    return with_view_declarations({name: spark_type(fields[names.index(name)]) for name in all_columns})


def _refuse_ambiguous(parameter: str, column: str, names: list[str]) -> None:
    if names.count(column) > 1:
        raise SourceError(parameter, "be one column of the source", f"{column!r}, which is several")
    if "${" in column:  # Spark puts the value of a variable there, in any SQL
        raise SourceError(parameter, "be a name without ${", repr(column), "rename the column")


def create_column_view(work: SparkWork, frame: DataFrame, columns: Sequence[str]) -> str:
    """Create a view of these columns, found by their positions: Spark's comparison of names depends on the session."""

    def create() -> str:
        positions = [frame.columns.index(name) for name in columns]
        plain = frame.toDF(*(f"c{position}" for position in range(len(frame.columns))))
        name = fresh_name()
        selected = [plain[f"c{position}"].alias(column) for position, column in zip(positions, columns, strict=True)]
        create_view(plain.select(*selected), name)
        return name

    return work.guarded(create)


def make_plan_unique(frame: DataFrame, name: str) -> DataFrame:
    """Return the frame with a unique plan: Spark drops what it keeps of a plan with any view of an equal plan."""
    return frame.where(f"'{name}' = '{name}'")


def create_view(frame: DataFrame, name: str) -> DataFrame:
    """Create a view of a frame with a unique plan."""
    unique_frame = make_plan_unique(frame, name)
    unique_frame.createTempView(name)
    return unique_frame


def to_arrow(columns: Mapping[str, Int64 | Sequence[str]]) -> pa.Table:
    """Convert columns of integers and texts to Arrow."""
    import pyarrow as pa

    return pa.table(
        {
            name: pa.array(values, pa.int64() if isinstance(values, np.ndarray) else pa.string())
            for name, values in columns.items()
        }
    )


def tuples_to_arrow(values: Sequence[tuple[object, ...]], types: Sequence[SqlType]) -> pa.Table:
    """Convert public items to Arrow, k0, k1, ..., and their indices; values of types that Arrow lacks become text."""
    import pyarrow as pa

    arrow = {"integer": pa.int64(), "boolean": pa.bool_(), "number": pa.float64()}
    try:
        return pa.table(
            {
                f"k{index}": pa.array(
                    [_to_one_form(value[index], sql_type) for value in values],
                    pa.string()
                    if sql_type.canonical_type.startswith("DECIMAL")
                    else arrow.get(sql_type.kind, pa.string()),
                )
                for index, sql_type in enumerate(types)
            }
            | {"place": pa.array(range(len(values)), pa.int64())}
        )
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    raise misfit(types)


def _to_one_form(value: object, item_type: SqlType) -> object:
    """Return a value in its one form."""
    if isinstance(value, bytes):
        return value.hex().upper()
    if item_type.kind in ("date", "time", "timestamp") or item_type.canonical_type.startswith("DECIMAL"):
        return str(value)
    return value


def to_arrays(table: pa.Table, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Convert a result to arrays of our own by column: int64 for integers, float64, objects for the rest."""
    return {name: _to_array(table.column(index)) for index, name in enumerate(names)}


def _to_array(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    import pyarrow as pa

    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        column = column.cast(pa.int64())
    if pa.types.is_integer(column.type):
        return np.require(column.to_numpy(), np.int64, "W")
    if pa.types.is_floating(column.type):
        return np.require(column.to_numpy(), np.float64, "W")
    return np.asarray(column.to_numpy(), dtype=object)


FIXED_SIZE_TYPES = {"byte", "short", "integer", "long", "float", "double", "decimal", "boolean"}
FIXED_SIZE_TYPES |= {"date", "timestamp", "timestamp_ntz", "time"}
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = ("", "k", "m", "g", "t")


def expected_bytes(frame: DataFrame) -> int:
    """Return Spark's estimate from the sizes of files and tables, without reading a row; very large if it has none."""
    if not hasattr(frame, "_jdf"):
        return connect.expected_bytes(frame)
    return int(str(cast("Any", frame)._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def compile_row_bytes(frame: DataFrame, rows: str) -> str:
    """Compile an upper bound of the bytes of the rows of a frame as columns: 16 for each value, and those of a text."""
    text_columns = [field.name for field in frame.schema.fields if field.dataType.typeName() not in FIXED_SIZE_TYPES]
    column_bytes = [str(16 * len(frame.columns)), *(f"octet_length(CAST({name} AS STRING))" for name in text_columns)]
    return f"SELECT sum({' + '.join(column_bytes)}) AS bytes FROM {rows} AS r"


def max_result_bytes(session: SparkSession) -> int:
    """Return the most bytes that an action may fetch: half of the session's limit, or an eighth of the heap."""
    if not hasattr(session, "_jsparkSession"):
        settings = (("spark.driver.maxResultSize", 2), ("spark.driver.memory", 8))
        return min(_parse_size(session.conf.get(name, "1g") or "") // part for name, part in settings)
    context = session.sparkContext
    heap = int(cast("Any", context)._jvm.java.lang.Runtime.getRuntime().maxMemory())
    # The session's own value of a context's setting may have been set after the context began.
    max_result = _parse_size(context.getConf().get("spark.driver.maxResultSize", "1g") or "")
    return min(max_result // 2, heap // 8)


def _parse_size(text: str) -> int:
    """Parse a size in Spark's notation; 0, which means no limit there, as a huge number, and invalid text as 0."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return 0
    return (int(match[1]) << 10 * _UNITS.index(match[2].lower())) or 1 << 62
