"""A connection of the caller's decides nothing but which rows there are: no macro, setting or name of its own does.

And a database file that this process has open keeps its lock.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect._ground.domain import Column, Listed, Span
from dpselect.aggregates.value_counts import Grid
from dpselect.engines.address import Address
from dpselect.engines.duckdb.catalog import RelationScan
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.identity import identify_source
from dpselect.engines.port import PerUser
from dpselect.errors import DataError, ParameterError
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import kept, pairs

ROWS = pa.table(
    {
        "user": [f"u{n}" for n in range(12) for _ in range(3)],
        "item": ["tea b", "Tea", "milk b"] * 12,
        "age": [n % 7 for n in range(36)],
        "seen": [datetime.datetime(2024, 1, 1, n % 24, tzinfo=datetime.UTC) for n in range(36)],
    }
)
WHERE = "age >= 2 AND (item LIKE '%e%' OR age IN (1, 2)) AND seen >= '2024-01-01 03:00:00'"


def opened(connection: object, **more: object) -> DuckDBEngine:
    return DuckDBEngine(connection, **({"user": "user", "item": "item", "table": "t", "key": b"k"} | more))


def answers(connection: duckdb.DuckDBPyConnection) -> list[object]:
    """What every kind of question finds."""
    found: list[object] = []
    for more in ({}, {"where": WHERE}, {"split": " ", "where": WHERE}, {"max_items_per_user": 1}):
        with opened(connection, **more) as engine:
            found += [
                pairs(engine.top(9)),
                pairs(engine.grouped()),
                pairs(engine.grouped(Listed(("Tea", "none")))),
                kept(engine),
            ]
    with opened(connection, item="age") as engine:
        found.append(pairs(engine.grouped(Span(2, 9))))
        for per_user in PerUser:
            at = engine.users_at(Grid.parse((0, 9), 1), per_user)
            found.append((at.indices.tolist(), at.users.tolist()))
    with opened(connection, item="seen") as engine:
        found.append(pairs(engine.top(99)))
    with opened(connection) as engine:
        sets = engine.contributions()
        found += [sets.offsets.tolist(), sets.codes.tolist(), [sets.label(code) for code in range(sets.size)]]
    return found


def filled() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("CREATE TABLE t AS FROM ROWS").fetchall()
    return made


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return filled()


@pytest.fixture(scope="module")
def truth() -> list[object]:
    """What a plain connection answers."""
    return answers(filled())


# ---- macros ------------------------------------------------------------------------------------------------


def plant(connection: duckdb.DuckDBPyConnection) -> int:
    """A macro under the name of every function and operator that DuckDB has, and of the tables that list its own."""
    listed = "SELECT DISTINCT function_name, function_type LIKE '%table%' FROM duckdb_functions() WHERE internal"
    names = connection.execute(f"{listed} ORDER BY ALL").fetchall()
    overloads = ", ".join(f"({', '.join(f'a{n}' for n in range(size))}) AS 7" for size in range(1, 5))
    made = 0
    for name, of_tables in names:
        written = '"' + name.replace('"', '""') + '"'
        what = "() AS TABLE SELECT 'mallory' AS table_name" if of_tables else overloads
        try:
            connection.execute(f"CREATE MACRO {written}{what}").fetchall()
        except duckdb.Error:
            continue
        made += 1
    return made


def check_macros(connection: duckdb.DuckDBPyConnection, truth: list[object]) -> None:
    """Whatever macros a connection has, the answers are those of one without."""
    assert plant(connection) > 500
    assert connection.execute("SELECT 1 + 1, count(7), upper('a') FROM t").fetchall()[0] == (7, 7, 7)
    assert answers(connection) == truth


def test_no_macro_is_called(connection, truth):
    check_macros(connection, truth)


@contextmanager
def there(self: RelationScan, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
    """A twin: something is called on the caller's connection, though it changes nothing."""
    forms = ", ".join("concat(item) AS item" if column == "item" else column for column in columns)
    narrow = self.relation.query("source", f"SELECT {forms} FROM source")
    with workspace.registered(narrow.__arrow_c_stream__()) as name:
        yield name


