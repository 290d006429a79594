"""Bounded: at most so many rows of each user in each period, where the owner says so. Which stay is drawn.

Of the distinct rows of a user as many stay as there is room for, each as likely as any other; a row that is there
several times is repeated as far as room is left. Rows that the folder has already stay, and take up room. So what
stays of a user is a function of their own rows and of draws for these alone.
"""

from __future__ import annotations

from dpselect.draws import SecureDraws
from dpselect.engines.duckdb.preparing.segments import PERIOD
from dpselect.engines.duckdb.preparing.work import Work


def keep_few(work: Work) -> None:
    """Take what is too much from the `coded` rows."""
    most = work.rules.max_rows_per_user
    if most is None:
        return
    same = "ON {0}.u = {1}.u AND {0}.p IS NOT DISTINCT FROM {1}.p".format
    new = f"(SELECT u, p, sum(n) AS n FROM coded GROUP BY u, p) AS new LEFT JOIN {_before(work)} AS old"
    room = f"CAST(greatest({most} - coalesce(old.n, 0), 0) AS BIGINT)"
    many = f"(SELECT new.u, new.p, {room} AS room FROM {new} {same('new', 'old')} WHERE new.n > {room}) AS many"
    work.rows(
        f"CREATE TEMP TABLE many AS SELECT c.rowid AS line, c.*, room FROM coded AS c JOIN {many} {same('c', 'many')}"
    )
    lines = work.workspace.columns("SELECT line FROM many ORDER BY u, p, i, c")["line"]
    with work.workspace.registered({"line": lines, "place": SecureDraws().order(len(lines))}) as drawn:
        ranked = (
            "SELECT *, row_number() OVER ordered AS rank, count(*) OVER (PARTITION BY u, p) AS size, "
            "sum(n - 1) OVER (ordered ROWS UNBOUNDED PRECEDING) - (n - 1) AS before "
            f"FROM many JOIN {drawn} USING (line) WINDOW ordered AS (PARTITION BY u, p ORDER BY place)"
        )
        times = "CAST(1 + greatest(least(n - 1, room - size - before), 0) AS BIGINT) AS n"
        columns = f"* EXCLUDE (line, room, place, rank, size, before) REPLACE ({times})"
        work.rows(f"CREATE TEMP TABLE few AS SELECT {columns} FROM ({ranked}) WHERE rank <= room")
    work.rows("DELETE FROM coded WHERE rowid IN (SELECT line FROM many)")
    work.rows("INSERT INTO coded BY NAME FROM few")
    work.rows("DROP TABLE few")
    work.rows("DROP TABLE many")


def _before(work: Work) -> str:
    """How many rows users have in the folder, in the periods of new rows."""
    here = {str(row[0]) for row in work.rows(f"SELECT DISTINCT {PERIOD} FROM coded")}
    segments = () if work.before is None else work.before.state.segments
    parts = [part for one in segments if not here.isdisjoint(one.periods) for part in one.rows]
    rows = work.files(parts) if parts else "coded WHERE false"
    return f"(SELECT u, p, sum(n) AS n FROM {rows} GROUP BY u, p)"
