"""Filters: what is one condition on one row, what is not, and that a row for which it fails is simply left out."""

from __future__ import annotations

import datetime

import duckdb
import pyarrow as pa
import pytest

from dpselect.engines.duckdb_engine import DuckDBEngine
from dpselect.errors import ParameterError

ROWS = pa.table(
    {
        "user": ["a", "b", "c", "d", "e"],
        "item": ["x", "y", "z", "x", "y"],
        "n": pa.array([1, 2, 0, None, 4], pa.int64()),
        "text": ["1", "2", "CANARY", None, "5"],
        "day": [datetime.date(2024, 1, day) for day in (1, 2, 3, 4, 5)],
        "j": ['{"a": 1}', "{bad CANARY", "{}", None, '{"a": [2]}'],
        "list": [[1, 2], [], None, [3], [4]],
        "order": ["k", "l", "m", "n", "o"],
    }
)


def kept(where: str, source: object = None, **more: object) -> str:
    """The users that a filter keeps: each has one item, and the users are counted as items."""
    source = duckdb.connect().from_arrow(ROWS) if source is None else source  # lists come from a database only
    with DuckDBEngine(source, user="order", item="user", where=where, key=b"k", **more) as engine:
        found = engine.top(10)
        return "".join(str(found.label(group, 0)) for group in range(len(found.counts)))


def refused(where: str, source: object = None, **more: object) -> ParameterError:
    with pytest.raises(ParameterError, match="where must") as caught:
        kept(where, source, **more)
    assert caught.value.__context__ is None
    return caught.value


MEANS = {
    "n > 1": "be",
    "n > 1 AND n < 4": "b",
    "n > 1 OR n < 1": "bce",
    "n IN (1, 2)": "ab",
    "n BETWEEN 1 AND 2": "ab",
    "n IS NULL": "d",
    "NOT n = 1": "bce",
    "N = 1": "a",
    "\"order\" = 'k' OR \"ORDER\" = 'l'": "ab",
    "user = 'a'": "a",
    "item LIKE 'x%' AND true": "ad",
    "lower(upper(item)) = 'x'": "ad",
    "item.upper() = 'X'": "ad",
    "text::INT > 1": "be",
    "text = 5": "e",
    "1 / n > 0.6 AND n > 0": "a",
    "10 // n >= 5": "ab",
    "CASE WHEN n = 1 THEN text::INT ELSE 1 / 0 END = 1": "a",
    "day >= '2024-01-04'": "de",
    "day + INTERVAL 1 DAY > DATE '2024-01-05'": "e",
    "extract(day FROM day) = 2": "b",
    "day < today() AND day < current_date AND day < now()": "abcde",
    "j ->> '$.a' = '1'": "a",
    "json_extract_string(j, '$.a') = '1'": "a",
    "list_contains(list, 3)": "d",
    "list_sum(list) = 3": "ad",
    "list_transform(list, lambda x: x + n)[1] = 8": "e",
    "[x for x in list if x > 2] = [3]": "d",
    "len(list) = 0": "b",
    "split_part(item || '-' || user, '-', 2) = 'c'": "c",
    "regexp_matches(item, '[xz]')": "acd",
    "item COLLATE NOCASE = 'X'": "ad",
    "try_cast(text AS INT) IS NULL": "cd",
    "coalesce(n, 9) = 9": "d",
    "(n, item) = (1, 'x')": "a",
    "n = 1 -- a remark": "a",
    "n /* a remark */ = 1": "a",
    "$$x$$ = item": "ad",
    "lpad(item, 3, '.') = '..x'": "ad",
    "item LIKE 'x' ESCAPE '!'": "ad",
}


@pytest.mark.parametrize(("where", "users"), MEANS.items(), ids=list(MEANS))
def test_filter_means_what_sql_means(where, users):
    assert kept(where) == users


