"""Values in every listed group, by a database: one value of a user in each group that they keep.

Rows come in as u (user), g (group) and i (item), and are read once.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.aggregates.groups import GroupedValues
from dpselect.aggregates.unbounded import Points
from dpselect.engines.port import PerUser
from dpselect.engines.sql.by_group import KeyedHash
from dpselect.engines.sql.port import Dialect, Row, SqlType
from dpselect.engines.sql.questions import of, place


def users_at_by(
    rows: str,
    grid: Points,
    per_user: PerUser,
    most: int,
    listed: str,
    keyed: tuple[KeyedHash, KeyedHash],
    types: tuple[SqlType, SqlType],
    dialect: Dialect,
) -> str:
    """name, p, a place of the grid, n, the number of users there, and place, a row's place in its group, from 1.

    n is 0 for a group without users. `keyed` are the hashes by which groups and values are kept, `types` those of group
    and item; the rows are those of listed groups.
    """
    values = f"SELECT u, g, {of(types[1].number or '', 'i')} AS v FROM {rows} AS t"
    places = f"SELECT u, g, {place(grid, dialect)} AS i FROM ({values}) AS r WHERE v IS NOT NULL"
    one = _one(places, per_user, keyed[1], dialect)
    order = f"row_number() OVER (PARTITION BY u ORDER BY {keyed[0]('u', 'g')}, g) AS place"
    kept = f"SELECT g, i FROM (SELECT g, i, {order} FROM ({one}) AS d) AS e WHERE place <= {most}"
    users = f"SELECT g, i, count(*) AS n FROM ({kept}) AS k GROUP BY g, i"
    placed = f"SELECT g, i, n, row_number() OVER (PARTITION BY g ORDER BY i) AS place FROM ({users}) AS c"
    found = (
        f"SELECT l.i AS g, coalesce(f.i, 0) AS v, coalesce(f.n, 0) AS n, greatest(coalesce(f.place, 1), 1) AS place "
        f"FROM {listed} AS l LEFT JOIN ({placed}) AS f ON f.g = l.i"
    )
    of_groups = f"SELECT g AS i, CAST(v AS BIGINT) AS p, n, place FROM ({found}) AS q"
    return f"SELECT {types[0].named} AS name, p, n, place FROM ({of_groups}) AS s ORDER BY i, place"


def _one(places: str, per_user: PerUser, keyed: KeyedHash, dialect: Dialect) -> str:
    """u, g and i: of the places of a user in a group the one that they take part with."""
    if per_user is PerUser.RANDOM:
        first = f"row_number() OVER (PARTITION BY u, g ORDER BY {keyed('u', 'i')}, i) AS place"
        distinct = f"SELECT DISTINCT u, g, i FROM ({places}) AS d"
        return f"SELECT u, g, i FROM (SELECT u, g, i, {first} FROM ({distinct}) AS m) AS o WHERE place <= 1"
    total = f"2 * sum(CAST(i AS {dialect.whole})) + count(*)"
    one = {
        PerUser.MIN: "min(i)",
        PerUser.MAX: "max(i)",
        PerUser.MEAN: dialect.divided.format(total, "(2 * count(*))"),
    }
    return f"SELECT u, g, {one[per_user]} AS i FROM ({places}) AS m GROUP BY u, g"


def groups_of(rows: str) -> str:
    """Users, and their groups as items."""
    return f"(SELECT u, g AS i FROM {rows} AS t)"


def found_groups(pairs: str, codes: str) -> str:
    """Groups by their places in their order, from 0, as they are numbered for set unions; `codes` are x."""
    groups = f"SELECT DISTINCT i FROM {pairs} AS k"
    numbered = f"SELECT i, row_number() OVER (ORDER BY i) - 1 AS code FROM ({groups}) AS d"
    return f"(SELECT i FROM ({numbered}) AS c WHERE code IN (SELECT x FROM {codes} AS p))"


def grouped_values(found: Sequence[Row], group: SqlType) -> GroupedValues:
    """What `users_at_by` found, group after group."""
    starts = [at for at, row in enumerate(found) if row[3] == 1]
    names = [group.label(found[at][0]) for at in starts]
    return GroupedValues.parted(names, starts, [row[1] for row in found], [row[2] for row in found])
