"""Tables: DuckDB in each of its forms. PostgreSQL and Spark: server_kinds."""

# ruff: noqa: ARG001 - every maker takes the rows and a folder

from __future__ import annotations

from pathlib import Path

import duckdb

from tests.engines.ibis_tables import in_duckdb
from tests.replay.frame_kinds import IN_POLARS, arrow_table, polars_frame
from tests.replay.kinds import MOMENTS, TYPED, kind
from tests.replay.sorts import Rows

_TYPES = tuple(dict.fromkeys((*TYPED, *MOMENTS)))
_CANNOT = "surrogate, invalid, special decimal, far beyond, beyond the day"


def loaded(rows: Rows, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The rows as the table `events`."""
    connection.register("arrow", arrow_table(rows))
    connection.execute("CREATE TABLE events AS FROM arrow").fetchall()
    connection.unregister("arrow")
    return connection


@kind("DuckDB file", _TYPES, cannot=_CANNOT, like="DuckDB table")
def _file(rows: Rows, folder: Path) -> object:
    path = folder / "rows.duckdb"
    with duckdb.connect(path) as connection:
        loaded(rows, connection)
    return str(path), "events"


@kind("DuckDB table", _TYPES, cannot=_CANNOT)
def _table(rows: Rows, folder: Path) -> object:
    return loaded(rows, duckdb.connect()), "events"


@kind("DuckDB view", ("text", "whole", "real", "moment us"), cannot=_CANNOT, like="DuckDB table")
def _view(rows: Rows, folder: Path) -> object:
    connection = loaded(rows, duckdb.connect())
    connection.execute("CREATE VIEW seen AS FROM events WHERE item IS NOT DISTINCT FROM item").fetchall()
    return connection, "seen"


@kind("DuckDB relation", ("text", "whole", "real", "moment us"), cannot=_CANNOT, like="DuckDB table")
def _relation(rows: Rows, folder: Path) -> object:
    return loaded(rows, duckdb.connect()).table("events")


@kind("Ibis over DuckDB", _TYPES, cannot=_CANNOT, like="DuckDB table")
def _ibis(rows: Rows, folder: Path) -> object:
    table = in_duckdb(arrow_table(rows))
    return table.filter(table.item.isnull() | table.item.notnull())


# Ibis prints the first rows of such a frame, and polars prints no moment that is far beyond those of Python.
@kind("Ibis over polars", IN_POLARS, cannot="surrogate, invalid, special decimal, far beyond", like="polars")
def _ibis_polars(rows: Rows, folder: Path) -> object:
    import ibis

    table = ibis.polars.connect({"events": polars_frame(rows)}).table("events")
    return table.filter(table.item.isnull() | table.item.notnull())
