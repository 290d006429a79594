"""SQLite: what CREATE TABLE declares, by SQLite's rules of affinity, and the values that are of another type."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import dpselect as dps

Make = Callable[..., dps.Table]


@pytest.fixture
def table(tmp_path: Path) -> Make:
    """Makes a table t of 60 users for each value, by a statement that declares it and one that fills it."""

    def made(create: str, values: Sequence[object], insert: str = "INSERT INTO t VALUES (?, ?)") -> dps.Table:
        path = tmp_path / "t.sqlite"
        with sqlite3.connect(path) as connection:
            connection.execute(create)
            rows = [(f"{place} {user}", value) for place, value in enumerate(values) for user in range(60)]
            connection.executemany(insert, rows)
        connection.close()
        return dps.Table(path, "t")

    return made


def labels(source: dps.Table, item: str = "item", **more: object) -> list[object]:
    """All items, by a price at which noise is far below the number of their users."""
    found = dps.Dataset(source, user="user", item=item, **more).top_k(50, epsilon=400, delta="1e-6").labels
    return sorted(found, key=repr)


@pytest.mark.parametrize(
    ("declared", "values", "read"),
    [
        ("INTEGER", [1, 2**53 + 1, 2**53, "3", 4.0], [1, 3, 4, 2**53, 2**53 + 1]),
        ("BIGINT", [7, 19.7, "guest", b"7", 2.0**63, None], [7]),
        ("int unsigned", [7, -7], [-7, 7]),
        ("REAL", [1, 0.1 + 0.2, 0.3, "2.5", "x", b"1"], [0.3, 0.1 + 0.2, 1.0, 2.5]),
        ("double precision", [2.0**52 + 1, 2.0**52 + 2], [2.0**52 + 1, 2.0**52 + 2]),
        ("VARCHAR(2)", [7, "7", "x", b"x"], ["7", "x"]),
        ("", [2**53 + 1, 2**53, "7", 19.0, 0.1 + 0.2, 0.3, b"x", float("inf")],
         ["0.3", "0.30000000000000004", "19.0", "7", "9007199254740992", "9007199254740993"]),
        ("BOOLEAN", [True, False, "yes"], ["0", "1", "yes"]),
        ("DATE", ["2026-01-01", 20260101], ["2026-01-01", "20260101"]),
        ("DECIMAL(10,2)", [7, 0.1 + 0.2, "x"], ["0.30000000000000004", "7", "x"]),
        ("BLOB", [b"x", "x", 1], ["1", "x"]),
        ("FLOATING POINT", [1.5, 2.0, 3, "x"], ["1.5", "2", "3", "x"]),
        ("MULTIPOINT", ["POINT(1 2)", b"x"], ["POINT(1 2)"]),
        ("INTERVAL", ["1 day", 7, 0.5], ["0.5", "1 day", "7"]),
    ],
)  # fmt: skip
def test_a_value_is_of_its_columns_type_or_missing(declared, values, read, table):
    found = labels(table(f"CREATE TABLE t (user TEXT, item {declared})", values))
    assert found == read
    assert list(map(type, found)) == list(map(type, read))


@pytest.mark.parametrize(
    "declared",
    ["INT", "INTEGER", "tinyint(1)", "SMALLINT", "MEDIUMINT", "BIGINT", "UNSIGNED BIG INT", "INT2", "UINT64",
     "BIGINTEGER", "int_key", "LONGINT UNSIGNED"],
)  # fmt: skip
def test_words_for_whole_numbers_declare_them(declared, table):
    """Among them are no others that have their letters, as `FLOATING POINT`."""
    assert labels(table(f"CREATE TABLE t (user TEXT, item {declared})", [7, 1.5, "x"])) == [7]


@pytest.mark.parametrize(("declared", "read"), [("INT", [7]), ("REAL", [7.5]), ("TEXT", ["7"]), ("ANY", ["7", "7.5"])])
def test_a_strict_table_declares_the_same(declared, read, table):
    values = [value for value in read if declared != "ANY"] or [7, 7.5]
    assert labels(table(f"CREATE TABLE t (user TEXT, item {declared}) STRICT", values)) == read


def test_a_view_may_have_real_numbers_where_integers_are_declared(table):
    source = table("CREATE TABLE t (user TEXT, item)", [7, 19.0, 19.7, 2.0**63, -(2.0**63), 2**53 + 1, "8"])
    with sqlite3.connect(source.database) as connection:
        connection.execute("CREATE TABLE whole (user TEXT, item INTEGER)")
        connection.execute("CREATE VIEW joined AS SELECT * FROM whole UNION ALL SELECT * FROM t")
    connection.close()
    assert labels(dps.Table(source.database, "joined")) == [-(2**63), 19, 7, 2**53 + 1]


@pytest.mark.parametrize("kept", ["VIRTUAL", "STORED"])
def test_generated_columns_are_columns(kept, table):
    create = f"CREATE TABLE t (user TEXT, raw TEXT, item TEXT AS (lower(raw)) {kept}, size AS (length(raw)) {kept})"
    source = table(create, ["Tea", "MILK"], "INSERT INTO t (user, raw) VALUES (?, ?)")
    assert labels(source) == ["milk", "tea"]
    assert labels(source, "size") == ["3", "4"]
    assert labels(source, "raw", where="item = 'tea'") == ["Tea"]


def test_hidden_columns_of_a_virtual_table_are_none(table):
    """`SELECT *` has none of them."""
    source = table("CREATE VIRTUAL TABLE t USING fts5(user, item)", ["tea"])
    with pytest.raises(dps.ParameterError, match=r"hint: there is user, item$"):
        labels(source, "rank")


def test_numbers_are_numbers_where_they_are_declared(table):
    source = table("CREATE TABLE t (user TEXT, item INT, text)", [*range(11)], "INSERT INTO t VALUES (?1, ?2, ?2)")
    data = dps.Dataset(source, user="user", item="item")
    assert 4 <= data.quantile(0.5, bounds=(0, 10), epsilon=100).labels[0] <= 6
    assert data.where("item > 8").users(epsilon=400)[0].count in range(118, 123)
    with pytest.raises((dps.ParameterError, dps.DataError), match="'text'"):
        dps.Dataset(source, user="user", item="text").quantile(0.5, bounds=(0, 10), epsilon=100)


def test_sqlite_is_prepared_and_its_rows_are_added_once(table, tmp_path):
    source = table("CREATE TABLE t (user TEXT, item INT)", [1, 2, 2.5, "x"])
    data = dps.Dataset(source, user="user", item="item")
    prepared = data.prepare(tmp_path / "t.prepared")
    assert labels(tmp_path / "t.prepared") == [1, 2]
    assert prepared.users(epsilon=400)[0].count in range(238, 243)
    with pytest.raises(dps.ParameterError, match=r"t\.sqlite, whose contents were added before"):
        data.prepare(tmp_path / "t.prepared", add=True)


def test_without_pyarrow_the_hint_names_it_alone(table, monkeypatch):
    source = table("CREATE TABLE t (user TEXT, item TEXT)", ["x"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(dps.DpselectError, match=r"no package pyarrow\nhint: pip install pyarrow$"):
        dps.Dataset(source, user="user", item="item").top_k(1, epsilon=1)