def test_a_filter_on_the_callers_connection_is_noticed(connection, truth, monkeypatch):
    monkeypatch.setattr(RelationScan, "source_rows", there)
    with pytest.raises((AssertionError, DataError)):
        check_macros(connection, truth)


# ---- settings ----------------------------------------------------------------------------------------------

SETTINGS = (
    "TimeZone = 'Pacific/Kiritimati'",
    "arrow_large_buffer_size = true",
    "arrow_lossless_conversion = true",
    "arrow_output_list_view = true",
    "default_collation = 'NOCASE'",
    "default_null_order = 'nulls_first'",
    "default_order = 'DESC'",
    "integer_division = true",
    "ieee_floating_point_ops = false",
    "preserve_insertion_order = false",
    "produce_arrow_string_view = true",
    "threads = 1",
)


@pytest.mark.parametrize("settings", [SETTINGS, SETTINGS[::2], SETTINGS[1::2]], ids=["all", "half", "the others"])
def test_no_setting_changes_an_answer(connection, truth, settings):
    for setting in settings:
        connection.execute(f"SET {setting}").fetchall()
    assert answers(connection) == truth


LARGE = {
    "HUGEINT": [2**127 - 1, -(2**127), 10**38 - 1, 0, -1],
    "UHUGEINT": [2**128 - 1, 2**127, 2**127 - 1, 10**38 - 1, 0],
    "UUID": [f"{n}0000000-0000-0000-0000-000000000001" for n in (0, 7, 8)],
}


@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("sort", LARGE)
def test_types_that_travel_as_others_come_back(sort, lossless):
    connection = duckdb.connect(config={"arrow_lossless_conversion": lossless})
    relation = connection.sql(
        "SELECT v AS user, v AS item FROM (SELECT unnest(?) AS v) AS s", params=[[str(value) for value in LARGE[sort]]]
    )
    typed = relation.select(duckdb.ColumnExpression("user").cast(sort), duckdb.ColumnExpression("item").cast(sort))
    named = typed.query("typed", 'SELECT * FROM typed AS x("user", item)')
    assert [str(one) for one in named.types] == [sort, sort]
    with DuckDBEngine(named, user="user", item="item", key=b"k") as engine:
        assert sorted(pairs(engine.grouped())) == sorted((value, 1) for value in LARGE[sort])


@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("value", ["'101'::BIT", "TIMETZ '12:00:00+01'"])
def test_types_that_cannot_come_back_are_refused(value, lossless):
    relation = duckdb.connect(config={"arrow_lossless_conversion": lossless}).sql(f"SELECT {value} AS user, 1 AS item")
    with pytest.raises(DataError, match="cannot be read unchanged from a connection\nhint: cast it to text"):
        DuckDBEngine(relation, user="user", item="item", key=b"k")


def test_a_scan_shows_no_row(connection):
    assert "u1" not in repr(RelationScan.from_relation(connection.table("t")))


def test_nothing_is_left_on_the_connection(connection):
    left = "FROM (SELECT view_name FROM duckdb_views() WHERE NOT internal UNION ALL SELECT name FROM duckdb_settings())"
    before = connection.execute(left).fetchall()
    answers(connection)
    assert connection.execute(left).fetchall() == before


# ---- which table -------------------------------------------------------------------------------------------


def refused(connection: object, table: str) -> str:
    with pytest.raises((ParameterError, DataError), match="table must") as caught:
        DuckDBEngine(connection, user="user", item="item", table=table, key=b"k")
    return str(caught.value)


def items(connection: object, table: str) -> list[object]:
    with DuckDBEngine(connection, user="user", item="item", table=table, key=b"k") as engine:
        return sorted(label for label, _ in pairs(engine.top(9)))


