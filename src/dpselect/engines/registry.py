"""Which engine answers for a source: PostgreSQL and Spark for what is theirs, DuckDB for all else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dpselect._ground.keys import Key
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.port import Engine, Tally
from dpselect.errors import SourceError, came

if TYPE_CHECKING:
    from dpselect._ground.periods import Periods

__all__ = ["Engine", "open_engine"]


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

        LOG.debug("engine: %s", _NAMES.get(address.kind, "DuckDB"))
    if not address.is_elsewhere:
        from dpselect.engines.duckdb.engine import DuckDBEngine

        return DuckDBEngine(address, **arguments)
    if address.types:
        hint = "cast the column in a view"
        types = came(next(iter(address.types)))
        raise SourceError("types", "be left out for tables of PostgreSQL and Spark", types, hint)
    from dpselect.engines.sql.questions_by_group import GroupedEngine

    return GroupedEngine(_database(address.kind), address, **arguments)


_NAMES = {SourceKind.POSTGRES: "Postgres", SourceKind.SPARK: "Spark"}


def _database(kind: SourceKind) -> Any:
    """Return the class that opens a database elsewhere. Only the one that answers is imported."""
    if kind is SourceKind.POSTGRES:
        from dpselect.engines.postgres.database import PostgresDatabase

        return PostgresDatabase
    from dpselect.engines.spark.database import SparkDatabase

    return SparkDatabase
