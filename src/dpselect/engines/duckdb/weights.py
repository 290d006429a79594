"""Weights of items, added up by DuckDB: pairs of users and items stay in the engine, which spills what does not fit.

How many items have which weight leaves it, and the names of released items; how many users have how many items, and
how many have a released one, where a bound is chosen or counts are asked for. Nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Int64
from dpselect.aggregates.weight_groups import WeightGroups, as_columns, numbered
from dpselect.engines.duckdb.questions import keyed_hash
from dpselect.engines.duckdb.workspace import Label, Rows, Workspace
from dpselect.engines.memory import available


class DuckDBPairs:
    """The distinct pairs of users and items, in tables of a workspace; `mechanisms.set_union.grouped` asks them.

    With `gains` the pairs are of the users with w = 1, and those with w = -1 are taken off the numbers of users.
    """

    def __init__(
        self,
        workspace: Workspace,
        rows: Rows,
        label: Label,
        progress: Progress | None = None,
        *,
        gains: bool = False,
    ) -> None:
        self._workspace, self._label = workspace, label
        self._pairs, self._weights, self._found = (workspace.fresh() for _ in range(3))
        self._before = workspace.fresh() if gains else None

        def keep() -> None:
            _leave_room(workspace)
            with rows() as source:
                if self._before is None:
                    workspace.rows(f"CREATE TEMP TABLE {self._pairs} AS SELECT DISTINCT u, i FROM {source}")
                else:
                    keep_both(source, self._before)
            workspace.rows(f"CREATE TEMP TABLE {self._found} AS SELECT i FROM {self._pairs} LIMIT 0")

        def keep_both(source: str, before: str) -> None:
            """Rows are read once: some sources have them only once."""
            both = workspace.fresh()
            workspace.rows(f"CREATE TEMP TABLE {both} AS SELECT DISTINCT u, i, w FROM {source}")
            workspace.rows(f"CREATE TEMP TABLE {self._pairs} AS SELECT u, i FROM {both} WHERE w = 1")
            counted = f"SELECT i, count(*) AS n FROM {both} WHERE w = -1 GROUP BY i"
            workspace.rows(f"CREATE TEMP TABLE {before} AS {counted}")
            workspace.rows(f"DROP TABLE {both}")

        workspace.guarded(keep, progress=progress)

    def __repr__(self) -> str:
        return "DuckDBPairs(private)"

    def weigh(self, shares: Int64, key: bytes) -> WeightGroups:
        """How many items have which weights, when a user of t items left gives shares[t - 1] to each that they keep."""
        names, given_as = numbered("w", shares), numbered("share", shares)
        table = f"CREATE TEMP TABLE {self._weights} AS "

        def ask() -> WeightGroups:
            given = self._workspace.register(as_columns(shares))
            try:
                self._workspace.rows(f"DROP TABLE IF EXISTS {self._weights}")  # first, so that two never take room
                left = f"{self._pairs} ANTI JOIN {self._found} USING (i)"
                self._workspace.rows(table + weighed(kept(left, shares.shape[-1], key), given, given_as, names))
            finally:
                self._workspace.connection.unregister(given)
            found = self._workspace.columns(groups(self._weights, names))
            weights = np.stack([found[name].astype(np.int64) for name in names], axis=-1)
            return WeightGroups(
                weights=weights if shares.ndim > 1 else weights[:, 0], sizes=found["n"].astype(np.int64)
            )

        return self._workspace.guarded(ask)

    def release(self, places: Int64) -> None:
        """The items at these places of the last weights are released, and nobody has them any more."""

        def keep() -> None:
            asked = self._workspace.register({"place": places})
            try:
                named = f"SELECT i FROM {self._weights} JOIN {asked} USING (place)"
                self._workspace.rows(f"INSERT INTO {self._found} {named}")
            finally:
                self._workspace.connection.unregister(asked)

        self._workspace.guarded(keep)

    def names(self) -> list[object]:
        """The released items, in their own order."""
        found = self._workspace.fetch(f"SELECT i FROM {self._found} ORDER BY i")
        return [self._label(item) for (item,) in found]

    def users(self, most: int, key: bytes) -> Int64:
        """How many users have each of the names, when every user counts for at most `most` of them.

        Or by how many they are more than before, 0 where they are not.
        """
        theirs = kept(f"{self._pairs} SEMI JOIN {self._found} USING (i)", most, key)
        counted = f"SELECT i, count(*) AS n FROM ({theirs}) GROUP BY i"
        number, joined = "coalesce(n, 0)", f"{self._found} LEFT JOIN ({counted}) USING (i)"
        if self._before is not None:
            number = f"greatest({number} - coalesce(m, 0), 0)"
            joined += f" LEFT JOIN (SELECT i, n AS m FROM {self._before}) USING (i)"
        sql = f"SELECT {number} AS n FROM {joined} ORDER BY i"
        return self._workspace.guarded(lambda: self._workspace.columns(sql)["n"].astype(np.int64))

    def lengths(self, most: int) -> tuple[Int64, Int64]:
        """How many users have how many items, more than `most` as `most`."""
        users = f"SELECT least(count(*), {most}) AS t FROM {self._pairs} GROUP BY u"
        sql = f"SELECT t, count(*) AS n FROM ({users}) GROUP BY t ORDER BY t"
        found = self._workspace.guarded(lambda: self._workspace.columns(sql))
        return found["t"].astype(np.int64), found["n"].astype(np.int64)


def kept(pairs: str, most: int, key: bytes) -> str:
    """i and t: of each user the first `most` items by a keyed hash, and how many those are.

    The hash is of the user and the item themselves, never of a number that the item got among all others: what a
    user keeps depends on their own items and on the key only.
    """
    first = f"row_number() OVER (PARTITION BY u ORDER BY {keyed_hash(key, 'i')}, i) <= {most}"
    return f"SELECT i, least(count(*) OVER (PARTITION BY u), {most}) AS t FROM {pairs} QUALIFY {first}"


def weighed(pairs: str, shares: str, given: Sequence[str], names: Sequence[str]) -> str:
    """i, its weights and place: heavier items first, items of the same weights in their own order. Sums are exact."""
    sums = ", ".join(f"CAST(sum({share}) AS BIGINT) AS {w}" for share, w in zip(given, names, strict=True))
    theirs = f"SELECT i, {sums} FROM ({pairs}) JOIN {shares} USING (t) GROUP BY i"
    return f"SELECT *, row_number() OVER (ORDER BY {_heaviest(names)}, i) - 1 AS place FROM ({theirs})"


def groups(weights: str, names: Sequence[str]) -> str:
    """How many items have which weights, in the order of their places."""
    every = ", ".join(names)
    return f"SELECT {every}, count(*) AS n FROM {weights} GROUP BY {every} ORDER BY {_heaviest(names)}"


def _heaviest(names: Sequence[str]) -> str:
    return ", ".join(f"{name} DESC" for name in names)


def _leave_room(workspace: Workspace) -> None:
    """DuckDB takes at most three quarters of the memory, and spills what is more; no order of rows is to be kept."""
    workspace.rows("SET preserve_insertion_order = false")
    memory = available()
    if memory is not None:
        workspace.rows(f"SET memory_limit = '{memory * 3 // 4} B'")
