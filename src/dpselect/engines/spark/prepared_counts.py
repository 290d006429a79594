"""Numbers of distinct users that were counted before, as Spark reads them from cells (duckdb/prepared_scan.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpselect.engines.duckdb.scans import Counting
from dpselect.engines.spark.jobs import fresh_name
from dpselect.engines.spark.prepared_source import PreparedSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dpselect.periods import Periods

View = Callable[["DataFrame"], str]


def counts(source: PreparedSource, asked: Counting, view: View) -> str | None:
    """i and n of all items, where the items that were prepared are asked for, with conditions on kept columns alone."""
    rules = source.reading.state.rules
    held = {"items": rules.item, "kept": rules.keep}
    table = next((name for name, columns in held.items() if columns and set(asked.filtered) <= set(columns)), None)
    if asked.item != rules.item or not rules.by_whole_periods(asked.periods) or (asked.where and table is None):
        return None
    code, other, number = (fresh_name() for _ in range(3))  # names that no column has
    items = view(source.dictionary("items", rules.item, code))
    inside = [] if asked.periods is None else [f"p IN ({_days(asked.periods)})"]
    if asked.where is not None and table == "items":
        inside.append(f"i IN (SELECT {code} FROM {items} WHERE ({asked.where}))")
    elif asked.where is not None:
        kept = view(source.dictionary("kept", asked.filtered, code))
        chosen = f"SELECT {code} AS c FROM {kept} WHERE ({asked.where})"
        several = f"SELECT s FROM (SELECT s, explode(cs) AS c FROM {view(source.sets())}) WHERE c IN ({chosen})"
        inside.append(f"s IN ({chosen} UNION ALL {several})")
    cells = source.cells() if asked.periods is not None else source.totals() if inside else source.sums()
    where = f" WHERE {' AND '.join(inside)}" if inside else ""
    summed = f"SELECT i AS {other}, CAST(sum(n) AS BIGINT) AS {number} FROM {view(cells)}{where} GROUP BY i"
    return f"SELECT {asked.form} AS i, {number} AS n FROM {items} JOIN ({summed}) ON {code} = {other}"


def _days(periods: Periods) -> str:
    days: Sequence[str] = [f"DATE'{one.start.isoformat()}'" for one in periods.all]
    return ", ".join(days)
