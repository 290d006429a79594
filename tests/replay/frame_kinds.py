"""Frames, lists and streams."""

# ruff: noqa: ARG001 - every maker takes the rows and a folder

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from tests.engines.sources import OnlyNarwhalsReadsIt, Stream
from tests.replay.kinds import ANY, MOMENTS, TYPED, kind
from tests.replay.sorts import Column, Rows

_VIEWS = {
    "day": (pa.int32(), pa.date32()),
    "time": (pa.int64(), pa.time64("us")),
    "moment s": (pa.int64(), pa.timestamp("s")),
    "moment ms": (pa.int64(), pa.timestamp("ms")),
    "moment us": (pa.int64(), pa.timestamp("us")),
    "moment ns": (pa.int64(), pa.timestamp("ns")),
    "moment in a zone": (pa.int64(), pa.timestamp("us", tz="UTC")),
}
_PLAIN = {
    "whole": pa.int64(),
    "real": pa.float64(),
    "decimal": pa.decimal128(38, 2),
    "truth": pa.bool_(),
    "bytes": pa.binary(),
}
_NUMPY = {"whole": "int64", "real": "float64", "half": "float16", "truth": "bool"}
EVERY_ARROW = tuple(dict.fromkeys(("half", *TYPED, *MOMENTS)))


def arrow(column: Column) -> pa.Array:
    """A column in Arrow; bytes among texts are text that is no UTF-8."""
    values = column.values
    if column.sort == "text":
        raw = [value.encode() if isinstance(value, str) else value for value in values]
        return pa.array(raw, pa.binary()).view(pa.string())
    if column.sort == "half":
        return pa.array([None if value is None else np.float16(value) for value in values], pa.float16())
    if column.sort in _VIEWS:
        stored, meant = _VIEWS[column.sort]
        return pa.array(values, stored).view(meant)
    return pa.array(values, _PLAIN[column.sort])


def arrow_table(rows: Rows) -> pa.Table:
    """The rows in Arrow."""
    return pa.table({name: arrow(column) for name, column in rows.items()})


