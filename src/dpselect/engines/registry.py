"""Which engine answers for a source: the one table of engines. Other packages are asked only about what none takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dpselect._ground.keys import Key
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.port import Tally
from dpselect.errors import SourceError, UnknownSourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods
    from dpselect.engines.sql.questions_by_group import Engine


def open_engine(
    address: Address,
    *,
    user: Key,
    item: Key,
    where: str | None = None,
    max_items_per_user: int | None = None,
    split: str | None = None,
    periods: Periods | None = None,
    tally: Tally | None = None,
    key: bytes,
) -> Engine:
    """Open the engine for one question. Opening it reads the schema, never a row."""
    address = address.at_home()
    arguments: dict[str, Any] = {
        "user": user,
        "item": item,
        "where": where,
        "max_items_per_user": max_items_per_user,
        "split": split,
        "periods": periods,
        "tally": tally,
        "key": key,
    }
    if "logging" in sys.modules:
        from dpselect._ground.logs import LOG

        LOG.debug(
            "engine: %s",
            {SourceKind.POSTGRES: "Postgres", SourceKind.SPARK: "Spark", SourceKind.IBIS: "Ibis"}.get(
                address.kind, "DuckDB"
            ),
        )
    if address.types and address.is_elsewhere:
        hint = "cast the column in a view"
        types = came(next(iter(address.types)))
        raise SourceError("types", "be left out for tables of PostgreSQL, Spark and Ibis", types, hint)
    match address.kind:  # only the engine that answers is imported
        case SourceKind.POSTGRES:
            from dpselect.engines.postgres.database import PostgresDatabase
            from dpselect.engines.sql.questions_by_group import Engine

            return Engine(PostgresDatabase, address, **arguments)
        case SourceKind.SPARK:
            from dpselect.engines.spark.database import SparkDatabase
            from dpselect.engines.sql.questions_by_group import Engine

            return Engine(SparkDatabase, address, **arguments)
        case SourceKind.IBIS:
            from dpselect.engines.ibis.engine import IbisEngine

            return IbisEngine(address, **arguments)
        case _:
            from dpselect.engines.duckdb.engine import DuckDBEngine

            try:
                return DuckDBEngine(address, **arguments)
            except UnknownSourceError as error:
                from dpselect.engines.outside import open_outside

                return open_outside(address, arguments, error)
