"""Measures of a few items as plain SQL: rows come in as u, i and m0, m1, ..., doubles; integers go out by item.

No name is given twice: in some databases a name of a SELECT is known in all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.aggregates.measures import FARTHEST, NOBODY, PARTS, Mean, Measure, Measured, Sum
from dpselect.engines.sql.port import Dialect
from dpselect.engines.sql.questions import fill_template, grid_place


def user_steps(rows: str, measures: Sequence[Measure], dialect: Dialect) -> str:
    """What every user has of every item: t, steps above the lower bound, and n, whether they count; by measure.

    Sums are of integers of any size, so nothing hangs on their order, and nothing overflows.
    """
    by_user = f"{dialect.user_hint} " if dialect.user_hint else ""
    places = ", ".join(f"{_place(at, one, dialect)} AS p{at}" for at, one in enumerate(measures))
    read = f"(SELECT {by_user}u, i, {places} FROM {rows} AS t)"
    added = ", ".join(
        f"coalesce({fill_template(dialect.exact_sum, f'p{at}')}, 0) AS a{at}, count(p{at}) AS c{at}"
        for at in range(len(measures))
    )
    summed = f"(SELECT u, i, {added} FROM {read} AS x GROUP BY u, i)"
    cut = ", ".join(f"{_cut(at, one)} AS q{at}, c{at}" for at, one in enumerate(measures))
    steps = ", ".join(_steps(at, one, dialect) for at, one in enumerate(measures))
    return f"(SELECT u, i, {steps} FROM (SELECT u, i, {cut} FROM {summed} AS y) AS z)"


def bounded_rows(rows: str, numbers: str, bound: tuple[int, str] | None, dialect: Dialect) -> str:
    """The rows of the items that each user keeps; `numbers` are columns behind u and i."""
    if bound is None:
        return rows
    most, key = bound
    place = f"dense_rank() OVER (PARTITION BY u ORDER BY {dialect.bound_order(key, 'u', 'i')}, i) AS place"
    return f"(SELECT u, i{numbers} FROM (SELECT u, i{numbers}, {place} FROM {rows} AS a) AS b WHERE place <= {most})"


def measure_totals(rows: str, measures: Sequence[Measure], named: str, dialect: Dialect) -> str:
    """name, and of each measure the sum of steps and the number of users: of every item."""
    sums = ", ".join(
        f"CAST(sum(t{at}) AS BIGINT) AS s{at}, CAST(sum(n{at}) AS BIGINT) AS e{at}" for at in range(len(measures))
    )
    found = ", ".join(f"s{at}, e{at}" for at in range(len(measures)))
    given = user_steps(rows, measures, dialect)
    return f"SELECT {named} AS name, {found} FROM (SELECT i, {sums} FROM {given} AS k GROUP BY i) AS o"


def parse_measures(measures: Sequence[Measure], row: Sequence[int]) -> list[Measured]:
    """The measures of an item, from its numbers."""
    return [_one(measure, *row[2 * at : 2 * at + 2]) for at, measure in enumerate(measures)]


def _one(measure: Measure, above: int, users: int) -> Measured:
    return Measured.of(measure, above, users) if users else NOBODY


def _place(at: int, measure: Measure, dialect: Dialect) -> str:
    """The place of a row's value, of a sum counted from 0; NULL where it is no number."""
    zero = f" - {FARTHEST * PARTS}" if isinstance(measure, Sum) else ""
    return f"CASE WHEN m{at} IS NOT NULL THEN {grid_place(measure.grid, dialect, f'm{at}')}{zero} END"


def _cut(at: int, measure: Measure) -> str:
    """A user's total within its bounds, in parts above the lower one; of a mean the steps of all rows."""
    if isinstance(measure, Mean):
        return f"CAST(2 * a{at} + c{at} AS BIGINT)"  # it would take 10^12 rows to be too large
    low, high = measure.least * PARTS, measure.most * PARTS
    return f"CAST(least(greatest(a{at}, {low}), {high}) AS BIGINT) - ({low}) + {PARTS // 2}"


def _steps(at: int, measure: Measure, dialect: Dialect) -> str:
    if isinstance(measure, Mean):
        mean = dialect.floor_division.format(f"q{at}", f"greatest(2 * c{at}, 1)")
        return f"{mean} AS t{at}, CASE WHEN c{at} > 0 THEN 1 ELSE 0 END AS n{at}"
    return f"{dialect.floor_division.format(f'q{at}', str(PARTS))} AS t{at}, 1 AS n{at}"
