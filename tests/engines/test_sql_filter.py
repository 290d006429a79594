"""Filters on every engine: the same rows are kept everywhere, they are the ones that the filter means, and nothing fails."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from dpselect.engines.duckdb_engine import DuckDBEngine
from dpselect.engines.duckdb_workspace import Workspace
from dpselect.engines.filters.engines import POSTGRES, SPARK
from dpselect.engines.opening import open_engine
from dpselect.engines.postgres_dialect import quoted as pg_quoted
from dpselect.engines.postgres_types import pg_type
from dpselect.engines.row_filter import parse
from dpselect.engines.spark_database import SparkDatabase
from dpselect.engines.spark_dialect import quoted as spark_quoted
from dpselect.engines.sql_port import SqlType
from dpselect.errors import DataError, ParameterError
from tests.engines import filter_rows, filter_words
from tests.engines.filter_rows import COLUMNS, CONDITIONS, OTHERS, ROWS
from tests.engines.sources import table
from tests.engines.test_conformance import pairs
from tests.engines.test_postgres import filled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("id", *COLUMNS)
Keep = Callable[[str], list[int]]


@pytest.fixture(scope="module")
def duckdb_rows() -> Iterator[Workspace]:
    workspace = filter_rows.filled()
    yield workspace
    workspace.close()


@pytest.fixture(scope="module")
def on_duckdb(duckdb_rows: Workspace) -> Keep:
    """The rows that DuckDB keeps."""
    return functools.cache(functools.partial(filter_rows.kept, duckdb_rows))


# ---- PostgreSQL -------------------------------------------------------------------------------------------

PG_NAMES = {
    "VARCHAR": "text", "SMALLINT": "int2", "INTEGER": "int4", "BIGINT": "int8", "DOUBLE": "float8", "FLOAT": "float4",
    "DECIMAL(10,2)": "numeric(10,2)", "DECIMAL(38,4)": "numeric(38,4)", "BOOLEAN": "bool", "DATE": "date",
    "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamptz",
}  # fmt: skip
PG_TYPES = {
    name: pg_type(
        PG_NAMES[sql_type].partition("(")[0], "b", {"10": (10 << 16) + 6, "38": (38 << 16) + 8}.get(sql_type[8:10], -1)
    )
    for name, (sql_type, _) in COLUMNS.items()
}


@pytest.fixture(scope="module")
def on_postgres(postgres_server: str) -> Iterator[Keep]:
    """A table with collations of its own, asked through the engine's own workspace."""
    import psycopg

    from dpselect.engines.postgres_workspace import Workspace as PgWorkspace

    address = postgres_server.format(name="postgres")
    columns = ", ".join(
        f"{pg_quoted(name)} {PG_NAMES[sql_type]}".replace("%%", "%") for name, (sql_type, _) in COLUMNS.items()
    )
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA filters")
        connection.execute(f"CREATE TABLE filters.t (id int4, {columns})".encode())
        connection.execute('ALTER TABLE filters.t ALTER text TYPE text COLLATE "und-x-icu"')
        with connection.cursor().copy("COPY filters.t FROM STDIN") as copy:
            for row in ROWS:
                copy.write_row(row)
    workspace = PgWorkspace(address)

    def keep(where: str) -> list[int]:
        found = parse(where)
        condition = found.sql({name: PG_TYPES[name] for name in found.needs(NAMES)}, pg_quoted, POSTGRES)
        return [row[0] for row in workspace.fetch(f"SELECT id FROM filters.t WHERE ({condition}) ORDER BY id")]

    yield keep
    workspace.close()


@pytest.mark.parametrize("where", [*CONDITIONS, *OTHERS])
def test_postgres_keeps_the_same_rows(on_duckdb, on_postgres, where):
    assert on_postgres(where) == on_duckdb(where)


def test_the_conditions_tell_rows_apart(on_duckdb):
    """Or the comparison above could not fail: nearly every condition keeps some rows and drops others."""
    sizes = [len(on_duckdb(where)) for where in CONDITIONS]
    assert sum(0 < size < len(ROWS) for size in sizes) >= len(CONDITIONS) - 4
    assert len(set(sizes)) > 30


@settings(max_examples=150)
@given(where=filter_words.ANY)
def test_any_filter_keeps_the_same_rows(on_duckdb, on_postgres, where):
    """And fails for no row, on neither."""
    with suppress(ParameterError):
        assert on_postgres(where) == on_duckdb(where)


# ---- Spark ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finite_rows() -> Iterator[Workspace]:
    """Spark has no infinite dates."""
    workspace = filter_rows.filled(infinite=False)
    yield workspace
    workspace.close()


