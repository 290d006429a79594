"""Frames: rows in this process, of whatever library, as a stream of Arrow batches with columns c0, c1, ...

What a value is read as depends on that value and on the declared type of its column, never on other rows. A column that
declares no type is read value by value (`objects.py`).
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpselect.engines.sources.array_columns import Narrowed, array_of, of_dict
from dpselect.engines.sources.arrow_columns import declared_type, readable
from dpselect.engines.sources.objects import texts, written
from dpselect.engines.sources.polars_counts import counted
from dpselect.engines.sources.refused_types import GENERAL, cast_hint, refused_type
from dpselect.engines.sources.text_lines import unique
from dpselect.errors import DataError, SourceError

_ANEW = "every question reads the rows again"
_NONE = "the source has no stream of Arrow tables", f"{_ANEW}, so it must give them more than once"
_NOT_ARROW = "a column of this frame is of a type that cannot be read", GENERAL
_NOT_IN_ARROW = frozenset({"Int128", "UInt128"})
"""Types of polars that Arrow does not have."""
_PIECE = 1 << 18
"""The most rows of a batch, which is what one thread of DuckDB reads at once."""
_OTHERS = frozenset({"cudf", "dask", "modin", "sqlframe"})
"""Packages that narwhals reads."""
# Their columns are those of pandas. PyArrow would guess the type of an object column from its rows.
_OF_PANDAS = frozenset({"DASK", "MODIN", "PANDAS"})
_MASKED = frozenset(
    {"boolean", "Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))}
)
Batch = Sequence[Any]
"""For each column an Arrow array, plain or chunked."""


@dataclass(frozen=True, repr=False)
class Frame:
    """Rows in this process with named columns."""

    names: tuple[str, ...]
    """The columns, told apart without letter case."""
    narrow: Callable[[Sequence[int], bool], Narrowed]
    """From places of columns to these as c0, c1, ... for one query of DuckDB; no rows if the second is true."""
    counts: Callable[[int, int, int | None], Any] = lambda _user, _item, _most: None
    """The items i and how many users n each has, from places of columns; None where DuckDB must count."""


def frame_of(source: Any) -> Frame | None:
    """The frame that a caller gave, known by its class without importing any package; None for what is none."""
    if isinstance(source, Mapping):
        names = _names(source)
        return Frame(names, lambda places, empty: of_dict(_some(source, names, places), empty=empty))
    for package, classes, made in _KINDS:
        module = sys.modules.get(package)
        if module is not None and isinstance(source, tuple(getattr(module, name) for name in classes)):
            return made(source)
    found = _understood(source)
    return _stream(source) if found is None and hasattr(type(source), "__arrow_c_stream__") else found


def _some(columns: Mapping[object, object], names: Sequence[str], places: Sequence[int]) -> dict[str, object]:
    values = list(columns.values())
    return {names[at]: values[at] for at in places}


def _names(columns: Iterable[object]) -> tuple[str, ...]:
    return tuple(unique(map(str, columns)))


def _arrow(source: object) -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module("pyarrow")
    must = "be a file or a dict of arrays where PyArrow is not installed"
    raise SourceError("source", must, f"a {type(source).__name__}", "pip install pyarrow")


def stream_of(
    names: Sequence[str],
    types: Sequence[Any],
    batches: Iterable[Batch],
    loose: Sequence[bool] = (),
    *,
    empty: bool,
    library: str = "",
) -> Narrowed:
    """Batches of columns of these names and types, each in a type that DuckDB reads; `library` is the caller's."""
    arrow = sys.modules["pyarrow"]
    read = [readable(arrow.nulls(0, one), name, library).type for one, name in zip(types, names, strict=True)]
    schema = arrow.schema([(f"c{place}", one) for place, one in enumerate(read)])
    rows = (
        arrow.RecordBatch.from_arrays(list(map(readable, batch.columns, names)), schema=schema)
        for columns in (() if empty else batches)
        for batch in arrow.table(columns, names).to_batches(_PIECE)
    )
    unknown = frozenset(f"c{place}" for place, none in enumerate(loose) if none)
    return Narrowed(arrow.RecordBatchReader.from_batches(schema, rows), unknown)


