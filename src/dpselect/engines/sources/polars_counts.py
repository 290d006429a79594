"""What polars counts of its own rows: half the work and half the memory of a stream into DuckDB, the same counts."""

from __future__ import annotations

import datetime
import sys
from typing import Any

from dpselect.engines.values import MAX_VALUE_BYTES

# Equal values of these types have one form only, the same in both engines. Others are DuckDB's to count.
_PLAIN = (
    "String", "Boolean", "Date", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64",
)  # fmt: skip


def count_users(frame: Any, user: int, item: int, max_items: int | None = None) -> Any | None:
    """Return the items i of a frame and how many users n each has; None where DuckDB must count: it counts the same.

    Of `max_items` items those with the most users are enough, and all that have as many as the last of these.
    """
    polars = sys.modules["polars"]
    rows = frame.lazy().select(polars.nth(user).alias("u"), polars.nth(item).alias("i"))
    types = rows.collect_schema()
    if not set(types.dtypes()) <= {getattr(polars, name) for name in _PLAIN}:
        return None
    for name, dtype in types.items():
        rows = _with_readable_values(rows, polars.col(name), dtype)
    users = polars.col("u").n_unique().cast(polars.Int64).alias("n")
    counts = rows.drop_nulls().group_by("i").agg(users)
    n = polars.col("n")
    try:
        return (counts if max_items is None else counts.filter(n >= n.top_k(max_items).min())).collect()
    except polars.exceptions.PolarsError:  # text that is none, for example, which DuckDB leaves out
        return None


def _with_readable_values(rows: Any, column: Any, dtype: Any) -> Any:
    """Return the rows without what is missing; invalid text, which polars takes from others, is an error."""
    polars = sys.modules["polars"]
    if dtype == polars.Date:
        return rows.filter(column.is_between(datetime.date.min, datetime.date.max))
    if dtype == polars.String:
        short = rows.filter(column.str.len_bytes() <= MAX_VALUE_BYTES)
        return short.with_columns(column.cast(polars.Binary).cast(polars.String))
    return rows
