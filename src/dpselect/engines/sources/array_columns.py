"""Arrays: a column of NumPy, or a Python list, in a form that DuckDB scans. What decides is its dtype, never a value.

A list has no dtype and an object array has none that says anything: their values are read one by one (`objects.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect.engines.sources.objects import encode_texts, encode_values
from dpselect.engines.sources.refused_types import cast_hint, refused_type
from dpselect.errors import DataError

Array = npt.NDArray[Any]
_UNITS = ("s", "ms", "us", "ns")


@dataclass(frozen=True, repr=False)
class Narrowed:
    """Some columns as DuckDB scans them, named c0, c1, ..., and which of them have no declared type."""

    rows: object
    loose: frozenset[str]


def narrow_dict(columns: Mapping[str, Any], *, empty: bool) -> Narrowed:
    """Return the columns of a dict by name: arrays, lists, ranges, or what has a NumPy dtype; no values if `empty`."""
    read = [_column(name, values, empty=empty) for name, values in columns.items()]
    if len({len(column) for column, _ in read}) > 1 or len({_size(values) for values in columns.values()}) > 1:
        raise DataError("the columns of a dict must have the same length")
    loose = frozenset(f"c{index}" for index, (_, loose) in enumerate(read) if loose)
    return Narrowed({f"c{index}": column for index, (column, _) in enumerate(read)}, loose)


def _column(name: str, values: Any, *, empty: bool) -> tuple[Array, bool]:
    """Return the values as DuckDB scans them, and whether they have no declared type: then they are encoded."""
    if isinstance(values, range) and _fits(values):
        values = np.arange(values.start, values.stop, values.step, dtype=np.int64)
    elif not isinstance(values, np.ndarray) and isinstance(getattr(values, "dtype", None), np.dtype):
        values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        sequence = _as_sequence(values)
        return encode_values(sequence[:0] if empty else sequence), True
    if values.ndim != 1:
        raise DataError("a column must be a one-dimensional array")
    array, kind = values[:0] if empty else values, values.dtype.kind
    if kind in "OS":
        return encode_values(array.tolist()), True
    if kind in "UT":
        return encode_texts(array.tolist()), False
    if kind not in "biufM":
        raise refused_type(name, array.dtype.name, cast_hint("numpy", array.dtype.name, name))
    return _moments(scannable_array(array)) if kind == "M" else scannable_array(array), False


def scannable_array(array: Array) -> Array:
    """Return the array in a type that DuckDB scans; texts of a fixed width as Python's own."""
    kind = array.dtype.kind
    if kind == "f" and array.dtype not in (np.float32, np.float64):
        return array.astype(np.float64)
    if kind == "M" and np.datetime_data(array.dtype)[0] not in _UNITS:
        days = array.astype("M8[D]")
        return np.where(_within_years(days), days, np.datetime64("NaT")).astype("datetime64[us]")
    if kind in "biufMO":
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    # Arrays of fixed-width text: DuckDB would sort all of it first to make an ENUM, seven times the work.
    return array.astype(object)


def _moments(array: Array) -> Array:
    """Return the moments; those beyond the years 1 to 9999 are missing: DuckDB fails where it converts one of them."""
    inside = _within_years(array)
    return array if inside.all() else np.where(inside, array, np.datetime64("NaT")).astype(array.dtype)


def _within_years(array: Array) -> npt.NDArray[np.bool_]:
    years = np.asarray(array).astype("M8[Y]").astype(np.int64) + 1970
    inside: npt.NDArray[np.bool_] = ((years >= 1) & (years <= 9999)) | np.isnat(np.asarray(array))
    return inside


def _fits(values: range) -> bool:
    return min(values.start, values.stop) >= -(2**63) and max(values.start, values.stop) < 2**63


def _size(values: object) -> int:
    return len(values) if isinstance(values, Sized) else -1


def _as_sequence(values: Any) -> Sequence[object]:
    """Return the values of a column that declares no type: a list, or what can be listed again and again."""
    if isinstance(values, (list, tuple)):
        return values
    for method in ("tolist", "to_list", "to_pylist"):  # NumPy and pandas, polars, PyArrow
        if hasattr(values, "__len__") and hasattr(values, method):
            values_list: list[object] = getattr(values, method)()
            return values_list
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes, bytearray)):
        return list(values)
    # What only says `__array__` would choose a type for all of its values, and by them.
    raise DataError(f"a column must be an array or a list, not a {type(values).__name__}")
