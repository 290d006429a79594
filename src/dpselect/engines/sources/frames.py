"""Frames: rows in this process, of whatever library, as a stream of Arrow batches with columns c0, c1, ...

What a value is read as depends on that value and on the declared type of its column, never on other rows. A column that
declares no type is read value by value (`objects.py`).
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters.column_names import make_unique
from dpselect.engines.sources.columns import (
    ScannableColumns,
    declared_type,
    scannable_array,
    scannable_dict,
    to_readable,
)
from dpselect.engines.sources.objects import encode_texts, encode_values
from dpselect.engines.sources.polars_counts import count_users
from dpselect.engines.sources.refused_types import GENERAL, cast_hint, refused_type
from dpselect.errors import DataError, SourceError

_REREAD_REASON = "every question reads the rows again"
_NO_STREAM = "the source has no stream of Arrow tables", f"{_REREAD_REASON}, so it must give them more than once"
_NOT_ARROW = "a column of this frame is of a type that cannot be read", GENERAL
_NOT_IN_ARROW = frozenset({"Int128", "UInt128"})
"""Types of polars that Arrow does not have."""
_ROWS_PER_BATCH = 1 << 18
"""The most rows of a batch, which is what one thread of DuckDB reads at once."""
_READ_BY_NARWHALS = frozenset({"cudf", "dask", "modin", "sqlframe"})
"""Packages that narwhals reads."""
# Their columns are those of pandas. PyArrow would guess the type of an object column from its rows.
_PANDAS_IMPLEMENTATIONS = frozenset({"DASK", "MODIN", "PANDAS"})
_MASKED_DTYPES = frozenset(
    {"boolean", "Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))}
)
Batch = Sequence[Any]
"""For each column an Arrow array, plain or chunked."""


@dataclass(frozen=True, repr=False)
class Frame:
    """Rows in this process with named columns."""

    names: tuple[str, ...]
    """The columns, told apart without letter case."""
    select_columns: Callable[[Sequence[int], bool], ScannableColumns]
    """From indices of columns to these as c0, c1, ... for one query of DuckDB; no rows if the second is true."""
    count_users: Callable[[int, int, int | None], Any] = lambda _user, _item, _max_items: None
    """The items i and how many users n each has, from indices of columns; None where DuckDB must count."""


def frame_of(source: Any) -> Frame | None:
    """Return the frame that a caller gave, by its class and without importing any package; None for anything else."""
    if isinstance(source, Mapping):
        names = _unique_names(source)
        return Frame(
            names, lambda positions, empty: scannable_dict(_select_columns(source, names, positions), empty=empty)
        )
    for package, classes, build in _FRAME_BUILDERS:
        module = sys.modules.get(package)
        if module is not None and isinstance(source, tuple(getattr(module, name) for name in classes)):
            return build(source)
    frame = _frame_of_narwhals(source)
    return _frame_of_stream(source) if frame is None and hasattr(type(source), "__arrow_c_stream__") else frame


def _select_columns(
    columns: Mapping[object, object], names: Sequence[str], positions: Sequence[int]
) -> dict[str, object]:
    """Return the columns at these positions."""
    values = list(columns.values())
    return {names[position]: values[position] for position in positions}


def _unique_names(columns: Iterable[object]) -> tuple[str, ...]:
    return tuple(make_unique(map(str, columns)))


def _require_pyarrow(source: object) -> Any:
    with contextlib.suppress(ImportError):
        return importlib.import_module("pyarrow")
    requirement = "be a file or a dict of arrays where PyArrow is not installed"
    raise SourceError("source", requirement, f"a {type(source).__name__}", "pip install pyarrow")


def stream_of(
    names: Sequence[str],
    types: Sequence[Any],
    batches: Iterable[Batch],
    is_untyped: Sequence[bool] = (),
    *,
    empty: bool,
    library: str = "",
) -> ScannableColumns:
    """Return batches of columns in types that DuckDB reads; `library` is the caller's, `loose` columns have no type."""
    arrow = sys.modules["pyarrow"]
    types_read = [
        to_readable(arrow.nulls(0, source_type), name, library).type
        for source_type, name in zip(types, names, strict=True)
    ]
    schema = arrow.schema([(f"c{index}", source_type) for index, source_type in enumerate(types_read)])
    rows = (
        arrow.RecordBatch.from_arrays(list(map(to_readable, batch.columns, names)), schema=schema)
        for columns in (() if empty else batches)
        for batch in arrow.table(columns, names).to_batches(_ROWS_PER_BATCH)
    )
    unknown = frozenset(f"c{index}" for index, is_loose in enumerate(is_untyped) if is_loose)
    return ScannableColumns(arrow.RecordBatchReader.from_batches(schema, rows), unknown)


