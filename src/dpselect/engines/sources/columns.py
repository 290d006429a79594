"""Columns of NumPy and of PyArrow as DuckDB scans them, where it would refuse their type or fail at a value of it.

What decides is the type of a column, which is public, never a value. A list has none and an object array has none that
says anything: their values are read one by one (`objects.py`). Text is checked later (`duckdb/types.validated_form`).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence, Sized
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.engines.sources.objects import encode_texts, encode_values
from dpselect.engines.sources.refused_types import cast_hint, refused_type
from dpselect.errors import DataError

if TYPE_CHECKING:
    import numpy.typing as npt

Array: TypeAlias = "npt.NDArray[Any]"
_UNITS = ("s", "ms", "us", "ns")


@dataclass(frozen=True, repr=False)
class ScannableColumns:
    """Some columns as DuckDB scans them, named c0, c1, ..., and which of them have no declared type."""

    rows: object
    untyped: frozenset[str]


def scannable_dict(columns: Mapping[str, Any], *, empty: bool) -> ScannableColumns:
    """Return the columns of a dict by name: arrays, lists, ranges, or what has a NumPy dtype; no values if `empty`."""
    read = [_column(name, values, empty=empty) for name, values in columns.items()]
    if (
        len({len(column) for column, _ in read}) > 1
        or len({_length_if_known(values) for values in columns.values()}) > 1
    ):
        raise DataError("the columns of a dict must have the same length")
    loose = frozenset(f"c{index}" for index, (_, loose) in enumerate(read) if loose)
    return ScannableColumns({f"c{index}": column for index, (column, _) in enumerate(read)}, loose)


def _column(name: str, values: Any, *, empty: bool) -> tuple[Array, bool]:
    """Return the values as DuckDB scans them, and whether they have no declared type: then they are encoded."""
    if isinstance(values, range) and _fits_int64(values):
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
    return _without_far_moments(scannable_array(array)) if kind == "M" else scannable_array(array), False


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


def _without_far_moments(array: Array) -> Array:
    """Return the moments; those beyond the years 1 to 9999 are missing: DuckDB fails where it converts one of them."""
    is_within_years = _within_years(array)
    return (
        array if is_within_years.all() else np.where(is_within_years, array, np.datetime64("NaT")).astype(array.dtype)
    )


def _within_years(array: Array) -> npt.NDArray[np.bool_]:
    years = np.asarray(array).astype("M8[Y]").astype(np.int64) + 1970
    inside: npt.NDArray[np.bool_] = ((years >= 1) & (years <= 9999)) | np.isnat(np.asarray(array))
    return inside


def _fits_int64(values: range) -> bool:
    return min(values.start, values.stop) >= -(2**63) and max(values.start, values.stop) < 2**63


def _length_if_known(values: object) -> int:
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


_PLAIN = (
    "boolean", "integer", "float32", "float64", "string", "large_string", "binary", "large_binary",
    "fixed_size_binary", "date", "time",
)  # fmt: skip
_VIEWS = ("string_view", "binary_view")
_EXTENSIONS = frozenset({"arrow.uuid", "arrow.json", "arrow.bool8"})
_PER_SECOND = {"s": 1, "ms": 10**3}
_FIRST, _LAST = -62_135_596_800, 253_402_300_800  # seconds from 1970 to the years 1 and 10000


def to_readable(column: Any, name: str, library: str = "") -> Any:
    """Return an array of the same values in a type that DuckDB reads.

    Refuses a type without one, and says how to cast the column in this library.
    """
    arrow = sys.modules["pyarrow"]
    sort, types = column.type, arrow.types
    if isinstance(sort, arrow.BaseExtensionType):
        refuse_unknown_extension(sort.extension_name, name, library)
        return column
    if types.is_dictionary(sort):
        text = str(sort.value_type) in ("string", "large_string", "string_view")
        return column if text else _take(to_readable(column.dictionary, name, library), column.indices)
    if types.is_run_end_encoded(sort):
        return _take(to_readable(column.values, name, library), _run_positions(column))
    if types.is_float16(sort):
        return column.cast(arrow.float32())
    if types.is_null(sort):
        return column.cast(arrow.string())
    if types.is_timestamp(sort):
        return _moments_of_zone(column) if sort.tz is not None and sort.unit in _PER_SECOND else column
    if _is_decimal(sort):
        return _fitting_decimals(column)
    if str(sort) in _VIEWS or any(getattr(types, f"is_{type_name}")(sort) for type_name in _PLAIN):
        return column
    raise refused_type(name, _type_name(sort), cast_hint(library, _type_name(sort), name))


def refuse_unknown_extension(extension: str, name: str, library: str) -> None:
    """Refuse a type that is not Arrow's own, unless its values are known to be equal where they are stored alike.

    ADBC, for one, hands a NUMERIC of a server over as text of the type arrow.opaque, where 1.0 and 1.00 differ.
    """
    if extension not in _EXTENSIONS:
        raise refused_type(name, extension, cast_hint(library, "extension", name))


def declared_type(field: Any, name: str, library: str) -> Any:
    """Return the type of a field of a schema; of an unknown extension type PyArrow has the one that it is stored in."""
    extension = (field.metadata or {}).get(b"ARROW:extension:name")
    if extension is not None:
        refuse_unknown_extension(extension.decode(errors="replace"), name, library)
    return field.type


def _take(values: Any, positions: Any) -> Any:
    """Return the values at these positions, where views cannot be taken from."""
    arrow = sys.modules["pyarrow"]
    plain = {"string_view": arrow.large_string(), "binary_view": arrow.large_binary()}.get(str(values.type))
    return (values if plain is None else values.cast(plain)).take(positions)


def _run_positions(column: Any) -> Any:
    """Return for each row of a run-end encoded column the position of its value."""
    arrow = sys.modules["pyarrow"]
    ends = np.clip(column.run_ends.to_numpy() - column.offset, 0, len(column))
    return arrow.array(np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0)))


def _is_decimal(sort: Any) -> bool:
    decimal = sys.modules["pyarrow"].types.is_decimal(sort)
    return bool(decimal and sort.precision <= 38 and 0 <= sort.scale <= sort.precision)


def _type_name(sort: Any) -> str:
    """Return the name of a type without what is inside of it: names of fields may be data."""
    return str(sort).partition("<")[0]


def _compute() -> Any:
    return importlib.import_module("pyarrow.compute")


def _moments_of_zone(column: Any) -> Any:
    """Return moments of a zone in microseconds; those beyond the years 1 to 9999 do not fit and are missing."""
    arrow, compute, sort = sys.modules["pyarrow"], _compute(), column.type
    ticks, second = column.cast(arrow.int64()), _PER_SECOND[sort.unit]
    inside = compute.and_(compute.greater_equal(ticks, _FIRST * second), compute.less(ticks, _LAST * second))
    fitting = compute.if_else(inside, column, arrow.scalar(None, sort))
    return fitting.cast(arrow.timestamp("us", sort.tz))


def _fitting_decimals(column: Any) -> Any:
    """Return decimals of no more digits than their type declares; others, which nothing has checked yet, are missing.

    An engine that relies on the type would take some of their bits for another number. DuckDB reads 128 bits at most.
    """
    arrow, compute, sort = sys.modules["pyarrow"], _compute(), column.type
    wide, end = arrow.decimal256(76, sort.scale), Decimal(10) ** (sort.precision - sort.scale)
    values = column.view(wide) if sort.bit_width == 256 else column.cast(wide)
    inside = compute.and_(
        compute.less(values, arrow.scalar(end, wide)), compute.greater(values, arrow.scalar(-end, wide))
    )
    if sort.bit_width == 256:
        return compute.if_else(inside, values, arrow.scalar(None, wide)).cast(
            arrow.decimal128(sort.precision, sort.scale)
        )
    bits = {32: arrow.int32(), 64: arrow.int64()}.get(sort.bit_width, sort)
    outside = compute.invert(inside)
    return compute.replace_with_mask(column.view(bits), outside, arrow.scalar(None, bits)).view(sort)
