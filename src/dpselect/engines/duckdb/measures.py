"""Measures of a few items as SQL: rows come in as u, i and m0, m1, ..., doubles; integers go out, one row an item."""

from __future__ import annotations

from collections.abc import Sequence

from dpselect._ground.domain import UNSEEN
from dpselect.aggregates.measures import FARTHEST, NOBODY, PARTS, Mean, Measure, Measured, Sum
from dpselect.engines.duckdb.keys import DuckDBKey
from dpselect.engines.duckdb.questions import UserBound, place
from dpselect.engines.duckdb.types import FLOATS, INTEGERS, OBJECT, ZONED, is_text, kind
from dpselect.engines.duckdb.workspace import Rows, Workspace
from dpselect.engines.sources.objects import written

_AS_THEY_ARE = INTEGERS | FLOATS | {"DECIMAL", "BOOLEAN", "DATE", "TIME", "BLOB", ZONED}
_AS_THEY_ARE |= {"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"}


def keep_items(workspace: Workspace, labels: Sequence[object], types: Sequence[str]) -> str:
    """The name of a table of items that came back, i in its one form, and the place of each; inside guarded work.

    Each value goes back alone into the type that it came from, so it is the one that it was. A number of a range may be
    one that no row can have: nothing fails because it came back.
    """
    table, values = workspace.fresh(), workspace.fresh()
    stored = tuple(one if kind(one) in _AS_THEY_ARE else "VARCHAR" for one in types)
    fields = ", ".join(f"v{at} {one}" for at, one in enumerate(stored))
    given = ", ".join(f"TRY_CAST(? AS {one})" for one in stored)
    workspace.rows(f"CREATE TEMP TABLE {values} ({fields}, place BIGINT)")
    for at, label in enumerate(labels):
        if label is not UNSEEN:
            row = label if isinstance(label, tuple) else (label,)
            own = [_own(value, sql_type) for value, sql_type in zip(row, types, strict=True)]
            workspace.rows(f"INSERT INTO {values} VALUES ({given}, ?)", [*own, at])
    form = DuckDBKey(tuple(f"v{at}" for at in range(len(types))), stored).item
    workspace.rows(f"CREATE TEMP TABLE {table} AS SELECT {form} AS i, place FROM {values}")
    return table


def _own(value: object, sql_type: str) -> object:
    """A value as its column holds it."""
    if sql_type == OBJECT:
        return next(iter(written([value])))
    return value


def number_types(item_type: str) -> tuple[str]:
    """The type in which the numbers of a range are counted."""
    return ("BIGINT" if is_text(item_type) or item_type == OBJECT else item_type,)


def of_users(rows: str, measures: Sequence[Measure]) -> str:
    """What every user has of every item: t, steps above the lower bound, and n, whether they count; by measure.

    Sums are of integers, in 128 bits, so nothing hangs on their order, and nothing overflows.
    """
    places = ", ".join(f"{_place(at, one)} AS p{at}" for at, one in enumerate(measures))
    sums = ", ".join(_steps(at, one) for at, one in enumerate(measures))
    return f"(SELECT u, i, {sums} FROM (SELECT u, i, {places} FROM {rows}) GROUP BY u, i)"


def question(rows: str, measures: Sequence[Measure], items: str) -> str:
    """place, and of each measure the sum of steps and the number of users: of the items of a table alone."""
    given = of_users(f"(SELECT * FROM {rows} WHERE i IN (SELECT i FROM {items}))", measures)
    sums = ", ".join(f"CAST(sum(t{at}) AS BIGINT), CAST(sum(n{at}) AS BIGINT)" for at in range(len(measures)))
    return f"SELECT place, {sums} FROM {given} JOIN {items} USING (i) GROUP BY place"


def measured(
    workspace: Workspace,
    rows: Rows,
    measures: Sequence[Measure],
    labels: Sequence[object],
    types: Sequence[str],
    bound: UserBound | None,
) -> list[list[Measured]]:
    """The measures of each item, over the users who keep it; inside guarded work."""
    items = keep_items(workspace, labels, types)
    with rows() as source:
        kept = source if bound is None else bound.rows(source)
        found = {row[0]: row[1:] for row in workspace.rows(question(kept, measures, items))}
    return [
        [
            Measured.of(one, *found[at][2 * of : 2 * of + 2]) if at in found else NOBODY
            for of, one in enumerate(measures)
        ]
        for at in range(len(labels))
    ]


def _place(at: int, measure: Measure) -> str:
    """The place of a row's value, of a sum counted from 0; NULL where it is no number."""
    zero = f" - {FARTHEST * PARTS}" if isinstance(measure, Sum) else ""
    return f"CASE WHEN NOT isnan(m{at}) THEN {place(measure.grid, f'm{at}')}{zero} END"


def _steps(at: int, measure: Measure) -> str:
    if isinstance(measure, Mean):
        mean = f"CAST((2 * coalesce(sum(p{at}), 0) + count(p{at})) // greatest(2 * count(p{at}), 1) AS BIGINT)"
        return f"{mean} AS t{at}, CASE WHEN count(p{at}) > 0 THEN 1 ELSE 0 END AS n{at}"
    low, high = measure.least * PARTS, measure.most * PARTS
    total = f"CAST(least(greatest(coalesce(sum(p{at}), 0), {low}), {high}) AS BIGINT)"
    return f"({total} - {low} + {PARTS // 2}) // {PARTS} AS t{at}, 1 AS n{at}"