# ---- streams of Arrow data


def _frame_of_stream(source: Any) -> Frame:
    """Return the frame of an object with `__arrow_c_stream__` that can be read more than once, as PyArrow's tables."""
    if hasattr(source, "read_all") or hasattr(source, "__next__"):  # a reader, as PyArrow and others have it
        hint = f"{_REREAD_REASON}; give reader.read_all()"
        raise SourceError("source", "give its rows more than once", f"a {type(source).__name__}", hint)
    names = _unique_names(_open_reader(source).schema.names)

    def narrow(positions: Sequence[int], empty: bool) -> ScannableColumns:
        reader = _open_reader(source)
        batches = ([batch.column(position) for position in positions] for batch in reader)
        types = [declared_type(reader.schema.field(position), names[position], "pyarrow") for position in positions]
        return stream_of([names[position] for position in positions], types, batches, empty=empty, library="pyarrow")

    return Frame(names, narrow)


def _open_reader(source: Any, failure: tuple[str, str] = _NO_STREAM) -> Any:
    """Open a new stream of all rows, of which none is read yet."""
    arrow = _require_pyarrow(source)
    with contextlib.suppress(Exception):  # whatever it is: its text may quote rows
        return arrow.RecordBatchReader.from_stream(source)
    raise DataError(*failure)


def _frame_of_dataset(source: Any) -> Frame:
    """Return a dataset of PyArrow over files that declare their types, each file those of the dataset."""
    formats = sys.modules["pyarrow.dataset"]
    if not isinstance(source.format, (formats.ParquetFileFormat, formats.IpcFileFormat)):
        hint = "pass the paths of its files, which are read by declared types"
        raise SourceError("source", "be a dataset of Parquet or Arrow files", f"one of {source.format}", hint)
    fragments = []
    with contextlib.suppress(ValueError):  # which is what one with a filter raises
        fragments = list(source.get_fragments())
    if not fragments and source.files:
        raise SourceError("source", "be a dataset without a filter", "one that has one", "filter with where=")
    schema, partitioning = source.schema, source.partitioning
    names, parts = _unique_names(schema.names), set() if partitioning is None else {*partitioning.schema.names}
    found = set() if partitioning is None else _found_types(partitioning)

    def narrow(positions: Sequence[int], empty: bool) -> ScannableColumns:
        fields = [schema.field(position) for position in positions]
        for field in (field for field in fields if field.name in found):  # one folder could change it for all
            requirement = f"be a dataset that declares the type of {field.name!r}, which stands in names of folders"
            schema_hint = f"pyarrow.schema([({field.name!r}, pyarrow.string())])"
            hint = f'partitioning=pyarrow.dataset.partitioning({schema_hint}, flavor="hive")'
            raise SourceError("source", requirement, "one that found it in these names", hint)
        for field in (field for field in fields if field.name not in parts):
            for fragment in fragments:  # or a value that does not fit would stop everybody's question
                if field.name not in fragment.physical_schema.names or field.type != (
                    fragment.physical_schema.field(field.name).type
                ):
                    hint = "pass the paths of its files"
                    requirement = f"be a dataset whose files all have {field.name!r} as {field.type}"
                    raise SourceError("source", requirement, fragment.path, hint)
                if str(field.type) == "timestamp[ns]" and _has_96_bits(fragment, field.name):
                    hint = 'format=pyarrow.dataset.ParquetFileFormat(coerce_int96_timestamp_unit="us")'
                    requirement = f"be a dataset that reads {field.name!r}, times of 96 bits, in microseconds"
                    raise SourceError("source", requirement, "nanoseconds, in which 9999 is 1816", hint)
        columns = {f"c{index}": formats.field(field.name) for index, field in enumerate(fields)}
        types = [
            declared_type(field, names[position], "pyarrow") for field, position in zip(fields, positions, strict=True)
        ]
        batches = (batch.columns for _ in range(1) for batch in source.scanner(columns=columns).to_batches())
        return stream_of([names[position] for position in positions], types, batches, empty=empty, library="pyarrow")

    return Frame(names, narrow)


