"""Preparing: from the rows of a source to the tables of a file of prepared data. Nothing here is private.

Values have codes: a user's is a tag that is drawn once, others are places in a dictionary. Users are counted in each
period p and over all time (the period `ALL`), in two tables. `cells` (p, s, i, n): how many users have an item i with
which set s of combinations of kept values; each user and item is in one cell, so that a condition on kept values is one
on sets. `counts` (p, i, n): how many users have an item i. All of these are sums over users: those of users with new
rows are taken off as they were, added as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpselect._ground.periods import YEARS, Day, periods_between
from dpselect.draws import SecureDraws, distinct
from dpselect.engines.duckdb.keys import DuckDBKey
from dpselect.engines.duckdb.scans import Scan
from dpselect.engines.duckdb.types import FLOATS, has_text, item_form, kind
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.prepared.rules import ALL, CODES, Rules
from dpselect.errors import DataError

MOST = 2**30  # users: half of all tags, so that drawing ends soon
_COUNTED = {"cells": "p, s, i", "counts": "p, i"}  # tables, and what users are counted by


@dataclass
class Preparing:
    """The steps, one after the other, inside guarded work; from the second on the database in use is the file's.

    `grown` says that the file has rows already.
    """

    workspace: Workspace
    rules: Rules
    grown: bool

    def rows(self, sql: str) -> list[Row]:
        """All rows of one statement."""
        return self.workspace.rows(sql)

    def number(self, sql: str) -> int:
        """The one number that a query gives."""
        return int(self.rows(sql)[0][0])

    # ---- rows as numbers

    def stage(self, scan: Scan) -> int:
        """Keep the rows that have a user, read once; how many there are. An item or a kept value may be missing."""
        rules = self.rules
        present = DuckDBKey(tuple(map(quoted, rules.user)), tuple(rules.types[name] for name in rules.user)).present
        forms = [f"{_stored(name, rules.types[name])} AS {self._staged(name)}" for name in rules.stored]
        forms += [] if rules.time is None else [f"{self.rules.times().moment} AS t"]

        def select(source: str) -> str:
            return f"SELECT {', '.join(forms)} FROM {source} WHERE {present}"

        with scan.rows(self.workspace, rules.names, select) as source:
            self.rows(f"CREATE TEMP TABLE staged AS FROM {source}")
        return self.number("SELECT count(*) FROM staged")

    def encode(self, staged: int) -> None:
        """Distinct combinations of codes, weights and periods, `coded`, and how often each is there."""
        rules, source, columns = self.rules, "staged", list[str]()
        for table, code in CODES.items():
            if rules.tables[table]:
                self._learn(table, rules.tables[table])
                source += f" JOIN {table} ON {self._same(table, 'staged', table)}"
            columns.append(f"{table}.{code}" if rules.tables[table] else f"0::BIGINT AS {code}")
        columns += [f"staged.{self._staged(name)} AS w{at}" for at, name in enumerate(rules.weight)]
        columns.append("NULL::DATE AS p" if rules.time is None else "starts.p")
        if rules.time is not None:
            self._keep_starts()
            source += " ASOF LEFT JOIN starts ON staged.t >= starts.start"
        self.rows(f"CREATE TEMP TABLE coded AS SELECT {', '.join(columns)}, count(*) AS n FROM {source} GROUP BY ALL")
        if self.number("SELECT coalesce(sum(n), 0) FROM coded") != staged:
            raise DataError("the source's values cannot be distinguished", "cast its columns to text or to numbers")
        self.rows("DROP TABLE staged")
        self.rows("CREATE TABLE IF NOT EXISTS rows AS FROM coded LIMIT 0")

    def _staged(self, column: str) -> str:
        return f"s{self.rules.stored.index(column)}"

    def _same(self, table: str, left: str, right: str) -> str:
        named = enumerate(map(self._staged, self.rules.tables[table]))
        return " AND ".join(f"{left}.{name} IS NOT DISTINCT FROM {right}.v{at}" for at, name in named)

    def _learn(self, table: str, columns: tuple[str, ...]) -> None:
        """Give new values codes; those from before keep theirs, as users keep their tags."""
        code, names = CODES[table], list(map(self._staged, columns))
        values = [f"{name} AS v{at}" for at, name in enumerate(names)]
        self.rows(
            f"CREATE TABLE IF NOT EXISTS {table} AS SELECT 0::BIGINT AS {code}, {', '.join(values)} FROM staged LIMIT 0"
        )
        new = f"(SELECT DISTINCT {', '.join(names)} FROM staged) AS new ANTI JOIN {table} AS old"
        place = f"SELECT row_number() OVER (ORDER BY {', '.join(names)}) - 1 AS place, {', '.join(names)}"
        self.rows(f"CREATE TEMP TABLE learnt AS {place} FROM {new} ON {self._same(table, 'new', 'old')}")
        many, first = self.rows(f"SELECT count(*), (SELECT coalesce(max({code}) + 1, 0) FROM {table}) FROM learnt")[0]
        codes = np.arange(first, first + many) if table != "users" else self._tags(many)
        with self.workspace.registered({"place": np.arange(many), "code": codes}) as given:
            named = f"SELECT code, {', '.join(names)} FROM learnt JOIN {given} USING (place) ORDER BY code"
            self.rows(f"INSERT INTO {table} {named}")
        self.rows("DROP TABLE learnt")

    def _tags(self, new: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Tags of new users: a place among all users would move when somebody comes (docs/prepared.md)."""
        taken = self.workspace.columns("SELECT u FROM users")["u"].astype(np.int64)
        if new + len(taken) > MOST:
            raise DataError("there are more than 2^30 users", "prepare fewer users, or query the source itself")
        return distinct(new, taken)

    def _keep_starts(self) -> None:
        """A table of `start` and p, the day on which the period begins; after the last one near a row p is null."""
        times, some = self.rules.times(), "t >= '0999-12-01' AND t <= '9999-02-01'"
        years = {int(row[0]) for row in self.rows(f"SELECT DISTINCT year(t) FROM staged WHERE {some}")}
        marks: dict[Day, Day | None] = {}
        for year in sorted({year + step for year in years for step in (-1, 0, 1)} & set(YEARS)):
            for one in periods_between(times.periods.kind, Day(year, 1, 1), Day(year, 12, 31)):
                if one.start.year in YEARS:
                    marks |= {one.start: one.start, one.stop: marks.get(one.stop)}
        days = sorted(marks)
        starts = np.array([times.periods.midnight(day, in_utc=times.in_utc) for day in days], "datetime64[us]")
        given = {"start": starts, "p": np.array([marks[day] for day in days], "datetime64[us]")}
        self.rows("CREATE TEMP TABLE starts AS SELECT t AS start, NULL::DATE AS p FROM staged LIMIT 0")
        with self.workspace.registered(given) as marked:
            self.rows(f"INSERT INTO starts SELECT start, p::DATE FROM {marked}")

    # ---- few rows of a user

    def bound(self) -> None:
        """At most so many rows of each user in each period, where the owner says so. Which stay is drawn.

        Of the distinct rows of a user as many stay as there is room for, each as likely as any other; a row that is
        there several times is repeated as far as room is left. Rows that are in the file stay, and take up room.
        """
        most = self.rules.max_rows_per_user
        if most is None:
            return
        same = "ON {0}.u = {1}.u AND {0}.p IS NOT DISTINCT FROM {1}.p".format
        sums = "(SELECT u, p, sum(n) AS n FROM {0} GROUP BY u, p) AS {1}".format
        new = f"{sums('coded', 'new')} LEFT JOIN {sums('rows', 'old')}"
        room = f"CAST(greatest({most} - coalesce(old.n, 0), 0) AS BIGINT)"
        many = f"(SELECT new.u, new.p, {room} AS room FROM {new} {same('new', 'old')} WHERE new.n > {room}) AS many"
        lined = f"SELECT c.rowid AS line, c.*, room FROM coded AS c JOIN {many} {same('c', 'many')}"
        self.rows(f"CREATE TEMP TABLE many AS {lined}")
        lines = self.workspace.columns("SELECT line FROM many ORDER BY u, p, i, c")["line"]
        with self.workspace.registered({"line": lines, "place": SecureDraws().order(len(lines))}) as drawn:
            ranked = (
                "SELECT *, row_number() OVER ordered AS rank, count(*) OVER (PARTITION BY u, p) AS size, "
                "sum(n - 1) OVER (ordered ROWS UNBOUNDED PRECEDING) - (n - 1) AS before "
                f"FROM many JOIN {drawn} USING (line) WINDOW ordered AS (PARTITION BY u, p ORDER BY place)"
            )
            times = "CAST(1 + greatest(least(n - 1, room - size - before), 0) AS BIGINT) AS n"
            columns = f"* EXCLUDE (line, room, place, rank, size, before) REPLACE ({times})"
            self.rows(f"CREATE TEMP TABLE few AS SELECT {columns} FROM ({ranked}) WHERE rank <= room")
        self.rows("DELETE FROM coded WHERE rowid IN (SELECT line FROM many)")
        self.rows("INSERT INTO coded BY NAME FROM few")

    # ---- counts

    def count(self) -> None:
        """Count users who have new rows, as they were and as they are."""
        columns = tuple(f"v{at}" for at in range(len(self.rules.item)))
        key = DuckDBKey(columns, tuple(stored_type(self.rules.types[name]) for name in self.rules.item))
        self.rows(f"CREATE TEMP TABLE named AS SELECT i FROM items WHERE {key.nameable}")
        self.rows("CREATE TABLE IF NOT EXISTS sets (s BIGINT, cs BIGINT[])")
        if self.rules.keep:
            self.rows("INSERT INTO sets SELECT c, [c] FROM kept ANTI JOIN sets ON c = s")
        theirs = "rows SEMI JOIN (SELECT u FROM coded) USING (u)"
        self.rows(f"CREATE TEMP TABLE earlier AS SELECT p, u, i, c FROM {theirs}")
        changes = {"now": "(SELECT p, u, i, c FROM earlier UNION ALL SELECT p, u, i, c FROM coded)"}
        changes |= {"was": "earlier"} if self.grown else {}
        for when, rows in changes.items():
            self._count(when, rows)
        for table, keys in _COUNTED.items():
            parts = [f"SELECT {keys}, {'-' * (when == 'was')}n AS n FROM {when}_{table}" for when in changes]
            parts += [f"SELECT {keys}, n FROM {table}"] if self.grown else []
            sums = f"SELECT {keys}, CAST(sum(n) AS BIGINT) AS n FROM ({' UNION ALL '.join(parts)}) GROUP BY ALL"
            self.rows(f"CREATE TABLE new_{table} AS FROM ({sums}) WHERE n <> 0 ORDER BY {keys}")
            self.rows(f"DROP TABLE IF EXISTS {table}")
            self.rows(f"ALTER TABLE new_{table} RENAME TO {table}")

    def _count(self, when: str, rows: str) -> None:
        """Tables of cells and counts of some users, all of whose rows these are; new sets get numbers.

        A set of one combination has its number, others have numbers below 0.
        """
        spans = f"(SELECT p, u, i, c FROM {rows} WHERE p IS NOT NULL UNION ALL SELECT {ALL}, u, i, c FROM {rows})"
        self.rows(
            "CREATE OR REPLACE TEMP TABLE pairs AS SELECT p, u, i, min(c) AS a, max(c) AS b "
            f"FROM {spans} SEMI JOIN named USING (i) GROUP BY p, u, i"
        )
        self.rows(
            "CREATE OR REPLACE TEMP TABLE several AS SELECT p, u, i, list(DISTINCT c ORDER BY c) AS cs "
            f"FROM {spans} SEMI JOIN (FROM pairs WHERE a < b) USING (p, u, i) GROUP BY p, u, i"
        )
        place = "(SELECT least(min(s), 0) FROM sets) - row_number() OVER (ORDER BY cs)"
        self.rows(
            f"INSERT INTO sets SELECT {place}, cs FROM (SELECT DISTINCT cs FROM several ANTI JOIN sets USING (cs))"
        )
        of_sets = (
            "SELECT p, a AS s, i FROM pairs WHERE a = b UNION ALL SELECT p, s, i FROM several JOIN sets USING (cs)"
        )
        self.rows(f"CREATE TEMP TABLE {when}_cells AS SELECT p, s, i, count(*) AS n FROM ({of_sets}) GROUP BY ALL")
        self.rows(f"CREATE TEMP TABLE {when}_counts AS SELECT p, i, count(*) AS n FROM pairs GROUP BY p, i")

    def write(self, text: str) -> dict[str, int]:
        """The new rows behind those that are there, and the state; what its owner may want to know of values."""
        self.rows("INSERT INTO rows BY NAME FROM coded ORDER BY p, i, u, c")
        self.rows("CREATE OR REPLACE TABLE state (text VARCHAR)")
        self.workspace.rows("INSERT INTO state VALUES (?)", [text])
        found = {table: self.number(f"SELECT count(*) FROM {table}") for table in ("users", "named")}
        for at, name in enumerate(self.rules.keep):
            found[name] = self.number(f"SELECT count(*) FROM (SELECT DISTINCT v{at} FROM kept)")
        return found


def _stored(column: str, sql_type: str) -> str:
    """A value as it is stored: equal values in one form, texts without a collation of theirs."""
    if has_text(sql_type) or kind(sql_type) in FLOATS:
        return item_form(quoted(column), sql_type)
    return quoted(column)


def stored_type(sql_type: str) -> str:
    """The type of a value in a table; of one without a declared type it is its text."""
    return "VARCHAR" if has_text(sql_type) else sql_type
