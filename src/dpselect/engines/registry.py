"""Which engine answers for a source: PostgreSQL and Spark for what is theirs, DuckDB for all else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dpselect._ground.keys import Key
from dpselect.engines.port import Engine
from dpselect.engines.postgres.address import is_postgres
from dpselect.engines.sources.csv_form import USUAL_CSV, CsvForm
from dpselect.engines.sources.wrapped import at_home
from dpselect.engines.spark.source import is_spark
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.aggregates.measures import Measure
    from dpselect.aggregates.totals import Totals
    from dpselect.engines.sources.scans.declarations import Types

__all__ = ["Engine", "open_engine"]


def open_engine(
    source: object,
    *,
    user: Key,
    item: Key,
    where: str | None = None,
    max_items_per_user: int | None = None,
    split: str | None = None,
    table: str | None = None,
    csv: CsvForm = USUAL_CSV,
    types: Types | None = None,
    periods: Periods | None = None,
    totals: Totals | None = None,
    measures: Sequence[Measure] = (),
    by: Sequence[str] = (),
    key: bytes,
) -> Engine:
    """The engine for one question. Opening it reads the schema, never a row."""
    source, table = at_home(source, table)
    given: dict[str, Any] = {
        "user": user,
        "item": item,
        "where": where,
        "max_items_per_user": max_items_per_user,
        "split": split,
        "table": table,
        "periods": periods,
        "totals": totals,
        "measures": tuple(measures),
        "by": tuple(by),
        "key": key,
    }
    database = _database(source)
    if "logging" in sys.modules:
        from dpselect._ground.logs import LOG

        LOG.debug("engine: %s", "DuckDB" if database is None else database.__name__.removesuffix("Database"))
    if database is None:
        from dpselect.engines.duckdb.engine import DuckDBEngine

        return DuckDBEngine(source, csv=csv, types=types, **given)
    if types:
        hint = "cast the column in a view"
        raise SourceError("types", "be left out for tables of PostgreSQL and Spark", came(next(iter(types))), hint)
    from dpselect.engines.sql.engine import SqlEngine

    return SqlEngine(database, source, **given)


def _database(source: object) -> Callable[..., Any] | None:
    """What opens a source in a database, None where DuckDB reads it. Only the engine that answers is imported."""
    if is_postgres(source):
        from dpselect.engines.postgres.database import PostgresDatabase

        return PostgresDatabase
    if is_spark(source):
        from dpselect.engines.spark.database import SparkDatabase

        return SparkDatabase
    return None