def _has_96_bits(fragment: Any, name: str) -> bool:
    """Return whether a column of a Parquet file is of times that PyArrow reads in nanoseconds, whatever they are."""
    schema: Any = getattr(getattr(fragment, "metadata", None), "schema", ())
    columns = (schema.column(index) for index in range(len(schema)))
    return any(column.path == name and column.physical_type == "INT96" for column in columns)


def _found_types(partitioning: Any) -> set[str]:
    """Return the columns of names of folders whose types PyArrow has found in these names: it then keeps all values."""
    values = partitioning.dictionaries
    return {name for name, kept in zip(partitioning.schema.names, values, strict=True) if kept is not None}


# ---- polars


def _frame_of_polars(frame: Any) -> Frame:
    """Return a polars DataFrame or LazyFrame. A lazy one is collected for each question, these columns only."""
    names = _unique_names(frame.collect_schema().names())

    def narrow(positions: Sequence[int], empty: bool) -> ScannableColumns:
        polars, dtypes = sys.modules["polars"], frame.collect_schema().dtypes()
        loose = [dtypes[position] == polars.Object for position in positions]
        rows = frame.lazy().select(polars.nth(position).alias(f"c{index}") for index, position in enumerate(positions))

        def collected(rows: Any) -> Any:
            """Open a reader of the rows, with objects as texts: a stream of Arrow data would have their addresses."""
            frame = rows.collect()
            for index in (index for index, is_loose in enumerate(loose) if is_loose):
                encoded = encode_values(frame.to_series(index)).tolist()
                frame = frame.replace_column(index, polars.Series(f"c{index}", encoded, polars.String))
            return _open_reader(frame, _NOT_ARROW)

        for position in positions:
            if str(dtypes[position]) in _NOT_IN_ARROW:
                raise refused_type(
                    names[position], str(dtypes[position]), cast_hint("polars", str(dtypes[position]), names[position])
                )
        narrowed_names = [names[position] for position in positions]
        types = [
            declared_type(field, name, "polars")
            for field, name in zip(collected(rows.clear()).schema, narrowed_names, strict=True)
        ]
        batches = (batch.columns for lazy_rows in (rows,) for batch in collected(lazy_rows))
        return stream_of(narrowed_names, types, batches, loose, empty=empty, library="polars")

    return Frame(names, narrow, partial(count_users, frame))


# ---- pandas

ReadSlice = Callable[[slice], Any]
"""Some rows of a column of pandas in Arrow."""


def _frame_of_pandas(frame: Any) -> Frame:
    """Return a pandas DataFrame; the index is not a column."""
    names = _unique_names(frame.columns)
    _require_pyarrow(frame)

    def narrow(positions: Sequence[int], empty: bool) -> ScannableColumns:
        pieces, loose = zip(
            *(_slice_reader(frame.iloc[:, position], names[position]) for position in positions), strict=True
        )
        starts = range(0, len(frame), _ROWS_PER_BATCH)
        batches = ([piece(slice(start, start + _ROWS_PER_BATCH)) for piece in pieces] for start in starts)
        types = [piece(slice(0)).type for piece in pieces]
        return stream_of(
            [names[position] for position in positions], types, batches, loose, empty=empty, library="pandas"
        )

    return Frame(names, narrow)


