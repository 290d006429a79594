"""The same count in every group, by a database: users kept in a few groups, and the items with the most users of each.

Rows come in as u (user), g (group) and i (item), and are read once; what leaves is at most so many items of each group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpselect.aggregates.groups import GroupedCounts
from dpselect.engines.sql.port import Dialect, SqlType

if TYPE_CHECKING:
    from dpselect._ground.parameters import Progress
    from dpselect.engines.sql.database import Database


COUNT, SUM = "count(*)", "CAST(sum(s) AS BIGINT)"


@dataclass(frozen=True, kw_only=True)
class GroupBounds:
    """Every user keeps at most `groups` groups: the first by a hash with a key."""

    groups: int
    key: str
    dialect: Dialect

    def kept(self, had: str, columns: str, pairs: str = "") -> str:
        """The distinct u, g and i (and more columns) of `had` that are kept. The key and a user's own rows tell.

        Of a table, whose distinct u and g are `pairs`, the few groups that are not kept are found, and left out: few
        rows are sorted.
        """
        order = f"{self.dialect.bound_order(self.key, 'u', 'g')}, g"
        if had.startswith("("):
            place = f"dense_rank() OVER (PARTITION BY u ORDER BY {order}) AS place"
            placed = f"SELECT {columns}, {place} FROM {had} AS d"
            return f"(SELECT {columns} FROM ({placed}) AS e WHERE place <= {self.groups})"
        place = f"row_number() OVER (PARTITION BY u ORDER BY {order}) AS place"
        placed = f"SELECT u, g, {place} FROM {pairs} AS d"
        dropped = f"SELECT 1 FROM ({placed}) AS e WHERE place > {self.groups} AND e.u = h.u AND e.g = h.g"
        return f"(SELECT {columns} FROM {had} AS h WHERE NOT EXISTS ({dropped}))"


def scores_of_winners(
    kept: str,
    groups: str,
    items: str,
    pairs: str,
    width: int,
    bound: tuple[int, str] | None,
    score: str,
    dialect: Dialect,
) -> str:
    """x and n: the scores of pairs of a listed group and a listed item, x = place of the group * `width` + the item's.

    Of the listed pairs of each of their groups a user keeps so many, the first by a hash with a key. That key is not
    the one of groups: with one for both, a user who keeps the group A would keep an item A of it.
    """
    units = "" if score == COUNT else ", k.s AS s"
    placed = (
        f"SELECT k.u AS u, k.i AS i, a.place * {width} + b.place AS x, a.place AS p{units} FROM {kept} AS k "
        f"JOIN {groups} AS a ON a.i = k.g JOIN {items} AS b ON b.i = k.i"
    )
    columns = "u, i, x, p" + ("" if score == COUNT else ", s")
    won = f"(SELECT {columns} FROM ({placed}) AS c WHERE x IN (SELECT x FROM {pairs} AS w))"
    if bound is not None:
        most, key = bound
        place = f"row_number() OVER (PARTITION BY u, p ORDER BY {dialect.bound_order(key, 'u', 'i')}, i) AS place"
        won = f"(SELECT {columns} FROM (SELECT {columns}, {place} FROM {won} AS d) AS e WHERE place <= {most})"
    return f"SELECT x, {score} AS n FROM {won} AS f GROUP BY x"


def user_contributions(rows: str, given: Callable[[str], str] | None) -> str:
    """The distinct u, g and i, or the units that users give."""
    return f"(SELECT DISTINCT u, g, i FROM {rows} AS t)" if given is None else given(rows)


def users_per_group_number(pairs: str) -> str:
    """Numbers of groups, and how many users have so many, of the distinct u and g."""
    each = f"SELECT u, count(*) AS n FROM {pairs} AS d GROUP BY u"
    return f"SELECT n, count(*) AS users FROM ({each}) AS e GROUP BY n"


def rows_of_groups(rows: str, listed: str, more: str = "") -> str:
    """The rows of listed groups; `more` columns go with them."""
    return f"(SELECT u, g, i{more} FROM {rows} AS t WHERE g IN (SELECT i FROM {listed} AS l))"


def top_items_by_group(
    kept: str,
    most: int,
    listed: str | None,
    group: SqlType,
    item: SqlType,
    *,
    users: bool,
    score: str = COUNT,
) -> str:
    """n, place, users, name and item: scores of the `most` best items of every group, and their places there, from 1.

    `users` is the number of users of the group, `name` its own name and `item` that of the item. A listed group without
    rows has one, of number 0. Its place is 1 also where a join without a match has zeros.
    No name is given twice in a SELECT: in some databases it is known in all of it.
    """
    counted = f"SELECT g, i, {score} AS n FROM {kept} AS k GROUP BY g, i"
    placed = f"SELECT g, i, n, row_number() OVER (PARTITION BY g ORDER BY n DESC, i) AS place FROM ({counted}) AS c"
    found = f"SELECT g, i, n, place FROM ({placed}) AS p WHERE place <= {most}"
    if listed is not None:
        found = (
            f"SELECT l.i AS g, f.i AS i, coalesce(f.n, 0) AS n, greatest(coalesce(f.place, 1), 1) AS place "
            f"FROM {listed} AS l LEFT JOIN ({found}) AS f ON f.g = l.i"
        )
    if users:
        theirs = f"SELECT g, count(*) AS users FROM (SELECT DISTINCT u, g FROM {kept} AS k) AS d GROUP BY g"
        found = (
            f"SELECT f.g AS g, f.i AS i, f.n AS n, f.place AS place, coalesce(s.users, 0) AS users "
            f"FROM ({found}) AS f LEFT JOIN ({theirs}) AS s ON s.g = f.g"
        )
    # A name is given where nothing beside it is called so: some databases would take the one for the other.
    of_items = (
        f"SELECT {item.label_form} AS item, g, n, place, {'users' if users else '0 AS users'} FROM ({found}) AS q"
    )
    of_groups = f"SELECT item, g AS i, n, place, users FROM ({of_items}) AS r"
    return f"SELECT n, place, users, {group.label_form} AS name, item, i FROM ({of_groups}) AS s"


def read_grouped_counts(
    database: Database, sql: str, group: SqlType, item: SqlType, progress: Progress | None
) -> GroupedCounts:
    """What the question finds, group after group."""
    numbers, named = database.read_ordered(
        sql, "i, place", ("n", "place", "users"), ("name", "item"), progress=progress
    )
    starts, there = np.flatnonzero(numbers["place"] == 1), np.flatnonzero(numbers["n"])
    whose = np.searchsorted(starts, there, side="right") - 1
    return GroupedCounts(
        sizes=np.bincount(whose, minlength=len(starts)).astype(np.int64),
        counts=numbers["n"][there],
        groups=lambda places: [group.label(name) for name in named("name", starts[places])],
        items=lambda places: [item.label(name) for name in named("item", there[places])],
        users=lambda places: numbers["users"][starts[places]],
    )
