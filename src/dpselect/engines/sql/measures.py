"""Measures of a few items as plain SQL: rows come in as u, i and m0, m1, ..., doubles; integers go out by item.

No name is given twice: in some databases a name of a SELECT is known in all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.aggregates.measures import FARTHEST, NOBODY, PARTS, Mean, Measure, Measured, Sum
from dpselect.engines.sql.port import Dialect
from dpselect.engines.sql.questions import fill_template, grid_place


def user_steps(rows: str, measures: Sequence[Measure], dialect: Dialect) -> str:
    """Compile what every user has of every item: t, steps above the lower bound, and n, whether they count; by measure.

    Sums are of integers of any size, so they do not depend on the order of rows and do not overflow.
    """
    by_user = f"{dialect.user_hint} " if dialect.user_hint else ""
    grid_places = ", ".join(
        f"{_compile_place(index, measure, dialect)} AS p{index}" for index, measure in enumerate(measures)
    )
    with_places = f"(SELECT {by_user}u, i, {grid_places} FROM {rows} AS t)"
    sums_and_counts = ", ".join(
        f"coalesce({fill_template(dialect.exact_sum, f'p{index}')}, 0) AS a{index}, count(p{index}) AS c{index}"
        for index in range(len(measures))
    )
    per_user = f"(SELECT u, i, {sums_and_counts} FROM {with_places} AS x GROUP BY u, i)"
    clipped = ", ".join(
        f"{_compile_clipped(index, measure)} AS q{index}, c{index}" for index, measure in enumerate(measures)
    )
    steps = ", ".join(_compile_steps(index, measure, dialect) for index, measure in enumerate(measures))
    return f"(SELECT u, i, {steps} FROM (SELECT u, i, {clipped} FROM {per_user} AS y) AS z)"


def bounded_rows(rows: str, numbers: str, bound: tuple[int, str] | None, dialect: Dialect) -> str:
    """Compile the rows of the items that each user keeps; `numbers` are columns behind u and i."""
    if bound is None:
        return rows
    max_items, key = bound
    rank = f"dense_rank() OVER (PARTITION BY u ORDER BY {dialect.bound_order(key, 'u', 'i')}, i) AS place"
    return (
        f"(SELECT u, i{numbers} FROM (SELECT u, i{numbers}, {rank} FROM {rows} AS a) AS b WHERE place <= {max_items})"
    )


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
    return Measured.from_minimum(measure, steps_above_minimum, users) if users else NOBODY


def _compile_place(index: int, measure: Measure, dialect: Dialect) -> str:
    """Compile the place of a row's value, of a sum counted from 0; NULL if it is no number."""
    zero = f" - {FARTHEST * PARTS}" if isinstance(measure, Sum) else ""
    return f"CASE WHEN m{index} IS NOT NULL THEN {grid_place(measure.grid, dialect, f'm{index}')}{zero} END"


def _compile_clipped(index: int, measure: Measure) -> str:
    """Compile a user's total within its bounds, in parts above the lower one; of a mean the steps of all rows."""
    if isinstance(measure, Mean):
        return f"CAST(2 * a{index} + c{index} AS BIGINT)"  # it would take 10^12 rows to be too large
    low, high = measure.least * PARTS, measure.most * PARTS
    return f"CAST(least(greatest(a{index}, {low}), {high}) AS BIGINT) - ({low}) + {PARTS // 2}"


def _compile_steps(index: int, measure: Measure, dialect: Dialect) -> str:
    if isinstance(measure, Mean):
        mean = dialect.floor_division.format(f"q{index}", f"greatest(2 * c{index}, 1)")
        return f"{mean} AS t{index}, CASE WHEN c{index} > 0 THEN 1 ELSE 0 END AS n{index}"
    return f"{dialect.floor_division.format(f'q{index}', str(PARTS))} AS t{index}, 1 AS n{index}"
