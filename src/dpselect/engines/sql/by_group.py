"""The same count in every group, by a database: users kept in a few groups, and the items with the most users of each.

Rows come in as u (user), g (group) and i (item), and are read once; what leaves is at most so many items of each group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpselect.aggregates.groups import GroupedCounts
from dpselect.engines.sql.port import Dialect, SqlType
from dpselect.engines.sql.questions import keep_first

if TYPE_CHECKING:
    from dpselect._ground.parameters import Progress
    from dpselect.engines.sql.database import Database


COUNT, SUM = "count(*)", "CAST(sum(s) AS BIGINT)"


def rows_in_kept_groups(
    contributions: str, columns: str, bound: tuple[int, str], dialect: Dialect, pairs: str = ""
) -> str:
    """Compile the distinct u, g and i (and more columns) of `contributions` in the groups that users keep.

    The bound is a number of groups, of which every user keeps the first by a keyed hash, and the key. What is kept
    depends on the key and a user's own rows alone. Of a table, whose distinct u and g are `pairs`, the few groups that
    are not kept are found and left out, so few rows are sorted.
    """
    if contributions.startswith("("):
        return keep_first(contributions, columns, bound, dialect, chosen="g", rank_function="dense_rank")
    max_groups, secret_key_sql = bound
    rank = f"row_number() OVER (PARTITION BY u ORDER BY {dialect.keyed_hash(secret_key_sql, 'u', 'g')}, g) AS hash_rank"
    ranked = f"SELECT u, g, {rank} FROM {pairs} AS d"
    dropped_pairs = f"SELECT 1 FROM ({ranked}) AS e WHERE hash_rank > {max_groups} AND e.u = h.u AND e.g = h.g"
    return f"(SELECT {columns} FROM {contributions} AS h WHERE NOT EXISTS ({dropped_pairs}))"


def scores_of_winners(
    kept_rows: str,
    groups: str,
    items: str,
    pairs: str,
    width: int,
    bound: tuple[int, str] | None,
    score: str,
    dialect: Dialect,
) -> str:
    """Compile x and n: the scores of pairs of a listed group and a listed item.

    x = list index of the group * `width` + list index of the item. Of the listed pairs of each group a user keeps as
    many items as `bound` says, the first by a keyed hash. That key differs from the one of groups: with one for both, a
    user who keeps the group A would keep an item A of it.
    """
    units_column = "" if score == COUNT else ", k.s AS s"
    indexed_pairs = (
        f"SELECT k.u AS u, k.i AS i, a.place * {width} + b.place AS x, a.place AS p{units_column} "
        f"FROM {kept_rows} AS k JOIN {groups} AS a ON a.i = k.g JOIN {items} AS b ON b.i = k.i"
    )
    columns = "u, i, x, p" + ("" if score == COUNT else ", s")
    winning_rows = f"(SELECT {columns} FROM ({indexed_pairs}) AS c WHERE x IN (SELECT x FROM {pairs} AS w))"
    kept_winners = keep_first(winning_rows, columns, bound, dialect, owner="u, p")
    return f"SELECT x, {score} AS n FROM {kept_winners} AS f GROUP BY x"


def users_per_group_number(pairs: str) -> str:
    """Compile n, a number of groups, and users, how many have that many, from the distinct u and g."""
    groups_per_user = f"SELECT u, count(*) AS n FROM {pairs} AS d GROUP BY u"
    return f"SELECT n, count(*) AS users FROM ({groups_per_user}) AS e GROUP BY n"


def rows_of_groups(rows: str, group_list: str, extra_columns: str = "") -> str:
    """Compile the rows of listed groups with these extra columns."""
    return f"(SELECT u, g, i{extra_columns} FROM {rows} AS t WHERE g IN (SELECT i FROM {group_list} AS l))"


def top_items_by_group(
    kept_rows: str,
    max_items: int,
    group_list: str | None,
    group: SqlType,
    item: SqlType,
    *,
    users: bool,
    score: str = COUNT,
) -> str:
    """Compile n, item_rank (from 1), users, name and item of the `max_items` best items of every group.

    `users` is the number of users of the group, `name` its own label form and `item` that of the item. A listed group
    without rows has one row, of number 0 and rank 1, also where a join without a match has zeros. No name is given
    twice in a SELECT: in some databases it is known in all of it.
    """
    scores = f"SELECT g, i, {score} AS n FROM {kept_rows} AS k GROUP BY g, i"
    ranked_scores = (
        f"SELECT g, i, n, row_number() OVER (PARTITION BY g ORDER BY n DESC, i) AS item_rank FROM ({scores}) AS c"
    )
    top_rows = f"SELECT g, i, n, item_rank FROM ({ranked_scores}) AS p WHERE item_rank <= {max_items}"
    if group_list is not None:
        top_rows = (
            f"SELECT l.i AS g, f.i AS i, coalesce(f.n, 0) AS n, greatest(coalesce(f.item_rank, 1), 1) AS item_rank "
            f"FROM {group_list} AS l LEFT JOIN ({top_rows}) AS f ON f.g = l.i"
        )
    if users:
        group_users = f"SELECT g, count(*) AS users FROM (SELECT DISTINCT u, g FROM {kept_rows} AS k) AS d GROUP BY g"
        top_rows = (
            f"SELECT f.g AS g, f.i AS i, f.n AS n, f.item_rank AS item_rank, coalesce(s.users, 0) AS users "
            f"FROM ({top_rows}) AS f LEFT JOIN ({group_users}) AS s ON s.g = f.g"
        )
    return label_items_by_group(top_rows, group, item, users=users)


def label_items_by_group(top_rows: str, group: SqlType, item: SqlType, *, users: bool) -> str:
    """Compile n, item_rank, users, name and item of rows with g, i, n, item_rank, and users if these are asked for.

    A name is given where nothing beside it is called so: some databases would take the one for the other.
    """
    users_column = "users" if users else "0 AS users"
    with_item_labels = f"SELECT {item.label_form} AS item, g, n, item_rank, {users_column} FROM ({top_rows}) AS q"
    with_group_columns = f"SELECT item, g AS i, n, item_rank, users FROM ({with_item_labels}) AS r"
    return f"SELECT n, item_rank, users, {group.label_form} AS name, item, i FROM ({with_group_columns}) AS s"


def read_grouped_counts(
    database: Database, sql: str, group: SqlType, item: SqlType, progress: Progress | None
) -> GroupedCounts:
    """Run a statement of `top_items_by_group` and return its counts, group after group."""
    columns, fetch_labels = database.read_ordered(
        sql, "i, item_rank", ("n", "item_rank", "users"), ("name", "item"), progress=progress
    )
    starts, rows_with_items = np.flatnonzero(columns["item_rank"] == 1), np.flatnonzero(columns["n"])
    group_indices = np.searchsorted(starts, rows_with_items, side="right") - 1
    return GroupedCounts(
        sizes=np.bincount(group_indices, minlength=len(starts)).astype(np.int64),
        counts=columns["n"][rows_with_items],
        groups=lambda indices: [group.to_label(name) for name in fetch_labels("name", starts[indices])],
        items=lambda indices: [item.to_label(name) for name in fetch_labels("item", rows_with_items[indices])],
        users=lambda indices: columns["users"][starts[indices]],
    )
