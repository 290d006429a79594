"""A listed domain as a table: its values in the item column's type and form, told from the domain alone.

A domain is public, so a value of it that does not fit is an error and may be spoken of.
"""

from __future__ import annotations

from dpselect.engines.domain import Column, Listed
from dpselect.engines.duckdb_scans import described, missing_column
from dpselect.engines.duckdb_sources import open_scan
from dpselect.engines.duckdb_types import TEXTS, is_text, item_form, kind, present
from dpselect.engines.duckdb_workspace import Workspace, quoted
from dpselect.errors import DataError, ParameterError


def keep_domain(workspace: Workspace, domain: Listed | Column, item_type: str) -> str:
    """The name of a table with one column i: the distinct items of the domain."""
    values = workspace.fresh()
    if isinstance(domain, Column):
        _keep_column(workspace, domain, values)
    else:
        _keep_list(workspace, domain, values)
    value_type = described(workspace, f"FROM {values}")["v"]
    target = "VARCHAR" if is_text(item_type) else item_type
    _refuse_misfits(workspace, values, value_type, target)
    form = item_form("v", target)
    here = present("v", target)
    table = workspace.fresh()
    typed = f"(SELECT TRY_CAST(v AS {target}) AS v FROM {values})"
    workspace.fetch(f"CREATE TEMP TABLE {table} AS SELECT DISTINCT {form} AS i FROM {typed} WHERE {here}")
    if not workspace.fetch(f"FROM {table} LIMIT 1"):
        raise ParameterError("domain", "hold at least one item", "none")
    workspace.fetch(f"DROP TABLE {values}")
    return table


def _keep_list(workspace: Workspace, domain: Listed, values: str) -> None:
    try:
        workspace.fetch(f"CREATE TEMP TABLE {values} AS SELECT unnest(?) AS v", [list(domain.items)])
        kept = True
    except DataError:
        kept = False
    if not kept:
        raise ParameterError("domain", "hold values of one type", "some that no column of a table can hold together")


def _keep_column(workspace: Workspace, domain: Column, values: str) -> None:
    scan = open_scan(workspace, domain.source, domain.table)
    if scan.names and domain.column not in scan.names:
        raise missing_column("domain", domain.column, scan)

    def select(source: str) -> str:
        return f"SELECT {quoted(domain.column)} AS v FROM {source}"

    def keep() -> None:
        with scan.rows(workspace, [domain.column], select) as source:
            workspace.rows(f"CREATE TEMP TABLE {values} AS FROM {source}")

    workspace.guarded(keep)


def _refuse_misfits(workspace: Workspace, values: str, value_type: str, target: str) -> None:
    """Values that the item column's type cannot hold, or not exactly: 1.5 where items are whole numbers."""
    cast = f"TRY_CAST(v AS {target})"
    changed = "false" if kind(value_type) in TEXTS else f"TRY_CAST({cast} AS {value_type}) IS DISTINCT FROM v"
    if workspace.fetch(f"SELECT 1 FROM {values} WHERE v IS NOT NULL AND ({cast} IS NULL OR {changed}) LIMIT 1"):
        must = f"hold values that are {kind(target)}, like the item column"
        raise ParameterError("domain", must, f"{kind(value_type)} values of which not all are")
