"""Values as plain SQL: one value of a user, or of a user in each group that they keep, as an index into a grid.

Rows come in as u (user), g (group) and i (item), and are read once; grid indices and numbers of users go out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpselect.aggregates.groups import GroupedValues
from dpselect.aggregates.unbounded import DENSE_POINTS, POINTS_PER_TENFOLD, Unbounded
from dpselect.engines.port import PerUser
from dpselect.engines.sql import questions
from dpselect.engines.sql.port import Dialect, SqlType

if TYPE_CHECKING:
    from dpselect._ground.parameters import Progress
    from dpselect.aggregates.unbounded import Points
    from dpselect.engines.sql.database import Database

LEAST_SHARE_OF_WIDTH = (
    2.0**-40
)  # of a width; a smaller value has the same index, and PostgreSQL would fail on its underflow


def users_per_grid_index(
    rows: str, grid: Points, per_user: PerUser, secret_key_sql: str, item_type: SqlType, dialect: Dialect
) -> str:
    """Compile grid_index, ascending, and users, the number of those who have their value there."""
    values = f"SELECT u, {questions.fill_template(item_type.number_form or '', 'i')} AS v FROM {rows} AS t"
    indexed_rows = (
        f"SELECT u, {compile_grid_index(grid, dialect)} AS value_index FROM ({values}) AS r WHERE v IS NOT NULL"
    )
    index_per_user = grid_index_per_user(f"({indexed_rows})", per_user, secret_key_sql, dialect)
    return (
        f"SELECT CAST(value_index AS BIGINT) AS grid_index, count(*) AS users "
        f"FROM {index_per_user} AS o GROUP BY value_index ORDER BY grid_index"
    )


def grid_index_per_user(
    indexed_rows: str, per_user: PerUser, secret_key_sql: str, dialect: Dialect, owner: str = "u"
) -> str:
    """Compile the one value_index with which each user takes part; of each user and group if `owner` is u, g."""
    if per_user is PerUser.RANDOM and dialect.first_by_hash is None:
        columns = f"{owner}, value_index"
        distinct_rows = (
            f"(SELECT DISTINCT {columns} FROM {questions.colocate_users(indexed_rows, columns, dialect)} AS d)"
        )
        return questions.keep_first(
            distinct_rows, columns, (1, secret_key_sql), dialect, owner=owner, chosen="value_index"
        )
    hashed = dialect.keyed_hash(secret_key_sql, "u", "value_index")
    chosen_index = {
        PerUser.RANDOM: (dialect.first_by_hash or "").format(value="value_index", hash=hashed),
        PerUser.MIN: "min(value_index)",
        PerUser.MAX: "max(value_index)",
        PerUser.MEAN: dialect.floor_division.format(
            f"2 * {questions.fill_template(dialect.exact_sum, 'value_index')} + count(*)", "(2 * count(*))"
        ),
    }
    return f"(SELECT {owner}, {chosen_index[per_user]} AS value_index FROM {indexed_rows} AS p GROUP BY {owner})"


def compile_grid_index(grid: Points, dialect: Dialect, value: str = "v") -> str:
    """Compile `Grid.nearest_indices` of a double, operation by operation."""
    if isinstance(grid, Unbounded):
        return _compile_unbounded_index(grid, value, dialect)
    ends = (grid.low, grid.high, grid.step, 0.5, grid.points - 1)
    low, high, step, half, last = (double_literal(float(x), dialect) for x in ends)
    above_low = f"(least(greatest({value}, {low}), {high}) - {low})"
    if dialect.underflow_fails:
        above_low = f"greatest({above_low}, {double_literal(float(grid.step) * LEAST_SHARE_OF_WIDTH, dialect)})"
    steps = f"floor({above_low} / {step} + {half})"
    return f"CAST(least({steps}, {last}) AS BIGINT)"


def double_literal(value: float, dialect: Dialect) -> str:
    """Compile a double, exactly."""
    return f"CAST('{value!r}' AS {dialect.double})"


def _compile_unbounded_index(points: Unbounded, value: str, dialect: Dialect) -> str:
    """Compile `Unbounded.nearest_indices` of a double, operation by operation."""

    def number(double: float) -> str:
        return double_literal(double, dialect)

    widths = [float(width) for width in points.widths]
    size = f"least(greatest({value}, -({value})), {number(widths[-1] * DENSE_POINTS)})"
    index_by_width = [
        f"floor(greatest({size}, {number(width * LEAST_SHARE_OF_WIDTH)}) / {number(width)} + {number(0.5)}) + "
        f"{number(float(decade * POINTS_PER_TENFOLD))}"
        for decade, width in enumerate(widths)
    ]
    cases = [
        f"WHEN {size} < {number(width * DENSE_POINTS)} THEN {index_sql}"
        for width, index_sql in zip(widths[:-1], index_by_width[:-1], strict=True)
    ]
    index_above_zero = f"CASE {' '.join(cases)} ELSE {index_by_width[-1]} END" if cases else index_by_width[-1]
    side = f"CASE WHEN {value} < {number(0.0)} THEN -1 ELSE 1 END"
    return f"CAST({side} * ({index_above_zero}) + {number(float(points.points_above_zero))} AS BIGINT)"


def users_per_group_and_grid_index(
    rows: str,
    grid: Points,
    per_user: PerUser,
    max_groups: int,
    group_list: str,
    secret_keys: tuple[str, str],
    types: tuple[SqlType, SqlType],
    dialect: Dialect,
) -> str:
    """Compile grid_index, users, a row's rank in its group from 1, and the name of the group.

    `users` is 0 for a group without users. `secret_keys` are the SQL of those by which groups and values are kept,
    `types` those of group and item; the rows are those of listed groups.
    """
    group_key, value_key = secret_keys
    group_type, item_type = types
    values = f"SELECT u, g, {questions.fill_template(item_type.number_form or '', 'i')} AS v FROM {rows} AS t"
    indexed_rows = (
        f"SELECT u, g, {compile_grid_index(grid, dialect)} AS value_index FROM ({values}) AS r WHERE v IS NOT NULL"
    )
    index_per_owner = grid_index_per_user(f"({indexed_rows})", per_user, value_key, dialect, "u, g")
    kept_rows = questions.keep_first(index_per_owner, "g, value_index", (max_groups, group_key), dialect, chosen="g")
    counts = f"SELECT g, value_index, count(*) AS n FROM {kept_rows} AS k GROUP BY g, value_index"
    ranked_counts = (
        f"SELECT g, value_index, n, row_number() OVER (PARTITION BY g ORDER BY value_index) AS group_rank "
        f"FROM ({counts}) AS c"
    )
    with_empty_groups = (
        f"SELECT l.i AS g, coalesce(f.value_index, 0) AS v, coalesce(f.n, 0) AS users, "
        f"greatest(coalesce(f.group_rank, 1), 1) AS row_rank "
        f"FROM {group_list} AS l LEFT JOIN ({ranked_counts}) AS f ON f.g = l.i"
    )
    as_group_items = f"SELECT g AS i, CAST(v AS BIGINT) AS grid_index, users, row_rank FROM ({with_empty_groups}) AS q"
    return f"SELECT grid_index, users, row_rank, {group_type.label_form} AS name, i FROM ({as_group_items}) AS s"


def read_grouped_values(database: Database, sql: str, group_type: SqlType, progress: Progress | None) -> GroupedValues:
    """Run a statement of `users_per_group_and_grid_index` and return its values, group after group."""
    columns, fetch_labels = database.read_ordered(
        sql, "i, row_rank", ("grid_index", "users", "row_rank"), ("name",), progress=progress
    )
    starts = np.flatnonzero(columns["row_rank"] == 1)
    names = [group_type.to_label(name) for name in fetch_labels("name", starts)]
    return GroupedValues.parted(names, starts.tolist(), columns["grid_index"], columns["users"])
