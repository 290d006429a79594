"""polars: an eager or lazy frame, and what of it polars counts by itself."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpselect.engines.sources.array_columns import HINT, Narrowed
from dpselect.engines.sources.text_lines import unique
from dpselect.errors import DataError

_READ = frozenset(
    {
        "Binary", "Boolean", "Categorical", "Date", "Datetime", "Decimal", "Enum", "Float16", "Float32", "Float64",
        "Int8", "Int16", "Int32", "Int64", "Null", "String", "Time", "UInt8", "UInt16", "UInt32", "UInt64",
    }
)  # fmt: skip
_YEARS = -62_135_596_800_000, 253_402_300_799_999  # milliseconds from 1970: the first and the last of years 1 to 9999


@dataclass(frozen=True, repr=False)
class Polars:
    """A polars DataFrame or LazyFrame. A lazy one is collected for each question, these columns only."""

    frame: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(self.frame.collect_schema().names()))

    def narrow(self, places: Sequence[int], *, empty: bool) -> Narrowed:
        """Some of the columns, as DuckDB scans them."""
        types = self.frame.collect_schema().dtypes()
        columns = [_column(at, types[at], self.names[at]).alias(f"c{place}") for place, at in enumerate(places)]
        rows = self.frame.lazy().select(columns)
        # A stream of Arrow data needs no PyArrow, which DuckDB would use to read a polars frame.
        return Narrowed((rows.clear() if empty else rows).collect().__arrow_c_stream__())

    def counts(self, user: int, item: int, most: int | None) -> object | None:
        """The items i and how many users n each has, as DuckDB scans them; None where DuckDB must count."""
        found = counted(self.frame, user, item, most)
        return None if found is None else found.__arrow_c_stream__()


def _column(at: int, sort: Any, name: str) -> Any:
    polars = sys.modules["polars"]
    column = polars.nth(at)
    if str(sort.base_type()) not in _READ:
        raise DataError(f"column {name!r} is of type {sort.base_type()}, which cannot be read", HINT)
    if str(sort) == "Float16":  # by its name: earlier versions of polars do not have it
        return column.cast(polars.Float32)
    if sort.base_type() == polars.Datetime and sort.time_unit == "ms" and sort.time_zone is not None:
        # DuckDB would turn milliseconds of a zone into microseconds, and fail where they do not fit.
        return polars.when(column.to_physical().is_between(*_YEARS)).then(column)
    return column


# Equal values of these types have one form only, the same in both engines. Others are DuckDB's to count.
_PLAIN = (
    "String", "Boolean", "Date", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64",
)  # fmt: skip


def counted(frame: Any, user: int, item: int, most: int | None = None) -> Any | None:
    """The items i of a frame and how many users n each has; None where DuckDB must count: it counts the same.

    Of `most` items those with the most users are enough, and all that have as many as the last of these.
    """
    polars = sys.modules["polars"]
    rows = frame.lazy().select(polars.nth(user).alias("u"), polars.nth(item).alias("i"))
    types = rows.collect_schema()
    if not set(types.dtypes()) <= {getattr(polars, name) for name in _PLAIN}:
        return None
    for name, sort in types.items():
        rows = _sound(rows, polars.col(name), sort)
    users = polars.col("u").n_unique().cast(polars.Int64).alias("n")
    counts = rows.drop_nulls().group_by("i").agg(users)
    n = polars.col("n")
    try:
        return (counts if most is None else counts.filter(n >= n.top_k(most).min())).collect()
    except polars.exceptions.PolarsError:  # text that is none, for example, which DuckDB leaves out
        return None


def _sound(rows: Any, column: Any, sort: Any) -> Any:
    """The rows without dates that Python does not have; invalid text, which polars takes from others, is an error."""
    polars = sys.modules["polars"]
    if sort == polars.Date:
        return rows.filter(column.is_between(datetime.date.min, datetime.date.max))
    return rows.with_columns(column.cast(polars.Binary).cast(polars.String)) if sort == polars.String else rows
