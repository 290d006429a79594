"""Tables that others keep, written by their own writers: which rows are read, and what is said where none can be."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from tests.replay.lake_kinds import AT, stored

ROWS = pa.table({"user": np.arange(600) % 300, "item": ["a", "b", "c"] * 200, "n": np.arange(600) % 7})
OLD = pa.table({"user": [1000, 1001], "item": ["old", "old"], "n": [1, 1]})
DAYS = pa.array([*[20_000] * 300, *[20_040] * 300], pa.date32())


def counted(source: object, budget: dps.Budget | None = None, **more: object) -> dict[object, int]:
    """True numbers, all but certainly: the budget is large."""
    data = dps.Dataset(source, user="user", item="item", budget=budget, **more)
    return {one.item: one.count for one in data.histogram(["a", "b", "c", "old"], epsilon=200)}


ALL = {"a": 100, "b": 100, "c": 100, "old": 0}


def delta(folder: Path, *versions: pa.Table, **more: object) -> str:
    """A Delta table; each version replaces the one before, whose files stay."""
    for rows in versions:
        deltalake.write_deltalake(folder, rows, mode="overwrite", schema_mode="overwrite", **more)
    return str(folder)


def iceberg(folder: Path, *versions: pa.Table) -> str:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("tests", uri="sqlite://", warehouse=folder.as_uri())
    catalog.create_namespace("events")
    table = catalog.create_table("events.rows", schema=versions[0].schema)
    first, *others = versions
    table.append(first)
    for rows in others:
        table.overwrite(rows)
    return table.location().removeprefix("file://")


def sqlite(path: Path, rows: pa.Table) -> str:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE rows (user INTEGER, item, n)")
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", zip(*rows.to_pydict().values(), strict=True))
    connection.close()
    return str(path)


@pytest.mark.parametrize("written", [delta, iceberg])
def test_only_the_files_that_count_now_are_read(written, tmp_path):
    assert counted(written(tmp_path / "rows", OLD, ROWS)) == ALL


@pytest.mark.parametrize("written", [delta, iceberg])
def test_a_folder_above_a_table_is_refused(written, tmp_path):
    """Its files of an older state would count, too."""
    written(tmp_path / "rows", OLD, ROWS)
    with pytest.raises(dps.ParameterError, match="hold no Delta or Iceberg table"):
        counted(tmp_path)


def test_parts_of_a_delta_table_have_the_types_that_it_declares(tmp_path):
    rows = ROWS.append_column("day", DAYS)
    data = dps.Dataset(delta(tmp_path / "rows", rows, partition_by=["day", "n"]), user="user", item="n")
    assert sorted(data.top_k(7, epsilon=100, counts=True).labels) == [*range(7)]
    some = dps.Dataset(tmp_path / "rows", user="user", item="item", time=dps.Time("day", period="month"))
    assert some.during("2024-11").histogram(["a"], epsilon=200)[0].count == 100


@pytest.mark.parametrize("feature", ["delta.enableDeletionVectors", "delta.columnMapping.mode"])
def test_a_delta_table_whose_files_are_not_whole_is_refused(feature, tmp_path):
    value = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}[feature]
    deltalake.DeltaTable.create(
        tmp_path / "rows", deltalake.Schema.from_arrow(ROWS.schema), configuration={feature: value}
    )
    with pytest.raises(dps.ParameterError, match="be a Delta table whose files are whole"):
        counted(str(tmp_path / "rows"))


def test_sqlite_is_read_as_text_is(tmp_path):
    path = sqlite(tmp_path / "rows.sqlite", ROWS)
    assert counted(dps.Table(path, "rows")) == ALL
    values = dps.Dataset(dps.Table(path, "rows"), user="user", item="n")
    assert 0 <= values.quantile(0.5, bounds=(0, 7), epsilon=100).labels[0] <= 6
    (tmp_path / "rows.sqlite").rename(tmp_path / "rows.db")  # of which others are of DuckDB
    assert counted(dps.Table(tmp_path / "rows.db", "rows")) == ALL


def test_a_table_of_sqlite_is_named(tmp_path):
    path = sqlite(tmp_path / "rows.sqlite", ROWS)
    for wrong, said in ((path, "name a table of the database"), (dps.Table(path, "row"), "be a table of the database")):
        with pytest.raises(dps.ParameterError, match=f"{said}.*\n.*tables: rows"):
            counted(wrong)


@pytest.fixture
def parquet(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("scheme", ["s3", "http"])
def test_parquet_at_an_address(scheme, parquet):
    assert counted(stored(parquet, scheme)) == ALL


def test_no_message_shows_what_stands_behind_the_address(parquet):
    wrong = stored(parquet).replace(".parquet", ".parquets")
    with pytest.raises(dps.DataError) as found:
        counted(wrong)
    assert AT not in str(found.value)
    with pytest.raises(dps.ParameterError, match="name no user or secret in an address") as refused:
        counted("s3://ann:secret@shop/rows.parquet")
    assert "secret@" not in str(refused.value)


def test_what_a_ledger_knows_again(parquet, tmp_path):
    """The files of a table, and none at an address, whose name does not say when it was written."""
    budget = dps.Budget(epsilon=10_000, delta="0.5")
    place = delta(tmp_path / "rows", ROWS)

    def paid(source: object) -> bool:
        before = budget.left
        counted(source, budget)
        return budget.left < before

    assert [paid(place), paid(place)] == [True, False]
    delta(tmp_path / "rows", OLD)
    assert [paid(place), paid(place)] == [True, False]
    assert [paid(stored(parquet)), paid(stored(parquet))] == [True, True]
