"""Sources: from whatever a caller may give to a scan. Opening one looks at its schema only."""

from __future__ import annotations

import os
from collections.abc import Sequence

import duckdb

from dpselect.engines.duckdb_files import file_scan
from dpselect.engines.duckdb_scans import FrameScan, RelationScan, Scan, SqlScan, described
from dpselect.engines.duckdb_streams import StreamScan
from dpselect.engines.duckdb_workspace import Workspace, literal, quoted
from dpselect.engines.files import find, refuse_newlines
from dpselect.engines.frames import frame_of
from dpselect.engines.narwhals_frames import native
from dpselect.errors import DataError, ParameterError
from dpselect.parameters import near

__all__ = ["Scan", "open_scan"]

_MUST = (
    "be a path, a list of paths, a DuckDB connection or relation, a pandas, polars or narwhals frame, "
    "a PyArrow table, another object that streams Arrow data or a dict of arrays"
)


def open_scan(workspace: Workspace, source: object, table: str | None, *, newlines_in_values: bool = False) -> Scan:
    """The scan of whatever a caller may give as a source."""
    source = native(source)
    if isinstance(source, (str, os.PathLike, list, tuple)):
        files = find(source)
        if files.kind not in ("csv", "tsv"):
            refuse_newlines(newlines_in_values)
        if files.kind == "duckdb":
            return _database(workspace, files.paths[0], table)
        _no_table(table)
        return file_scan(workspace, files, newlines_in_values=newlines_in_values)
    refuse_newlines(newlines_in_values)
    if isinstance(source, duckdb.DuckDBPyConnection):
        return _connection(workspace, source, table)
    _no_table(table)
    if isinstance(source, duckdb.DuckDBPyRelation):
        return workspace.guarded(lambda: RelationScan.of(source))
    frame = frame_of(source)
    if frame is not None:
        return FrameScan(workspace.guarded(lambda: frame.names), frame)
    if hasattr(type(source), "__arrow_c_stream__"):
        return StreamScan.of(workspace, source)
    raise ParameterError("source", _MUST, f"an object of type {type(source).__name__}")


def _no_table(table: str | None) -> None:
    if table is not None:
        hint = "table= belongs to a DuckDB database file or a DuckDB connection"
        raise ParameterError("table", "be left out for this kind of source", repr(table), hint)


def _database(workspace: Workspace, path: str, table: str | None) -> Scan:
    try:
        with open(path, "rb") as file:
            known = file.read(12)[8:] == b"DUCK"
    except OSError:
        known = False
    if not known:
        raise DataError(f"{path} is not a DuckDB database that can be read")
    database = _attached(workspace, os.path.realpath(path))
    where = f"database_name = '{database}' AND NOT internal"
    found = workspace.fetch(
        f"SELECT schema_name, table_name FROM duckdb_tables() WHERE {where} "
        f"UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE {where} ORDER BY ALL"
    )
    schema, name = _chosen(table, [(str(row[0]), str(row[1])) for row in found])
    sql = f"{database}.{quoted(schema)}.{quoted(name)}"
    return SqlScan(tuple(described(workspace, f"SELECT * FROM {sql}")), lambda _columns: sql)


def _attached(workspace: Workspace, path: str) -> str:
    """The name under which a database is attached; a domain may come from the same one as the rows."""
    open_already = workspace.fetch("SELECT database_name FROM duckdb_databases() WHERE path = ?", [path])
    if open_already:
        return str(open_already[0][0])
    name = workspace.fresh()
    try:
        workspace.fetch(f"ATTACH {literal(path)} AS {name} (READ_ONLY)")
        return name
    except DataError:
        pass
    hint = "another program or connection may hold it open; close it, or give the connection itself as the source"
    raise DataError(f"{path} cannot be opened", hint)


def _chosen(table: str | None, found: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The table that is meant by `name` or `schema.name`."""
    names = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in found}
    if table is None:
        raise ParameterError("table", "name a table of the database", "nothing", f"there is {', '.join(names)}")
    exact = names.get(table) or names.get(table.removeprefix("main."))
    if exact is None:
        raise ParameterError("table", "be a table of the database", repr(table), near(table, names))
    return exact


def _connection(workspace: Workspace, connection: duckdb.DuckDBPyConnection, table: str | None) -> Scan:
    if table is None:
        raise ParameterError("table", "name a table or view of the connection", "nothing")
    names = workspace.guarded(lambda: _tables(connection))
    # DuckDB would also take a file or a Python variable of that name.
    meant = {table.lower(), table.rpartition(".")[2].strip('"').lower()}
    if meant & {name.lower() for name in names}:
        scan = workspace.guarded(lambda: _table_scan(connection, table))
        if scan is not None:
            return scan
    raise ParameterError("table", "be a table or view of the connection", repr(table), near(table, names))


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    sql = "SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() WHERE NOT internal"
    return [str(row[0]) for row in connection.sql(f"{sql} ORDER BY 1").fetchall()]


def _table_scan(connection: duckdb.DuckDBPyConnection, table: str) -> RelationScan | None:
    try:
        return RelationScan.of(connection.table(table))
    except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException, duckdb.InvalidInputException):
        return None
