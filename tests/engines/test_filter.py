"""Filters as an engine asks them: what is one condition on one row, what is not, and that no row makes one fail."""

from __future__ import annotations

import datetime
from functools import cache
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dpselect.errors import ParameterError
from tests.engines.opened import DuckDBEngine

ROWS = pa.table(
    {
        "user": ["a", "b", "c", "d", "e"],
        "item": ["x", "y", "z", "x", "y"],
        "n": pa.array([1, 2, 0, None, 4], pa.int64()),
        "text": ["1", "2", "CANARY", None, "5"],
        "day": [datetime.date(2024, 1, day) for day in (1, 2, 3, 4, 5)],
        "bytes": [b"ab", b"", None, b"c", b"d"],
        "order": ["k", "l", "m", "n", "o"],
        "flag": [True, False, None, True, False],
    }
)


@cache
def in_database() -> duckdb.DuckDBPyRelation:
    """The rows in a database, as no table of Arrow has lists."""
    return duckdb.connect().from_arrow(ROWS)


def kept(where: str, source: object = None, **more: object) -> str:
    """The users that a filter keeps: each has one item, and the users are counted as items."""
    source = in_database() if source is None else source
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
    "n BETWEEN 1 AND 1 + 1": "ab",
    "n IS NULL": "d",
    "N == 1": "a",
    "\"order\" = 'k' OR \"ORDER\" = 'l'": "ab",
    "item LIKE 'x%' AND true": "ad",
    "lower(upper(item)) = 'x'": "ad",
    "2 + 3 * n = 8": "b",
    "(2 + 3) * n = 10": "b",
    "10 - 4 - 3 = 3": "abcde",
    "CASE WHEN n = 1 THEN text::INT ELSE 1 / 0 END = 1": "a",
    "CASE item WHEN 'x' THEN n WHEN 'y' THEN 0 END = 1": "a",
    "date_trunc('month', day) = day": "a",
    "length(item || user) = 2 AND item || '-' || user = 'z-c'": "c",
    "try_cast(text AS INT) IS NULL": "cd",
    "not n = 1 and flag is false or n = 0": "bce",
    "starts_with(text, 'CAN') OR ends_with(text, '5') OR contains(item, 'w')": "ce",
}


@pytest.mark.parametrize(("where", "users"), MEANS.items(), ids=list(MEANS))
def test_filter_means_what_sql_means(where, users):
    assert kept(where) == users


NO_VALUE = {
    "text::INT >= 1": "abe",
    "1 / n > 0": "abe",
    "text::INT > 0 OR n = 0": "abce",
    "CASE WHEN text::INT = 1 THEN TRUE END": "a",
}


@pytest.mark.parametrize(("where", "users"), NO_VALUE.items(), ids=list(NO_VALUE))
def test_where_there_is_no_value_there_is_null(where, users):
    assert kept(where) == users


