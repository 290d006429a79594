"""Values as plain SQL: one value of a user, or of a user in each group that they keep, as its place in a grid.

Rows come in as u (user), g (group) and i (item), and are read once; places and numbers of users go out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpselect.aggregates.groups import GroupedValues
from dpselect.aggregates.unbounded import DECADE, DENSE, Unbounded
from dpselect.engines.port import PerUser
from dpselect.engines.sql import questions
from dpselect.engines.sql.port import Dialect, SqlType

if TYPE_CHECKING:
    from dpselect._ground.parameters import Progress
    from dpselect.aggregates.unbounded import Points
    from dpselect.engines.sql.database import Database

TINY = 2.0**-40  # of a width; a smaller value has the same place, and PostgreSQL would fail on its underflow


def users_per_place(rows: str, grid: Points, per_user: PerUser, key: str, item_type: SqlType, dialect: Dialect) -> str:
    """Compile p, a place of the grid, and n, the number of users who have their value there; ascending."""
    values_sql = f"SELECT u, {questions.fill_template(item_type.number or '', 'i')} AS v FROM {rows} AS t"
    places_sql = f"SELECT u, {grid_place(grid, dialect)} AS i FROM ({values_sql}) AS r WHERE v IS NOT NULL"
    chosen_places = place_per_user(f"({places_sql})", per_user, key, dialect)
    return f"SELECT CAST(i AS BIGINT) AS p, count(*) AS n FROM {chosen_places} AS o GROUP BY i ORDER BY p"


def place_per_user(place_rows: str, per_user: PerUser, key: str, dialect: Dialect, owner: str = "u") -> str:
    """Compile the one place i with which each user takes part; of each user and group if `owner` is u, g."""
    if per_user is PerUser.RANDOM and dialect.first_by_hash is None:
        columns = f"{owner}, i"
        distinct_places = (
            f"(SELECT DISTINCT {columns} FROM {questions.colocate_users(place_rows, columns, dialect)} AS d)"
        )
        return questions.keep_first(distinct_places, columns, (1, key), dialect, owner=owner)
    chosen_place = {
        PerUser.RANDOM: (dialect.first_by_hash or "").format(value="i", hash=dialect.bound_order(key, "u", "i")),
        PerUser.MIN: "min(i)",
        PerUser.MAX: "max(i)",
        PerUser.MEAN: dialect.floor_division.format(
            f"2 * {questions.fill_template(dialect.exact_sum, 'i')} + count(*)", "(2 * count(*))"
        ),
    }
    return f"(SELECT {owner}, {chosen_place[per_user]} AS i FROM {place_rows} AS p GROUP BY {owner})"


def grid_place(grid: Points, dialect: Dialect, value: str = "v") -> str:
    """Compile `Grid.nearest_places` of a double, operation by operation."""
    if isinstance(grid, Unbounded):
        return unbounded_place(grid, value, dialect)
    ends = (grid.low, grid.high, grid.step, 0.5, grid.points - 1)
    low, high, step, half, last = (double_literal(float(x), dialect) for x in ends)
    above_low = f"(least(greatest({value}, {low}), {high}) - {low})"
    if dialect.underflow:
        above_low = f"greatest({above_low}, {double_literal(float(grid.step) * TINY, dialect)})"
    steps = f"floor({above_low} / {step} + {half})"
    return f"CAST(least({steps}, {last}) AS BIGINT)"


def double_literal(value: float, dialect: Dialect) -> str:
    """Compile a double, exactly."""
    return f"CAST('{value!r}' AS {dialect.double})"


def unbounded_place(points: Unbounded, value: str, dialect: Dialect) -> str:
    """Compile the place of a double among points without bounds: `Unbounded.nearest_places`, operation by operation."""

    def number(double: float) -> str:
        return double_literal(double, dialect)

    widths = [float(width) for width in points.widths]
    size = f"least(greatest({value}, -({value})), {number(widths[-1] * DENSE)})"
    places_by_width = [
        f"floor(greatest({size}, {number(width * TINY)}) / {number(width)} + {number(0.5)}) + "
        f"{number(float(decade * DECADE))}"
        for decade, width in enumerate(widths)
    ]
    steps = [
        f"WHEN {size} < {number(width * DENSE)} THEN {compiled_place}"
        for width, compiled_place in zip(widths[:-1], places_by_width[:-1], strict=True)
    ]
    place_above_zero = f"CASE {' '.join(steps)} ELSE {places_by_width[-1]} END" if steps else places_by_width[-1]
    side = f"CASE WHEN {value} < {number(0.0)} THEN -1 ELSE 1 END"
    return f"CAST({side} * ({place_above_zero}) + {number(float(points.last))} AS BIGINT)"


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
    values = f"SELECT u, g, {questions.fill_template(types[1].number or '', 'i')} AS v FROM {rows} AS t"
    places_sql = f"SELECT u, g, {grid_place(grid, dialect)} AS i FROM ({values}) AS r WHERE v IS NOT NULL"
    place_per_owner = place_per_user(f"({places_sql})", per_user, keys[1], dialect, "u, g")
    kept_rows = questions.keep_first(place_per_owner, "g, i", (max_groups, keys[0]), dialect, chosen="g")
    users = f"SELECT g, i, count(*) AS n FROM {kept_rows} AS k GROUP BY g, i"
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
