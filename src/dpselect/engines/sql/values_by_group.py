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
    max_groups: int,
    group_list: str,
    keys: tuple[str, str],
    types: tuple[SqlType, SqlType],
    dialect: Dialect,
) -> str:
    """Compile p, a place of the grid, n, its number of users, place, a row's rank in its group from 1, and name.

    n is 0 for a group without users. `keys` are those by which groups and values are kept, `types` those of group and
    item; the rows are those of listed groups.
    """
    values = f"SELECT u, g, {fill_template(types[1].number or '', 'i')} AS v FROM {rows} AS t"
    places_sql = f"SELECT u, g, {grid_place(grid, dialect)} AS i FROM ({values}) AS r WHERE v IS NOT NULL"
    place_per_owner = place_per_user(f"({places_sql})", per_user, keys[1], dialect, "u, g")
    rank = f"row_number() OVER (PARTITION BY u ORDER BY {dialect.bound_order(keys[0], 'u', 'g')}, g) AS place"
    kept_rows = f"SELECT g, i FROM (SELECT g, i, {rank} FROM {place_per_owner} AS d) AS e WHERE place <= {max_groups}"
    users = f"SELECT g, i, count(*) AS n FROM ({kept_rows}) AS k GROUP BY g, i"
    ranked_places = f"SELECT g, i, n, row_number() OVER (PARTITION BY g ORDER BY i) AS place FROM ({users}) AS c"
    with_empty_groups = (
        f"SELECT l.i AS g, coalesce(f.i, 0) AS v, coalesce(f.n, 0) AS n, greatest(coalesce(f.place, 1), 1) AS place "
        f"FROM {group_list} AS l LEFT JOIN ({ranked_places}) AS f ON f.g = l.i"
    )
    as_group_items = f"SELECT g AS i, CAST(v AS BIGINT) AS p, n, place FROM ({with_empty_groups}) AS q"
    return f"SELECT p, n, place, {types[0].label_form} AS name, i FROM ({as_group_items}) AS s"


def read_grouped_values(database: Database, sql: str, group: SqlType, progress: Progress | None) -> GroupedValues:
    """Run a statement of `users_per_group_and_place` and return its values, group after group."""
    columns, fetch_labels = database.read_ordered(sql, "i, place", ("p", "n", "place"), ("name",), progress=progress)
    starts = np.flatnonzero(columns["place"] == 1)
    names = [group.label(name) for name in fetch_labels("name", starts)]
    return GroupedValues.parted(names, starts.tolist(), columns["p"], columns["n"])
