"""Sources: from whatever a caller may give to a scan. Opening one looks at its schema only."""

from __future__ import annotations

import os

import duckdb

from dpselect.engines.address import Address, SourceKind
from dpselect.engines.duckdb.files import file_scan
from dpselect.engines.duckdb.scans import Scan, SqlScan, described
from dpselect.engines.duckdb.types import short_form
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.sources.files import find
from dpselect.engines.sources.tables import is_delta_table, is_iceberg_table, is_lake, refuse_table
from dpselect.engines.sources.wrapped import in_memory
from dpselect.errors import SourceError, came

__all__ = ["Scan", "open_scan"]

_MUST = (
    "be a path, a list of paths, a DuckDB connection or relation, a pandas, polars or narwhals frame, "
    "a PyArrow table, another object that streams Arrow data or a dict of arrays"
)


def open_scan(workspace: Workspace, address: Address) -> Scan:
    """The scan of whatever a caller may give as a source, under the types that its owner declares."""
    scan = _open(workspace, address)
    if not address.types:
        return scan
    from dpselect.engines.sources.scans.declared import with_types

    return with_types(scan, address.types)


def _open(workspace: Workspace, address: Address) -> Scan:
    home = address.at_home()
    if home is not address and home.kind is SourceKind.POSTGRES:  # whatever is said of an address, its password is not
        must = "be an Ibis table over DuckDB or polars, because one over PostgreSQL is not supported here"
        raise SourceError("source", must, "one over PostgreSQL")
    source, table, csv = home.source, home.table, home.csv
    if is_lake(source) or is_iceberg_table(source):
        from dpselect.engines.duckdb.frame_scan import FrameScan
        from dpselect.engines.sources.lake import open_lake

        lake = open_lake(source, table)
        return FrameScan(lake.names, lake, fixed=True)
    if isinstance(source, (str, os.PathLike, list, tuple)) or is_delta_table(source):
        files = find(source)
        if csv.said and files.kind not in ("csv", "tsv"):
            name, value = next(iter(csv.said.items()))
            raise SourceError(name, "be left out for this kind of source", came(value), "it is for CSV and TSV files")
        if files.kind == "duckdb":
            return _database(workspace, files.paths[0], table)
        refuse_table(table)
        if files.kind == "prepared":
            from dpselect.engines.duckdb.prepared_scan import PreparedScan

            return PreparedScan.of(workspace, files.paths[0])
        return file_scan(workspace, files, address.types, csv=csv)
    if isinstance(source, duckdb.DuckDBPyConnection):
        return _connection(workspace, source, table)
    refuse_table(table)
    if isinstance(source, duckdb.DuckDBPyRelation):
        from dpselect.engines.duckdb.relation_scan import RelationScan

        return workspace.guarded(lambda: RelationScan.of(source))
    from dpselect.engines.sources.frames import frame_of

    frame = workspace.guarded(lambda: frame_of(source))
    if frame is not None:
        from dpselect.engines.duckdb.frame_scan import FrameScan

        return FrameScan(frame.names, frame, fixed=True)
    raise SourceError("source", _MUST, f"an object of type {type(source).__name__}", in_memory(source))


def _database(workspace: Workspace, path: str, table: str | None) -> Scan:
    """A table of a database file, which DuckDB alone opens."""
    from dpselect.engines.duckdb.catalog import TABLES, attached, chosen, tables_of

    here = attached(workspace, os.path.realpath(path)), "main"
    tables = [one for one in tables_of(workspace.fetch(TABLES)) if one.database == here[0]]
    found = chosen(table, tables, here, "a table of the database")
    types = described(workspace, f"SELECT * FROM {found.sql}")
    forms = {name: f"{short_form(quoted(name), sort)} AS {quoted(name)}" for name, sort in types.items()}
    return SqlScan(
        tuple(types),
        lambda columns: f"(SELECT {', '.join(forms[column] for column in columns)} FROM {found.sql})",
        fixed=found.stored,
    )


def _connection(workspace: Workspace, connection: duckdb.DuckDBPyConnection, table: str | None) -> Scan:
    from dpselect.engines.duckdb.catalog import HERE, TABLES, chosen, tables_of
    from dpselect.engines.duckdb.relation_scan import RelationScan

    def look() -> tuple[list[Row], Row]:
        return connection.sql(TABLES).fetchall(), connection.sql(HERE).fetchall()[0]

    rows, (database, schema) = workspace.guarded(look)
    found = chosen(table, tables_of(rows), (str(database), str(schema)), "a table or view of the connection")
    return workspace.guarded(lambda: RelationScan.of(connection.sql(f"FROM {found.sql}")))
