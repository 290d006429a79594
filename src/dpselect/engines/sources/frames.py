"""Frames: pandas, polars, PyArrow, what narwhals reads, streams of Arrow data, and dicts of columns, narrowed to some.

A frame is handed on as something that DuckDB scans where it lies, with columns c0, c1, ... What a value is read as
depends on that value and on the declared type of its column, never on other rows.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

from dpselect.engines.sources.array_columns import Narrowed, column_of, narrowed
from dpselect.engines.sources.arrow_columns import readable
from dpselect.engines.sources.narwhals_frames import understood
from dpselect.engines.sources.pandas_frames import Pandas
from dpselect.engines.sources.polars_frames import Polars
from dpselect.engines.sources.text_lines import unique
from dpselect.errors import DataError, SourceError

_ANEW = "every question reads the rows anew"


class Frame(Protocol):
    """Rows in this process with named columns."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, told apart without letter case."""
        ...

    def narrow(self, places: Sequence[int], *, empty: bool) -> Narrowed:
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
    found = understood(source)
    return Stream.of(source) if found is None and hasattr(type(source), "__arrow_c_stream__") else found


@dataclass(frozen=True, repr=False)
class Arrow:
    """A PyArrow Table or RecordBatch."""

    table: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(self.table.schema.names))

    def narrow(self, places: Sequence[int], *, empty: bool) -> Narrowed:
        """Some of the columns, as DuckDB scans them."""
        return Narrowed(Arrow(self.table.slice(0, 0) if empty else self.table).narrowed(places))

    def narrowed(self, places: Sequence[int]) -> Any:
        """These columns of all rows, as a Table."""
        columns = {f"c{place}": readable(self.table.column(at), self.names[at]) for place, at in enumerate(places)}
        return sys.modules["pyarrow"].table(columns)


@dataclass(frozen=True, repr=False)
class Stream:
    """An object with `__arrow_c_stream__`, read through PyArrow. Its schema stands before the rows."""

    source: Any

    @classmethod
    def of(cls, source: Any) -> Stream:
        """The frame of an object that can be read more than once."""
        if hasattr(source, "read_all") or hasattr(source, "__next__"):  # a reader, as PyArrow and others have it
            hint = f"{_ANEW}; give reader.read_all()"
            raise SourceError("source", "give its rows more than once", f"a {type(source).__name__}", hint)
        with contextlib.suppress(ImportError):
            import pyarrow  # noqa: F401
        if "pyarrow" not in sys.modules:
            came = f"a {type(source).__name__}, which streams Arrow data"
            raise SourceError("source", "be a frame that is read without PyArrow", came, "pip install pyarrow")
        return cls(source)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(self._reader().schema.names))

    def narrow(self, places: Sequence[int], *, empty: bool) -> Narrowed:
        """Some of the columns, as DuckDB scans them; batch after batch, as they come."""
        arrow, reader = sys.modules["pyarrow"], self._reader()
        nothing = Arrow(reader.schema.empty_table()).narrowed(places)
        if empty:
            return Narrowed(nothing)
        batches = (batch for rows in reader for batch in Arrow(rows).narrowed(places).to_batches())
        return Narrowed(arrow.RecordBatchReader.from_batches(nothing.schema, batches))

    def _reader(self) -> Any:
        """A new stream of all rows, of which none is read yet."""
        with contextlib.suppress(Exception):  # whatever it is: its text may quote rows
            return sys.modules["pyarrow"].RecordBatchReader.from_stream(self.source)
        raise DataError("the source gives no stream of Arrow tables", f"{_ANEW}, so it must give them more than once")


@dataclass(frozen=True, repr=False)
class Arrays:
    """A dict of columns: NumPy arrays, whose dtype is their type, or lists, whose values are read one by one."""

    columns: Mapping[object, object]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(str(name) for name in self.columns))

    def narrow(self, places: Sequence[int], *, empty: bool) -> Narrowed:
        """Some of the columns, as DuckDB scans them."""
        values = list(self.columns.values())
        columns = [column_of(values[at], empty=empty) for at in places]
        if len({len(column.values) for column in columns}) > 1 or len({_size(values[at]) for at in places}) > 1:
            raise DataError("the columns of a dict must have the same length")
        return narrowed(columns)


def _size(values: object) -> int:
    return len(values) if isinstance(values, Sized) else -1


_KINDS: tuple[tuple[str, tuple[str, ...], Callable[[Any], Frame]], ...] = (
    ("pandas", ("DataFrame",), Pandas),
    ("polars", ("DataFrame", "LazyFrame"), Polars),
    ("pyarrow", ("Table", "RecordBatch"), Arrow),
)
