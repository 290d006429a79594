"""Numbers of rows as plain SQL, added up for each user: scores by weights, and measures of a few items.

Rows come in as u, i and doubles, w of a weight and m0, m1, ... of measures; whole units go out by item. No name is
given twice: in some databases a name of a SELECT is known in all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.aggregates.measures import MAX_ROW_UNITS, MEASURED_OF_NOBODY, Mean, Measure, Measured, Sum
from dpselect.aggregates.totals import PARTS_PER_UNIT, Totals
from dpselect.engines.sql.database import Database
from dpselect.engines.sql.port import Dialect, SqlType
from dpselect.engines.sql.questions import fill_template, keep_first
from dpselect.engines.sql.values import compile_grid_index, double_literal
from dpselect.errors import DataError


def weight_column(database: Database, column: str) -> str:
    """Compile a column of weights to doubles, NULL where there is none; refuse it if it holds no numbers."""
    sql, sql_type = database.column(column), database.types[column]
    refuse_non_numbers(sql_type, column)
    value = fill_template(sql_type.number_form or "", fill_template(sql_type.canonical_form, sql))
    return f"CASE WHEN {fill_template(sql_type.present_condition, sql)} THEN {value} END"


def refuse_non_numbers(sql_type: SqlType, *columns: str) -> None:
    """Refuse columns that hold no numbers, and text."""
    if sql_type.undeclared_text is not None:
        sql_type.undeclared_text.refuse("numbers")
    if sql_type.number_form is None or sql_type.is_text:
        hint = "cast it to a number in the source, for example in a view or a data frame"
        described_columns = (
            f"column {columns[0]!r}, of type {sql_type.name}," if len(columns) == 1 else f"an item of {columns}"
        )
        raise DataError(f"{described_columns} holds no numbers", hint)


def user_units(rows: str, totals: Totals, dialect: Dialect, keys: str = "u, i") -> str:
    """Compile s, what every user u gives to an item i in whole units, if at least one; by group `keys` are u, g, i.

    Sums are of integers of any size, so they do not depend on the order of rows and do not overflow.
    """
    minimum = double_literal(float(totals.min_counted_value), dialect)
    by_user = f"{dialect.user_hint} " if dialect.user_hint else ""
    values = f"(SELECT {by_user}{keys}, w AS v FROM {rows} AS t)"
    parts = f"(SELECT {keys}, {compile_grid_index(totals.grid, dialect)} AS p FROM {values} AS x WHERE v >= {minimum})"
    total = f"CAST(least({fill_template(dialect.exact_sum, 'p')}, {totals.max_units * PARTS_PER_UNIT}) AS BIGINT) AS q"
    totals_per_key = f"(SELECT {keys}, {total} FROM {parts} AS y GROUP BY {keys})"
    units = dialect.floor_division.format(f"q + {PARTS_PER_UNIT // 2}", str(PARTS_PER_UNIT))
    return f"(SELECT {keys}, s FROM (SELECT {keys}, {units} AS s FROM {totals_per_key} AS z) AS o WHERE s > 0)"


def group_units(totals: Totals, dialect: Dialect, rows: str) -> str:
    """Compile `user_units` of rows with a group g."""
    return user_units(rows, totals, dialect, "u, g, i")


def weighted_scores(rows: str, totals: Totals, bound: tuple[int, str] | None, dialect: Dialect) -> str:
    """Compile i and n, the sum over users. Only items to which a user gives a unit use up a bound, or have a name."""
    units = user_units(rows, totals, dialect)
    kept_units = keep_first(units, "u, i, s", bound, dialect)
    return f"SELECT i, CAST(sum(s) AS BIGINT) AS n FROM {kept_units} AS k GROUP BY i"


def user_steps(rows: str, measures: Sequence[Measure], dialect: Dialect) -> str:
    """Compile what every user has of every item: t, steps above the lower bound, and n, whether they count; by measure.

    Sums are of integers of any size, so they do not depend on the order of rows and do not overflow.
    """
    by_user = f"{dialect.user_hint} " if dialect.user_hint else ""
    grid_indices = ", ".join(
        f"{_compile_row_index(index, measure, dialect)} AS p{index}" for index, measure in enumerate(measures)
    )
    with_grid_indices = f"(SELECT {by_user}u, i, {grid_indices} FROM {rows} AS t)"
    sums_and_counts = ", ".join(
        f"coalesce({fill_template(dialect.exact_sum, f'p{index}')}, 0) AS a{index}, count(p{index}) AS c{index}"
        for index in range(len(measures))
    )
    per_user = f"(SELECT u, i, {sums_and_counts} FROM {with_grid_indices} AS x GROUP BY u, i)"
    clipped = ", ".join(
        f"{_compile_clipped(index, measure)} AS q{index}, c{index}" for index, measure in enumerate(measures)
    )
    steps = ", ".join(_compile_steps(index, measure, dialect) for index, measure in enumerate(measures))
    return f"(SELECT u, i, {steps} FROM (SELECT u, i, {clipped} FROM {per_user} AS y) AS z)"


def measure_totals(rows: str, measures: Sequence[Measure], label_form: str, dialect: Dialect) -> str:
    """Compile name, and of each measure the sum of steps and the number of users, for every item."""
    sums = ", ".join(
        f"CAST(sum(t{index}) AS BIGINT) AS s{index}, CAST(sum(n{index}) AS BIGINT) AS e{index}"
        for index in range(len(measures))
    )
    totals = ", ".join(f"s{index}, e{index}" for index in range(len(measures)))
    steps = user_steps(rows, measures, dialect)
    return f"SELECT {label_form} AS name, {totals} FROM (SELECT i, {sums} FROM {steps} AS k GROUP BY i) AS o"


def parse_measures(measures: Sequence[Measure], row: Sequence[int]) -> list[Measured]:
    """Return the measures of an item, from the numbers of its row."""
    return [_parse_measure(measure, *row[2 * index : 2 * index + 2]) for index, measure in enumerate(measures)]


def _parse_measure(measure: Measure, steps_above_minimum: int, users: int) -> Measured:
    return Measured.from_minimum(measure, steps_above_minimum, users) if users else MEASURED_OF_NOBODY


def _compile_row_index(index: int, measure: Measure, dialect: Dialect) -> str:
    """Compile the grid index of a row's value, of a sum counted from 0; NULL if it is no number."""
    zero = f" - {MAX_ROW_UNITS * PARTS_PER_UNIT}" if isinstance(measure, Sum) else ""
    return f"CASE WHEN m{index} IS NOT NULL THEN {compile_grid_index(measure.grid, dialect, f'm{index}')}{zero} END"


def _compile_clipped(index: int, measure: Measure) -> str:
    """Compile a user's total within its bounds, in parts above the lower one; of a mean the steps of all rows."""
    if isinstance(measure, Mean):
        return f"CAST(2 * a{index} + c{index} AS BIGINT)"  # it would take 10^12 rows to be too large
    low, high = measure.least * PARTS_PER_UNIT, measure.most * PARTS_PER_UNIT
    return f"CAST(least(greatest(a{index}, {low}), {high}) AS BIGINT) - ({low}) + {PARTS_PER_UNIT // 2}"


def _compile_steps(index: int, measure: Measure, dialect: Dialect) -> str:
    if isinstance(measure, Mean):
        mean = dialect.floor_division.format(f"q{index}", f"greatest(2 * c{index}, 1)")
        return f"{mean} AS t{index}, CASE WHEN c{index} > 0 THEN 1 ELSE 0 END AS n{index}"
    return f"{dialect.floor_division.format(f'q{index}', str(PARTS_PER_UNIT))} AS t{index}, 1 AS n{index}"