def test_a_table_is_the_one_of_that_name_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"user": [1], "item": ["file"]}), "rows.parquet")
    connection = duckdb.connect()
    connection.execute("ATTACH ':memory:' AS other").fetchall()
    connection.execute("CREATE SCHEMA s").fetchall()
    rows = "AS SELECT 1 AS user, '{}' AS item"
    for place in (
        's."rows.parquet"',
        "s.scan",
        'main."s.scan"',
        "other.main.twice",
        "main.twice",
        "s.far",
        "other.s2.far",
    ):
        if place.startswith("other.s2"):
            connection.execute("CREATE SCHEMA other.s2").fetchall()
        connection.execute(f"CREATE TABLE {place} {rows.format(place)}").fetchall()
    scan = {"user": [1], "item": ["variable"]}
    assert items(connection, "rows.parquet") == ['s."rows.parquet"']  # not the file
    assert items(connection, "scan") == ["s.scan"], scan  # not the variable
    assert items(connection, "s.scan") == ["s.scan"]  # not the table of main whose name has a dot
    assert items(connection, '"s.scan"') == ["s.scan"]
    assert items(connection, "memory.main.s.scan") == ['main."s.scan"']
    assert items(connection, "twice") == ["main.twice"]  # where DuckDB looks first
    assert items(connection, "other.twice") == items(connection, "OTHER.main.Twice") == ["other.main.twice"]
    assert items(connection, "far") == ["s.far"]
    connection.execute("CREATE SCHEMA s3").fetchall()
    connection.execute(f"CREATE VIEW s3.far {rows.format('s3.far')}").fetchall()
    assert 'which is "memory"."s"."far" and "memory"."s3"."far"' in refused(connection, "far")
    assert "did you mean twice" in refused(connection, "twic")
    connection.execute(f"CREATE TEMP TABLE twice {rows.format('temp')}").fetchall()
    assert items(connection, "twice") == ["temp"]


def test_no_table_of_a_file_hides_another(tmp_path):
    file = str(tmp_path / "rows.duckdb")
    with duckdb.connect(file) as connection:
        connection.execute("CREATE SCHEMA a").fetchall()
        connection.execute("CREATE TABLE a.t AS SELECT 1 AS user, 'a.t' AS item").fetchall()
        connection.execute("CREATE TABLE \"a.t\" AS SELECT 1 AS user, 'mallory' AS item").fetchall()
    assert items(file, "a.t") == ["a.t"]
    assert items(file, "main.a.t") == ["mallory"]


# ---- one file ------------------------------------------------------------------------------------


def made(file: Path) -> Path:
    with duckdb.connect(str(file)) as connection:
        connection.execute('CREATE TABLE t AS SELECT 1 AS "user", 2 AS item').fetchall()
    return file


def test_several_questions_of_one_file_at_once(tmp_path):
    file = str(made(tmp_path / "rows.duckdb"))
    with opened(file) as first, opened(file) as second:
        first.check(Column(file, "item", table="t"))
        assert pairs(first.top(3)) == pairs(second.top(3)) == [(2, 1)]
    with opened(file) as third:
        assert pairs(third.top(3)) == [(2, 1)]


# ---- which questions are the same --------------------------------------------------------------------------


def fixed(source: object, table: str | None = None) -> bool:
    """Is a question of this source known again, so that its answer is free?"""
    with DuckDBEngine(source, user="user", item="item", table=table, key=b"k") as engine:
        return identify_source(Address.parse(source))[1] and engine.source.fixed


def test_a_table_of_a_file_is_fixed_and_a_view_is_not(tmp_path: Path):
    parquet, file = tmp_path / "rows.parquet", str(tmp_path / "rows.duckdb")
    pq.write_table(pa.table({"user": [1], "item": ["a"]}), parquet)
    with duckdb.connect(file) as connection:
        for sql in (
            f"CREATE VIEW seen AS FROM '{parquet}'",
            "CREATE TABLE t AS FROM seen",
            'CREATE TABLE computed("user" INT, item INT, other INT AS (item + 1))',
        ):
            connection.execute(sql).fetchall()
        assert not fixed(connection, "t")
    assert fixed(str(parquet))
    assert [fixed(file, table) for table in ("t", "seen", "computed")] == [True, False, False]
    rows = {"user": [1], "item": ["a"]}
    assert fixed(pa.table(rows))
    assert not fixed(rows)
