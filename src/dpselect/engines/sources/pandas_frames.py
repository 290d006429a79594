"""pandas: each column in a form that DuckDB scans, by its dtype alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpselect.engines.sources.array_columns import HINT, ArrayColumn, Narrowed, array_column, moments, narrowed
from dpselect.engines.sources.arrow_columns import readable
from dpselect.engines.sources.objects import texts, written
from dpselect.engines.sources.text_lines import unique
from dpselect.errors import DataError

_MASKED = frozenset(
    {"boolean", "Float32", "Float64", *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))}
)


@dataclass(frozen=True, repr=False)
class Pandas:
    """A pandas DataFrame; the index is not a column."""

    frame: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(unique(str(column) for column in self.frame.columns))

    def narrow(self, places: Sequence[int], *, empty: bool) -> Narrowed:
        """Some of the columns, as DuckDB scans them."""
        rows = self.frame.iloc[:0] if empty else self.frame
        found = narrowed([_column(rows.iloc[:, at], self.names[at]) for at in places])
        return Narrowed(sys.modules["pandas"].DataFrame(found.rows, copy=False), found.loose)


def _column(series: Any, name: str) -> ArrayColumn:
    dtype = series.dtype
    kind = type(dtype).__name__
    if isinstance(dtype, np.dtype):
        return array_column(series.to_numpy())
    if kind == "CategoricalDtype":
        return _categories(series)
    if kind == "SparseDtype":
        return _column(series.sparse.to_dense(), name)
    if kind == "DatetimeTZDtype":
        pandas = sys.modules["pandas"]
        moved = moments(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
        return ArrayColumn(pandas.Series(moved).dt.tz_localize("UTC"))
    if kind == "ArrowDtype" or (kind == "StringDtype" and dtype.storage != "python"):
        array = readable(series.array.__arrow_array__(), name)
        return ArrayColumn(sys.modules["pandas"].arrays.ArrowExtensionArray(array))
    if kind == "StringDtype":
        return ArrayColumn(texts(series.to_numpy(object)))
    if dtype.name in _MASKED:
        return ArrayColumn(series.array)
    raise DataError(f"column {name!r} is of type {kind}, which cannot be read", HINT)


def _categories(series: Any) -> ArrayColumn:
    """Categories of text stay numbered; others are what their values are. A category that cannot be read is missing."""
    pandas, categories = sys.modules["pandas"], series.array.categories
    loose = categories.dtype == object
    if not loose and type(categories.dtype).__name__ != "StringDtype":
        return _values(series, pandas)
    forms = written(categories) if loose else texts(categories)
    places: dict[str, int] = {}
    codes = [-1 if form is None else places.setdefault(form, len(places)) for form in forms]
    moved = np.array([*codes, -1])[series.array.codes]  # the code of what is missing is -1, the last place
    return ArrayColumn(pandas.Categorical.from_codes(moved, pandas.Index(list(places), dtype=object)), loose)


def _values(series: Any, pandas: Any) -> ArrayColumn:
    """Categories that are no text, one for each row, in a type that has room for a missing one."""
    dtype, categories = series.array.categories.dtype, pandas.Series(series.array.categories).array
    if isinstance(dtype, np.dtype) and dtype.kind in "iub":
        names = {"i": f"Int{dtype.itemsize * 8}", "u": f"UInt{dtype.itemsize * 8}", "b": "boolean"}
        categories = pandas.array(categories, dtype=names[dtype.kind])
    return _column(pandas.Series(categories.take(series.array.codes, allow_fill=True)), str(series.name))
