"""What each operation of a filter takes for a row of a short text, and for a byte of the text that is worst for it.

Every operation is written as for a question and asked of many equal rows. What the same rows take with IS NOT NULL, and
what planning takes, is subtracted. A second table has the most that one operator, and one reading of one byte, takes by
the weights of `dpselect.engines.filters.cost`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import table

from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
from dpselect.engines.duckdb.types import filter_type
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.filters.cost import MAX_BYTES
from dpselect.engines.postgres.spelling import POSTGRES_SPELLING
from dpselect.engines.row_filter import parse
from dpselect.engines.spark.spelling import SPARK_SPELLING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

A, SPACES, CAPITALS, TWO, FOUR = (
    "a" * MAX_BYTES,
    " " * MAX_BYTES,
    "Z" * MAX_BYTES,
    "\u00e9" * (MAX_BYTES // 2),
    "\U0001f600" * (MAX_BYTES // 4),
)
LONG = "a" * 120 + "b" + "a" * 119
ENDS = "b" + "a" * 239
# An operation, a filter of it (and of little else), and texts that are bad for it.
CASES: dict[str, tuple[str, list[str]]] = {
    "`=` a constant": (f"t = '{A[1:]}b'", [A]),
    "`<`": ("t < 'b'", [A]),
    "`IN` 10,000 texts": ("t IN (" + ", ".join("'" + "Az"[one % 2] + f" {one}'" for one in range(10_000)) + ")", [A]),
    "`LIKE 'a_%'`": ("t LIKE 'a_b%'", [A, FOUR]),
    "`LIKE '%a_'`": ("t LIKE '%b_'", [A, TWO, FOUR]),
    "`LIKE 'a%b'`": ("t LIKE 'a%b'", [A, TWO]),
    "`contains`, 1 letter": ("contains(t, 'b')", [A]),
    "`contains`, 8 letters": ("contains(t, 'aaaaaaab')", [A]),
    "`contains`, 240 letters": (f"contains(t, '{LONG}')", [A]),
    "`contains`, 240 letters, first wrong": (f"contains(t, '{ENDS}')", [A]),
    "`LIKE '%...%...%'`, 110 letters": (f"t LIKE '%a%{'a' * 107}b%'", [A]),
    "`LIKE '%...%...%'`, 12 pieces": ("t LIKE '%" + "a%" * 11 + "b%'", [A]),
    "`LIKE 'a%...%...%b'`": ("t LIKE 'a%aaaaaaab%aaaaaaab%a_'", [A, TWO]),
    "`lower`": ("lower(t) = 'b'", [A, CAPITALS, FOUR]),
    "`upper`": ("upper(t) = 'b'", [A, "z" * MAX_BYTES, FOUR]),
    "`ILIKE '%b%'`": ("t ILIKE '%b%'", [CAPITALS]),
    "`trim`": ("trim(t) = 'b'", [SPACES, A, FOUR]),
    "`ltrim`": ("ltrim(t) = 'b'", [SPACES]),
    "`rtrim`": ("rtrim(t) = 'b'", [SPACES]),
    "`length`": ("length(t) = 1", [A, TWO, FOUR]),
    "`left`": ("left(t, 4000) = 'b'", [A, FOUR]),
    "`right`": ("right(t, 4000) = 'b'", [A, FOUR]),
    "`substring`": ("substring(t, 3, 4000) = 'b'", [A, TWO, FOUR]),
    "concatenation": ("t || t = 'b'", [A]),
    "text to `BIGINT`": ("t::BIGINT = 1", ["1" * 18, " " * 50, "1" * 50]),
    "text to `DECIMAL(38, 2)`": ("t::DECIMAL(38, 2) = 1", ["1" * 36 + ".11", " " * 50]),
    "text to `DOUBLE`": ("t::DOUBLE = 1", ["1" * 20 + "." + "2" * 20 + "e-10", " " * 50]),
    "text to `DATE`": ("t::DATE = '2024-01-31'", ["2024-02-29"]),
    "text to `TIMESTAMP`": ("t::TIMESTAMP = '2024-01-31'", ["2024-01-31 10:00:00.123456"]),
    "text to `BOOLEAN`": ("t::BOOLEAN", ["false", "1" * 50]),
    "`AND`, `=` of integers": ("n = 1 AND n = 2 AND n = 3 AND n = 4", []),
    "`CASE`": ("CASE WHEN n = 1 THEN 1 WHEN n = 2 THEN 2 WHEN n = 3 THEN 3 ELSE 4 END = 5", []),
    "`+`, `-` of integers": ("n + n - n + 1 - n > 100", []),
    "`*` of integers": ("n * 7 * 3 > 1000", []),
    "`*` of decimals": ("m * m > 1000000", []),
    "`*` of doubles, held to the range": ("d * d * d > 1e80", []),
    "`/`": ("1 / n / n > 1000", []),
    "`%`": ("n % 7 = 9", []),
    "`abs`": ("abs(n) = 77", []),
    "`floor` of a double": ("floor(d) = 77", []),
    "`year`": ("year(w) = 1", []),
    "`second`": ("second(w) = 61", []),
    "`date_trunc`": ("date_trunc('week', w) = '2020-01-01'", []),
    "integer to `TEXT`": ("n::TEXT = 'a'", []),
    "date to `TEXT`": ("w::DATE::TEXT = 'a'", []),
}  # fmt: skip
TYPES = {"t": "VARCHAR", "n": "BIGINT", "m": "DECIMAL(18,2)", "d": "DOUBLE", "w": "TIMESTAMP"}
SELECT = (
    "CAST({t} AS {text}) AS t, CAST(5 AS BIGINT) AS n, CAST(2.5 AS DECIMAL(18,2)) AS m, "
    "CAST(2.5 AS {double}) AS d, CAST('2024-02-29 10:00:00' AS TIMESTAMP) AS w"
)
Run = Callable[[str], float]  # nanoseconds of CPU that a query takes


class Duck:
    """DuckDB in this process, on one thread."""

    name, spelling, types = "DuckDB", DUCKDB_SPELLING, {name: filter_type(one) for name, one in TYPES.items()}
    quote = staticmethod(quoted)

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1").fetchall()

    def fill(self, text: str, rows: int) -> None:
        """Make the table t of equal rows, and the table e of none."""
        select = SELECT.format(t="?", text="VARCHAR", double="DOUBLE")
        self.connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT {select} FROM range(?)", [text, rows]).fetchall()
        self.connection.execute("CREATE OR REPLACE TABLE e AS SELECT * FROM t LIMIT 0").fetchall()

    def run(self, query: str) -> float:
        """Nanoseconds that a query takes."""
        begin = time.process_time()
        self.connection.execute(query).fetchall()
        return (time.process_time() - begin) * 1e9


class Postgres:
    """A server of our own; what its process for us was on the processor."""

    name, spelling = "PostgreSQL", POSTGRES_SPELLING

    def __init__(self, address: str) -> None:
        import psycopg

        from dpselect.engines.postgres.dialect import pg_type
        from dpselect.engines.postgres.dialect import quoted as pg_quoted

        self.quote = pg_quoted
        kinds = {"t": "text", "n": "int8", "d": "float8", "w": "timestamp"}
        self.types = {name: pg_type(one, "b", -1) for name, one in kinds.items()}
        self.types["m"] = pg_type("numeric", "b", (18 << 16) + 6)
        self.connection = psycopg.connect(address, autocommit=True)
        self.connection.execute("SET max_parallel_workers_per_gather = 0")
        self.connection.execute("SET jit = off")
        self._stat = Path(f"/proc/{self.connection.info.backend_pid}/schedstat")

    def fill(self, text: str, rows: int) -> None:
        """Make the table t of equal rows, and the table e of none."""
        select = SELECT.format(t="'" + text + "'", text="text", double="float8")
        self.connection.execute("DROP TABLE IF EXISTS t")
        self.connection.execute("CREATE TABLE t (t text, n int8, m numeric(18,2), d float8, w timestamp)")
        self.connection.execute("ALTER TABLE t ALTER t SET STORAGE EXTERNAL")
        self.connection.execute(f"INSERT INTO t SELECT {select} FROM generate_series(1, {rows})".encode())
        self.connection.execute("VACUUM t")
        self.connection.execute("DROP TABLE IF EXISTS e")
        self.connection.execute("CREATE TABLE e (LIKE t)")

    def run(self, query: str) -> float:
        """Nanoseconds that a query takes."""
        begin = int(self._stat.read_text().split()[0])
        self.connection.execute(query.replace("%%", "%").encode()).fetchall()
        return int(self._stat.read_text().split()[0]) - begin


class Spark:
    """A local session; what all threads of its machine took, with what they compile and clear away."""

    name, spelling = "Spark", SPARK_SPELLING

    def __init__(self, session: Any) -> None:
        from dpselect.engines.spark.dialect import quoted as spark_quoted

        self.quote, self._session = spark_quoted, session
        pid = session.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
        self._stat = Path(f"/proc/{pid}/stat")

    def fill(self, text: str, rows: int) -> None:
        """Make the table t of equal rows, and the table e of none."""
        select = SELECT.format(t="x", text="STRING", double="DOUBLE").replace("AS TIMESTAMP)", "AS TIMESTAMP_NTZ)")
        frame = self._session.createDataFrame([(text,)], "x string").crossJoin(self._session.range(0, rows, 1, 1))
        self._session.catalog.clearCache()
        frame.selectExpr(*_cut(select)).coalesce(1).cache().createOrReplaceTempView("t")
        self._session.sql("SELECT count(*) FROM t").collect()
        from dpselect.engines.spark.dialect import spark_type

        self.types = {field.name: spark_type(field) for field in self._session.table("t").schema}
        self._session.table("t").limit(0).cache().createOrReplaceTempView("e")

    def run(self, query: str) -> float:
        """Nanoseconds that a query takes."""
        begin = self._cpu()
        self._session.sql(query).collect()
        return self._cpu() - begin

    def _cpu(self) -> float:
        user, system = self._stat.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK") * 1e9


def _cut(select: str) -> list[str]:
    return select.replace("DECIMAL(18,2)", "DECIMAL(18;2)").replace(", ", "|").replace(";", ",").split("|")


@contextlib.contextmanager
def engines(names: list[str]) -> Iterator[list[Any]]:
    """The engines that are asked for, ready."""
    from tests import postgres
    from tests import spark as local_spark

    with contextlib.ExitStack() as open_:
        found: list[Any] = []
        if "duckdb" in names:
            found.append(Duck())
        if "postgres" in names:
            found.append(Postgres(open_.enter_context(postgres.server()).format(name="postgres")))
        if "spark" in names:
            session = open_.enter_context(local_spark.session())
            open_.enter_context(local_spark.as_it_comes(session))
            found.append(Spark(session))
        yield found


def written(engine: Any, where: str) -> str:
    """A query that counts the rows that fit."""
    found = parse(where)
    condition = found.sql(
        {name: engine.types[name] for name in found.needs(tuple(TYPES))}, engine.quote, engine.spelling
    )
    return f"SELECT count(*) FROM t WHERE ({condition})"


def least(engine: Any, query: str, runs: int) -> float:
    """The least time of several runs: what else the machine does only adds to it."""
    return min(engine.run(query) for _ in range(runs))


def per_row(engine: Any, text: str, wheres: list[str], rows: int, runs: int) -> dict[str, float]:
    """Nanoseconds of each filter for one row of a text, over those of the row alone."""
    engine.fill(text, rows)
    alone = "SELECT count(*) FROM t WHERE t IS NOT NULL AND n IS NOT NULL AND d IS NOT NULL AND w IS NOT NULL"
    base = least(engine, alone, runs + 2) - least(engine, alone.replace("FROM t", "FROM e"), runs + 2)
    found = {}
    for where in wheres:
        query = written(engine, where)
        planning = least(engine, query.replace("FROM t WHERE", "FROM e WHERE"), runs)
        found[where] = max(0.0, (least(engine, query, runs) - planning - base) / rows)
    return found


def main() -> None:
    """Fill, ask, and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", default="duckdb,postgres,spark")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of a short text; of long ones a hundredth")
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    hostile: dict[str, list[str]] = {}
    for where, texts in CASES.values():
        for text in texts:
            hostile.setdefault(text, []).append(where)
    with engines(given.engines.split(",")) as asked:
        rows_, bytes_, long_ = {}, {}, {}
        for engine in asked:
            rows_[engine.name] = per_row(engine, "5", [one for one, _ in CASES.values()], given.rows, given.runs)
            for text, wheres in hostile.items():
                long = len(text.encode()) > 100
                found = per_row(engine, text, wheres, given.rows // (100 if long else 4), given.runs)
                into = bytes_ if long else long_
                for where, took in found.items():
                    share = took / len(text.encode()) if long else took
                    into[engine.name, where] = max(share, into.get((engine.name, where), 0.0))
        show([engine.name for engine in asked], rows_, bytes_, long_)


def show(names: list[str], rows: dict[str, dict[str, float]], bytes_: Any, long_: Any) -> None:
    """Print each operation, and the most over all of them."""
    lines, most_row, most_byte = [], dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for operation, (where, _) in CASES.items():
        cost = parse(where).cost
        line = [operation, cost.operators, cost.readings]
        for name in names:
            row = max(rows[name][where], long_.get((name, where), 0.0))
            byte = bytes_.get((name, where))
            line += [f"{row:,.0f}", "" if byte is None else f"{byte:.1f}"]
            most_row[name] = max(most_row[name], row / max(1, cost.operators))
            if cost.readings and byte is not None:
                most_byte[name] = max(most_byte[name], byte / cost.readings)
        lines.append(line)
    head = [f"{name}, ns a {what}" for name in names for what in ("row", "byte")]
    table(["operation", "operators", "readings", *head], lines)
    table(["at most", *names], [
        ["ns an operator", *(f"{most_row[name]:,.0f}" for name in names)],
        ["ns a reading of a byte", *(f"{most_byte[name]:.1f}" for name in names)],
    ])  # fmt: skip


if __name__ == "__main__":
    main()
