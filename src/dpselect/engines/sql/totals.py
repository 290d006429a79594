"""Scores by weights as plain SQL: rows come in as u, i and w, a double; scores go out as i and n, in whole units.

No name is given twice: in some databases a name of a SELECT is known in all of it.
"""

from __future__ import annotations

from dpselect.aggregates.totals import PARTS, Totals
from dpselect.engines.sql.database import Database
from dpselect.engines.sql.port import Dialect, SqlType
from dpselect.engines.sql.questions import bound_rank, double_literal, fill_template, grid_place
from dpselect.errors import DataError


def weight_column(database: Database, column: str) -> str:
    """Compile a column of weights to doubles, NULL where there is none; refuse it if it holds no numbers."""
    sql, sql_type = database.column(column), database.types[column]
    refuse_non_numbers(sql_type, column)
    value = fill_template(sql_type.number or "", fill_template(sql_type.form, sql))
    return f"CASE WHEN {fill_template(sql_type.present, sql)} THEN {value} END"


def refuse_non_numbers(sql_type: SqlType, *columns: str) -> None:
    """Refuse columns that hold no numbers, and text."""
    if sql_type.undeclared is not None:
        sql_type.undeclared.refuse("numbers")
    if sql_type.number is None or sql_type.is_text:
        hint = "cast it to a number in the source, for example in a view or a data frame"
        described_columns = (
            f"column {columns[0]!r}, of type {sql_type.name}," if len(columns) == 1 else f"an item of {columns}"
        )
        raise DataError(f"{described_columns} holds no numbers", hint)


def user_units(rows: str, totals: Totals, dialect: Dialect, keys: str = "u, i") -> str:
    """Compile s, what every user u gives to an item i in whole units, if at least one; by group `keys` are u, g, i.

    Sums are of integers of any size, so they do not depend on the order of rows and do not overflow.
    """
    minimum = double_literal(float(totals.least), dialect)
    by_user = f"{dialect.user_hint} " if dialect.user_hint else ""
    values = f"(SELECT {by_user}{keys}, w AS v FROM {rows} AS t)"
    parts = f"(SELECT {keys}, {grid_place(totals.grid, dialect)} AS p FROM {values} AS x WHERE v >= {minimum})"
    total = f"CAST(least({fill_template(dialect.exact_sum, 'p')}, {totals.max_units * PARTS}) AS BIGINT) AS q"
    totals_per_key = f"(SELECT {keys}, {total} FROM {parts} AS y GROUP BY {keys})"
    units = dialect.floor_division.format(f"q + {PARTS // 2}", str(PARTS))
    return f"(SELECT {keys}, s FROM (SELECT {keys}, {units} AS s FROM {totals_per_key} AS z) AS o WHERE s > 0)"


def group_units(totals: Totals, dialect: Dialect, rows: str) -> str:
    """Compile `user_units` of rows with a group g."""
    return user_units(rows, totals, dialect, "u, g, i")


def weighted_scores(rows: str, totals: Totals, bound: tuple[int, str] | None, dialect: Dialect) -> str:
    """Compile i and n, the sum over users. Only items to which a user gives a unit use up a bound, or have a name."""
    units = user_units(rows, totals, dialect)
    if bound is not None:
        max_items, key = bound
        ranked = f"(SELECT u, i, s, {bound_rank(key, dialect)} FROM {units} AS a)"
        units = f"(SELECT u, i, s FROM {ranked} AS b WHERE place <= {max_items})"
    return f"SELECT i, CAST(sum(s) AS BIGINT) AS n FROM {units} AS k GROUP BY i"