def objects(values: Sequence[object]) -> np.ndarray:
    """An array of objects, one for each value even where a value is a list."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def array(column: Column) -> np.ndarray:
    """A column as NumPy has it."""
    if column.sort == "text":
        return np.array(column.values, dtype=np.str_)
    if column.sort in _NUMPY:
        return np.array(column.values, dtype=_NUMPY[column.sort])
    unit = column.sort.partition(" ")[2]
    whole = [-(2**63) if value is None else value for value in column.values]  # NaT
    return np.array(whole, dtype=np.int64).view(f"datetime64[{unit}]")


@kind("dict of lists", ANY)
def _lists(rows: Rows, folder: Path) -> object:
    return {name: list(column.values) for name, column in rows.items()}


@kind("dict of object arrays", ANY, like="dict of lists")
def _object_arrays(rows: Rows, folder: Path) -> object:
    return {name: objects(column.values) for name, column in rows.items()}


@kind("dict of arrays", ("text", "whole", "real", "half", "truth"), cannot="null, surrogate, nul, invalid")
def _arrays(rows: Rows, folder: Path) -> object:
    return {name: array(column) for name, column in rows.items()}


@kind("dict of arrays of moments", ("moment s", "moment ms", "moment us", "moment ns"), like="dict of arrays")
def _moment_arrays(rows: Rows, folder: Path) -> object:
    return {name: objects(c.values) if c.sort == "text" else array(c) for name, c in rows.items()}


@kind("pandas objects", ANY, like="dict of lists")
def _pandas_objects(rows: Rows, folder: Path) -> object:
    return pd.DataFrame({name: pd.Series(objects(column.values), dtype=object) for name, column in rows.items()})


def _pandas_series(column: Column, types: dict[str, str]) -> pd.Series:
    return pd.Series(objects(column.values), dtype=object).astype(types[column.sort])


@kind("pandas", ("text", "whole", "real", "truth"), cannot="surrogate, invalid, null")
def _pandas(rows: Rows, folder: Path) -> object:
    types = {"text": "str", "whole": "int64", "real": "float64", "truth": "bool"}
    return pd.DataFrame({name: _pandas_series(column, types) for name, column in rows.items()})


@kind("pandas, nullable", ("text", "whole", "real", "truth"), cannot="surrogate, invalid")
def _pandas_nullable(rows: Rows, folder: Path) -> object:
    types = {"text": "string", "whole": "Int64", "real": "Float64", "truth": "boolean"}
    return pd.DataFrame({name: _pandas_series(column, types) for name, column in rows.items()})


@kind("pandas, categories", ("text", "whole", "any of texts"), cannot="surrogate, invalid, object")
def _pandas_categories(rows: Rows, folder: Path) -> object:
    hashable = {
        name: [tuple(v) if isinstance(v, list) else str(v) if isinstance(v, dict) else v for v in column.values]
        for name, column in rows.items()
    }
    return pd.DataFrame({name: pd.Categorical(objects(values)) for name, values in hashable.items()})


@kind("pandas over Arrow", EVERY_ARROW, cannot="surrogate, special decimal", like="pyarrow")
def _pandas_arrow(rows: Rows, folder: Path) -> object:
    columns = {name: pd.arrays.ArrowExtensionArray(arrow(column)) for name, column in rows.items()}
    return pd.DataFrame(columns)


IN_POLARS = (
    "text",
    "whole",
    "real",
    "decimal",
    "truth",
    "bytes",
    "day",
    "time",
    "moment ms",
    "moment us",
    "moment ns",
)


def polars_frame(rows: Rows) -> pl.DataFrame:
    """The rows in polars."""
    return pl.DataFrame(pl.from_arrow(arrow_table(rows)))


@kind("polars", IN_POLARS, cannot="surrogate, invalid, special decimal")
def _polars(rows: Rows, folder: Path) -> object:
    return polars_frame(rows)


@kind("polars, lazy", IN_POLARS, cannot="surrogate, invalid, special decimal", like="polars")
def _polars_lazy(rows: Rows, folder: Path) -> object:
    return polars_frame(rows).lazy()


@kind("polars, categories", ("text",), cannot="surrogate, invalid", like="polars")
def _polars_categories(rows: Rows, folder: Path) -> object:
    return polars_frame(rows).cast(dict.fromkeys(rows, pl.Categorical))


@kind("polars objects", ANY, like="dict of lists")
def _polars_objects(rows: Rows, folder: Path) -> object:
    return pl.DataFrame({name: pl.Series(list(column.values), dtype=pl.Object) for name, column in rows.items()})


@kind("pyarrow", EVERY_ARROW, cannot="surrogate, special decimal")
def _pyarrow(rows: Rows, folder: Path) -> object:
    return arrow_table(rows)


@kind("pyarrow, dictionaries", ("text",), cannot="surrogate", like="pyarrow")
def _dictionaries(rows: Rows, folder: Path) -> object:
    # Encoded as bytes: text that is no UTF-8 has no dictionary that PyArrow makes.
    made = {}
    for name, column in rows.items():
        encoded = arrow(column).view(pa.binary()).dictionary_encode()
        made[name] = pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.view(pa.string()))
    return pa.table(made)


@kind("stream of Arrow data", EVERY_ARROW, cannot="surrogate, special decimal", like="pyarrow")
def _stream(rows: Rows, folder: Path) -> object:
    return Stream(arrow_table(rows))


@kind("narwhals", ("text", "whole", "real", "day", "moment us"), cannot="surrogate, invalid", like="polars")
def _narwhals(rows: Rows, folder: Path) -> object:
    return nw.from_native(polars_frame(rows).lazy())


@kind("what only narwhals reads", ("text", "whole", "real", "day", "moment us"), cannot="surrogate, invalid")
def _understood(rows: Rows, folder: Path) -> object:
    return OnlyNarwhalsReadsIt(polars_frame(rows).lazy())


class ObjectsThatNarwhalsReads:
    """A frame of objects of a package that has told narwhals how to read it, and nobody else: as Dask and Modin."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def __narwhals_dataframe__(self) -> object:
        return nw.from_native(self._frame)._compliant_frame


@kind("objects that only narwhals reads", ANY)
def _understood_objects(rows: Rows, folder: Path) -> object:
    return ObjectsThatNarwhalsReads(_pandas_objects(rows, folder))
