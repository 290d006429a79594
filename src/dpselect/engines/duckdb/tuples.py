"""Listed items as a table, those of several columns too: each column's values in that column's type and form."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect._ground.domain import Column, Listed
from dpselect.engines.duckdb.dialect import compile_plain_key
from dpselect.engines.duckdb.domain import choose_fitting_type, keep_domain, keep_list, to_object_forms
from dpselect.engines.duckdb.types import OBJECT
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sql.port import SqlType
from dpselect.errors import ParameterError


def keep_items(workspace: Workspace, domain: Listed | Column, types: Sequence[SqlType]) -> str:
    """Store the distinct items of a domain of several columns as a table of i and its index; return its name."""
    if len(types) == 1 or not isinstance(domain, Listed):
        return keep_domain(workspace, domain, types[0])
    items = [item for item in domain.items if isinstance(item, tuple)]
    values = [workspace.fresh_name() for _ in types]
    targets = tuple(
        _keep_column(workspace, [item[index] for item in items], values[index], sql_type)
        for index, sql_type in enumerate(types)
    )
    casts = ", ".join(f"TRY_CAST({values[index]}.v AS {target}) AS v{index}" for index, target in enumerate(targets))
    joined = " ".join([values[0], *(f"JOIN {other_values} USING (place)" for other_values in values[1:])])
    key = compile_plain_key((f"v{index}", target) for index, target in enumerate(targets))
    table = workspace.fresh_name()
    typed = f"(SELECT {casts}, place FROM {joined})"
    distinct = f"SELECT {key.form} AS i, min(place) AS place FROM {typed} WHERE {key.nameable} GROUP BY 1"
    workspace.fetch(f"CREATE TEMP TABLE {table} AS {distinct}")
    if not workspace.fetch(f"FROM {table} LIMIT 1"):
        raise ParameterError("domain", "hold at least one item", "none")
    for name in values:
        workspace.fetch(f"DROP TABLE {name}")
    return table


def _keep_column(workspace: Workspace, column: list[object], values: str, sql_type: SqlType) -> str:
    """Store one column's values with the index of each item, and return the type to which they are cast."""
    if sql_type.form_type == OBJECT:
        keep_list(workspace, list(to_object_forms(column)), values)
        return "VARCHAR"
    keep_list(workspace, column, values)
    return choose_fitting_type(workspace, values, sql_type)
