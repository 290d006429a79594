"""A listed domain for PostgreSQL: its values as the item column would hold them, told from the domain alone.

DuckDB reads and checks them, so that a domain means the same wherever the rows are. They are public.
"""

from __future__ import annotations

from dpselect.engines import duckdb_workspace
from dpselect.engines.domain import Column, Listed
from dpselect.engines.duckdb_domain import keep_domain
from dpselect.engines.postgres_questions import domain as domain_table
from dpselect.engines.postgres_types import PgType
from dpselect.engines.postgres_workspace import Workspace
from dpselect.errors import DataError, ParameterError


def domain_values(workspace: Workspace, domain: Listed | Column, item_type: PgType) -> list[object]:
    """The distinct items of a domain, as values that go beside a statement."""
    own = duckdb_workspace.Workspace()
    try:
        kept = keep_domain(own, domain, item_type.duckdb or "VARCHAR")
        values = [row[0] for row in own.fetch(f"SELECT i FROM {kept} ORDER BY i")]
    finally:
        own.close()
    try:
        fits = bool(workspace.attempt(f"SELECT count(*) FROM {domain_table(item_type)}", {"domain": values}))
    except DataError:
        fits = False
    if not fits:
        raise ParameterError(
            "domain", f"hold values that are {item_type.name}, like the item column", "some that are not"
        )
    return values
