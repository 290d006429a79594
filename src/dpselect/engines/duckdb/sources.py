"""Sources: from whatever a caller may give to a scan. Opening one looks at its schema only."""

from __future__ import annotations

import os

from dpselect.engines.address import Address, SourceKind
from dpselect.engines.duckdb.library import load_package
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sources.csv_form import USUAL_CSV, CsvForm
from dpselect.engines.sources.files import Files, find_files
from dpselect.engines.sources.scans.parquet import parquet_scan
from dpselect.engines.sources.scans.scan import Scan
from dpselect.engines.sources.tables import is_delta_table, refuse_table
from dpselect.errors import SourceError, UnknownSourceError, came

_MUST = (
    "be a path, a list of paths, a DuckDB connection or relation, a pandas, polars or narwhals frame, "
    "a PyArrow table, another object that streams Arrow data or a dict of arrays"
)


def open_scan(workspace: Workspace, address: Address) -> Scan:
    """Open any supported source as a scan, with the types that its owner declares."""
    return _open_undeclared(workspace, address).with_types(address.types)


def _open_undeclared(workspace: Workspace, address: Address) -> Scan:
    home = address.at_home()
    if home is not address and home.kind is SourceKind.POSTGRES:  # a message about an address never shows its password
        must = "be an Ibis table over DuckDB or polars, because one over PostgreSQL is not supported here"
        raise SourceError("source", must, "one over PostgreSQL")
    if home.kind is SourceKind.IBIS:
        from dpselect.engines.ibis.scan import IbisScan

        load_package()
        return IbisScan.from_address(home)
    source, table, csv = home.source, home.table, home.csv
    if home.is_read_by_pyarrow:
        from dpselect.engines.sources.lake import open_iceberg, open_lake
        from dpselect.engines.sources.scans.frames import FrameScan

        load_package()
        lake = open_iceberg(source, table) if home.kind is SourceKind.ICEBERG else open_lake(source, table)
        return FrameScan(lake.names, lake, fixed=True)
    if isinstance(source, (str, os.PathLike, list, tuple)) or is_delta_table(source):
        files = find_files(source)
        if csv != USUAL_CSV and files.kind not in ("csv", "tsv"):
            name, value = next(iter(csv.unusual_options.items()))
            raise SourceError(name, "be left out for this kind of source", came(value), "it is for CSV and TSV files")
        if files.kind == "delta":
            from dpselect.engines.sources.delta_rows import open_delta_rows
            from dpselect.engines.sources.scans.frames import FrameScan

            refuse_table(table)
            load_package()
            rows = workspace.guarded(lambda: open_delta_rows(files.delta))
            return FrameScan(rows.names, rows, fixed=True)
        if files.kind == "duckdb":
            from dpselect.engines.duckdb.catalog import open_database_table

            return open_database_table(workspace, files.paths[0], table)
        refuse_table(table)
        if files.kind == "prepared":
            from dpselect.engines.prepared.scan import PreparedScan

            return PreparedScan.open(workspace, files.paths[0])
        return open_files(workspace, files, csv)
    load_package()
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

    if isinstance(source, DuckDBPyConnection):
        from dpselect.engines.duckdb.catalog import open_connection_table

        return open_connection_table(workspace, source, table)
    if isinstance(source, DuckDBPyRelation):
        from dpselect.engines.duckdb.catalog import RelationScan

        refuse_table(table)
        return workspace.guarded(lambda: RelationScan.from_relation(source))
    from dpselect.engines.sources.frames import frame_of

    frame = workspace.guarded(lambda: frame_of(source))
    if frame is None:
        from dpselect.engines.sources.wrapped import in_memory

        raise UnknownSourceError("source", _MUST, f"an object of type {type(source).__name__}", in_memory(source))
    from dpselect.engines.sources.scans.frames import FrameScan

    refuse_table(table)
    return FrameScan(frame.names, frame, fixed=True)


def open_files(workspace: Workspace, files: Files, csv: CsvForm) -> Scan:
    """Return the scan of files of one kind; their headers and footers are read, and no row."""
    if files.kind not in ("csv", "tsv", "json"):
        return parquet_scan(workspace, files)
    from dpselect.engines.sources.scans.lines import open_lines

    load_package()  # lines reach the engine as Arrow objects
    return open_lines(files, csv)