# ---- streams of Arrow data


def _stream(source: Any) -> Frame:
    """Whatever has `__arrow_c_stream__` and can be read more than once, as tables of PyArrow can."""
    if hasattr(source, "read_all") or hasattr(source, "__next__"):  # a reader, as PyArrow and others have it
        hint = f"{_ANEW}; give reader.read_all()"
        raise SourceError("source", "give its rows more than once", f"a {type(source).__name__}", hint)
    names = _names(_reader(source).schema.names)

    def narrow(places: Sequence[int], empty: bool) -> Narrowed:
        reader = _reader(source)
        batches = ([batch.column(at) for at in places] for batch in reader)
        types = [declared_type(reader.schema.field(at), names[at], "pyarrow") for at in places]
        return stream_of([names[at] for at in places], types, batches, empty=empty, library="pyarrow")

    return Frame(names, narrow)


def _reader(source: Any, said: tuple[str, str] = _NONE) -> Any:
    """A new stream of all rows, of which none is read yet."""
    arrow = _arrow(source)
    with contextlib.suppress(Exception):  # whatever it is: its text may quote rows
        return arrow.RecordBatchReader.from_stream(source)
    raise DataError(*said)


# ---- polars


def _polars(frame: Any) -> Frame:
    """A polars DataFrame or LazyFrame. A lazy one is collected for each question, these columns only."""
    names = _names(frame.collect_schema().names())

    def narrow(places: Sequence[int], empty: bool) -> Narrowed:
        polars, dtypes = sys.modules["polars"], frame.collect_schema().dtypes()
        loose = [dtypes[at] == polars.Object for at in places]
        rows = frame.lazy().select(polars.nth(at).alias(f"c{place}") for place, at in enumerate(places))

        def collected(rows: Any) -> Any:
            """A reader of the rows, in which objects are texts: a stream of Arrow data would have their addresses."""
            found = rows.collect()
            for place in (place for place, none in enumerate(loose) if none):
                read = written(found.to_series(place)).tolist()
                found = found.replace_column(place, polars.Series(f"c{place}", read, polars.String))
            return _reader(found, _NOT_ARROW)

        for at in places:
            if str(dtypes[at]) in _NOT_IN_ARROW:
                raise refused_type(names[at], str(dtypes[at]), cast_hint("polars", str(dtypes[at]), names[at]))
        own = [names[at] for at in places]
        types = [
            declared_type(one, name, "polars") for one, name in zip(collected(rows.clear()).schema, own, strict=True)
        ]
        batches = (batch.columns for whole in (rows,) for batch in collected(whole))
        return stream_of(own, types, batches, loose, empty=empty, library="polars")

    return Frame(names, narrow, partial(counted, frame))


# ---- pandas

Piece = Callable[[slice], Any]
"""Some rows of a column of pandas in Arrow."""


def _pandas(frame: Any) -> Frame:
    """A pandas DataFrame; the index is not a column."""
    names = _names(frame.columns)
    _arrow(frame)

    def narrow(places: Sequence[int], empty: bool) -> Narrowed:
        pieces, loose = zip(*(_piece(frame.iloc[:, at], names[at]) for at in places), strict=True)
        starts = range(0, len(frame), _PIECE)
        batches = ([piece(slice(start, start + _PIECE)) for piece in pieces] for start in starts)
        types = [piece(slice(0)).type for piece in pieces]
        return stream_of([names[at] for at in places], types, batches, loose, empty=empty, library="pandas")

    return Frame(names, narrow)