def _slice_reader(series: Any, name: str) -> tuple[ReadSlice, bool]:
    """Return a column of pandas by its dtype, never by a value; and whether it declares no type."""
    arrow, dtype = sys.modules["pyarrow"], series.dtype
    kind = type(dtype).__name__
    if kind == "SparseDtype":
        return _slice_reader(_pandas_series(series.array.to_dense(), dtype.subtype), name)
    if kind == "CategoricalDtype":
        return _slice_reader_of_categories(series.array, name)
    values = series.to_numpy() if isinstance(dtype, np.dtype) else None
    if values is not None and dtype.kind == "O":
        return lambda part: arrow.array(encode_values(values[part]), arrow.large_string()), True
    if values is not None and dtype.kind in "biufM":
        return lambda part: arrow.array(scannable_array(values[part]), from_pandas=True), False
    if kind == "StringDtype" and dtype.storage == "python":
        texts_of = series.to_numpy(object)
        return lambda part: arrow.array(encode_texts(texts_of[part]), arrow.large_string()), False
    if kind == "DatetimeTZDtype":
        series = series.dt.tz_convert("UTC")
    elif kind not in ("ArrowDtype", "StringDtype") and dtype.name not in _MASKED_DTYPES:
        raise refused_type(name, kind, cast_hint("pandas", kind, name))

    return lambda part: arrow.array(series.iloc[part], from_pandas=True), False


def _pandas_series(values: Any, dtype: Any) -> Any:
    """Return a column of this type: where none is named, pandas looks whether all objects are texts."""
    return sys.modules["pandas"].Series(values, dtype=dtype)


def _slice_reader_of_categories(column: Any, name: str) -> tuple[ReadSlice, bool]:
    """Categories stay numbered. One that cannot be read is missing, as the number -1 is.

    Texts are read as objects are: whether all categories are texts, pandas has found out from the rows.
    """
    arrow, codes, dtype = sys.modules["pyarrow"], column.codes, column.categories.dtype
    piece, loose = _slice_reader(
        _pandas_series(column.categories, object if type(dtype).__name__ == "StringDtype" else dtype), name
    )
    values = piece(slice(None))
    values = values.combine_chunks() if isinstance(values, arrow.ChunkedArray) else values
    missing = np.append(values.is_null().to_numpy(zero_copy_only=False), True)

    def numbered(part: slice) -> Any:
        return arrow.DictionaryArray.from_arrays(arrow.array(codes[part], mask=missing[codes[part]]), values)

    return numbered, loose


# ---- narwhals


def _frame_of_narwhals(source: object) -> Frame | None:
    """Return a frame of a package that narwhals, which is loaded for it, alone can read; None for anything else."""
    package = type(source).__module__.partition(".")[0]
    if package in _READ_BY_NARWHALS:
        with contextlib.suppress(ImportError):
            importlib.import_module("narwhals")
    narwhals = sys.modules.get("narwhals")
    if narwhals is None:
        if package in _READ_BY_NARWHALS and not hasattr(source, "__arrow_c_stream__"):
            hint = "pip install narwhals pyarrow"
            raise SourceError("source", "be a frame that is read without narwhals", f"a frame of {package}", hint)
        return None
    frame = narwhals.from_native(source, pass_through=True)
    return _frame_of_collected(frame) if isinstance(frame, (narwhals.DataFrame, narwhals.LazyFrame)) else None


def _frame_of_collected(frame: Any) -> Frame:
    """Return a frame of Dask, Modin, cuDF or SQLFrame; a lazy one is collected for each question, by columns."""
    names = frame.collect_schema().names()

    def narrow(positions: Sequence[int], empty: bool) -> ScannableColumns:
        selected = frame.select(names[position] for position in positions)
        selected = (selected.head(0) if empty else selected).lazy()
        if frame.implementation.name in _PANDAS_IMPLEMENTATIONS:
            collected = _frame_of_pandas(selected.collect("pandas").to_native())
        else:
            collected = _frame_of_stream(selected.collect("pyarrow").to_native())
        return collected.select_columns(range(len(positions)), empty)

    return Frame(_unique_names(names), narrow)


_FRAME_BUILDERS: tuple[tuple[str, tuple[str, ...], Callable[[Any], Frame]], ...] = (
    ("pandas", ("DataFrame",), _frame_of_pandas),
    ("polars", ("DataFrame", "LazyFrame"), _frame_of_polars),
    ("pyarrow", ("Table", "RecordBatch"), _frame_of_stream),
    ("pyarrow.dataset", ("FileSystemDataset",), _frame_of_dataset),
)