FAILS_FOR_A_ROW = {
    "text::INT >= 1": "abe",
    "CAST(text AS DOUBLE) + 1 > 0": "abe",
    "n::UTINYINT - 1::UTINYINT >= 0": "abe",
    "json_extract(j, '$.a') IS NOT NULL": "ae",
    "list[n] IS NULL": "bcde",
    "regexp_matches(text, text || '(') IS NULL": "d",
    "strptime(text, '%d') > '1000-01-01'": "abe",
    "make_date(2024, n::INT, 1) > '2000-01-01'": "abe",
    "chr((n - 1)::INT) IS NOT NULL": "abe",
    "text::INT > 0 OR n = 0": "abe",
}


@pytest.mark.parametrize(("where", "users"), FAILS_FOR_A_ROW.items(), ids=list(FAILS_FOR_A_ROW))
def test_a_row_for_which_it_fails_is_left_out(where, users):
    assert kept(where) == users


REFUSED = {
    "1=1; DROP TABLE x": "syntax error",
    "1=1) UNION SELECT ('a', 'b'": "syntax error",
    "1=1) OR (1=1": "syntax error",
    "n = 1) --": "syntax error",
    "(n = 1": "syntax error",
    "n = 1)": "syntax error",
    "n = 1 /*": "unterminated",
    "n = 1;": "syntax error",
    "n = 1; SELECT 1": "syntax error",
    "DROP TABLE t": "syntax error",
    "n = 'a": "unterminated",
    "": "syntax error",
    "   -- nothing": "syntax error",
    "n = 1, item = 'x'": "syntax error",
    "n = 1 LIMIT 1": "syntax error",
    "n = 1 ORDER BY n": "syntax error",
    "n = 1 GROUP BY user": "syntax error",
    "true QUALIFY true": "syntax error",
    "true UNION SELECT 1": "syntax error",
    "item IN (SELECT item FROM t)": "a subquery",
    "EXISTS (SELECT 1)": "a subquery",
    "(SELECT true)": "a subquery",
    "n = ANY([1, 2])": "a subquery",
    "n = ALL (SELECT 1)": "a subquery",
    "list_contains(ARRAY(SELECT 1), 1)": "a subquery",
    "row_number() OVER () = 1": "a window function",
    "sum(n) OVER (PARTITION BY user) > 1": "a window function",
    "count(*) > 1": "the aggregate count_star",
    "max(n) = 1": "the aggregate max",
    '"max"(n) = 1': "the aggregate max",
    "MAX(n) = 1": "the aggregate max",
    "first(n ORDER BY n) = 1": "the aggregate first",
    "count(DISTINCT n) = 1": "the aggregate count",
    "sum(n) FILTER (WHERE n > 1) = 1": "the aggregate sum",
    "weighted_avg(n, n) > 1": "the aggregate",
    "n = ?": "a placeholder",
    "n = $1": "a placeholder",
    "n = $name": "a placeholder",
    "#1 = 'a'": "a column by its number",
    "COLUMNS(*) = 1": "a star",
    "COLUMNS('n') = 1": "a star",
    "*": "a star",
    "DEFAULT": "default",
    "random() < 0.5": "the function random",
    "setseed(0.5) IS NULL": "the function setseed",
    "nextval('s') = 1": "the function nextval",
    "getenv('HOME') = 'x'": "the function getenv",
    "current_setting('threads') = '1'": "the function current_setting",
    "getvariable('x') = 1": "the function getvariable",
    "current_user = 'x'": "'current_user'",
    "error('CANARY') IS NULL": "the function error",
    "error(user) IS NULL": "the function error",
    "assert_true(n = 1) IS NULL": "the function error",
    "sleep_ms(1) IS NULL": "the function sleep_ms",
    "pg_sleep(1) IS NULL": "the function sleep_ms",
    "write_log('x') IS NULL": "the function write_log",
    "read_text('x') = 'a'": "the function read_text",
    "content IN (FROM read_text('x'))": "a subquery",
    "unnest(list) = 1": "the function unnest",
    "pg_get_viewdef(1) = 'x'": "a subquery",
    "no_such_function(n) = 1": "the function no_such_function",
    "main.lower(item) = 'x'": "'main'",
    '"!="(n, 1)': "the function '!='",
    "__internal_barrier(n) = 1": "the function '__internal_barrier'",
    "rowid = 1": "'rowid'",
    "filename = 'x'": "'filename'",
    "file_row_number = 1": "'file_row_number'",
    "t.n = 1": "'t'",
    "lambda x: x": "",
    "n -> n + 1": "the arrow",
    "n": "a value of type BIGINT",
    "n + 1": "a value of type BIGINT",
    "text": "a value of type VARCHAR",
    "'true'": "a value of type VARCHAR",
    "NULL": "a value of type",
    "n > 'abc'": "Could not convert",
    "list > 1": "",
    "lower(n, 1) = 'x'": "",
    "item LIKE text ESCAPE text": "like_escape with a size or pattern taken from a column",
    "lpad(item, n::INT, '.') = 'x'": "lpad with a size or pattern taken from a column",
    "repeat(item, n) = 'x'": "repeat with a size or pattern taken from a column",
    "len(range(n)) = 1": "range with a size or pattern taken from a column",
    "time_bucket(to_days(n::INT), day) = '2024-01-01'": "time_bucket with a size or pattern taken from a column",
    "list_transform(list, lambda x: missing + x) = [1]": "'missing'",
    "list_transform([1], lambda x: x) = x": "'x'",
    "(" * 4000 + "n = 1" + ")" * 4000: "",
}