@pytest.fixture(scope="module")
def on_spark(finite_rows: Workspace, spark: SparkSession) -> Iterator[Keep]:
    """The same rows in a session far from UTC; DuckDB hands them over."""
    from pyspark.sql.pandas.types import from_arrow_schema

    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    rows = finite_rows.connection.sql("FROM t").to_arrow_table()
    frame = session.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))
    database = SparkDatabase(frame, None, user="id", item="id", needs=lambda names: names)

    def keep(where: str) -> list[int]:
        found = parse(where)
        types = {name: database.types[name] for name in found.needs(NAMES)}
        condition = found.sql(types, spark_quoted, SPARK)
        kept = database.rows(f"SELECT id FROM {database.source} WHERE TRUE AND ({condition})")
        return sorted(row[0] for row in kept)

    yield keep
    database.close()


@pytest.mark.slow
def test_spark_keeps_the_same_rows(finite_rows, on_spark):
    kept = {where: filter_rows.kept(finite_rows, where) for where in [*CONDITIONS, *OTHERS]}
    assert [where for where, rows in kept.items() if on_spark(where) != rows] == []


@pytest.mark.slow
@settings(max_examples=60)
@given(where=filter_words.ANY)
def test_any_filter_keeps_the_same_rows_on_spark(finite_rows, on_spark, where):
    with suppress(ParameterError):
        assert on_spark(where) == filter_rows.kept(finite_rows, where)


# ---- what is refused --------------------------------------------------------------------------------------

REFUSED = {
    "": "cannot be parsed",
    "   ": "cannot be parsed",
    "small =": "cannot be parsed",
    "(small = 1": "cannot be parsed",
    "small = 1)": "cannot be parsed",
    "1=1) OR (1=1": "cannot be parsed",
    "small = 1 LIMIT 1": "cannot be parsed",
    "text = 'a": "cannot be parsed",
    "small = 1; DROP TABLE t": "more than one statement",
    "small = 1;": "more than one statement",
    "small = 1 -- ": "a remark",
    "small /* 1 */ = 1": "a remark",
    "{# x #} small = 1": "a remark",
    "small = 1 /*": "cannot be parsed",
    "small = ?": "a placeholder",
    "small = $1": "a placeholder",
    "small = :x": "a placeholder",
    "small = {x}": "a placeholder",
    "small = %(x)s": "a placeholder",
    "small = %s": "a placeholder",
    "text IN (SELECT text FROM t)": "a subquery\nhint: it would let other rows decide",
    "EXISTS (SELECT 1)": "a subquery",
    "(SELECT true)": "a subquery",
    "SELECT 1": "cannot be parsed",
    "sum(small) OVER () > 1": "a window function",
    "max(small) = 1": "an aggregate",
    "count(*) > 1": "the sign '*'",
    "DROP TABLE t": "cannot be parsed",
    "lower(text) = 'a'": "the function lower\nhint: make a view of the rows that count",
    "foo(text)": "the function foo",
    "day > current_date": "the function current_date",
    "random() > 0.5": "the function ran",
    "text::INT = 1": "a cast",
    "CAST(text AS INT) = 1": "a cast",
    "zone > TIMESTAMPTZ '2024-01-01'": "a cast",
    "small + 1 = 2": "the sign '+'",
    "small = -big": "a minus before",
    "t.small = 1": "a dot outside of a number",
    "double = .5": "a dot outside of a number",
    "double = 1.": "the number 1.",
    "small = 0x10": "cannot be parsed",
    "small = 1 x": "cannot be parsed",
    "text ILIKE 'a'": "one with ilike",
    "text ~ 'a'": "the sign '~'",
    "text LIKE other": "LIKE with something other than a text",
    "text LIKE 'a\\%'": "LIKE with a backslash",
    "text LIKE 'a' ESCAPE '!'": "one with escape",
    "text = E'a'": "byte",
    "text = 'a' 'b'": "two texts in a row",
    "text = 'a' COLLATE NOCASE": "COLLATE",
    "text = 'a\0'": "not every engine can hold",
    "text = '\ud800'": "not every engine can hold",
    "text = NULL": "a comparison with NULL",
    "text NOT IN ('a', NULL)": "a comparison with NULL",
    "text IN ()": "IN without a list",
    "text IN (other)": "a column where a constant must stand",
    "yes IS TRUE": "IS with something other than NULL",
    "text IS DISTINCT FROM 'a'": "null safe",
    "CASE WHEN yes THEN no END": "CASE",
    "(text) = 'a'": "parentheses around a value",
    "(small, big) = (1, 2)": "tuple",
    "small < big < 5": "a comparison of a comparison",
    "1 = 1": "a comparison without a column",
    "small BETWEEN SYMMETRIC 1 AND 2": "between",
    "'a'": "literal",
    "big = 9223372036854775808": "does not fit in 64 bits",
    "big = " + "9" * 5000: "does not fit in 64 bits",
    "moment = TIMESTAMP(0) '2024-01-31 10:00:00.7'": "a cast",
    "double = 0.123456789012345678": "more than 17 digits",
    "double = 1e999": "too large",
    "double = 1e-999": "too small",
    "day = DATE '2024-02-30'": "'2024-02-30' for a date",
    "day = DATE '20240131'": "'20240131' for a date",
    "moment = TIMESTAMP '2024-01-31 24:00:00'": "for a date",
    "(" * 51 + "yes" + ")" * 51: "nested too deep",
    "NOT " * 51 + "yes": "nested too deep",
    "NOT " * 10_000 + "yes": "nested too deep",
}


