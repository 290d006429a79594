"""Sources: from whatever a caller may give to a scan. Opening one looks at its schema only."""

from __future__ import annotations

import os

import duckdb

from dpselect.engines.address import Address, SourceKind
from dpselect.engines.duckdb.files import open_file_scan
from dpselect.engines.duckdb.scans import Scan, SqlScan, describe_columns
from dpselect.engines.duckdb.types import short_form
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.sources.files import find_files
from dpselect.engines.sources.tables import is_delta_table, is_iceberg_table, is_lake, refuse_table
from dpselect.errors import SourceError, UnknownSourceError, came

__all__ = ["Scan", "open_scan"]

_MUST = (
    "be a path, a list of paths, a DuckDB connection or relation, a pandas, polars or narwhals frame, "
    "a PyArrow table, another object that streams Arrow data or a dict of arrays"
)


def open_scan(workspace: Workspace, address: Address) -> Scan:
    """Open any supported source as a scan, with the types that its owner declares."""
    scan = _open_undeclared(workspace, address)
    if not address.types:
        return scan
    from dpselect.engines.sources.scans.declared import with_types

    return with_types(scan, address.types)


def _open_undeclared(workspace: Workspace, address: Address) -> Scan:
    home = address.at_home()
    if home is not address and home.kind is SourceKind.POSTGRES:  # a message about an address never shows its password
        must = "be an Ibis table over DuckDB or polars, because one over PostgreSQL is not supported here"
        raise SourceError("source", must, "one over PostgreSQL")
    source, table, csv = home.source, home.table, home.csv
    if is_lake(source) or is_iceberg_table(source):
        from dpselect.engines.duckdb.frame_scan import FrameScan
        from dpselect.engines.sources.lake import open_lake

        lake = open_lake(source, table)
        return FrameScan(lake.names, lake, fixed=True)
    if isinstance(source, (str, os.PathLike, list, tuple)) or is_delta_table(source):
        files = find_files(source)
        if csv.unusual_options and files.kind not in ("csv", "tsv"):
            name, value = next(iter(csv.unusual_options.items()))
            raise SourceError(name, "be left out for this kind of source", came(value), "it is for CSV and TSV files")
        if files.kind == "duckdb":
            return _open_database_table(workspace, files.paths[0], table)
        refuse_table(table)
        if files.kind == "prepared":
            from dpselect.engines.duckdb.prepared_scan import PreparedScan

            return PreparedScan.open(workspace, files.paths[0])
        return open_file_scan(workspace, files, address.types, csv=csv)
    if isinstance(source, duckdb.DuckDBPyConnection):
        return _open_connection_table(workspace, source, table)
    if isinstance(source, duckdb.DuckDBPyRelation):
        from dpselect.engines.duckdb.relation_scan import RelationScan

        refuse_table(table)
        return workspace.guarded(lambda: RelationScan.from_relation(source))
    from dpselect.engines.sources.frames import frame_of

    frame = workspace.guarded(lambda: frame_of(source))
    if frame is None:
        from dpselect.engines.sources.wrapped import in_memory

        raise UnknownSourceError("source", _MUST, f"an object of type {type(source).__name__}", in_memory(source))
    from dpselect.engines.duckdb.frame_scan import FrameScan

    refuse_table(table)
    return FrameScan(frame.names, frame, fixed=True)


def _open_database_table(workspace: Workspace, path: str, table: str | None) -> Scan:
    """Open a table of a database file, which DuckDB alone opens."""
    from dpselect.engines.duckdb.catalog import TABLES, attach_database, choose_table, parse_tables

    place = attach_database(workspace, os.path.realpath(path)), "main"
    tables = [candidate for candidate in parse_tables(workspace.fetch(TABLES)) if candidate.database == place[0]]
    chosen_table = choose_table(table, tables, place, "a table of the database")
    types = describe_columns(workspace, f"SELECT * FROM {chosen_table.sql}")
    forms = {name: f"{short_form(quoted(name), sql_type)} AS {quoted(name)}" for name, sql_type in types.items()}
    return SqlScan(
        tuple(types),
        lambda columns: f"(SELECT {', '.join(forms[column] for column in columns)} FROM {chosen_table.sql})",
        fixed=chosen_table.stored,
    )


def _open_connection_table(workspace: Workspace, connection: duckdb.DuckDBPyConnection, table: str | None) -> Scan:
    from dpselect.engines.duckdb.catalog import CURRENT_PLACE, TABLES, choose_table, parse_tables
    from dpselect.engines.duckdb.relation_scan import RelationScan

    def read_catalog() -> tuple[list[Row], Row]:
        return connection.sql(TABLES).fetchall(), connection.sql(CURRENT_PLACE).fetchall()[0]

    rows, (database, schema) = workspace.guarded(read_catalog)
    chosen_table = choose_table(
        table, parse_tables(rows), (str(database), str(schema)), "a table or view of the connection"
    )
    return workspace.guarded(lambda: RelationScan.from_relation(connection.sql(f"FROM {chosen_table.sql}")))