def _piece(series: Any, name: str) -> tuple[Piece, bool]:
    """A column of pandas by its dtype, never by a value; and whether it declares no type."""
    arrow, dtype = sys.modules["pyarrow"], series.dtype
    kind = type(dtype).__name__
    if kind == "SparseDtype":
        return _piece(_series(series.array.to_dense(), dtype.subtype), name)
    if kind == "CategoricalDtype":
        return _categories(series.array, name)
    values = series.to_numpy() if isinstance(dtype, np.dtype) else None
    if values is not None and dtype.kind == "O":
        return lambda part: arrow.array(written(values[part]), arrow.large_string()), True
    if values is not None and dtype.kind in "biufM":
        return lambda part: arrow.array(array_of(values[part]), from_pandas=True), False
    if kind == "StringDtype" and dtype.storage == "python":
        texts_of = series.to_numpy(object)
        return lambda part: arrow.array(texts(texts_of[part]), arrow.large_string()), False
    if kind == "DatetimeTZDtype":
        series = series.dt.tz_convert("UTC")
    elif kind not in ("ArrowDtype", "StringDtype") and dtype.name not in _MASKED:
        raise refused_type(name, kind, cast_hint("pandas", kind, name))

    return lambda part: arrow.array(series.iloc[part], from_pandas=True), False


def _series(values: Any, dtype: Any) -> Any:
    """A column of this type: where none is named, pandas looks whether all objects are texts."""
    return sys.modules["pandas"].Series(values, dtype=dtype)


def _categories(column: Any, name: str) -> tuple[Piece, bool]:
    """Categories stay numbered. One that cannot be read is missing, as the number -1 is.

    Texts are read as objects are: whether all categories are texts, pandas has found out from the rows.
    """
    arrow, codes, dtype = sys.modules["pyarrow"], column.codes, column.categories.dtype
    piece, loose = _piece(_series(column.categories, object if type(dtype).__name__ == "StringDtype" else dtype), name)
    values = piece(slice(None))
    values = values.combine_chunks() if isinstance(values, arrow.ChunkedArray) else values
    missing = np.append(values.is_null().to_numpy(zero_copy_only=False), True)

    def numbered(part: slice) -> Any:
        return arrow.DictionaryArray.from_arrays(arrow.array(codes[part], mask=missing[codes[part]]), values)

    return numbered, loose


# ---- narwhals


def _understood(source: object) -> Frame | None:
    """A frame of a package that we know through narwhals only, which is loaded for it; None for what is none."""
    package = type(source).__module__.partition(".")[0]
    if package in _OTHERS:
        with contextlib.suppress(ImportError):
            importlib.import_module("narwhals")
    narwhals = sys.modules.get("narwhals")
    if narwhals is None:
        if package in _OTHERS and not hasattr(source, "__arrow_c_stream__"):
            hint = "pip install narwhals pyarrow"
            raise SourceError("source", "be a frame that is read without narwhals", f"a frame of {package}", hint)
        return None
    frame = narwhals.from_native(source, pass_through=True)
    return _narwhals(frame) if isinstance(frame, (narwhals.DataFrame, narwhals.LazyFrame)) else None


def _narwhals(frame: Any) -> Frame:
    """Dask, Modin, cuDF, SQLFrame. A lazy one is collected for each question, these columns only."""
    names = frame.collect_schema().names()

    def narrow(places: Sequence[int], empty: bool) -> Narrowed:
        some = frame.select(names[at] for at in places)
        some = (some.head(0) if empty else some).lazy()
        if frame.implementation.name in _OF_PANDAS:
            found = _pandas(some.collect("pandas").to_native())
        else:
            found = _stream(some.collect("pyarrow").to_native())
        return found.narrow(range(len(places)), empty)

    return Frame(_names(names), narrow)


_KINDS: tuple[tuple[str, tuple[str, ...], Callable[[Any], Frame]], ...] = (
    ("pandas", ("DataFrame",), _pandas),
    ("polars", ("DataFrame", "LazyFrame"), _polars),
    ("pyarrow", ("Table", "RecordBatch"), _stream),
)
