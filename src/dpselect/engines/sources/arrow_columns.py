"""Arrow: columns of PyArrow as DuckDB scans them, where it would refuse their type or fail at a value of it.

Everything here follows from the type of a column, which is public. Text is checked later (`duckdb_types.sound_form`).
"""

from __future__ import annotations

import importlib
import sys
from decimal import Decimal
from typing import Any

from dpselect.engines.values import cast_hint
from dpselect.errors import DataError

_PLAIN = (
    "boolean", "integer", "float32", "float64", "string", "large_string", "binary", "large_binary",
    "fixed_size_binary", "date", "time",
)  # fmt: skip
_VIEWS = ("string_view", "binary_view")
_EXTENSIONS = frozenset({"arrow.uuid", "arrow.json", "arrow.bool8"})
_PER_SECOND = {"s": 1, "ms": 10**3}
_FIRST, _LAST = -62_135_596_800, 253_402_300_800  # seconds from 1970 to the years 1 and 10000


def readable(column: Any, name: str) -> Any:
    """An array of the same values in a type that DuckDB reads; an error if there is none."""
    arrow = sys.modules["pyarrow"]
    sort, types = column.type, arrow.types
    if isinstance(sort, arrow.BaseExtensionType):
        return column if sort.extension_name in _EXTENSIONS else readable(column.cast(sort.storage_type), name)
    if types.is_dictionary(sort):
        text = str(sort.value_type) in ("string", "large_string", "string_view")
        return column if text else readable(column.cast(sort.value_type), name)
    if types.is_run_end_encoded(sort):
        return readable(_compute().run_end_decode(column), name)
    if types.is_float16(sort):
        return column.cast(arrow.float32())
    if types.is_null(sort):
        return column.cast(arrow.string())
    if types.is_timestamp(sort):
        return _moments(column) if sort.tz is not None and sort.unit in _PER_SECOND else column
    if _is_decimal(sort):
        return _of_few_digits(column)
    if any(getattr(types, f"is_{one}")(sort) for one in _PLAIN):
        return column
    if str(sort) in _VIEWS:
        return column
    raise DataError(f"column {name!r} is of type {_called(sort)}, which cannot be read", cast_hint(_called(sort)))


def _is_decimal(sort: Any) -> bool:
    decimal = sys.modules["pyarrow"].types.is_decimal(sort)
    return bool(decimal and sort.precision <= 38 and 0 <= sort.scale <= sort.precision)


def _called(sort: Any) -> str:
    """The name of a type without what stands inside of it: names of fields may be data."""
    return str(sort).partition("<")[0]


def _compute() -> Any:
    return importlib.import_module("pyarrow.compute")


def _moments(column: Any) -> Any:
    """Moments of a zone in microseconds; those beyond the years 1 to 9999 do not fit and are missing."""
    arrow, compute, sort = sys.modules["pyarrow"], _compute(), column.type
    ticks, second = column.cast(arrow.int64()), _PER_SECOND[sort.unit]
    inside = compute.and_(compute.greater_equal(ticks, _FIRST * second), compute.less(ticks, _LAST * second))
    kept = compute.if_else(inside, column, arrow.scalar(None, sort))
    return kept.cast(arrow.timestamp("us", sort.tz))


def _of_few_digits(column: Any) -> Any:
    """Decimals of no more digits than their type declares; others, which nothing has checked yet, are missing.

    An engine that relies on the type would take some of their bits for another number.
    """
    arrow, compute, sort = sys.modules["pyarrow"], _compute(), column.type
    wide, end = arrow.decimal256(76, sort.scale), Decimal(10) ** (sort.precision - sort.scale)
    values = column.view(wide) if sort.bit_width == 256 else column.cast(wide)
    inside = compute.and_(
        compute.less(values, arrow.scalar(end, wide)), compute.greater(values, arrow.scalar(-end, wide))
    )
    bits = {32: arrow.int32(), 64: arrow.int64()}.get(sort.bit_width, sort)
    outside = compute.invert(inside)
    return compute.replace_with_mask(column.view(bits), outside, arrow.scalar(None, bits)).view(sort)
