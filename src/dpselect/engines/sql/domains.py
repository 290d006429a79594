"""Listed domains as the columns of a database would hold them. They are public."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect._ground.domain import Column, Listed
from dpselect.engines.duckdb.keys import label_of
from dpselect.engines.duckdb.tuples import keep_items
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.sql.port import SqlType


def domain_values(domain: Listed | Column, types: Sequence[SqlType]) -> list[object]:
    """The distinct items of a listed domain, in their order, as the item columns would hold them. They are public.

    DuckDB reads and checks them, so that a domain means the same wherever the rows are.
    """
    workspace = Workspace()
    try:
        kept = keep_items(workspace, domain, [one.duckdb or "VARCHAR" for one in types])
        found = [row[0] for row in workspace.fetch(f"SELECT i FROM {kept} ORDER BY i")]
        return found if len(types) == 1 else [tuple(one.values()) for one in found]
    finally:
        workspace.close()


def places_of(domain: Listed, types: Sequence[SqlType]) -> dict[object, int]:
    """The place of each item of a list, as the item columns would hold it."""
    workspace = Workspace()
    try:
        sorts = [one.duckdb or "VARCHAR" for one in types]
        kept = keep_items(workspace, domain, sorts)
        found = workspace.fetch(f"SELECT i FROM {kept} ORDER BY place, i")
        return {label_of(item, sorts): place for place, (item,) in enumerate(found)}
    finally:
        workspace.close()
