"""Columns whose declared type cannot be read: the error, and the line that casts them in the caller's own library.

A line keeps what is missing missing: astype(str) of pandas would make an item "NaT" of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from dpselect.errors import SourceError

GENERAL = "cast it to text or to a number in the source"
_ITEMS = "each part of a list can be an item: {}"
_SECONDS = "write its seconds as a number: {}"
_FIELDS = "read its fields as columns of their own: {}"
_AS_TEXT = "read it as text: {}"
_PANDAS_TEXT = "frame[{0}] = frame[{0}].map(str, na_action='ignore')"
_ARROW_SET = "table.set_column(table.column_names.index({0}), {0}, "
_POLARS = {
    "list": _ITEMS.format("frame.explode({0})"),
    "struct": _FIELDS.format("frame.unnest({0})"),
    "duration": _SECONDS.format("frame.with_columns(pl.col({0}).dt.total_seconds(fractional=True))"),
    "int128": _AS_TEXT.format("frame.with_columns(pl.col({0}).cast(pl.String))"),
}
_PANDAS = {
    "list": _ITEMS.format("frame = frame.explode({0})"),
    "struct": _FIELDS.format("frame = frame.join(frame[{0}].struct.explode())"),
    "duration": _SECONDS.format("frame[{0}] = frame[{0}].dt.total_seconds()"),
    "period": "read the first moment of each: frame[{0}] = frame[{0}].dt.to_timestamp()",
    "interval": _AS_TEXT.format(_PANDAS_TEXT),
    "complex": _AS_TEXT.format(_PANDAS_TEXT),
    "decimal": _AS_TEXT.format(_PANDAS_TEXT),
}
_ARROW = {
    "list": _ITEMS.format("pl.from_arrow(table).explode({0})"),
    "struct": _FIELDS.format("table.flatten()"),
    "duration": "write its ticks as a number: " + _ARROW_SET + "table[{0}].cast('int64'))",
    "decimal": _AS_TEXT.format(_ARROW_SET + "table[{0}].cast('string'))"),
    "extension": "cast it where the table is made, as in SELECT amount::float8, addr::text; "
    "or, where equal values are stored alike, read what is stored: "
    + _ARROW_SET
    + "table[{0}].cast(table[{0}].type.storage_type))",
    "month_day_nano_interval": _AS_TEXT.format(
        _ARROW_SET + "pa.array([None if x is None else str(tuple(x)) for x in table[{0}].to_pylist()]))"
    ),
}
_NUMPY = {
    "duration": _SECONDS.format("values / np.timedelta64(1, 's')"),
    "complex": "read its parts as columns of their own: values.real, values.imag",
}
_LINES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"polars": _POLARS, "pandas": _PANDAS, "pyarrow": _ARROW, "numpy": _NUMPY}
)
_KINDS = MappingProxyType(
    {
        "large_list": "list", "fixed_size_list": "list",
        "List": "list", "Array": "list", "Struct": "struct", "Duration": "duration", "Int128": "int128",
        "UInt128": "int128", "TimeDelta64DType": "duration", "PeriodDtype": "period", "IntervalDtype": "interval",
        "Complex64DType": "complex", "Complex128DType": "complex", "CLongDoubleDType": "complex",
        "decimal32": "decimal", "decimal64": "decimal", "decimal128": "decimal", "decimal256": "decimal",
        "timedelta64": "duration", "complex64": "complex", "complex128": "complex", "clongdouble": "complex",
    }
)  # fmt: skip


def refused_type(column: str, type_name: str, hint: str) -> SourceError:
    """Return the error of a column of this type; both are known from the schema alone."""
    requirement = "have columns of types that can be read exactly"
    return SourceError("source", requirement, f"column {column!r} of type {type_name}", hint)


def cast_hint(library: str, type_name: str, column: str) -> str:
    """Return how to cast a column of this type in a frame of this library, as a line to paste where there is one.

    >>> cast_hint("polars", "duration", "wait")
    "write its seconds as a number: frame.with_columns(pl.col('wait').dt.total_seconds(fractional=True))"
    """
    plain = re.split(r"[(\[<]", type_name)[0]
    return _LINES.get(library, {}).get(_KINDS.get(plain, plain), GENERAL).replace("{0}", repr(column))
