"""Weights of items, added up by a database: pairs of users and items stay there, every decision is drawn elsewhere.

How many items have which weight leaves it, and the names of released items; how many users have how many items, and
how many have a released one, where a bound is chosen or counts are asked for. Nothing else. All queries are functions
of the rows and of a key, so a step that a database runs again gives the same again, and nothing is drawn twice.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import TypeVar

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Int64
from dpselect.aggregates.weight_groups import WeightGroups, as_columns, numbered
from dpselect.engines.sql import questions, weights
from dpselect.engines.sql.database import Database
from dpselect.engines.sql.port import SqlType, int64
from dpselect.errors import DataError

S = TypeVar("S", bound=Sized)


class SqlPairs:
    """The distinct pairs of users and items of a database; `mechanisms.set_union.grouped` asks them.

    With `gains` the pairs are of the users with w = 1, and those with w = -1 are taken off the numbers of users.
    """

    def __init__(
        self,
        database: Database,
        rows: str,
        item_type: SqlType,
        progress: Progress | None = None,
        *,
        gains: bool = False,
    ) -> None:
        self._database, self._item_type, self._progress = database, item_type, progress
        self._before: str | None = None
        database.leave_room()
        if gains:
            rows = database.make_rereadable(f"(SELECT DISTINCT u, i, w FROM {rows} AS t)", progress=progress)
            before = questions.users_per_item(weights.rows_of_sign(rows, -1), None, database.dialect)
            self._before = database.keep(before, progress=progress)
            rows = weights.rows_of_sign(rows, 1)
        self._pairs = database.keep(questions.pairs_to_keep(rows, database.dialect), progress=progress)
        self._found: list[str] = []  # texts of released items, where the database does not hold them
        self._kept: str | None = None  # or a table of them, and how many there are
        self._items = 0
        self._weighed: str | None = None
        self._names = ["w"]
        self._groups = WeightGroups(weights=int64([]), sizes=int64([]))

    def __repr__(self) -> str:
        return "SqlPairs(private)"

    def weigh(self, shares: Int64, key: bytes) -> WeightGroups:
        """How many items have which weights, when a user of t items left gives shares[t - 1] to each that they keep."""
        database, dialect = self._database, self._database.dialect
        if self._weighed is not None:
            database.drop(self._weighed)
        given, names = database.put(as_columns(shares)), numbered("w", shares)
        left = weights.unreleased_pairs(self._pairs, self._released(), dialect)
        theirs = weights.kept_items(left, shares.shape[-1], database.secret(key), dialect)
        sums = weights.item_weights(theirs, given, numbered("share", shares), names)
        self._weighed, self._names = database.keep(sums, progress=self._progress), names
        found = database.columns(weights.items_per_weight(self._weighed, names), (*names, "n"), progress=self._progress)
        heaviest = np.lexsort([-int64(found[name]) for name in reversed(names)])  # one order, whatever came first
        weighed = np.stack([int64(found[name])[heaviest] for name in names], axis=-1)
        weighed = weighed if shares.ndim > 1 else weighed[:, 0]
        self._groups = WeightGroups(weights=weighed, sizes=int64(found["n"])[heaviest])
        return self._groups

    def release(self, places: Int64) -> None:
        """The items at these places of the last weights are released, and nobody has them any more."""
        if self._weighed is None or not len(places):
            return
        starts = np.cumsum(self._groups.sizes) - self._groups.sizes
        group = np.searchsorted(starts, places, side="right") - 1
        weighed = np.atleast_2d(self._groups.weights[group].T)
        members = {**dict(zip(self._names, weighed, strict=True)), "r": places - starts[group]}
        sql = weights.group_members(self._weighed, self._database.put(members), self._names, self._database.dialect)
        self._items += len(places)
        if self._database.holds:
            self._keep(sql)
            return
        found = self._database.rows(sql, progress=self._progress)
        self._found += [str(row[0]) for row in _all_of(found, len(places))]

    def _keep(self, sql: str) -> None:
        before = self._kept
        self._kept = self._database.keep(sql if before is None else f"SELECT x FROM {before} AS r UNION ALL {sql}")
        if before is not None:
            self._database.drop(before)

    def names(self) -> list[object]:
        """The released items, in their own order."""
        released, label = self._released(), self._item_type.label
        if released is None:
            return []
        if self._found and self._item_type.is_text:  # their order is that of their bytes in UTF-8, which is Python's
            return [label(text) for text in sorted(self._found)]
        if self._database.holds:
            sql = weights.stored_names(released, self._item_type)
        else:
            sql = weights.released_names(self._pairs, released, self._item_type, self._database.dialect)
        found = self._database.rows(sql, progress=self._progress)
        return [label(row[0]) for row in _all_of(found, self._items)]

    def users(self, most: int, key: bytes) -> Int64:
        """How many users have each of the names, when every user counts for at most `most` of them.

        Or by how many they are more than before, 0 where they are not.
        """
        released = self._released()
        if released is None:
            return int64([])
        theirs = weights.released_pairs(self._pairs, released, self._database.dialect)
        kept = weights.kept_items(theirs, most, self._database.secret(key), self._database.dialect)
        sql = weights.released_item_users(theirs, kept, self._before)
        found = self._database.columns(sql, ("n",), progress=self._progress)
        return _all_of(int64(found["n"]), self._items)

    def lengths(self, most: int) -> tuple[Int64, Int64]:
        """How many users have how many items, more than `most` as `most`."""
        found = self._database.columns(
            weights.users_per_set_size(self._pairs, most), ("t", "n"), progress=self._progress
        )
        return int64(found["t"]), int64(found["n"])

    def _released(self) -> str | None:
        if self._kept is not None:
            return self._kept
        return self._database.put({"x": self._found}) if self._found else None


def _all_of(found: S, items: int) -> S:
    """What was found of so many items, each of which was there before."""
    if len(found) != items:
        hint = "use a copy or a snapshot of the table that does not change"
        raise DataError("the table changed during the query", hint)
    return found
