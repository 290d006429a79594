"""A stored answer is free for the same question of the same rows and no others: what decides which rows those are."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines import identity
from dpselect.engines.address import Address
from dpselect.engines.identity import arrow_table_name, identify_source
from dpselect.engines.sources.files import find_files
from dpselect.flat import dataset_of
from dpselect.testing import SeededDraws
from tests.by_names import by_names
from tests.ledger.amounts import grant

ANN = dps.Account("default", "ann")
Ask = Callable[[], bool]
"""Asks the question; was the answer free?"""


@pytest.fixture
def ledger(tmp_path):
    with dps.Ledger.create(tmp_path / "budget.sqlite") as made:
        grant(made, ANN, 1000, "1e-2")
        yield made


@pytest.fixture
def asking(ledger) -> Callable[..., Ask]:
    """From a source to its question."""

    def make(source: object, snapshot: str | None = None, **more: object) -> Ask:
        def ask() -> bool:
            data = dataset_of(
                str(source),
                user="user",
                item="item",
                budget=dps.Budget.open(ledger, analyst="ann", snapshot=snapshot),
                **more,
            )
            release = by_names(data).choose(domain=["a", "b"], epsilon=1, draws=SeededDraws(1))
            assert release.charged is not None
            return bool(release.charged.numbers["repeated"])

        return ask

    return make


def write(path: Path, item: str) -> None:
    """A file of always the same size."""
    pq.write_table(pa.table({"user": [1, 2], "item": [item, item]}), path)


def make(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
    return path


def test_a_table_in_a_database_file_is_known_again(tmp_path, asking):
    file = make(tmp_path / "rows.duckdb", "CREATE TABLE t AS SELECT 1 AS user, 'a' AS item")
    ask = asking(file, table="t")
    assert [ask(), ask()] == [False, True]
    make(file, "INSERT INTO t VALUES (2, 'b')")
    assert [ask(), ask()] == [False, True]


@pytest.mark.parametrize("through", ["a view", "a view of a view", "an attached database"])
def test_a_view_may_read_anything_else(tmp_path, asking, through):
    rows, file = tmp_path / "rows.parquet", tmp_path / "rows.duckdb"
    write(rows, "a")
    make(file, f"CREATE VIEW t AS FROM '{rows}'")
    if through == "a view of a view":
        make(file, "ALTER VIEW t RENAME TO inner_one", "CREATE VIEW t AS FROM inner_one")
    if through == "an attached database":
        make(tmp_path / "other.duckdb", "CREATE TABLE t AS SELECT 1 AS user, 'a' AS item")
        (tmp_path / "other.duckdb").rename(rows.with_suffix(".other"))
        make(file, f"CREATE OR REPLACE VIEW t AS FROM read_duckdb('{rows.with_suffix('.other')}', table_name := 't')")
    ask = asking(file, table="t")
    assert [ask(), ask()] == [False, False]
    named = asking(file, table="t", snapshot="monday")  # the owner says so
    assert [named(), named()] == [False, True]


def test_a_domain_from_a_database_is_read_anew(tmp_path, ledger):
    rows, file = tmp_path / "rows.parquet", tmp_path / "names.duckdb"
    write(rows, "a")
    make(file, f"CREATE VIEW v AS FROM '{rows}'", "CREATE TABLE t AS FROM v")
    data = dps.Dataset(str(rows), user="user", item="item", budget=dps.Budget.open(ledger, analyst="ann"))
    for source, table, free in ((file, "v", False), (file, "t", False), (rows, None, True)):
        domain = dps.Column(str(source), "item", table=table)
        found = [by_names(data).choose(domain=domain, epsilon=1, draws=SeededDraws(1)) for _ in range(2)]
        assert found[1].charged is not None
        assert found[1].charged.numbers["repeated"] is free


def test_a_link_to_a_database_has_the_newest_rows_of_the_database(tmp_path, asking):
    """They may stand in a file beside the database, not beside the link."""
    file, link = (
        make(tmp_path / "rows.duckdb", "CREATE TABLE t AS SELECT 1 AS user, 'a' AS item"),
        tmp_path / "l.duckdb",
    )
    link.symlink_to(file)
    ask = asking(link, table="t")
    assert [ask(), ask()] == [False, True]
    beside = file.with_name(file.name + ".wal")
    assert not beside.exists()
    stamp = identify_source(Address.parse(str(link)))
    beside.write_bytes(b"")  # only its stamp is looked at
    assert identify_source(Address.parse(str(link))) != stamp


def test_a_file_with_its_old_time_is_another_file(tmp_path, asking):
    rows = tmp_path / "rows.parquet"
    write(rows, "a")
    ask = asking(rows)
    assert [ask(), ask()] == [False, True]
    before = os.stat(rows)
    write(rows, "b")  # the same size, in the same place
    os.utime(rows, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(rows).st_mtime_ns == before.st_mtime_ns
    assert [ask(), ask()] == [False, True]
    write(tmp_path / "other.parquet", "a")
    os.utime(tmp_path / "other.parquet", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(tmp_path / "other.parquet", rows)
    assert [ask(), ask()] == [False, True]


def test_a_file_that_is_gone_is_not_known_again(tmp_path, monkeypatch):
    """It was known by nothing, and so was every other one: their questions were the same."""
    rows = tmp_path / "rows.parquet"
    write(rows, "a")

    def gone(source):
        found = find_files(source)
        rows.unlink()
        return found

    monkeypatch.setattr("dpselect.engines.identity.find_files", gone)
    named, known = identify_source(Address.parse(str(rows)))
    assert named
    assert not known


def test_a_glob_or_folder_that_holds_one_more_is_another_source(tmp_path, asking):
    folder = tmp_path / "rows"
    folder.mkdir()
    write(folder / "1.parquet", "a")
    by_glob, by_folder = asking(folder / "*.parquet"), asking(folder)
    assert [by_glob(), by_glob(), by_folder()] == [False, True, True]  # the same files are the same rows
    write(folder / "2.parquet", "b")
    assert [by_glob(), by_folder()] == [False, True]


def test_a_folder_whose_name_is_a_column_is_known_by_the_name_it_was_given(tmp_path, asking):
    """`country=DE` and `country=FR` are links to one folder: the column country holds what the link is called."""
    (tmp_path / "real").mkdir()
    write(tmp_path / "real" / "rows.parquet", "a")
    link = tmp_path / "country=DE"
    link.symlink_to(tmp_path / "real")
    ask = asking(tmp_path / "*" / "rows.parquet", where="country = 'DE'")
    (tmp_path / "real").rename(tmp_path / ".real")
    link.unlink()
    link.symlink_to(tmp_path / ".real")
    assert [ask(), ask()] == [False, True]
    link.rename(tmp_path / "country=FR")
    assert [ask(), ask()] == [False, True]


# ---- tables in memory -----------------------------------------------------------------------------------------------

ROWS = {"user": [1, 2, 3], "item": ["a", "b", "a"]}
MAKE = {"table": pa.table, "batch": pa.RecordBatch.from_pydict}


def paid(budget: dps.Budget, source: object, where: str = "user < 9") -> dps.Release:
    data = dps.Dataset(source, user="user", item="item", where=where, budget=budget)
    return data.choose(domain=["a", "b"], epsilon="1/10")


@pytest.mark.parametrize("kind", MAKE)
def test_a_table_in_memory_is_known_again(kind):
    budget, source = dps.Budget(epsilon=1), MAKE[kind](ROWS)
    found = [paid(budget, source, where).charged.numbers["repeated"] for where in ("user < 9", "USER<9", "user < 8")]
    assert found == [False, True, False]


@pytest.mark.parametrize("kind", MAKE)
def test_two_tables_of_equal_rows_are_two_sources(kind):
    """If they were one, a free answer would tell that nobody is in one of them alone."""
    budget = dps.Budget(epsilon=1)
    one, same, without = (MAKE[kind](rows) for rows in (ROWS, ROWS, {"user": [1, 2], "item": ["a", "b"]}))
    assert [paid(budget, source).charged.numbers["repeated"] for source in (one, same, without)] == [False] * 3


IN_PLACE = {
    "pandas": (pd.DataFrame, lambda frame: frame.__setitem__("item", frame["item"].mask(frame["user"] == 9, "b"))),
    "polars": (pl.DataFrame, lambda frame: frame.extend(pl.DataFrame({"user": [], "item": []}, schema=frame.schema))),
}


def is_told(kind: str) -> bool:
    """Does a change in place tell by the price of the next question that it moved no row: that user 9 is not there?"""
    make, change = IN_PLACE[kind]
    budget, source = dps.Budget(epsilon=1), make(ROWS)
    paid(budget, source)
    change(source)
    return bool(paid(budget, source).charged.numbers["repeated"])


@pytest.mark.parametrize("kind", IN_PLACE)
def test_no_price_tells_whether_a_change_in_place_moved_a_row(kind, monkeypatch):
    assert not is_told(kind)
    by_contents = "dpselect.engines.identity.arrow_table_name"
    monkeypatch.setattr(by_contents, lambda source: repr(source.to_dict()))  # the twin: a fingerprint
    assert is_told(kind)


def names_of_many(count: int = 200) -> list[str | None]:
    """Of tables that live one after the other, often in one place."""
    found = []
    for user in range(count):
        table = pa.table({"user": [user]})
        found.append(arrow_table_name(table))
        del table
    return found


def test_the_place_of_a_table_that_is_gone_has_no_name(monkeypatch):
    gc.collect()
    before = len(identity._names_of_tables)
    assert len(set(names_of_many())) == 200
    assert len(identity._names_of_tables) == before
    places = {}
    monkeypatch.setattr(
        "tests.reference.test_free_answers.arrow_table_name", lambda it: places.setdefault(id(it), len(places))
    )
    assert len(set(names_of_many())) < 200  # the twin that knows a table by its id


def test_a_table_over_a_changed_array_has_the_stored_answer():
    """No method of a table changes it, but whoever has its memory does: a repeat tells nothing of the new rows."""
    users = np.array([1, 2, 3])
    table, budget = pa.table({"user": users, "item": ROWS["item"]}), dps.Budget(epsilon=1)
    name = arrow_table_name(table)
    before = paid(budget, table)
    users[0] = 99
    assert table["user"][0].as_py() == 99
    assert arrow_table_name(table) == name
    after = paid(budget, table)
    assert bool(after.charged.numbers["repeated"])
    assert list(after) == list(before)


OTHERS = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "arrays": lambda: {"user": np.array([1, 2, 3]), "item": ROWS["item"]},
    "lazy": lambda: pl.LazyFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "a relation": lambda: duckdb.from_arrow(pa.table(ROWS)),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_may_have_changed_is_paid_again_and_the_receipt_says_so(kind):
    assert identify_source(Address.parse(OTHERS[kind]()))[1] is False
    budget, source = dps.Budget(epsilon=1), OTHERS[kind]()
    charged = [paid(budget, source).charged for _ in range(2)]
    assert [one.numbers["repeated"] for one in charged] == [False] * len(charged)
    said = "; asking again is charged again, because these rows may have changed"
    assert all(one.sentence.endswith(said) for one in charged)
    assert said not in paid(budget, pa.table(ROWS)).charged.sentence
    assert dps.choose([1, 9], epsilon="1/10", budget=budget).charged.sentence.endswith(said)


def test_a_snapshot_names_rows_in_memory_for_every_process(ledger):
    """A table's own name would be another one in the next process."""
    budget = dps.Budget.open(ledger, analyst="ann", snapshot="monday")
    found = [paid(budget, MAKE["table"](ROWS)).charged for _ in range(2)]
    assert [one.numbers["repeated"] for one in found] == [False, True]
