"""Distinct users per item, counted by polars: less than rows cost that are handed on to DuckDB to be counted there."""

from __future__ import annotations

import sys
from typing import Any

# Equal values of these types have one form only, the same in both engines. Others are DuckDB's to count.
_PLAIN = (
    "String", "Boolean", "Date", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64",
)  # fmt: skip


def counted(frame: Any, user: int, item: int, most: int | None = None) -> Any | None:
    """The items i of a frame and how many users n each has; None where a type says that DuckDB must count.

    Of `most` items those with the most users are enough, and all that have as many as the last of these.
    """
    polars = sys.modules["polars"]
    rows = frame.lazy().select(polars.nth(user).alias("u"), polars.nth(item).alias("i"))
    if not set(rows.collect_schema().dtypes()) <= {getattr(polars, name) for name in _PLAIN}:
        return None
    users = polars.col("u").n_unique().cast(polars.Int64).alias("n")
    counts = rows.drop_nulls().group_by("i").agg(users)
    n = polars.col("n")
    return counts if most is None else counts.filter(n >= n.top_k(most).min())
