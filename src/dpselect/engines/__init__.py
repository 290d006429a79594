"""Engines: the only rooms that see rows. One engine (sql/), over one family of files per database.

Other rooms import from here: the engine, where rows are and in which state, and what a filter means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.aggregates.totals import Totals
    from dpselect.aggregates.value_counts import Grid
    from dpselect.engines.address import Address, SourceKind
    from dpselect.engines.duckdb.engine import DuckDBEngine, load_duckdb
    from dpselect.engines.identity import file_bytes, identify_source
    from dpselect.engines.prepared.file import has_counts_of
    from dpselect.engines.row_filter import parse as parse_filter
    from dpselect.engines.sources.scans.declarations import parse_type
    from dpselect.engines.sql.questions_by_group import Engine

_HOMES = {
    "Address": "address",
    "DuckDBEngine": "duckdb.engine",
    "Engine": "sql.questions_by_group",
    "Grid": "dpselect.aggregates.value_counts",
    "SourceKind": "address",
    "Totals": "dpselect.aggregates.totals",
    "file_bytes": "identity",
    "has_counts_of": "prepared.file",
    "identify_source": "identity",
    "load_duckdb": "duckdb.engine",
    "parse_filter": "row_filter:parse",
    "parse_type": "sources.scans.declarations",
}

__all__ = [
    "Address",
    "DuckDBEngine",
    "Engine",
    "Grid",
    "SourceKind",
    "Totals",
    "file_bytes",
    "has_counts_of",
    "identify_source",
    "load_duckdb",
    "parse_filter",
    "parse_type",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
