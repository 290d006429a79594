"""Frames: pandas, polars (eager and lazy), PyArrow, what narwhals reads, and dicts of arrays, narrowed to some columns.

A frame is handed on as something that DuckDB scans where it lies, with columns c0, c1, ... An object column
(pandas, NumPy) is read as text, whatever it holds: its type could only be guessed from the rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dpselect.engines import polars_counts
from dpselect.engines.narwhals_frames import understood
from dpselect.engines.text_files import unique
from dpselect.errors import DataError


class Frame(Protocol):
    """Rows in this process with named columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, told apart without letter case."""
        ...

    def narrow(self, places: Sequence[int], *, empty: bool) -> object:
        """These columns as c0, c1, ... in a form that DuckDB scans; no rows if `empty`."""
        ...


def frame_of(source: object) -> Frame | None:
    """The frame that a caller gave, known by its class without importing any package; None for what is none."""
    if isinstance(source, Mapping):
        return Arrays(source)
    for package, classes, frame in _KINDS:
        module = sys.modules.get(package)
        if module is not None and isinstance(source, tuple(getattr(module, name) for name in classes)):
            return frame(source)
    return understood(source)


@dataclass(frozen=True, repr=False)
class Pandas:
    """A pandas DataFrame; the index is not a column."""

    frame: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(str(column) for column in self.frame.columns))

    def narrow(self, places: Sequence[int], *, empty: bool) -> object:
        """Some of the columns, as DuckDB scans them."""
        narrowed = self.frame.iloc[: 0 if empty else None, list(places)]
        return narrowed.set_axis([f"c{place}" for place in range(len(places))], axis="columns")


@dataclass(frozen=True, repr=False)
class Polars:
    """A polars DataFrame or LazyFrame. A lazy one is collected for each question, these columns only."""

    frame: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(self.frame.collect_schema().names()))

    def narrow(self, places: Sequence[int], *, empty: bool) -> object:
        """Some of the columns, as DuckDB scans them."""
        polars = sys.modules["polars"]
        narrowed = self.frame.lazy().select(polars.nth(at).alias(f"c{place}") for place, at in enumerate(places))
        if polars.Object in narrowed.collect_schema().dtypes():
            raise DataError("a column of Python objects cannot be counted", "cast it to text")
        # A stream of Arrow data needs no PyArrow, which DuckDB would use to read a polars frame.
        return (narrowed.clear() if empty else narrowed).collect().__arrow_c_stream__()

    def counts(self, user: int, item: int, most: int | None) -> object | None:
        """The items i and how many users n each has, as DuckDB scans them; None where DuckDB must count."""
        found = polars_counts.counted(self.frame, user, item, most)
        return None if found is None else found.collect().__arrow_c_stream__()


@dataclass(frozen=True, repr=False)
class Arrow:
    """A PyArrow Table."""

    table: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(self.table.column_names))

    def narrow(self, places: Sequence[int], *, empty: bool) -> object:
        """Some of the columns, as DuckDB scans them."""
        narrowed = self.table.select(list(places)).rename_columns([f"c{place}" for place in range(len(places))])
        return narrowed.slice(0, 0) if empty else narrowed


@dataclass(frozen=True, repr=False)
class Arrays:
    """A dict of columns: NumPy arrays, or lists, which become arrays as NumPy makes them."""

    columns: Mapping[object, object]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(str(name) for name in self.columns))

    def narrow(self, places: Sequence[int], *, empty: bool) -> object:
        """Some of the columns, as DuckDB scans them."""
        values = list(self.columns.values())
        arrays = [array_of(values[at]) for at in places]
        if len({len(array) for array in arrays}) > 1:
            raise DataError("the columns of a dict must have the same length")
        return {f"c{place}": array[:0] if empty else array for place, array in enumerate(arrays)}


def array_of(values: object) -> npt.NDArray[Any]:
    """A one-dimensional array of a type that DuckDB scans: numbers, booleans, moments, or objects read as text."""
    array = values if isinstance(values, np.ndarray) else _listed(values)
    if array.ndim != 1:
        raise DataError("a column must be an array of one dimension")
    kind = array.dtype.kind
    if kind in "biuO" or array.dtype in (np.float32, np.float64):
        return array
    if kind == "f":
        return array.astype(np.float64)
    if kind == "M":
        return array if np.datetime_data(array.dtype)[0] in ("s", "ms", "us", "ns") else array.astype("datetime64[us]")
    # Arrays of fixed-width text: DuckDB would sort all of it first to make an ENUM, seven times the work.
    return array.astype(object)


def _listed(values: object) -> npt.NDArray[Any]:
    items = list(values) if isinstance(values, (list, tuple)) else values
    array = np.asarray(items)
    if (array.dtype.kind in "biufM" and array.size) or not isinstance(items, list):
        return array
    objects = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        objects[place] = item
    return objects


_KINDS: tuple[tuple[str, tuple[str, ...], Callable[[Any], Frame]], ...] = (
    ("pandas", ("DataFrame",), Pandas),
    ("polars", ("DataFrame", "LazyFrame"), Polars),
    ("pyarrow", ("Table", "RecordBatch"), Arrow),
)
