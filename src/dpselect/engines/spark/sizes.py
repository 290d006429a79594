"""The number of bytes of a frame, and the number that an action may fetch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIXED_SIZE_TYPES = {"byte", "short", "integer", "long", "float", "double", "decimal", "boolean"}
FIXED_SIZE_TYPES |= {"date", "timestamp", "timestamp_ntz", "time"}
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = ("", "k", "m", "g", "t")


def expected_bytes(frame: DataFrame) -> int:
    """Return Spark's estimate from the sizes of files and tables, without reading a row; very large if it has none."""
    return int(str(cast("Any", frame)._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def compile_row_bytes(frame: DataFrame, rows: str) -> str:
    """Compile an upper bound of the bytes of the rows of a frame as columns: 16 for each value, and those of a text."""
    text_columns = [field.name for field in frame.schema.fields if field.dataType.typeName() not in FIXED_SIZE_TYPES]
    column_bytes = [str(16 * len(frame.columns)), *(f"octet_length(CAST({name} AS STRING))" for name in text_columns)]
    return f"SELECT sum({' + '.join(column_bytes)}) AS bytes FROM {rows} AS r"


def max_result_bytes(session: SparkSession) -> int:
    """Return the most bytes that an action may fetch: half of the session's limit, or an eighth of the heap."""
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