REFUSED = {
    "": "ends too early",
    "   ": "ends too early",
    "n =": "ends too early",
    "(n = 1": "ends too early",
    "n = 1)": "unexpected text at character 6: ')'",
    "1=1) OR (1=1": "unexpected text at character 4",
    "1=1) UNION SELECT ('a', 'b'": "unexpected text at character 4",
    "n = 1, item = 'x'": "unexpected text",
    "n = 1 LIMIT 1": "unexpected text at character 7: 'LIMIT 1'",
    "n = 1 ORDER BY n": "unexpected text",
    "true UNION SELECT 1": "unexpected text",
    "DROP TABLE t": "unexpected text at character 6",
    "n = 'a": "a text without an end at character 5",
    '"n = 1': "a name without an end",
    'n = ""': "a name without an end",
    "n = 1; SELECT 1": "more than one statement at character 6",
    "n = 1 -- ": "a remark at character 7",
    "n /* 1 */ = 1": "a remark",
    "n = ?": "a placeholder",
    "n = $1": "a placeholder",
    "n = :x": "a placeholder",
    "#1 = 'a'": "a placeholder",
    "n = {x}": "a placeholder",
    "item IN (SELECT item FROM t)": "a subquery at character 10\nhint: it depends on other rows",
    "EXISTS (SELECT 1)": "a subquery",
    "(SELECT true)": "a subquery",
    "n = ANY([1, 2])": "a list",
    "n = ALL (SELECT 1)": "a subquery",
    "SELECT 1": "a subquery",
    "row_number() OVER () = 1": "the function row_number",
    "length(item) OVER () = 1": "a window function",
    "sum(n) > 1": "the aggregate sum",
    "count(*) > 1": "the aggregate count",
    "count(DISTINCT n) = 1": "the aggregate count",
    '"max"(n) = 1': "unexpected text",
    "lower(*) = 'a'": "the function lower of 0 values",
    "lower(item, item) = 'a'": "the function lower of 2 values",
    "now() > day": "the function now\nhint: write the date itself",
    "day < current_date": "use columns of the source, got 'current_date'",
    'item = "x"': "got 'x'\nhint: double quotes name a column, a text is in single quotes: 'x'",
    "item = Lisboa": "; a text is in single quotes: 'Lisboa'",
    """item = "it's" """: "got \"it's\"\nhint: double quotes name a column, a text is in single quotes: 'it''s'",
    '"itme" = 1': "in single quotes: 'itme'; or did you mean item or text?",
    "random() < 0.5": "the function random\nhint: docs/filters.md",
    "getenv('HOME') = 'x'": "the function getenv",
    "error(user) IS NULL": "the function error",
    "regexp_matches(item, '[xz]')": "the function regexp_matches",
    "repeat(item, 100000000) = 'x'": "the function repeat",
    "replace(item, 'x', 'xx') = 'x'": "the function replace",
    "main.lower(item) = 'x'": "a dot outside of a number at character 5",
    "item.upper() = 'X'": "a dot",
    "t.n = 1": "a dot",
    "n = .5": "a dot",
    "n = 1.": "the number 1.",
    "n = 0x10": "the number 0x10",
    "n = 1 x": "unexpected text",
    "rowid = 1": "'rowid'",
    "filename = 'x'": "'filename'",
    "lambda x: x": "a placeholder",
    "n -> n + 1": "unexpected text",
    "n ->> 'a' = 1": "unexpected text",
    "list[1] = 1": "a list",
    "text ~ 'a'": "the sign '~'",
    "n @ 1": "the sign '@'",
    "text COLLATE NOCASE = 'a'": "unexpected text",
    "text = E'a'": "unexpected text",
    "text = 'a' 'b'": "unexpected text",
    "text = $$a$$": "a placeholder",
    "text LIKE item": "LIKE with something other than a text",
    "text LIKE 'a\\%'": "LIKE with a backslash",
    "text LIKE 'a' ESCAPE '!'": "LIKE with ESCAPE",
    "text = 'a\0'": "not every engine can store",
    "text = '\ud800'": "not every engine can store",
    "text = NULL": "a comparison with NULL",
    "text NOT IN ('a', NULL)": "a comparison with NULL",
    "text IN ()": "unexpected text",
    "n < text < 5": "a chained comparison",
    "n = n = n": "a chained comparison",
    "n BETWEEN 1": "ends too early",
    "n NOT NULL": "unexpected text",
    "CASE END": "unexpected text",
    "CASE ELSE n END": "unexpected text",
    "CASE WHEN flag n END": "unexpected text",
    "n = 9223372036854775808": "does not fit in 64 bits",
    "n = " + "9" * 5000: "does not fit in 64 bits",
    "n = 0.123456789012345678": "more than 17 digits",
    "n = 1e999": "too large",
    "n = 1e-999": "too small",
    "day = DATE '2024-02-30'": "'2024-02-30' for a date",
    "day = '20240131'": "'20240131' for a date",
    "day = 'yesterday'": "'yesterday' for a date",
    "CAST('2023-02-29' AS DATE) = day": "'2023-02-29' for a date",
    "day = TIMESTAMP '2024-01-31 24:00:00'": "for a date",
    "n": "'n', a column of BIGINT as a condition",
    "text": "'text', a column of VARCHAR as a condition",
    "n + 1": "a value as a condition",
    "'true'": "'true' as a condition",
    "text = 5": "5 beside 'text', a column of VARCHAR",
    "n > 'abc'": "'abc' beside 'n', a column of BIGINT",
    "n = TRUE": "TRUE beside 'n'",
    "flag = 1": "1 beside 'flag'",
    "bytes > 1": "1 beside 'bytes', a column of BLOB",
    "bytes = bytes": "IS NULL alone",
    "text + 1 = 2": "'text', a column of VARCHAR where + takes numbers",
    "day + 1 > day": "where + takes numbers",
    "n || 'a' = '1a'": "where || takes a text",
    "lower(n) = '1'": "where lower takes a text",
    "n LIKE '1'": "where like takes a text",
    "year(text) = 2024": "where year takes a date\nhint: a text becomes one by CAST",
    "CASE WHEN flag THEN n ELSE 'a' END = 1": "'a' beside 'n'",
    "COALESCE(bytes, bytes) IS NULL": "'bytes', a column of BLOB here",
    "left(item, n) = 'x'": "left with a size that is no constant",
    "left(item, -1) = 'x'": "left with a size that is no constant",
    "substring(item, 0) = 'x'": "write a whole number from 1 on",
    "starts_with(item, text)": "starts_with with something other than a text",
    "date_part(item, day) = 1": "date_part of something else",
    "date_trunc('hour', day) = day": "date_trunc of something else",
    "n * n * n > 0": "more than 38 digits\nhint: write CAST(x AS DOUBLE)",
    "n::FLOAT = 1": "a cast to FLOAT\nhint: there may stand INTEGER, BIGINT, DOUBLE",
    "n::BIGINT PRECISION = 1": "unexpected text at character 11",
    "text::DECIMAL = 1": "a cast to DECIMAL\nhint: give its digits",
    "text::DECIMAL(39,0) = 1": "a cast to DECIMAL",
    "text::DECIMAL(3,4) = 1": "a cast to DECIMAL",
    "(n / 2)::INT = 1": "in a cast to an exact number\nhint: floor(x)",
    "(n / 2)::TEXT = '1'": "in a cast to TEXT",
    "0.5::INT = 1": "in a cast that rounds",
    "day > TIMESTAMPTZ '2024-01-01'": "unexpected text",
    "(" * 61 + "flag" + ")" * 61: "nested too deep",
    "NOT " * 10_000 + "flag": "nested too deep",
    "n = 1" + " + 1" * 99: "have at most 64 operators",
    "n = 1" + " + 1" * 100: "nested too deep",
    "flag OR " * 20_000 + "flag": "have at most 64 operators, got 20,000\nhint: use IN with a list",
    "n = " + "1 / abs(" * 25 + "n" + ")" * 25: "have at most 64 operators",
    "NULLIF(" * 30 + "n" + ", 1)" * 30 + " = 1": "have at most 64 operators",
    " * ".join(["COALESCE(n, 1)"] * 4) + " > 1": "have at most 64 operators, got 74",  # each may be as large as n
}


