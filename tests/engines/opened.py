"""Engines over sources as a test has them, without an Address and a Tally of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpselect.aggregates.measures import Measure
from dpselect.aggregates.totals import Totals
from dpselect.engines import Engine, registry
from dpselect.engines.address import Address
from dpselect.engines.duckdb import engine
from dpselect.engines.port import Tally
from dpselect.engines.sources.csv_form import USUAL_CSV, CsvForm
from dpselect.engines.sources.scans.declarations import Types


def _opened(
    source: object,
    *,
    table: str | None = None,
    csv: CsvForm = USUAL_CSV,
    types: Types | None = None,
    by: Sequence[str] = (),
    totals: Totals | None = None,
    measures: Sequence[Measure] = (),
    **asked: Any,
) -> tuple[Address, dict[str, Any]]:
    tally = Tally(tuple(by), totals, tuple(measures))
    return Address.parse(source, table, csv=csv, types=types), {**asked, "tally": tally}


def open_engine(source: object, **said: Any) -> Engine:
    """The engine that answers for a source."""
    address, asked = _opened(source, **said)
    return registry.open_engine(address, **asked)


class DuckDBEngine(engine.DuckDBEngine):
    """The DuckDB engine over a source."""

    def __init__(self, source: object, **said: Any) -> None:
        address, asked = _opened(source, **said)
        super().__init__(address, **asked)
