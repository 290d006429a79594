"""How much a frame has, and how much an action may bring here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SHORT = {"byte", "short", "integer", "long", "float", "double", "decimal", "boolean"}
SHORT |= {"date", "timestamp", "timestamp_ntz", "time"}
_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = ("", "k", "m", "g", "t")


def expected_bytes(frame: DataFrame) -> int:
    """What Spark expects by the sizes of files and tables, without a look at any row; very much where it cannot."""
    return int(str(cast("Any", frame)._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def bytes_of(frame: DataFrame, rows: str) -> str:
    """How much room the rows of a frame of this name take as columns, at most: a value 16 bytes, a text its own too."""
    long = [field.name for field in frame.schema.fields if field.dataType.typeName() not in SHORT]
    added = [str(16 * len(frame.columns)), *(f"octet_length(CAST({name} AS STRING))" for name in long)]
    return f"SELECT sum({' + '.join(added)}) AS bytes FROM {rows} AS r"


def most_bytes(session: SparkSession) -> int:
    """How much an action may bring with room to spare: half of what may come, and an eighth of the driver's heap."""
    context = session.sparkContext
    heap = int(cast("Any", context)._jvm.java.lang.Runtime.getRuntime().maxMemory())
    # What the session itself says of a context's setting may have been said after the context began.
    may_come = _bytes(context.getConf().get("spark.driver.maxResultSize", "1g") or "")
    return min(may_come // 2, heap // 8)


def _bytes(written: str) -> int:
    """A size as Spark writes it; 0, which is no bound there, as more than anybody has, and 0 where it is not clear."""
    said = _SIZE.fullmatch(written.strip())
    if said is None:
        return 0
    return (int(said[1]) << 10 * _UNITS.index(said[2].lower())) or 1 << 62
