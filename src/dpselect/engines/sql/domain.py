"""A listed domain for a database: its values as the item column would hold them, told from the domain alone.

DuckDB reads and checks them, so that a domain means the same wherever the rows are. They are public.
"""

from __future__ import annotations

from dpselect.domain import Column, Listed
from dpselect.engines.duckdb.domain import keep_domain
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sql.port import SqlType


def domain_values(domain: Listed | Column, item_type: SqlType) -> list[object]:
    """The distinct items of a domain, in their order."""
    workspace = Workspace()
    try:
        kept = keep_domain(workspace, domain, item_type.duckdb or "VARCHAR")
        return [row[0] for row in workspace.fetch(f"SELECT i FROM {kept} ORDER BY i")]
    finally:
        workspace.close()
