"""Cells: how many users have an item with which set of combinations of kept values. Each user and item is in one.

So a condition on kept values is one on sets, and numbers of distinct users are sums. A set of one combination has the
number of that one, sets of several have numbers below 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpselect.engines.duckdb.preparing.work import Work


def keep_sets(work: Work) -> None:
    """The sets that are known from before."""
    work.rows("CREATE TEMP TABLE sets (s BIGINT, cs BIGINT[])")
    if old := work.old("sets"):
        work.rows(f"INSERT INTO sets SELECT s, cs FROM {work.files(old)}")
    work.last_set = work.number("SELECT coalesce(min(s), 0) FROM sets")


def keep_cells(work: Work, name: str, rows: str, by: Sequence[str] = ()) -> None:
    """A table of i, s and n, and of the columns in `by`, of rows of codes; new sets get numbers."""
    keys = [*by, "i", "u"]
    listed, same = ", ".join(keys), " AND ".join(f"r.{one} IS NOT DISTINCT FROM q.{one}" for one in keys)
    named = f"{rows} SEMI JOIN (SELECT code AS i FROM items WHERE k) USING (i)"
    work.rows(f"CREATE TEMP TABLE pairs AS SELECT {listed}, min(c) AS a, max(c) AS b FROM {named} GROUP BY {listed}")
    mixed = f"SELECT r.* FROM {rows} AS r SEMI JOIN (FROM pairs WHERE a < b) AS q ON {same}"
    sets = f"SELECT {listed}, list(DISTINCT c ORDER BY c) AS cs FROM ({mixed}) GROUP BY {listed}"
    work.rows(f"CREATE TEMP TABLE several AS {sets}")
    place = "(SELECT coalesce(min(s), 0) FROM sets) - row_number() OVER (ORDER BY cs)"
    work.rows(f"INSERT INTO sets SELECT {place}, cs FROM (SELECT DISTINCT cs FROM several ANTI JOIN sets USING (cs))")
    columns = ", ".join([*by, "i"])
    one = f"SELECT {columns}, a AS s FROM pairs WHERE a = b"
    more = f"SELECT {columns}, s FROM several JOIN sets USING (cs)"
    work.rows(f"CREATE TEMP TABLE {name} AS SELECT *, count(*) AS n FROM ({one} UNION ALL {more}) GROUP BY ALL")
    work.rows("DROP TABLE pairs")
    work.rows("DROP TABLE several")


def keep_totals(work: Work) -> None:
    """Cells over all periods, in which a user counts once, from `coded` rows that are new and what was there.

    Of pairs of a user and an item that have new rows, what they were before is taken away, and what they are is added.
    """
    earlier = "SELECT 0::BIGINT AS i, 0::BIGINT AS u, 0::BIGINT AS c LIMIT 0"
    if work.before is not None:
        rows = work.files([part for one in work.before.state.segments for part in one.rows])
        earlier = f"SELECT i, u, c FROM {rows} SEMI JOIN coded USING (i, u)"
    work.rows(f"CREATE TEMP TABLE earlier AS {earlier}")
    keep_cells(work, "were", "earlier")
    keep_cells(work, "are", "(SELECT i, u, c FROM earlier UNION ALL SELECT i, u, c FROM coded)")
    parts = ["SELECT i, s, n FROM are", "SELECT i, s, -n FROM were"]
    parts += [f"SELECT i, s, n FROM {work.files(old)}" for old in [work.old("totals")] if old]
    sums = f"SELECT i, s, CAST(sum(n) AS BIGINT) AS n FROM ({' UNION ALL '.join(parts)}) GROUP BY i, s"
    work.rows(f"CREATE TEMP TABLE totals AS FROM ({sums}) WHERE n > 0")
