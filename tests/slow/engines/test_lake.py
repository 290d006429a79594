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
from dpselect.engines.identity import source_of
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


@pytest.mark.parametrize("written", [delta, iceberg])
def test_what_lies_in_a_table_is_refused(written, tmp_path):
    """A part of it, or a pattern: files of rows that were deleted lie there too."""
    place = written(tmp_path / "rows", OLD, ROWS)
    for inside in (f"{place}/**/*.parquet", f"{tmp_path}/**/*.parquet"):
        with pytest.raises(dps.ParameterError, match="lie in no Delta or Iceberg table"):
            counted(inside)
    if written is delta:
        delta(tmp_path / "parts", OLD, ROWS, partition_by=["n"])
        place = str(tmp_path / "parts" / "n=1")
    with pytest.raises(dps.ParameterError, match="lie in no Delta or Iceberg table"):
        counted(place if written is delta else f"{place}/data")


def test_whether_a_delta_table_has_rows_or_files_is_an_outcome(tmp_path):
    """A table of which all was deleted, or a column that is in no file yet, is as it is with one row more."""
    place = delta(tmp_path / "rows", ROWS)
    deltalake.DeltaTable(place).alter.add_columns([deltalake.Field("later", "string", nullable=True)])
    data = dps.Dataset(place, user="user", item="later")
    assert len(data.top_k(3, epsilon=1)) == 0
    deltalake.DeltaTable(place).delete()
    assert counted(place) == dict.fromkeys(ALL, 0)
    assert counted(place, where="n > 2 AND later IS NULL") == dict.fromkeys(ALL, 0)
    assert len(data.top_k(3, epsilon=1)) == 0


@pytest.mark.parametrize("folder", ["a b", "é", "a?b#c", 'a"b', "{a}"])
def test_a_delta_table_may_lie_anywhere(folder, tmp_path):
    assert counted(delta(tmp_path / folder, ROWS, partition_by=["n"])) == ALL


def test_a_folder_above_a_delta_table_names_no_column_of_it(tmp_path):
    assert counted(delta(tmp_path / "item=old" / "rows", ROWS)) == ALL


def test_a_day_that_no_column_can_hold_is_missing_in_its_own_row(tmp_path):
    """The name of its folder cannot be read as a day: nobody else's question fails for that."""
    far = {"user": [999], "item": ["a"], "n": [1], "day": pa.array([5_000_000], pa.date32())}
    rows = pa.concat_tables([ROWS.append_column("day", DAYS), pa.table(far)])
    place = delta(tmp_path / "rows", rows, partition_by=["day"])
    assert counted(place) == {**ALL, "a": 101}
    assert counted(place, where="day >= DATE '2024-01-01'") == ALL


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


@pytest.mark.parametrize(
    "address",
    ["s3://key:sec/ret@shop/rows", "https://ann:sec/ret@127.0.0.1:1/x", "S3://ann:sec@shop/x", "s3a://ann:sec@shop/x",
     "https://127.0.0.1:1/x;id=sec", "https://127.0.0.1:1/x%3Fid=sec", "s3://key%3Asec%40shop/rows"],
)  # fmt: skip
def test_a_secret_that_was_written_wrongly_is_not_shown(address):
    """A slash of a password that should be written %2F, or an address that is not read."""
    data = dps.Dataset(address, user="user", item="item")
    assert "sec" not in repr(data)
    with pytest.raises((dps.DataError, dps.ParameterError)) as found:
        data.top_k(1, epsilon=1)
    assert "sec" not in str(found.value)


def test_a_snapshot_is_not_of_every_address():
    """What stands behind an address may say which file it is: the answer about another is not the stored one."""
    one, other = (source_of(f"https://shop.example/get?file={name}.parquet", named=True)[0] for name in "ab")
    assert one != other
    assert "file" not in one + other
    at = [f"s3://{shop}/{name}@x.parquet?region=r" for shop, name in (("a", "n"), ("b", "n"), ("b", "m"))]
    assert len({source_of(address, named=True)[0] for address in at}) == 3
    assert source_of(at[0]) == source_of(at[0])


@pytest.mark.parametrize("link", [False, True])
def test_sqlite_that_others_write_is_known_again_until_they_do(link, tmp_path):
    """Its newest rows are in a log beside the file that a link leads to; reading it changes no state."""
    budget, path = dps.Budget(epsilon=10_000, delta="0.5"), sqlite(tmp_path / "rows.sqlite", ROWS)
    if link:
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "rows.sqlite").symlink_to(path)
    source = dps.Table(tmp_path / "links" / "rows.sqlite" if link else path, "rows")

    def paid() -> bool:
        before = budget.left
        counted(source, budget)
        return budget.left < before

    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.close()
    assert [paid(), paid(), paid()] == [True, False, False]
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("INSERT INTO rows VALUES (9000, 'a', 1)")
    assert [paid(), paid()] == [True, False]
    writer.execute("INSERT INTO rows VALUES (9001, 'a', 1)")
    assert [paid(), paid()] == [True, False]
    writer.close()


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
