"""Preparing: from the rows of a source to the tables of a file of prepared data. Nothing here is private.

Values have codes: a user's is a tag that is drawn once, others are indices into a dictionary. Users are counted in each
period p and over all time (the period `ALL`), in two tables. `cells` (p, s, i, n): how many users have an item i with
which set s of combinations of kept values; each user and item is in one cell, so that a condition on kept values is one
on sets. `counts` (p, i, n): how many users have an item i. All of these are sums over users: those of users with new
rows are taken off as they were, added as they are.
"""

from __future__ import annotations

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.periods import YEARS, Day, periods_between
from dpselect.draws import SecureDraws, distinct
from dpselect.engines.duckdb.dialect import compile_plain_key
from dpselect.engines.duckdb.types import FLOATS, base_type, has_text, item_form
from dpselect.engines.duckdb.workspace import Row, Workspace, quoted
from dpselect.engines.prepared.file import ALL, CODES, Rules
from dpselect.engines.sources.scans.scan import Scan
from dpselect.errors import DataError

MAX_USERS = 2**30  # half of all tags, so that drawing ends soon
_COUNT_KEYS = {"cells": "p, s, i", "counts": "p, i"}  # tables, and the columns by which users are counted


@dataclass
class Preparing:
    """The steps of preparing, in order, inside guarded work; from the second on the database in use is the file's.

    `grown` says that the file has rows already.
    """

    workspace: Workspace
    rules: Rules
    grown: bool

    def rows(self, sql: str) -> list[Row]:
        """Return all rows of one statement."""
        return self.workspace.fetch_unguarded(sql)

    def fetch_number(self, sql: str) -> int:
        """Return the one number that a query yields."""
        return int(self.rows(sql)[0][0])

    # ---- rows as numbers

    def stage(self, scan: Scan) -> int:
        """Store the rows that have a user, read once, and return their number. Items and kept values may be missing."""
        rules = self.rules
        present = compile_plain_key((quoted(name), rules.types[name]) for name in rules.user).present_condition
        forms = [f"{_stored_form(name, rules.types[name])} AS {self._staged_column(name)}" for name in rules.stored]
        forms += [] if rules.time is None else [f"{self.rules.row_periods().moment_sql} AS t"]

        with scan.rows(self.workspace, rules.names) as source:
            self.rows(f"CREATE TEMP TABLE staged AS SELECT {', '.join(forms)} FROM {source} WHERE {present}")
        return self.fetch_number("SELECT count(*) FROM staged")

    def encode(self, staged: int) -> None:
        """Store distinct combinations of codes, weights and periods as `coded`, with the number of rows of each."""
        rules, source, columns = self.rules, "staged", list[str]()
        for table, code in CODES.items():
            if rules.tables[table]:
                self._encode_values(table, rules.tables[table])
                source += f" JOIN {table} ON {self._join_condition(table, 'staged', table)}"
            columns.append(f"{table}.{code}" if rules.tables[table] else f"0::BIGINT AS {code}")
        columns += [f"staged.{self._staged_column(name)} AS w{index}" for index, name in enumerate(rules.weight)]
        columns.append("NULL::DATE AS p" if rules.time is None else "starts.p")
        if rules.time is not None:
            self._keep_starts()
            source += " ASOF LEFT JOIN starts ON staged.t >= starts.start"
        self.rows(f"CREATE TEMP TABLE coded AS SELECT {', '.join(columns)}, count(*) AS n FROM {source} GROUP BY ALL")
        if self.fetch_number("SELECT coalesce(sum(n), 0) FROM coded") != staged:
            raise DataError("the source's values cannot be distinguished", "cast its columns to text or to numbers")
        self.rows("DROP TABLE staged")
        self.rows("CREATE TABLE IF NOT EXISTS rows AS FROM coded LIMIT 0")

    def _staged_column(self, column: str) -> str:
        return f"s{self.rules.stored.index(column)}"

    def _join_condition(self, table: str, left: str, right: str) -> str:
        indexed_columns = enumerate(map(self._staged_column, self.rules.tables[table]))
        return " AND ".join(f"{left}.{name} IS NOT DISTINCT FROM {right}.v{index}" for index, name in indexed_columns)

    def _encode_values(self, table: str, columns: tuple[str, ...]) -> None:
        """Give codes to new values; earlier values keep theirs, as users keep their tags."""
        code, names = CODES[table], list(map(self._staged_column, columns))
        values = [f"{name} AS v{index}" for index, name in enumerate(names)]
        self.rows(
            f"CREATE TABLE IF NOT EXISTS {table} AS SELECT 0::BIGINT AS {code}, {', '.join(values)} FROM staged LIMIT 0"
        )
        new_values = f"(SELECT DISTINCT {', '.join(names)} FROM staged) AS new ANTI JOIN {table} AS old"
        numbered_values = (
            f"SELECT row_number() OVER (ORDER BY {', '.join(names)}) - 1 AS value_index, {', '.join(names)}"
        )
        self.rows(
            f"CREATE TEMP TABLE learnt AS {numbered_values} FROM {new_values} "
            f"ON {self._join_condition(table, 'new', 'old')}"
        )
        new_count, first_code = self.rows(
            f"SELECT count(*), (SELECT coalesce(max({code}) + 1, 0) FROM {table}) FROM learnt"
        )[0]
        codes = np.arange(first_code, first_code + new_count) if table != "users" else self._draw_tags(new_count)
        with self.workspace.registered({"value_index": np.arange(new_count), "code": codes}) as codes_table:
            coded_values = (
                f"SELECT code, {', '.join(names)} FROM learnt JOIN {codes_table} USING (value_index) ORDER BY code"
            )
            self.rows(f"INSERT INTO {table} {coded_values}")
        self.rows("DROP TABLE learnt")

    def _draw_tags(self, new_count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Draw tags of new users: an index among all users would change when another user comes (docs/prepared.md)."""
        taken_tags = self.workspace.fetch_arrays_unguarded("SELECT u FROM users")["u"].astype(np.int64)
        if new_count + len(taken_tags) > MAX_USERS:
            raise DataError("there are more than 2^30 users", "prepare fewer users, or query the source itself")
        return distinct(new_count, taken_tags)

    def _keep_starts(self) -> None:
        """Store a table of `start` and p, the first day of the period; p is null after the last period near a row."""
        row_periods, in_range = self.rules.row_periods(), "t >= '0999-12-01' AND t <= '9999-02-01'"
        years = {int(row[0]) for row in self.rows(f"SELECT DISTINCT year(t) FROM staged WHERE {in_range}")}
        period_of_start: dict[Day, Day | None] = {}
        for year in sorted({year + step for year in years for step in (-1, 0, 1)} & set(YEARS)):
            for period in periods_between(row_periods.periods.kind, Day(year, 1, 1), Day(year, 12, 31)):
                if period.start.year in YEARS:
                    period_of_start |= {period.start: period.start, period.stop: period_of_start.get(period.stop)}
        days = sorted(period_of_start)
        starts = np.array(
            [row_periods.periods.midnight(day, in_utc=row_periods.is_moment) for day in days], "datetime64[us]"
        )
        starts_columns = {"start": starts, "p": np.array([period_of_start[day] for day in days], "datetime64[us]")}
        self.rows("CREATE TEMP TABLE starts AS SELECT t AS start, NULL::DATE AS p FROM staged LIMIT 0")
        with self.workspace.registered(starts_columns) as starts_table:
            self.rows(f"INSERT INTO starts SELECT start, p::DATE FROM {starts_table}")

    # ---- few rows of a user

    def bound_rows(self) -> None:
        """Keep at most `max_rows_per_user` rows of each user in each period, drawn at random, if the owner says so.

        Of the distinct rows of a user as many are kept as there is room for, each with the same probability; a repeated
        row is repeated as far as there is room left. Rows that are in the file already are kept, and take up room.
        """
        max_rows = self.rules.max_rows_per_user
        if max_rows is None:
            return
        same_user_and_period = "ON {0}.u = {1}.u AND {0}.p IS NOT DISTINCT FROM {1}.p".format
        sums = "(SELECT u, p, sum(n) AS n FROM {0} GROUP BY u, p) AS {1}".format
        new_rows = f"{sums('coded', 'new')} LEFT JOIN {sums('rows', 'old')}"
        room = f"CAST(greatest({max_rows} - coalesce(old.n, 0), 0) AS BIGINT)"
        joined = f"{new_rows} {same_user_and_period('new', 'old')}"
        exceeding = f"(SELECT new.u, new.p, {room} AS room FROM {joined} WHERE new.n > {room}) AS many"
        exceeding_rows = (
            f"SELECT c.rowid AS line, c.*, room FROM coded AS c JOIN {exceeding} {same_user_and_period('c', 'many')}"
        )
        self.rows(f"CREATE TEMP TABLE many AS {exceeding_rows}")
        lines = self.workspace.fetch_arrays_unguarded("SELECT line FROM many ORDER BY u, p, i, c")["line"]
        with self.workspace.registered({"line": lines, "drawn_rank": SecureDraws().order(len(lines))}) as drawn:
            ranked = (
                "SELECT *, row_number() OVER ordered AS rank, count(*) OVER (PARTITION BY u, p) AS size, "
                "sum(n - 1) OVER (ordered ROWS UNBOUNDED PRECEDING) - (n - 1) AS before "
                f"FROM many JOIN {drawn} USING (line) WINDOW ordered AS (PARTITION BY u, p ORDER BY drawn_rank)"
            )
            kept_number = "CAST(1 + greatest(least(n - 1, room - size - before), 0) AS BIGINT) AS n"
            columns = f"* EXCLUDE (line, room, drawn_rank, rank, size, before) REPLACE ({kept_number})"
            self.rows(f"CREATE TEMP TABLE few AS SELECT {columns} FROM ({ranked}) WHERE rank <= room")
        self.rows("DELETE FROM coded WHERE rowid IN (SELECT line FROM many)")
        self.rows("INSERT INTO coded BY NAME FROM few")

    # ---- counts

    def count_users(self) -> None:
        """Count the users who have new rows, as they were and as they are."""
        item_types = (stored_type(self.rules.types[name]) for name in self.rules.item)
        key = compile_plain_key((f"v{index}", sql_type) for index, sql_type in enumerate(item_types))
        self.rows(f"CREATE TEMP TABLE named AS SELECT i FROM items WHERE {key.nameable_condition}")
        self.rows("CREATE TABLE IF NOT EXISTS sets (s BIGINT, cs BIGINT[])")
        if self.rules.keep:
            self.rows("INSERT INTO sets SELECT c, [c] FROM kept ANTI JOIN sets ON c = s")
        rows_of_changed_users = "rows SEMI JOIN (SELECT u FROM coded) USING (u)"
        self.rows(f"CREATE TEMP TABLE earlier AS SELECT p, u, i, c FROM {rows_of_changed_users}")
        changes = {"now": "(SELECT p, u, i, c FROM earlier UNION ALL SELECT p, u, i, c FROM coded)"}
        changes |= {"was": "earlier"} if self.grown else {}
        for state, rows in changes.items():
            self._count_pairs(state, rows)
        for table, keys in _COUNT_KEYS.items():
            summands = [f"SELECT {keys}, {'-' * (state == 'was')}n AS n FROM {state}_{table}" for state in changes]
            summands += [f"SELECT {keys}, n FROM {table}"] if self.grown else []
            sums = f"SELECT {keys}, CAST(sum(n) AS BIGINT) AS n FROM ({' UNION ALL '.join(summands)}) GROUP BY ALL"
            self.rows(f"CREATE TABLE new_{table} AS FROM ({sums}) WHERE n <> 0 ORDER BY {keys}")
            self.rows(f"DROP TABLE IF EXISTS {table}")
            self.rows(f"ALTER TABLE new_{table} RENAME TO {table}")

    def _count_pairs(self, state: str, rows: str) -> None:
        """Store cells and counts of some users, given all of their rows; new sets get numbers.

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
        set_number = "(SELECT least(min(s), 0) FROM sets) - row_number() OVER (ORDER BY cs)"
        self.rows(
            f"INSERT INTO sets SELECT {set_number}, cs FROM (SELECT DISTINCT cs FROM several ANTI JOIN sets USING (cs))"
        )
        cells = "SELECT p, a AS s, i FROM pairs WHERE a = b UNION ALL SELECT p, s, i FROM several JOIN sets USING (cs)"
        self.rows(f"CREATE TEMP TABLE {state}_cells AS SELECT p, s, i, count(*) AS n FROM ({cells}) GROUP BY ALL")
        self.rows(f"CREATE TEMP TABLE {state}_counts AS SELECT p, i, count(*) AS n FROM pairs GROUP BY p, i")

    def write(self, text: str) -> dict[str, int]:
        """Append the new rows to the file, write the state, and return numbers of distinct values for the owner."""
        self.rows("INSERT INTO rows BY NAME FROM coded ORDER BY p, i, u, c")
        self.rows("CREATE OR REPLACE TABLE state (text VARCHAR)")
        self.workspace.fetch_unguarded("INSERT INTO state VALUES (?)", [text])
        distinct_counts = {table: self.fetch_number(f"SELECT count(*) FROM {table}") for table in ("users", "named")}
        for index, name in enumerate(self.rules.keep):
            distinct_counts[name] = self.fetch_number(f"SELECT count(*) FROM (SELECT DISTINCT v{index} FROM kept)")
        return distinct_counts


def _stored_form(column: str, sql_type: str) -> str:
    """Compile a value as it is stored: equal values in one form, texts without their own collation."""
    if has_text(sql_type) or base_type(sql_type) in FLOATS:
        return item_form(quoted(column), sql_type)
    return quoted(column)


def stored_type(sql_type: str) -> str:
    """Return the type of a value in a table; a value without a declared type is stored as text."""
    return "VARCHAR" if has_text(sql_type) else sql_type
