"""Inspecting the rows of a source for its owner: how many do not count, and how items are spread over users.

Nothing here is private. No question uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dpselect.engines.duckdb.database import OwnersRows
from dpselect.engines.duckdb.workspace import Row

_QUANTILES = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 1)


def row_findings(view: OwnersRows) -> Iterator[str]:
    """Yield how many rows each condition excludes, and how items are spread over the users of those that count."""

    def ask(sql: Callable[[str], str]) -> list[Row]:
        with view.scan.rows(view.workspace, view.columns) as source:
            return view.workspace.fetch(sql(source))

    condition_counts = "".join(
        f", count(*) FILTER (({condition}) IS NOT TRUE)" for condition in view.conditions.values()
    )
    ((rows, *failing),) = ask(lambda source: f"SELECT count(*){condition_counts} FROM {source}")
    yield f"rows: {rows:,}"
    for condition_name, number in zip(view.conditions, failing, strict=True):
        yield f"rows {condition_name}: {number:,}"
    quantiles = f"quantile_disc(n, [{', '.join(map(str, _QUANTILES))}])"
    ((users, pairs, spread),) = ask(
        lambda source: (
            f"SELECT count(*), coalesce(sum(n), 0)::BIGINT, {quantiles} "
            f"FROM (SELECT u, count(DISTINCT i) AS n FROM ({view.select(source)}) GROUP BY u)"
        )
    )
    ((items,),) = ask(lambda source: f"SELECT count(DISTINCT i) FROM ({view.select(source)})")
    yield f"users: {users:,}"
    yield f"items: {items:,}"
    yield f"pairs of a user and an item: {pairs:,}"
    if users:
        minimum, *larger_quantiles = spread
        shares = (
            f"{share:.0%} have at most {number:,}"
            for share, number in zip(_QUANTILES[1:], larger_quantiles, strict=True)
        )
        yield f"items of a user: at least {minimum:,}; {', '.join(shares)}"
