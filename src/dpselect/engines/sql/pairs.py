"""Weights of items, added up by a database: pairs of users and items stay there, every decision is drawn elsewhere.

How many items have which weight leaves it, and the names of released items; how many users have how many items, and
how many have a released one, where a bound is chosen or counts are asked for. Nothing else. All queries are functions
of the rows and of a key, so a step that a database runs again gives the same again, and nothing is drawn twice.

Columns of queries are short: u is a user and i an item, x an item as text, t how many items a user keeps, n a number
of users or items, r a rank. In rows of two periods w is a sign, 1 or -1; elsewhere w, w1, ... are weights.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import TypeVar

import numpy as np

from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Int64
from dpselect.aggregates.weight_groups import WeightGroups, as_columns, numbered
from dpselect.engines.sql import questions
from dpselect.engines.sql.database import Database
from dpselect.engines.sql.port import Dialect, SqlType, int64
from dpselect.errors import DataError

S = TypeVar("S", bound=Sized)


class SqlPairs:
    """The distinct pairs of users and items in a database, for `mechanisms.set_union.by_weight`.

    With `compares_periods` the pairs are of the users of the later period, whose w is 1; those of the one before, of
    w = -1, are subtracted from the numbers of users.
    """

    def __init__(
        self,
        database: Database,
        rows: str,
        item_type: SqlType,
        progress: Progress | None = None,
        *,
        compares_periods: bool = False,
    ) -> None:
        self._database, self._item_type, self._progress = database, item_type, progress
        self._previous_counts: str | None = None
        database.leave_room()
        if compares_periods:
            rows = database.make_rereadable(f"(SELECT DISTINCT u, i, w FROM {rows} AS t)", progress=progress)
            previous_counts = questions.users_per_item(rows_of_sign(rows, -1), None, database.dialect)
            self._previous_counts = database.keep(previous_counts, progress=progress)
            rows = rows_of_sign(rows, 1)
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
        unreleased = unreleased_pairs(self._pairs, self._released_items(), dialect)
        kept_pairs = kept_items(unreleased, shares.shape[-1], database.secret_key_sql(key), dialect)
        weights_sql = item_weights(kept_pairs, share_table, numbered("share", shares), names)
        self._weights_table, self._weight_names = database.keep(weights_sql, progress=self._progress), names
        columns = database.columns(items_per_weight(self._weights_table, names), (*names, "n"), progress=self._progress)
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
        sql = group_members(
            self._weights_table, self._database.put(members), self._weight_names, self._database.dialect
        )
        self._number_released += len(ranks)
        if self._database.keeps_tables:
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
        """Return the released items in their own order, that of `released_item_counts`."""
        released, label = self._released_items(), self._item_type.to_label
        if released is None:
            return []
        if (
            self._released_texts and self._item_type.is_text
        ):  # their order is that of their bytes in UTF-8, which is Python's
            return [label(text) for text in sorted(self._released_texts)]
        if self._database.keeps_tables:
            sql = stored_names(released, self._item_type)
        else:
            sql = released_names(self._pairs, released, self._item_type, self._database.dialect)
        labels = self._database.rows(sql, progress=self._progress)
        return [label(row[0]) for row in _check_complete(labels, self._number_released)]

    def released_item_counts(self, max_items: int, key: bytes) -> Int64:
        """Count the users of each of `names`, in its order; every user counts for at most `max_items` of them.

        With `compares_periods`, return by how many they exceed the previous ones, or 0 if they do not.
        """
        released = self._released_items()
        if released is None:
            return int64([])
        released_rows = released_pairs(self._pairs, released, self._database.dialect)
        kept_rows = kept_items(released_rows, max_items, self._database.secret_key_sql(key), self._database.dialect)
        sql = released_item_users(released_rows, kept_rows, self._previous_counts)
        columns = self._database.columns(sql, ("n",), progress=self._progress)
        return _check_complete(int64(columns["n"]), self._number_released)

    def user_set_sizes(self, largest: int) -> tuple[Int64, Int64]:
        """Count the users by number of items, where more than `largest` is `largest`."""
        columns = self._database.columns(users_per_set_size(self._pairs, largest), ("t", "n"), progress=self._progress)
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


def _value_text(item: str, dialect: Dialect) -> str:
    return dialect.text.replace("{}", item)


def unreleased_pairs(pairs: str, released: str | None, dialect: Dialect) -> str:
    """Compile the pairs whose item is not released yet."""
    if released is None:
        return pairs
    return f"(SELECT u, i FROM {pairs} AS k WHERE NOT {_is_released(released, dialect)})"


def released_pairs(pairs: str, released: str, dialect: Dialect) -> str:
    """Compile the pairs whose item is released."""
    return f"(SELECT u, i FROM {pairs} AS k WHERE {_is_released(released, dialect)})"


def _is_released(released: str, dialect: Dialect) -> str:
    """Compile the condition that the item of k is released."""
    return f"EXISTS (SELECT 1 FROM {released} AS f WHERE f.x = {_value_text('k.i', dialect)})"


def kept_items(pairs: str, max_items: int, secret_key_sql: str, dialect: Dialect) -> str:
    """Compile i and t: of each user the first `max_items` items by a keyed hash, and how many those are.

    The hash is of the user and the item themselves, never of a number that the item has among all others: what a
    user keeps depends on their own items and on the key only.
    """
    # One order for both, so that rows are sorted once.
    order_of_user = f"PARTITION BY u ORDER BY {dialect.keyed_hash(secret_key_sql, 'u', 'i')}, i"
    size = f"count(*) OVER ({order_of_user} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS size"
    ranked = f"SELECT i, row_number() OVER ({order_of_user}) AS hash_rank, {size} FROM {pairs} AS k"
    kept_number = f"CAST(CASE WHEN size < {max_items} THEN size ELSE {max_items} END AS BIGINT) AS t"
    return f"(SELECT i, {kept_number} FROM ({ranked}) AS r WHERE hash_rank <= {max_items})"


def item_weights(kept_pairs: str, shares: str, share_names: Sequence[str], weight_names: Sequence[str]) -> str:
    """Compile i and its weights: sums of what users give to it. Sums of integers are exact in any order."""
    sums = (
        f"CAST(sum(s.{share}) AS BIGINT) AS {weight_name}"
        for share, weight_name in zip(share_names, weight_names, strict=True)
    )
    return f"SELECT k.i AS i, {', '.join(sums)} FROM {kept_pairs} AS k JOIN {shares} AS s ON s.t = k.t GROUP BY k.i"


def items_per_weight(weights: str, weight_names: Sequence[str]) -> str:
    """Compile the number of items of each weight."""
    weight_columns = ", ".join(weight_names)
    return f"SELECT {weight_columns}, count(*) AS n FROM {weights} AS g GROUP BY {weight_columns}"


def group_members(weights: str, requested: str, weight_names: Sequence[str], dialect: Dialect) -> str:
    """Compile the texts of items by weights and rank r among those of the same weights, in the order of items."""
    weight_columns, first_weight = ", ".join(weight_names), weight_names[0]
    rank = f"row_number() OVER (PARTITION BY {weight_columns} ORDER BY i) - 1 AS r"
    may_be_requested = f"{first_weight} IN (SELECT {first_weight} FROM {requested} AS b)"
    ranked = f"SELECT i, {weight_columns}, {rank} FROM {weights} AS g WHERE {may_be_requested}"
    is_requested = " AND ".join(f"a.{name} = m.{name}" for name in (*weight_names, "r"))
    return f"SELECT {_value_text('m.i', dialect)} AS x FROM ({ranked}) AS m JOIN {requested} AS a ON {is_requested}"


def released_names(pairs: str, released: str, item_type: SqlType, dialect: Dialect) -> str:
    """Compile the names of the released items, in the order of items."""
    items = f"SELECT DISTINCT i FROM {released_pairs(pairs, released, dialect)} AS o"
    return f"SELECT name FROM (SELECT {item_type.label_form} AS name, i FROM ({items}) AS d) AS e ORDER BY i"


def stored_names(released: str, item_type: SqlType) -> str:
    """Compile the names of released items that the database holds itself."""
    items = f"SELECT {item_type.label_form} AS name, i FROM (SELECT x AS i FROM {released} AS r) AS d"
    return f"SELECT name FROM ({items}) AS e ORDER BY i"


def rows_of_sign(rows: str, sign: int) -> str:
    """Compile the rows of users with this sign, which is their w."""
    return f"(SELECT u, i FROM {rows} AS t WHERE w = {sign})"


def released_item_users(pairs: str, kept_pairs: str, previous_counts: str | None = None) -> str:
    """Compile the number of users who keep each of the items that these pairs hold, in the order of items.

    With `previous_counts`, compile by how many it exceeds the n there, or 0 if it does not.
    """
    counts = f"SELECT i, count(*) AS n FROM {kept_pairs} AS k GROUP BY i"
    items = f"SELECT DISTINCT i FROM {pairs} AS p"
    number, joined = "coalesce(c.n, 0)", f"({items}) AS d LEFT JOIN ({counts}) AS c ON c.i = d.i"
    if previous_counts is not None:
        number = f"greatest({number} - coalesce(b.n, 0), 0)"
        joined += f" LEFT JOIN {previous_counts} AS b ON b.i = d.i"
    return f"SELECT {number} AS n FROM {joined} ORDER BY d.i"


def users_per_set_size(pairs: str, largest: int) -> str:
    """Compile how many users have how many items, where more than `largest` is `largest`."""
    size = f"CASE WHEN count(*) < {largest} THEN count(*) ELSE {largest} END AS t"
    return f"SELECT t, count(*) AS n FROM (SELECT {size} FROM {pairs} AS k GROUP BY u) AS s GROUP BY t ORDER BY t"
