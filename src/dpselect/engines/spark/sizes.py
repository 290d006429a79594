"""How much a frame has, and how much an action may bring here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SIZE = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = ("", "k", "m", "g", "t")


def expected_bytes(frame: DataFrame) -> int:
    """What Spark expects by the sizes of files and tables, without a look at any row; very much where it cannot."""
    return int(str(cast("Any", frame)._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))


def bytes_of(rows: str) -> str:
    """About how much room the columns u and i of a view take: a number 8 bytes, a text its own and a few more."""
    texts = " + ".join(f"octet_length(CAST({column} AS STRING))" for column in ("u", "i"))
    return f"SELECT sum({texts} + 16) AS bytes FROM {rows} AS r"


def most_bytes(session: SparkSession) -> int:
    """Half of what the session lets one action bring, so that no row can make it fail; 0 where that is not clear."""
    said = _SIZE.fullmatch(str(session.conf.get("spark.driver.maxResultSize", "1g")).strip())
    if said is None:
        return 0
    size = int(said[1]) << 10 * _UNITS.index(said[2].lower())
    return size // 2 if size else 1 << 62  # 0 is no bound
