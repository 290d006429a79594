"""Iceberg tables that a catalog keeps: by the name of the catalog in pyiceberg's own settings, or as its objects.

A scan sees one snapshot, and a snapshot never changes: its number, with those of the table and of the columns, is known
again by a ledger.
"""

from __future__ import annotations

from typing import Any

from dpselect.engines.sources.tables import (
    ICEBERG_PREFIX,
    is_iceberg_object,
    refuse_missing_package,
    refuse_table,
)
from dpselect.errors import DataError, SourceError, came, missing_source_error

_SETTINGS = "pyiceberg finds a catalog's address in .pyiceberg.yaml or in PYICEBERG_CATALOG__NAME__URI"


def open_scan(source: Any, table: str | None) -> Any:
    """Return the scan of pyiceberg over a table of a catalog, of a Table, or the scan that is given."""
    if is_iceberg_object(source, "Catalog") or isinstance(source, str):
        return _load_table(source, table).scan()
    refuse_table(table)
    if is_iceberg_object(source, "Table"):
        return source.scan()
    if source.limit is not None:
        raise SourceError(
            "source", "be a scan without a limit, by which rows would choose each other", came(source.limit)
        )
    return source


def identify_state(source: Any, table: str | None) -> list[object]:
    """Return what names the rows of a source for good."""
    scan = open_scan(source, table)
    snapshot, metadata = scan.snapshot(), scan.table_metadata
    number = None if snapshot is None else snapshot.snapshot_id
    return ["iceberg", str(metadata.table_uuid), scan.projection().schema_id, number, str(scan.row_filter)]


def _load_table(source: Any, table: str | None) -> Any:
    """Return the Table of this name in a catalog."""
    name = source if isinstance(source, str) else source.name
    if table is None or "." not in table:
        hint = f'dps.Table("{ICEBERG_PREFIX}prod", "shop.events")'
        raise SourceError(
            "table",
            "name a table of the catalog, with its namespace",
            "nothing" if table is None else came(table),
            hint,
        )
    with refuse_missing_package("lake"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
    catalog_name = name.removeprefix(ICEBERG_PREFIX)
    error_name, hint = "", _SETTINGS
    try:
        catalog = load_catalog(catalog_name) if isinstance(source, str) else source
        return catalog.load_table(table)
    except (NoSuchTableError, NoSuchNamespaceError):
        pass
    except Exception as error:  # whatever it is: its text may hold a secret of an address, so it is no cause
        error_name = type(error).__name__
    if error_name:
        raise DataError(f"the Iceberg catalog {catalog_name!r} cannot be read ({error_name})", hint)
    raise missing_source_error("table", f"be a table of the Iceberg catalog {catalog_name!r}", repr(table))