@pytest.mark.parametrize(("where", "says"), REFUSED.items(), ids=[repr(where)[:50] for where in REFUSED])
def test_what_engines_do_not_share_is_refused(where, says):
    with pytest.raises(ParameterError, match="where must be one SQL condition on one row, got") as caught:
        parse(where)
    assert says in str(caught.value)
    assert caught.value.__context__ is None


MISFITS = {
    "text = 5": "5 beside 'text', a column of text",
    "text > DATE '2024-01-01'": "2024-01-01 beside 'text'",
    "text": "a value of type text",
    "NOT small": "a value of type int2",
    "small = '5'": "'5' beside 'small', a column of int2",
    "small = TRUE": "TRUE beside 'small'",
    "small = 1e3": "1000.0, a float beside 'small'",
    "money IN (1, 2e0)": "2.0, a float beside 'money'",
    "wide = 0.12345": "one of so many digits beside 'wide'",
    "yes = 1": "1 beside 'yes'",
    "yes = 'true'": "'true' beside 'yes'",
    "yes LIKE 'a'": "LIKE beside 'yes'",
    "day = 'yesterday'": "'yesterday' for a date",
    "day = '2024-01-31 10:00:00'": "for a date",
    "day = TIMESTAMP '2024-01-31 00:00:00'": "beside 'day'",
    "moment = '2024-01-31 00:00:00+02'": "for a date",
    "moment = 5": "5 beside 'moment'",
    "moment = zone": "'zone', a column of timestamptz beside 'moment'",
    "day = moment": "'moment', a column of timestamp beside 'day'",
    "text = small": "'small', a column of int2 beside 'text'",
    "double = money": "'money', a column of numeric beside 'double'",
    "float = small": "'small', a column of int2 beside 'float'",
    "float = 0.30000000000000004": "beside 'float', a column of float4",
    "float = 16777217": "beside 'float'",
    "float = 1e0": "beside 'float'",
    "id = 'a'": "'a' beside 'id', a column of uuid",
}


@pytest.mark.parametrize(("where", "says"), MISFITS.items(), ids=list(MISFITS))
def test_a_comparison_fits_the_types_of_the_columns(where, says):
    types = PG_TYPES | {"id": SqlType("uuid", "other", "{}", "text", "UUID")}
    with pytest.raises(ParameterError, match="where must be one SQL condition on one row, got") as caught:
        parse(where).sql(types, SPARK)
    assert says in str(caught.value)
    assert caught.value.__context__ is None


def test_columns_are_those_of_the_table():
    found = parse("TEXT = 'a' AND \"Text\" IS NULL AND small = big")
    assert found.columns == ("TEXT", "Text", "small", "big")
    assert found.needs(["big", "text", "small", "more"]) == ["text", "text", "small", "big"]
    with pytest.raises(ParameterError, match=r"where must use columns of the source, got 'big'"):
        found.needs(["text", "small"])
    with pytest.raises(ParameterError, match=r"differ by more than case, got 'TEXT', which may be 'Text' or 'text'"):
        found.needs(["Text", "text", "small", "big"])
    with pytest.raises(ParameterError, match="did you mean text"):
        parse("texd = 'a'").needs(["text"])


def test_a_long_condition_is_not_a_deep_one(on_duckdb, on_postgres):
    where = " OR ".join(f"NOT (NOT small = {number})" for number in range(1000))
    assert on_postgres(where) == on_duckdb("small >= 0 AND small < 1000")


TWINS = {
    "text is compared as the server does": ("text >= 'Z'", "text", "{}"),
    "a float4 is not rounded": ("float = 0.1", "float", None),
    "a moment with a zone in the session's": ("zone = '2024-01-31'", "zone", "({} AT TIME ZONE 'Asia/Tokyo')"),
}


@pytest.mark.parametrize(("where", "column", "form"), TWINS.values(), ids=list(TWINS))
def test_a_broken_twin_keeps_other_rows(on_duckdb, on_postgres, monkeypatch, where, column, form):
    broken = replace(PG_TYPES[column], form=form) if form else replace(PG_TYPES[column], duckdb="DOUBLE")
    right = on_duckdb(where)
    assert on_postgres(where) == right
    monkeypatch.setitem(PG_TYPES, column, broken)
    assert on_postgres(where) != right


# ---- as an engine asks it ---------------------------------------------------------------------------------


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


def test_without_sqlglot_it_says_what_is_missing(monkeypatch):
    monkeypatch.setattr("dpselect.engines.sql_filter.find_spec", lambda _: None)
    with pytest.raises(DataError, match="needs sqlglot\nhint: pip install sqlglot"):
        parse("small = 1")
