"""Filters on PostgreSQL: what only its types hold, an engine that asks with one, and what long texts take it."""

from __future__ import annotations

import random
import string

import pytest

from dpselect.engines.postgres.connection import PostgresWorkspace
from dpselect.engines.postgres.dialect import pg_type
from dpselect.engines.postgres.dialect import quoted as pg_quoted
from dpselect.engines.postgres.spelling import POSTGRES_SPELLING
from dpselect.engines.row_filter import parse
from dpselect.errors import ParameterError
from tests.engines.every_engine import filled
from tests.engines.opened import DuckDBEngine, open_engine
from tests.engines.sources import table
from tests.engines.test_conformance import pairs

NUMERIC = ["NaN", "Infinity", "-Infinity", "1e1000", "-1e1000", "1e-1000", "0.10", "5", "5.5", None, "0"]
MONEY = ["NaN", "99999999.99", "-99999999.99", "2.50", None]
ZONED = ["infinity", "-infinity", "294276-12-31 23:59:59.999999+00", "4713-01-01 00:00:00+00 BC", "2024-01-31 10:30+02"]
HERE = {
    "x > 1": ["NaN", "Infinity", "1e1000", "5", "5.5"],
    "x = 0.1 OR x IN (5, 5.5)": ["0.10", "5", "5.5"],
    f"x IN ({', '.join(map(str, range(60)))})": ["5", "0"],
    "x > 1e0": ["5", "5.5"],
    "x::DOUBLE * 2 = 11": ["5.5"],
    "x / 2 < 1": ["0.10", "0"],
    "1 / x IS NULL": ["NaN", "Infinity", "-Infinity", "1e1000", "-1e1000", "1e-1000", None, "0"],
    "x::DOUBLE IS NULL": ["NaN", "Infinity", "-Infinity", "1e1000", "-1e1000", "1e-1000", None],
    "money > 3": ["NaN", "99999999.99"],
    "money * money > 6 OR money + money < 0": ["99999999.99", "-99999999.99", "2.50"],
    "money + money > 6": ["99999999.99"],
    "floor(money) IS NULL": ["NaN", None],
    "money::DOUBLE IS NULL": ["NaN", None],
    "at > '2024-01-01'": ["infinity", "294276-12-31 23:59:59.999999+00", "2024-01-31 10:30+02"],
    "hour(at) = 8 AND at::DATE = '2024-01-31'": ["2024-01-31 10:30+02"],
    "year(at) IS NULL AND at IS NOT NULL": [one for one in ZONED if "2024" not in one],
}


def test_numbers_and_moments_that_only_postgres_has(new_database):
    """NaN and infinity in exact numbers, numbers of a thousand digits, years that no other engine has."""
    import psycopg

    address = new_database()
    values = {"x": NUMERIC, "money": MONEY, "at": ZONED}
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (place int, x numeric, money numeric(10,2), at timestamptz)")
        for place in range(len(NUMERIC)):
            row = [place, *(column[place] if place < len(column) else None for column in values.values())]
            connection.execute("INSERT INTO t VALUES (%s, %s, %s, %s)", row)
    types = {"x": pg_type("c", "numeric", "b", -1), "money": pg_type("c", "numeric", "b", (10 << 16) + 6)}
    types["at"] = pg_type("c", "timestamptz", "b", -1)
    workspace = PostgresWorkspace(address)
    schema = next(one for one in workspace.path if not one.startswith("pg_"))
    for where, wanted in HERE.items():
        column = next(name for name in values if name in parse(where).columns)
        condition = parse(where).sql(types, pg_quoted, POSTGRES_SPELLING)
        which = f"place < {len(values[column])} AND ({condition})"
        rows = workspace.fetch(f"SELECT place FROM {schema}.t WHERE {which} ORDER BY 1")
        assert [values[column][row[0]] for row in rows] == wanted, where
    for where in ("x + 1 > 0", "floor(x) = 5", "x % 2 = 0", "abs(x) > 0", "x::DECIMAL(10,2) > 0", "COALESCE(x, 0) > 0"):
        with pytest.raises(ParameterError, match=r"any number of digits|in a cast to an exact number"):
            parse(where).sql(types, pg_quoted, POSTGRES_SPELLING)
    workspace.close()


