"""Narwhals: a frame that it wraps is taken by itself, and what only narwhals can read is read through it."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpselect.errors import SourceError

if TYPE_CHECKING:
    from dpselect.engines.sources.array_columns import Narrowed

_OTHERS = frozenset({"cudf", "dask", "modin", "sqlframe"})
# Their columns are those of pandas. PyArrow would guess the type of an object column from its rows.
_OF_PANDAS = frozenset({"DASK", "MODIN", "PANDAS"})


def native(source: object) -> object:
    """What stands behind a narwhals frame, eager or lazy; anything else as it is."""
    narwhals = sys.modules.get("narwhals")
    wrapped = narwhals is not None and isinstance(source, (narwhals.DataFrame, narwhals.LazyFrame))
    return source.to_native() if wrapped else source  # type: ignore[attr-defined]


def at_home(source: object, table: str | None) -> tuple[object, str | None]:
    """A source behind its wrapping, and its table: those of Ibis as the engine has them in which they are."""
    source = native(source)
    if "ibis" in sys.modules:
        from dpselect.engines.sources.ibis_tables import home_of, is_ibis

        if is_ibis(source):
            return home_of(source, table)
    return source, table


def understood(source: object) -> Narwhals | None:
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
    return Narwhals(frame) if isinstance(frame, (narwhals.DataFrame, narwhals.LazyFrame)) else None


@dataclass(frozen=True, repr=False)
class Narwhals:
    """Dask, Modin, cuDF, SQLFrame. A lazy one is collected for each question, these columns only."""

    frame: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        from dpselect.engines.sources.text_lines import unique

        return tuple(unique(self.frame.collect_schema().names()))

    def narrow(self, places: Sequence[int], *, empty: bool) -> Narrowed:
        """Some of the columns, as DuckDB scans them."""
        from dpselect.engines.sources.array_columns import Narrowed
        from dpselect.engines.sources.arrow_columns import readable
        from dpselect.engines.sources.pandas_frames import Pandas

        names, column = self.frame.collect_schema().names(), sys.modules["narwhals"].col
        some = self.frame.select(column(names[at]).alias(f"c{place}") for place, at in enumerate(places))
        some = (some.head(0) if empty else some).lazy()
        if self.frame.implementation.name in _OF_PANDAS:
            return Pandas(some.collect("pandas").to_native()).narrow(range(len(places)), empty=empty)
        rows = some.collect("pyarrow").to_native()
        columns = {f"c{place}": readable(rows.column(place), self.names[at]) for place, at in enumerate(places)}
        return Narrowed(sys.modules["pyarrow"].table(columns))
