"""The same count in every group: users kept in a few groups, items with most users of each, names asked for later.

Rows come in as u (user), g (group) and i (item), and are read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpselect._ground.domain import Column, Domain, Listed, refuse_width
from dpselect.aggregates.groups import GroupedCounts, Int64
from dpselect.engines.duckdb.questions import keyed_hash
from dpselect.engines.duckdb.tuples import keep_items
from dpselect.engines.duckdb.workspace import Rows, Workspace
from dpselect.errors import ParameterError, came, naming

if TYPE_CHECKING:
    from dpselect.aggregates.totals import Totals


def keep_groups(workspace: Workspace, groups: Domain, types: Sequence[str], *, untyped: bool) -> str:
    """Listed groups as a table of one column i; refused where they do not fit the columns."""
    with naming("groups"):
        refuse_width(groups, len(types))
        if not isinstance(groups, (Listed, Column)):
            raise ParameterError("domain", "be a list, or a Column of a public source", came(groups))
        return keep_items(workspace, groups, types, untyped=untyped)


@dataclass(frozen=True, kw_only=True)
class DuckDBGroupBounds:
    """Every user keeps at most `groups` groups, and in each at most `items` items: the first by keyed hashes."""

    groups: int
    items: int | None
    key: bytes

    @property
    def _place(self) -> str:
        """The place of a group among those of its user."""
        return f"row_number() OVER (PARTITION BY u ORDER BY {keyed_hash(self.key, 'g')}, g)"

    @property
    def first(self) -> str:
        """What ends a query of distinct (u, g) pairs of which those are kept."""
        return f"QUALIFY {self._place} <= {self.groups}"

    def dropped(self, pairs: str) -> str:
        """The groups that users do not keep. Which, is told from the key and the user's own groups."""
        return f"SELECT u, g FROM (SELECT DISTINCT u, g FROM {pairs}) QUALIFY {self._place} > {self.groups}"

    def kept(self, pairs: str, dropped: str) -> str:
        """The rows of users in groups that they keep, of each at most so many items."""
        rows = f"FROM {pairs} ANTI JOIN {dropped} USING (u, g)"
        if self.items is None:
            return rows
        place = f"row_number() OVER (PARTITION BY u, g ORDER BY {keyed_hash(self.key, 'i')}, i)"
        return f"FROM ({rows}) QUALIFY {place} <= {self.items}"


def had(workspace: Workspace, rows: Rows, totals: Totals | None, listed: str | None) -> str:
    """A table of the distinct u, g and i, and with weights the units s that u gives to i in g; inside guarded work.

    Rows are read once, and whatever is asked of the table is asked of the same rows.
    """
    pairs = workspace.fresh()
    with rows() as source:
        counted = source if listed is None else f"(FROM {source} WHERE g IN (SELECT i FROM {listed}))"
        distinct = f"SELECT DISTINCT u, g, i FROM {counted}"
        if totals is not None:
            from dpselect.engines.duckdb.totals import of_users

            distinct = f"FROM {of_users(counted, totals, 'u, g, i')}"
        workspace.rows(f"CREATE TEMP TABLE {pairs} AS {distinct}")
    return pairs


def groups_of_users(workspace: Workspace, pairs: str) -> tuple[Int64, Int64]:
    """Numbers of groups, and how many users have so many; inside guarded work."""
    each = f"SELECT u, count(DISTINCT g) AS groups FROM {pairs} GROUP BY u"
    found = workspace.columns(f"SELECT groups, count(*) AS users FROM ({each}) GROUP BY groups")
    return found["groups"].astype(np.int64), found["users"].astype(np.int64)


def keep(workspace: Workspace, pairs: str, bounds: DuckDBGroupBounds) -> str:
    """The name of a view of the u, g and i (and units s) of `had` that are kept; inside guarded work."""
    dropped, kept = workspace.fresh(), workspace.fresh()
    workspace.rows(f"CREATE TEMP TABLE {dropped} AS {bounds.dropped(pairs)}")
    workspace.rows(f"CREATE TEMP VIEW {kept} AS {bounds.kept(pairs, dropped)}")
    return kept


def grouped_counts(
    workspace: Workspace,
    pairs: str,
    bounds: DuckDBGroupBounds,
    totals: Totals | None,
    most: int,
    listed: str | None,
    group_label: Callable[[object], object],
    item_label: Callable[[object], object],
) -> GroupedCounts:
    """The `most` items with most users of every group, or of every `listed` one; inside guarded work."""
    kept, top, groups = keep(workspace, pairs, bounds), workspace.fresh(), workspace.fresh()
    score = "count(*)" if totals is None else "CAST(sum(s) AS BIGINT)"
    workspace.rows(f"CREATE TEMP TABLE {top} AS {_top(kept, score, most)}")
    workspace.rows(f"CREATE TEMP TABLE {groups} AS {_groups(top, listed)}")

    def names(table: str, column: str, places: Int64, label: Callable[[object], object]) -> list[object]:
        found = _asked(workspace, f"SELECT {column} FROM {{}} JOIN {table} USING (place) ORDER BY asked", places)
        return [label(value) for (value,) in found]

    def users(places: Int64) -> Int64:
        wanted = f"SELECT asked, g FROM {{}} JOIN {groups} USING (place)"
        counted = f"SELECT g, count(DISTINCT u) AS n FROM {kept} WHERE g IN (SELECT g FROM wanted) GROUP BY g"
        theirs = f"LEFT JOIN ({counted}) USING (g)"
        sql = f"WITH wanted AS ({wanted}) SELECT coalesce(n, 0) FROM wanted {theirs} ORDER BY asked"
        return np.array([row[0] for row in _asked(workspace, sql, places)], dtype=np.int64)

    return GroupedCounts(
        sizes=_numbers(workspace, f"SELECT n FROM {groups} ORDER BY place"),
        counts=_numbers(workspace, f"SELECT n FROM {top} ORDER BY place"),
        groups=lambda places: names(groups, "g", places, group_label),
        items=lambda places: names(top, "i", places, item_label),
        users=users,
    )


def _top(kept: str, score: str, most: int) -> str:
    """The best items of every group, each at its place: groups in their order, highest scores first."""
    counted = f"SELECT g, i, {score} AS n FROM {kept} GROUP BY g, i"
    best = f"SELECT g, i, n, row_number() OVER (PARTITION BY g ORDER BY n DESC, i) AS rank FROM ({counted})"
    return f"SELECT g, i, n, row_number() OVER (ORDER BY g, rank) - 1 AS place FROM ({best}) WHERE rank <= {most}"


def _groups(top: str, listed: str | None) -> str:
    """How many items there are of every group; of a listed one without rows none."""
    found = f"SELECT g, count(*) AS n FROM {top} GROUP BY g"
    if listed is not None:
        found = f"SELECT l.i AS g, coalesce(n, 0) AS n FROM {listed} AS l LEFT JOIN ({found}) AS f ON l.i = f.g"
    return f"SELECT g, n, row_number() OVER (ORDER BY g) - 1 AS place FROM ({found})"


def _numbers(workspace: Workspace, sql: str) -> Int64:
    return workspace.columns(sql)["n"].astype(np.int64)


def _asked(workspace: Workspace, sql: str, places: Int64) -> list[tuple[object, ...]]:
    """The rows of a query over a table of places, in the order in which these were asked for."""
    if not len(places):
        return []
    asked = workspace.register({"place": places, "asked": np.arange(len(places))})
    try:
        return workspace.guarded(lambda: workspace.rows(sql.format(asked)))
    finally:
        workspace.connection.unregister(asked)
