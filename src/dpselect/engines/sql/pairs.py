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
    """The distinct pairs of users and items in a database, for `mechanisms.set_union.grouped`.

    With `gains` the pairs are of the users with w = 1; those with w = -1 are subtracted from the numbers of users.
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
        self._previous_counts: str | None = None
        database.leave_room()
        if gains:
            rows = database.make_rereadable(f"(SELECT DISTINCT u, i, w FROM {rows} AS t)", progress=progress)
            previous_counts = questions.users_per_item(weights.rows_of_sign(rows, -1), None, database.dialect)
            self._previous_counts = database.keep(previous_counts, progress=progress)
            rows = weights.rows_of_sign(rows, 1)
        self._pairs = database.keep(questions.pairs_to_keep(rows, database.dialect), progress=progress)
        self._released_texts: list[str] = []  # texts of released items, if the database does not hold them
        self._released_table: str | None = None  # or a table of them, and their number
        self._number_released = 0
        self._weights_table: str | None = None
        self._weight_names = ["w"]
        self._groups = WeightGroups(weights=int64([]), sizes=int64([]))

    def __repr__(self) -> str:
        return "SqlPairs(private)"

    def weigh(self, shares: Int64, key: bytes) -> WeightGroups:
        """Count the items of each weight, when a user with t unreleased items gives shares[t - 1] to each one kept."""
        database, dialect = self._database, self._database.dialect
        if self._weights_table is not None:
            database.drop(self._weights_table)
        share_table, names = database.put(as_columns(shares)), numbered("w", shares)
        unreleased = weights.unreleased_pairs(self._pairs, self._released_items(), dialect)
        kept_pairs = weights.kept_items(unreleased, shares.shape[-1], database.secret(key), dialect)
        weights_sql = weights.item_weights(kept_pairs, share_table, numbered("share", shares), names)
        self._weights_table, self._weight_names = database.keep(weights_sql, progress=self._progress), names
        columns = database.columns(
            weights.items_per_weight(self._weights_table, names), (*names, "n"), progress=self._progress
        )
        heaviest = np.lexsort(
            [-int64(columns[name]) for name in reversed(names)]
        )  # one order, however the rows arrived
        weighed = np.stack([int64(columns[name])[heaviest] for name in names], axis=-1)
        weighed = weighed if shares.ndim > 1 else weighed[:, 0]
        self._groups = WeightGroups(weights=weighed, sizes=int64(columns["n"])[heaviest])
        return self._groups

    def release(self, ranks: Int64) -> None:
        """Release the items of these ranks by the last weights; no user has them any more."""
        if self._weights_table is None or not len(ranks):
            return
        starts = np.cumsum(self._groups.sizes) - self._groups.sizes
        group_indices = np.searchsorted(starts, ranks, side="right") - 1
        group_weights = np.atleast_2d(self._groups.weights[group_indices].T)
        members = {**dict(zip(self._weight_names, group_weights, strict=True)), "r": ranks - starts[group_indices]}
        sql = weights.group_members(
            self._weights_table, self._database.put(members), self._weight_names, self._database.dialect
        )
        self._number_released += len(ranks)
        if self._database.holds:
            self._keep_released(sql)
            return
        texts = self._database.rows(sql, progress=self._progress)
        self._released_texts += [str(row[0]) for row in _check_complete(texts, len(ranks))]

    def _keep_released(self, sql: str) -> None:
        previous = self._released_table
        self._released_table = self._database.keep(
            sql if previous is None else f"SELECT x FROM {previous} AS r UNION ALL {sql}"
        )
        if previous is not None:
            self._database.drop(previous)

    def names(self) -> list[object]:
        """Return the released items in their own order."""
        released, label = self._released_items(), self._item_type.label
        if released is None:
            return []
        if (
            self._released_texts and self._item_type.is_text
        ):  # their order is that of their bytes in UTF-8, which is Python's
            return [label(text) for text in sorted(self._released_texts)]
        if self._database.holds:
            sql = weights.stored_names(released, self._item_type)
        else:
            sql = weights.released_names(self._pairs, released, self._item_type, self._database.dialect)
        labels = self._database.rows(sql, progress=self._progress)
        return [label(row[0]) for row in _check_complete(labels, self._number_released)]

    def users(self, max_items: int, key: bytes) -> Int64:
        """Count the users of each name, when every user counts for at most `max_items` of them.

        With `gains`, return by how many they exceed the previous ones, or 0 if they do not.
        """
        released = self._released_items()
        if released is None:
            return int64([])
        released_rows = weights.released_pairs(self._pairs, released, self._database.dialect)
        kept_rows = weights.kept_items(released_rows, max_items, self._database.secret(key), self._database.dialect)
        sql = weights.released_item_users(released_rows, kept_rows, self._previous_counts)
        columns = self._database.columns(sql, ("n",), progress=self._progress)
        return _check_complete(int64(columns["n"]), self._number_released)

    def lengths(self, largest: int) -> tuple[Int64, Int64]:
        """Count the users by number of items, where more than `largest` is `largest`."""
        columns = self._database.columns(
            weights.users_per_set_size(self._pairs, largest), ("t", "n"), progress=self._progress
        )
        return int64(columns["t"]), int64(columns["n"])

    def _released_items(self) -> str | None:
        if self._released_table is not None:
            return self._released_table
        return self._database.put({"x": self._released_texts}) if self._released_texts else None


def _check_complete(values: S, expected_number: int) -> S:
    """Return the values of items that were all there before, or raise DataError if some are missing."""
    if len(values) != expected_number:
        hint = "use a copy or a snapshot of the table that does not change"
        raise DataError("the table changed during the query", hint)
    return values
