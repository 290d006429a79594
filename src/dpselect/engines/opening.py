"""Which engine answers for a source: PostgreSQL for its addresses, Spark for its own, DuckDB for everything else."""

from __future__ import annotations

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
    if is_postgres(source):
        return postgres_engine(
            source,
            user=user,
            item=item,
            where=where,
            max_items_per_user=max_items_per_user,
            split=split,
            table=table,
            key=key,
        )
    if is_spark(source):
        return spark_engine(
            source,
            user=user,
            item=item,
            where=where,
            max_items_per_user=max_items_per_user,
            split=split,
            table=table,
            key=key,
        )
    return DuckDBEngine(
        source,
        user=user,
        item=item,
        where=where,
        max_items_per_user=max_items_per_user,
        split=split,
        table=table,
        key=key,
    )
