"""Listed items as a table, those of several columns too: each column's values in that column's type and form."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect._ground.domain import Column, Listed
from dpselect.engines.duckdb.domain import fitting, keep_domain, keep_list, written_all
from dpselect.engines.duckdb.keys import DuckDBKey
from dpselect.engines.duckdb.types import OBJECT
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sql.port import SqlType
from dpselect.errors import ParameterError


def keep_items(workspace: Workspace, domain: Listed | Column, types: Sequence[SqlType]) -> str:
    """The name of a table with the distinct items of a domain of so many columns, i, and their places in a list."""
    if len(types) == 1 or not isinstance(domain, Listed):
        return keep_domain(workspace, domain, types[0])
    items = [item for item in domain.items if isinstance(item, tuple)]
    values = [workspace.fresh() for _ in types]
    targets = tuple(
        _kept(workspace, [item[at] for item in items], values[at], sql_type) for at, sql_type in enumerate(types)
    )
    casts = ", ".join(f"TRY_CAST({values[at]}.v AS {target}) AS v{at}" for at, target in enumerate(targets))
    joined = " ".join([values[0], *(f"JOIN {other} USING (place)" for other in values[1:])])
    key = DuckDBKey(tuple(f"v{at}" for at in range(len(types))), targets)
    table = workspace.fresh()
    typed = f"(SELECT {casts}, place FROM {joined})"
    distinct = f"SELECT {key.item} AS i, min(place) AS place FROM {typed} WHERE {key.nameable} GROUP BY 1"
    workspace.fetch(f"CREATE TEMP TABLE {table} AS {distinct}")
    if not workspace.fetch(f"FROM {table} LIMIT 1"):
        raise ParameterError("domain", "hold at least one item", "none")
    for name in values:
        workspace.fetch(f"DROP TABLE {name}")
    return table


def _kept(workspace: Workspace, column: list[object], values: str, of: SqlType) -> str:
    """Keep one column's values, each at the place of its item; the type that they become."""
    if of.form_type == OBJECT:
        keep_list(workspace, list(written_all(column)), values)
        return "VARCHAR"
    keep_list(workspace, column, values)
    return fitting(workspace, values, of)