@pytest.mark.parametrize(("where", "reason"), REFUSED.items(), ids=[name[:60] for name in REFUSED])
def test_refused(where, reason):
    error = refused(where)
    assert reason in str(error), str(error)
    assert "CANARY" not in str(error).replace("error('CANARY')", "")


def test_a_wrong_column_gives_near_names():
    assert "hint: did you mean item or text?" in str(refused("texd = 'x'"))
    assert "hint: there is user, item, n, text, day, j, list, order" in str(refused("rowid = 1"))


def test_no_filter_costs_nothing():
    with DuckDBEngine(ROWS, user="user", item="item", key=b"k") as engine:
        assert "TRY" not in engine._select("t")


def test_conditions_stand_alone_so_that_they_can_be_pushed_down():
    with DuckDBEngine(ROWS, user="user", item="item", where="n > 1 AND item = 'x' AND n < 4", key=b"k") as engine:
        assert engine._select("t").count("TRY((") == 3


def test_the_clock_may_be_asked_but_a_column_of_that_name_comes_first():
    rows = ROWS.append_column("current_date", pa.array(["a", "b", "c", "d", "e"]))
    assert kept("\"current_date\" = 'b'", rows) == "b"


def test_functions_of_the_callers_database_are_refused():
    connection = duckdb.connect()
    connection.execute('CREATE TABLE t("user" VARCHAR, item VARCHAR, n BIGINT, "order" VARCHAR)').fetchall()
    connection.execute("INSERT INTO t VALUES ('a', 'x', 1, 'k')").fetchall()
    assert kept("lower(item) = 'x'", connection, table="t") == "a"
    connection.execute("CREATE MACRO lower(x) AS (SELECT 'x' FROM t)").fetchall()
    connection.execute("CREATE MACRO mine(x) AS (SELECT count(*) FROM t)").fetchall()
    assert "somebody defined it" in str(refused("lower(item) = 'x'", connection, table="t"))
    assert "the function mine" in str(refused("mine(item) = 1", connection, table="t"))


def test_members_of_an_enum_are_not_shown():
    frame = ROWS.set_column(1, "item", ROWS.column("item")).to_pandas()
    frame["item"] = frame["item"].replace("z", "CANARY").astype("category")
    assert kept("item > 'x'", frame) == "be"
    for where in ("item > 1 + 'x'", "item + [1] = 2", "item(1) = 1"):
        assert "CANARY" not in str(refused(where, frame))
