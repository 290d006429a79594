"""Values in every listed group, by a database: one value of a user in each group that they keep.

Rows come in as u (user), g (group) and i (item), and are read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpselect.aggregates.groups import GroupedValues
from dpselect.engines.port import PerUser
from dpselect.engines.sql.port import Dialect, SqlType
from dpselect.engines.sql.questions import fill_template, grid_place, place_per_user

if TYPE_CHECKING:
    from dpselect._ground.parameters import Progress
    from dpselect.aggregates.unbounded import Points
    from dpselect.engines.sql.database import Database


def users_per_group_and_place(
    rows: str,
    grid: Points,
    per_user: PerUser,
    most: int,
    listed: str,
    keys: tuple[str, str],
    types: tuple[SqlType, SqlType],
    dialect: Dialect,
) -> str:
    """p, a place of the grid, n, the number of users there, place, a row's place in its group, from 1, and name.

    n is 0 for a group without users. `keys` are those by which groups and values are kept, `types` those of group and
    item; the rows are those of listed groups.
    """
    values = f"SELECT u, g, {fill_template(types[1].number or '', 'i')} AS v FROM {rows} AS t"
    places = f"SELECT u, g, {grid_place(grid, dialect)} AS i FROM ({values}) AS r WHERE v IS NOT NULL"
    one = place_per_user(f"({places})", per_user, keys[1], dialect, "u, g")
    order = f"row_number() OVER (PARTITION BY u ORDER BY {dialect.bound_order(keys[0], 'u', 'g')}, g) AS place"
    kept = f"SELECT g, i FROM (SELECT g, i, {order} FROM {one} AS d) AS e WHERE place <= {most}"
    users = f"SELECT g, i, count(*) AS n FROM ({kept}) AS k GROUP BY g, i"
    placed = f"SELECT g, i, n, row_number() OVER (PARTITION BY g ORDER BY i) AS place FROM ({users}) AS c"
    found = (
        f"SELECT l.i AS g, coalesce(f.i, 0) AS v, coalesce(f.n, 0) AS n, greatest(coalesce(f.place, 1), 1) AS place "
        f"FROM {listed} AS l LEFT JOIN ({placed}) AS f ON f.g = l.i"
    )
    of_groups = f"SELECT g AS i, CAST(v AS BIGINT) AS p, n, place FROM ({found}) AS q"
    return f"SELECT p, n, place, {types[0].label_form} AS name, i FROM ({of_groups}) AS s"


def read_grouped_values(database: Database, sql: str, group: SqlType, progress: Progress | None) -> GroupedValues:
    """What `users_at_by` finds, group after group."""
    numbers, named = database.read_ordered(sql, "i, place", ("p", "n", "place"), ("name",), progress=progress)
    starts = np.flatnonzero(numbers["place"] == 1)
    names = [group.label(name) for name in named("name", starts)]
    return GroupedValues.parted(names, starts.tolist(), numbers["p"], numbers["n"])
