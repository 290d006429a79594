"""The same count in every group, by a database: users kept in a few groups, and the items with most users of each.

Rows come in as u (user), g (group) and i (item), and are read once; what leaves is at most so many items of each group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dpselect.aggregates.groups import GroupedCounts, Int64
from dpselect.engines.sql.port import Row, SqlType, int64

KeyedHash = Callable[[str, str], str]
"""What bounds order by, of a user and of a group or an item: all of it is SQL."""


@dataclass(frozen=True, kw_only=True)
class GroupBounds:
    """Every user keeps at most `groups` groups, and in each at most `items` items: the first by keyed hashes.

    `given` makes of rows with a weight the units s that users give: what is less than one uses up no bound.
    """

    groups: int
    items: int | None
    keyed: KeyedHash
    given: Callable[[str], str] | None = None

    @property
    def columns(self) -> str:
        """Those of what is kept."""
        return "u, g, i" if self.given is None else "u, g, i, s"

    def kept(self, rows: str) -> str:
        """The distinct u, g and i that are kept, and their units. Which, the key and the user's own rows tell."""
        columns, had = self.columns, had_of(rows, self.given)
        place = f"dense_rank() OVER (PARTITION BY u ORDER BY {self.keyed('u', 'g')}, g) AS place"
        placed = f"SELECT {columns}, {place} FROM {had} AS d"
        kept = f"(SELECT {columns} FROM ({placed}) AS e WHERE place <= {self.groups})"
        if self.items is None:
            return kept
        place = f"row_number() OVER (PARTITION BY u, g ORDER BY {self.keyed('u', 'i')}, i) AS place"
        placed = f"SELECT {columns}, {place} FROM {kept} AS k"
        return f"(SELECT {columns} FROM ({placed}) AS m WHERE place <= {self.items})"


def had_of(rows: str, given: Callable[[str], str] | None) -> str:
    """The distinct u, g and i, or the units that users give."""
    return f"(SELECT DISTINCT u, g, i FROM {rows} AS t)" if given is None else given(rows)


def groups_of_users(had: str) -> str:
    """Numbers of groups, and how many users have so many."""
    each = f"SELECT u, count(DISTINCT g) AS n FROM {had} AS d GROUP BY u"
    return f"SELECT n, count(*) AS users FROM ({each}) AS e GROUP BY n"


def of_groups(rows: str, listed: str, more: str = "") -> str:
    """The rows of listed groups; `more` columns go with them."""
    return f"(SELECT u, g, i{more} FROM {rows} AS t WHERE g IN (SELECT i FROM {listed} AS l))"


def question(
    kept: str,
    most: int,
    listed: str | None,
    group: SqlType,
    item: SqlType,
    *,
    users: bool,
    score: str = "count(*)",
) -> str:
    """Group, item and score, for the `most` best items of every group; then the number of users of the group.

    A listed group without rows has one, of number 0. Its place is 1 also where a join without a match has zeros.
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
    of_items = f"SELECT {item.named} AS item, g, n, place, {'users' if users else '0 AS users'} FROM ({found}) AS q"
    of_groups = f"SELECT item, g AS i, n, place, users FROM ({of_items}) AS r"
    return f"SELECT {group.named} AS name, item, n, place, users FROM ({of_groups}) AS s ORDER BY i, place"


def grouped_counts(found: Sequence[Row], group: SqlType, item: SqlType) -> GroupedCounts:
    """What the question found, group after group."""
    starts = [place for place, row in enumerate(found) if row[3] == 1]
    ends = [*starts[1:], len(found)] if starts else []
    there = [row for row in found if row[2]]
    sizes = [sum(1 for row in found[a:b] if row[2]) for a, b in zip(starts, ends, strict=True)]

    def users(places: Int64) -> Int64:
        return int64([found[starts[place]][4] for place in places])

    return GroupedCounts(
        sizes=int64(sizes),
        counts=int64([row[2] for row in there]),
        groups=lambda places: [group.label(found[starts[place]][0]) for place in places],
        items=lambda places: [item.label(there[place][1]) for place in places],
        users=users,
    )
