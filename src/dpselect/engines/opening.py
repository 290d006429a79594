"""Which engine answers for a source: PostgreSQL, Spark and a warehouse for what is theirs, DuckDB for all else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dpselect.engines.duckdb_engine import DuckDBEngine
from dpselect.engines.files import refuse_newlines
from dpselect.engines.narwhals_frames import native
from dpselect.engines.port import Engine
from dpselect.engines.postgres_address import is_postgres
from dpselect.engines.postgres_database import PostgresDatabase
from dpselect.engines.spark_database import SparkDatabase
from dpselect.engines.spark_source import is_spark
from dpselect.engines.sql_engine import SqlEngine
from dpselect.engines.warehouse_database import WarehouseDatabase
from dpselect.engines.warehouse_source import is_warehouse

__all__ = ["Engine", "open_engine"]

_DATABASES: tuple[tuple[Callable[[object], bool], Callable[..., Any]], ...] = (
    (is_postgres, PostgresDatabase),
    (is_spark, SparkDatabase),
    (is_warehouse, WarehouseDatabase),
)


def open_engine(
    source: object,
    *,
    user: str,
    item: str,
    where: str | None = None,
    max_items_per_user: int | None = None,
    split: str | None = None,
    table: str | None = None,
    newlines_in_values: bool = False,
    key: bytes,
) -> Engine:
    """The engine for one question. Opening it reads the schema, never a row."""
    source = native(source)
    make: Callable[..., Engine] = partial(DuckDBEngine, newlines_in_values=newlines_in_values)
    for is_theirs, open_database in _DATABASES:
        if is_theirs(source):
            make = partial(SqlEngine.opened, open_database)
            refuse_newlines(newlines_in_values)
    return make(
        source,
        user=user,
        item=item,
        where=where,
        max_items_per_user=max_items_per_user,
        split=split,
        table=table,
        key=key,
    )
