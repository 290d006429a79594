"""Values and known domains in every listed group: one scan, one value of a user in each group that they keep.

Rows come in as u (user), g (group) and i (item).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dpselect.aggregates.groups import GroupedValues
from dpselect.engines.duckdb.by_group import DuckDBGroupBounds
from dpselect.engines.duckdb.questions import one_place, place
from dpselect.engines.duckdb.types import number_form
from dpselect.engines.duckdb.workspace import Rows, Workspace
from dpselect.engines.value_key import value_key

if TYPE_CHECKING:
    from dpselect.aggregates.unbounded import Points
    from dpselect.engines.port import PerUser


def users_at_by(
    rows: str, grid: Points, per_user: PerUser, bounds: DuckDBGroupBounds, listed: str, item_type: str
) -> str:
    """g, p, a place of the grid, and n, how many users have their value there; n is 0 for a group without users."""
    values = f"SELECT u, g, {number_form('i', item_type)} AS v FROM {rows} WHERE g IN (SELECT i FROM {listed})"
    places = f"SELECT u, g, {place(grid)} AS p FROM ({values}) WHERE NOT isnan(v)"
    one = f"SELECT u, g, {one_place(per_user, value_key(bounds.key))} AS p FROM ({places}) GROUP BY u, g"
    users = f"SELECT g, p, count(*) AS n FROM (SELECT g, p FROM ({one}) {bounds.first}) GROUP BY g, p"
    found = "SELECT l.i AS g, coalesce(f.p, 0) AS p, coalesce(f.n, 0) AS n"
    return f"{found} FROM {listed} AS l LEFT JOIN ({users}) AS f ON l.i = f.g ORDER BY l.i, p"


def grouped_values(
    workspace: Workspace, rows: Rows, question: Callable[[str], str], label: Callable[[object], object]
) -> GroupedValues:
    """What the question finds, group after group; inside guarded work."""
    kept = workspace.fresh()
    with rows() as source:
        workspace.rows(f"CREATE TEMP TABLE {kept} AS {question(source)}")
    first = f"SELECT g, count(*) AS rows FROM {kept} GROUP BY g ORDER BY g"
    sizes = workspace.rows(first)
    found = workspace.columns(f"SELECT p, n FROM {kept} ORDER BY g, p")
    starts = [0]
    for _, size in sizes[:-1]:
        starts.append(starts[-1] + size)
    names = [label(group) for group, _ in sizes]
    return GroupedValues.parted(names, starts if sizes else [], found["p"], found["n"])


@contextmanager
def of_domain(rows: Rows, only: Callable[[str], str]) -> Iterator[str]:
    """The rows of a domain's items, as what stands after FROM."""
    with rows() as source:
        yield only(source)


def keep_rows(workspace: Workspace, rows: Rows) -> str:
    """The name of a table of all rows, so that two steps see the same ones; inside guarded work."""
    kept = workspace.fresh()
    with rows() as source:
        workspace.rows(f"CREATE TEMP TABLE {kept} AS SELECT u, g, i FROM {source}")
    return kept
