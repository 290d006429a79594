"""The PostgreSQL engine: the SQL engine over one table of a server."""

from __future__ import annotations

from dpselect.engines import sql_filter
from dpselect.engines.postgres_database import PostgresDatabase
from dpselect.engines.sql_engine import SqlEngine


def postgres_engine(
    source: str,
    *,
    user: str,
    item: str,
    where: str | None = None,
    max_items_per_user: int | None = None,
    split: str | None = None,
    table: str | None = None,
    key: bytes,
) -> SqlEngine:
    """An engine for one question. Opening it reads the catalogue and refuses what does not fit."""
    condition = None if where is None else sql_filter.parse(where)
    needs = None if condition is None else condition.needs
    database = PostgresDatabase(source, table, user=user, item=item, needs=needs)
    return SqlEngine.over(
        database, user=user, item=item, where=condition, max_items_per_user=max_items_per_user, split=split, key=key
    )