@pytest.mark.parametrize(("where", "reason"), REFUSED.items(), ids=[repr(name)[:60] for name in REFUSED])
def test_refused(where, reason):
    error = refused(where)
    assert reason in str(error), str(error)
    assert "CANARY" not in str(error)


def test_a_long_condition_is_not_a_deep_one():
    assert kept(" OR ".join(f"n = {number}" for number in range(32))) == "abce"


def test_a_wrong_column_gives_near_names():
    assert "hint: did you mean item or text?" in str(refused("texd = 'x'"))
    assert "hint: there is user, item, n, text, day, bytes, order, flag" in str(refused("rowid = 1"))


def test_a_text_without_quotes_is_told_of_them_in_a_csv_file_too(tmp_path: Path):
    (tmp_path / "rows.csv").write_text("user,item\n1,Lisboa\n")
    message = str(refused("item = Lisboa", tmp_path / "rows.csv"))
    assert message.endswith("skips a title; a text is in single quotes: 'Lisboa'")


def test_columns_of_a_text_file_are_texts(tmp_path: Path):
    """And what is no number, date or truth value there is null."""
    path = tmp_path / "rows.csv"
    path.write_text(
        "order,user,age,day,paid\nk,a,31,2024-01-31,true\nl,b,0x20,2024-02-30,yes\nm,c,,,\nn,d,1e999,infinity,1\n"
    )
    assert kept("age::INT > 30", path) == "a"
    assert kept("age::INT IS NULL", path) == "bcd"
    assert kept("day >= '2024-01-31'", path) == "abd"
    assert kept("CAST(day AS DATE) >= '2024-01-31'", path) == "a"
    assert kept("CAST(day AS TIMESTAMP) < '2024-02-01'", path) == "a"
    assert kept("paid::BOOLEAN", path) == "ad"


def test_conditions_stand_alone_so_that_they_can_be_pushed_down(tmp_path: Path):
    path = tmp_path / "rows.parquet"
    duckdb.sql(f"COPY (SELECT 'u' AS u, i::VARCHAR AS i, i AS n FROM range(9) AS t(i)) TO '{path}'")
    with DuckDBEngine(path, user="u", item="i", where="n > 1 AND i = '5' AND n < 7", key=b"k") as engine:
        with engine._database.reading(f"SELECT u, i FROM {engine._rows}") as rows:
            plan = engine._database.workspace.fetch_unguarded(f"EXPLAIN {rows}")[0][1]
        assert "FILTER" not in plan.replace("Filters", "")
        assert engine.top(9).counts.tolist() == [1]


def test_members_of_an_enum_are_not_shown():
    frame = ROWS.set_column(1, "item", ROWS.column("item")).to_pandas()
    frame["item"] = frame["item"].replace("z", "CANARY").astype("category")
    assert kept("item > 'x'", frame) == "be"
    for where in ("item > 1", "item + 1 = 2", "item(1) = 1"):
        assert "CANARY" not in str(refused(where, frame))
