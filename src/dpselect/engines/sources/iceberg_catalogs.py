"""Iceberg tables that a catalog keeps: by the name of the catalog in pyiceberg's own settings, or as its objects.

A scan sees one snapshot, and a snapshot never changes: its number, with those of the table and of the columns and what
these are called in files, is known again by a ledger.
"""

from __future__ import annotations

from typing import Any

from dpselect.engines.sources.tables import (
    ICEBERG_PREFIX,
    is_iceberg_object,
    redact_address,
    refuse_missing_package,
    refuse_table,
)
from dpselect.errors import DataError, SourceError, came, missing_source_error

_NAMES_IN_FILES = "schema.name-mapping.default"  # of columns, in files that do not number them
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
    if source.snapshot_id is not None and source.snapshot() is None:
        raise SourceError("source", "be a scan of a snapshot that the table has", came(source.snapshot_id))
    return source


def identify_state(source: Any, table: str | None) -> list[object]:
    """Return what names the rows of a source for good."""
    scan = open_scan(source, table)
    snapshot, metadata = scan.snapshot(), scan.table_metadata
    number = None if snapshot is None else snapshot.snapshot_id
    columns = [scan.projection().schema_id, metadata.properties.get(_NAMES_IN_FILES)]
    row_filter = [_describe(scan.row_filter), bool(scan.case_sensitive)]
    return ["iceberg", str(metadata.table_uuid), columns, number, row_filter]


def _describe(condition: Any) -> object:
    """Return a condition of pyiceberg, in which each constant is told from every other; a set has no order."""
    parts: list[object] = [type(condition).__name__]
    for name, part in sorted(getattr(condition, "__dict__", {}).items()):
        if isinstance(part, (set, frozenset)):
            parts.append([name, sorted(map(repr, part))])
        else:
            parts.append([name, _describe(part) if hasattr(part, "__invert__") else repr(part)])
    return parts


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
    shown_name = redact_address(catalog_name)
    error_name, hint = "", _SETTINGS
    try:
        catalog = load_catalog(catalog_name) if isinstance(source, str) else source
        return catalog.load_table(table)
    except (NoSuchTableError, NoSuchNamespaceError):
        pass
    except Exception as error:  # whatever it is: its text may hold a secret of an address, so it is no cause
        error_name = type(error).__name__
    if error_name:
        raise DataError(f"the Iceberg catalog {shown_name!r} cannot be read ({error_name})", hint)
    raise missing_source_error("table", f"be a table of the Iceberg catalog {shown_name!r}", repr(table))