def test_the_engine_counts_the_rows_that_fit(new_database):
    rows = [("a", "50%", 20), ("b", "50%", 30), ("c", "it's", 40), ("d", "IT", None), ("e", "50%", 17), ("f", None, 50)]
    address = filled(new_database(), rows)
    for where in ("AGE >= 18", "item LIKE '50%' OR age IS NULL", "item = 'it''s'", "age > 1000"):
        with (
            DuckDBEngine(table(rows), user="user", item="item", where=where, key=b"k") as judge,
            open_engine(address, user="user", item="item", where=where, table="t", key=b"k") as found,
        ):
            assert pairs(found.top(10)) == pairs(judge.top(10))
    for where, says in (("agee = 1", "did you mean age"), ("age = '1'", "'1' beside 'age'"), ("user(1)", "function")):
        with pytest.raises(ParameterError, match=says):
            open_engine(address, user="user", item="item", where=where, table="t", key=b"k")


def test_a_constant_that_is_none_of_its_type_is_null(new_database):
    """PostgreSQL reads a constant as the type of its cast before it asks whether it matches."""
    address = filled(new_database(), [("ann", "x", 1), ("bob", "y", 2)])
    for where in (
        "CAST('a' AS DOUBLE) IS NULL",
        "CAST('' AS DECIMAL(5, 2)) IS NULL",
        "TRY_CAST('1_000' AS INT) IS NULL",
    ):
        with open_engine(address, user="user", item="item", table="t", where=where, key=b"k") as engine:
            assert len(engine.top(9).counts) == 2


DEAR = {
    "31 comparisons": " OR ".join(f"x < '0{one}'" for one in range(31)),
    "14 BETWEEN": " OR ".join(f"x BETWEEN '0' AND '0{one}'" for one in range(14)),
    "IN 1,000 texts": "x IN (" + ", ".join(f"'text {one}'" for one in range(1000)) + ")",
    "NOT IN": "x NOT IN (" + ", ".join(f"'text {one}'" for one in range(20)) + ")",
    "two columns": "x = y OR x < y OR x IS DISTINCT FROM y OR x IN ('a', y) OR x BETWEEN 'a' AND y",
    "CASE and NULLIF": "CASE x WHEN 'a' THEN 1 WHEN y THEN 2 END = 1 OR NULLIF(x, y) = 'a' OR COALESCE(x, y) > y",
    "no text": "j IS NULL OR c IS NULL",
    "equal": " OR ".join(f"x = '0{one}'" for one in range(30)),
    "numbers": "n > 1 OR n <> 5 OR n IN (1, 2) OR n BETWEEN 3 AND 4 OR n::DOUBLE > 1 OR n > 1e0 OR n / 2 < 1 OR n = k",
}


def pages(connection, condition: str) -> int:
    """The pages that the server touches for a question."""
    query = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT count(*) FROM t WHERE {condition}".replace("%%", "%")
    plan = connection.execute(query.encode()).fetchone()[0][0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


@pytest.mark.parametrize("compression", ["pglz", "lz4"])
def test_a_text_of_a_megabyte_is_not_fetched(new_database, compression):
    """It lies on some 100 pages, all of which are fetched for any part of what lz4 has compressed; a number on 8."""
    import psycopg

    kinds = {"x": "text", "y": "text", "j": "json", "c": "bpchar", "n": "numeric", "k": "numeric"}
    types = {name: pg_type("c", kind, "b", -1) for name, kind in kinds.items()}
    asked = {name: parse(where).sql(types, pg_quoted, POSTGRES_SPELLING) for name, where in DEAR.items()}
    asked["a number"] = f"{types['x'].number_form.replace('{}', 'x')} > 1"
    letters = random.Random(1).choices(string.ascii_letters + string.digits, k=700_000)
    text = "f" + "".join(letters) + "x" * 300_000
    number = "".join(random.Random(1).choices("123456789", k=130_000))
    with psycopg.connect(new_database(), autocommit=True) as connection:
        columns = ", ".join(f"{name} {kind} COMPRESSION {compression}" for name, kind in kinds.items())
        connection.execute(f"CREATE TABLE t ({columns})".encode())
        row = [text, text, f'"{text}"', text, number, number]
        connection.execute("INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s)", row)
        connection.execute("VACUUM t")
        assert pages(connection, "x = x || ''") > 80
        assert pages(connection, "n > 1") > 6
        assert {name: pages(connection, condition) for name, condition in asked.items()} == dict.fromkeys(asked, 1)
