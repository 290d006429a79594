"""Which engine answers for a source: PostgreSQL and Spark for what is theirs, DuckDB for everything else."""

from __future__ import annotations

from collections.abc import Callable

from dpselect.engines.duckdb_engine import DuckDBEngine
from dpselect.engines.narwhals_frames import native
from dpselect.engines.port import Engine
from dpselect.engines.postgres_address import is_postgres
from dpselect.engines.postgres_engine import postgres_engine
from dpselect.engines.spark_engine import spark_engine
from dpselect.engines.spark_source import is_spark

__all__ = ["Engine", "open_engine"]


def open_engine(
    source: object,
    *,
    user: str,
    item: str,
    where: str | None,
    max_items_per_user: int | None,
    split: str | None,
    table: str | None,
    key: bytes,
) -> Engine:
    """The engine for one question. Opening it reads the schema, never a row."""
    source = native(source)
    make: Callable[..., Engine] = DuckDBEngine
    if is_postgres(source):
        make = postgres_engine
    elif is_spark(source):
        make = spark_engine
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
