"""Tables that others keep, written by their own writers: which rows are read, and what is said where none can be."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines.address import Address
from dpselect.engines.identity import identify_source
from dpselect.engines.sources.iceberg_tables import metadata_of
from dpselect.engines.sources.lake import open_lake
from tests.lakes import ALL, OLD, ROWS, bucket, catalog_of, counted, declared, delta, iceberg
from tests.replay.lake_kinds import AT, stored

__all__ = ["bucket"]  # a fixture
DAYS = pa.array([*[20_000] * 300, *[20_040] * 300], pa.date32())


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
        with pytest.raises(dps.ParameterError, match="not be inside a Delta or Iceberg table"):
            counted(inside)
    if written is delta:
        delta(tmp_path / "parts", OLD, ROWS, partition_by=["n"])
        place = str(tmp_path / "parts" / "n=1")
    with pytest.raises(dps.ParameterError, match="not be inside a Delta or Iceberg table"):
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


def test_a_delta_table_declares_the_types_of_all_its_files(tmp_path):
    """Another writer, of whose files each may be one user's, leaves out the zone: values are what the table says."""
    moments = pa.array([1_700_000_000_000_000] * 600, pa.timestamp("us"))
    zoned = ROWS.append_column("at", moments.cast(pa.timestamp("us", "UTC")))
    data = dps.Dataset(place := delta(tmp_path / "rows", zoned), user="user", item="at")
    before = data.top_k(1, epsilon=100).labels
    (file,) = Path(place).glob("*.parquet")
    pq.write_table(ROWS.append_column("at", moments), file)
    assert data.top_k(1, epsilon=100).labels == before
    deltalake.write_deltalake(place, zoned, mode="append")
    assert data.top_k(1, epsilon=100).labels == before


@pytest.mark.parametrize(
    ("declared", "written", "label"),
    [
        (pa.int64(), pa.int32(), 7), (pa.int32(), pa.uint64(), 7), (pa.decimal128(9, 2), pa.decimal128(7, 2), 7),
        (pa.string(), pa.large_string(), "7"), (pa.binary(), pa.large_binary(), b"7"), (pa.int64(), pa.null(), None),
        (pa.date32(), pa.date32(), datetime.date(1970, 1, 8)),
        *((pa.int64(), other, ...) for other in (pa.float64(), pa.string(), pa.decimal128(9, 2), pa.date32())),
        *((pa.decimal128(9, 2), other, ...) for other in (pa.decimal128(10, 3), pa.float64(), pa.int64())),
        *((pa.string(), other, ...) for other in (pa.int64(), pa.binary(), pa.float64())),
        (pa.float32(), pa.float64(), ...), (pa.float64(), pa.float32(), ...), (pa.date32(), pa.timestamp("us"), ...),
    ],
)  # fmt: skip
def test_a_file_of_a_delta_table_has_its_types_or_is_refused(declared, written, label, tmp_path):
    """Else 1.5 would be the item 2 of a table of whole numbers. Rows that PyArrow reads are refused as these are."""

    def column(arrow_type: pa.DataType) -> pa.Array:
        for value in (7, "7", Decimal(7)):
            with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
                return pa.array([value] * 600, arrow_type)
        return pa.nulls(600, arrow_type)

    place = delta(tmp_path / "rows", ROWS.append_column("at", column(declared)))
    (file,) = Path(place).glob("*.parquet")
    pq.write_table(ROWS.append_column("at", column(written)), file)
    assert counted(place) == ALL  # questions about other columns
    data = dps.Dataset(place, user="user", item="at", budget=dps.Budget(epsilon=100))
    if label is ...:
        with pytest.raises(
            dps.ParameterError, match=r"a table whose files have 'at' as \S.* in .*\.parquet\nhint: cast"
        ):
            data.top_k(1, epsilon=100)
    else:
        assert data.top_k(1, epsilon=100).labels == [label] * (label is not None)


@pytest.mark.parametrize("folder", ["a b", "é", "a?b#c", 'a"b', "{a}"])
def test_a_delta_table_may_lie_anywhere(folder, tmp_path):
    assert counted(delta(tmp_path / folder, ROWS, partition_by=["n"])) == ALL


def test_a_name_that_is_another_one_to_the_package_is_refused(tmp_path):
    """It would read the log of the other, which says that there are no rows."""
    deltalake.DeltaTable(delta(tmp_path / "a b", OLD)).delete()
    delta(tmp_path / "a", ROWS)
    (tmp_path / "a").rename(tmp_path / "a%20b")
    with pytest.raises(dps.ParameterError, match="path has no % before two digits"):
        counted(tmp_path / "a%20b")


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


@pytest.mark.parametrize(
    "configuration",
    [
        {"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"},  # which declares variants
        {"delta.enableDeletionVectors": "true"},
        {"delta.minReaderVersion": "2", "delta.minWriterVersion": "5", "delta.columnMapping.mode": "none"},
    ],
)
def test_a_delta_table_may_declare_what_it_does_not_use(configuration, tmp_path):
    assert counted(declared(tmp_path / "rows", **configuration)) == ALL


def test_an_empty_part_of_a_delta_table_is_null(tmp_path):
    """As its protocol says, and every reader of it reads."""
    parts = ROWS.append_column("part", pa.array(["x", "", None] * 200))
    place = delta(tmp_path / "rows", parts, partition_by=["part"])
    found = dps.Dataset(place, user="user", item="part").top_k(3, epsilon=400, delta="1e-6", counts=True)
    assert {one.item: one.count for one in found} == {"x": 100}
    assert counted(place, where="part IS NULL") == {**ALL, "a": 0}


def test_a_delta_table_in_hand_is_its_version(tmp_path):
    place = delta(tmp_path / "a b", OLD, ROWS)
    table = deltalake.DeltaTable(place)
    assert counted(table) == ALL
    table.load_as_version(0)
    assert counted(table) == {**dict.fromkeys(ALL, 0), "old": 2}


def test_a_table_of_sqlite_is_named(tmp_path):
    path = sqlite(tmp_path / "rows.sqlite", ROWS)
    for wrong, error, said in (
        (path, dps.ParameterError, "name a table of the database"),
        (dps.Table(path, "row"), dps.DataError, "be a table of the database"),
    ):
        with pytest.raises(error, match=f"{said}.*\n.*tables: rows"):
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


def test_a_server_without_ranges_of_bytes_is_told_from_a_table_that_is_none(tmp_path):
    pq.write_table(pa.table({"user": np.random.default_rng(1).integers(0, 2**60, 50_000)}), tmp_path / "rows.parquet")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(dps.DataError, match="if its server answers no ranges of bytes: curl -LO ADDRESS"):
            counted(f"http://127.0.0.1:{server.server_port}/rows.parquet")
        server.shutdown()


def test_no_message_shows_what_stands_behind_the_address(parquet):
    wrong = stored(parquet).replace(".parquet", ".parquets")
    with pytest.raises(dps.DataError) as found:
        counted(wrong)
    assert AT not in str(found.value)
    with pytest.raises(dps.ParameterError, match="name no user or secret in an address") as refused:
        counted("s3://ann:secret@shop/rows.parquet")
    assert "secret@" not in str(refused.value)


def test_which_value_a_row_has_stops_no_question_at_an_address(bucket):
    """Were the types those of the first file, a number beyond them would stop it; and a column of the others lack."""
    where, at = bucket
    (where / "small").mkdir()
    pq.write_table(ROWS.set_column(2, "n", pa.array([1] * 600, pa.int32())), where / "small" / "1.parquet")
    told = []
    for n in (1, 2**40):
        pq.write_table(pa.table({"user": [999], "item": ["a"], "n": [n]}), where / "small" / "2.parquet")
        with pytest.raises(dps.DataError) as found:
            dps.Dataset(at("/small"), user="user", item="n").top_k(1, epsilon=1)
        told.append(str(found.value))
        assert found.value.__context__ is None
    assert told[0] == told[1]
    (where / "more").mkdir()
    pq.write_table(ROWS.select(["user", "n"]), where / "more" / "1.parquet")
    pq.write_table(ROWS, where / "more" / "2.parquet")
    assert counted(at("/more")) == ALL


def test_times_of_96_bits_at_an_address_reach_further_than_nanoseconds(bucket):
    """As in a file here, which DuckDB reads."""
    folder, address = bucket
    years = [1, 1500, 1677, 1969, 2026, 2263, 9999]
    moments = [datetime.datetime(year, 6, 1, 12, 0, 0, 1) for year in years for _ in range(60)]
    rows = pa.table({"user": np.arange(len(moments)), "at": pa.array(moments, pa.timestamp("us"))})
    pq.write_table(rows, folder / "x.parquet", use_deprecated_int96_timestamps=True)
    for source in (folder, address("/")):
        release = dps.Dataset(source, user="user", item="at").top_k(9, epsilon=400)
        assert sorted(moment.year for moment in release.labels) == years


def descriptions(place: str) -> list[Path]:
    """The files that describe a table, in their order."""
    return sorted(Path(place).glob("metadata/*.metadata.json"))


def test_a_description_that_lost_against_another_is_refused_until_one_follows(tmp_path):
    """A write that lost leaves one, whose rows nobody committed."""
    table = catalog_of(tmp_path / "rows", OLD, ROWS)
    place = table.location().removeprefix("file://")
    newest = descriptions(place)[-1]
    lost = newest.with_name(f"{newest.name[:6]}lost.metadata.json")
    lost.write_bytes(newest.read_bytes().replace(b'"current-snapshot-id":', b'"current-snapshot-id":-1,"was":'))
    with pytest.raises(dps.ParameterError, match=r"have one newest file of metadata, got 0.* and 0") as refused:
        counted(place)
    assert {newest.name, lost.name} == set(re.findall(r"\S+\.metadata\.json", str(refused.value)))
    assert counted(newest) == ALL  # what the hint says: the one that the catalog has
    assert counted(lost) == dict.fromkeys(ALL, 0)
    table.append(OLD)
    assert counted(place) == {**ALL, "old": 2}


@pytest.mark.parametrize("number", ["00009", "99999"])
def test_a_stray_description_of_a_higher_number_is_not_the_table(number, tmp_path):
    """The list of the last one has commits that the stray one would have, were it later."""
    place = iceberg(tmp_path / "rows", OLD, OLD, ROWS)
    first, second, *_ = descriptions(place)
    for old in (first, second):
        old.with_name(f"{number}-{old.name[6:]}").write_bytes(old.read_bytes())
        assert counted(place) == ALL


def test_two_tables_that_were_made_in_one_folder_are_refused(tmp_path):
    """The first one was dropped from its catalog, and has the higher number."""
    place, other = iceberg(tmp_path / "old", OLD, OLD, OLD), iceberg(tmp_path / "new", ROWS)
    for path in descriptions(other):
        shutil.copy(path, Path(place, "metadata"))
    with pytest.raises(dps.ParameterError, match="have one newest file of metadata"):
        counted(place)


def test_a_hint_says_which_description_is_the_table(tmp_path):
    """That of Hadoop's catalog is a number, and may be one behind."""
    place = iceberg(tmp_path / "rows", OLD, ROWS)
    numbered = descriptions(place)
    hint = Path(place, "metadata", "version-hint.text")
    hint.write_text(numbered[1].name.removesuffix(".metadata.json"))
    assert counted(place) == {**dict.fromkeys(ALL, 0), "old": 2}
    for number, path in enumerate(numbered):
        path.rename(path.with_name(f"v{number}.metadata.json"))
    hint.write_text("1\n")
    assert counted(place) == ALL


def test_a_long_history_is_read_by_few_descriptions(tmp_path):
    """A list has lost its oldest entries; none of those is the table."""
    folder = tmp_path / "rows" / "metadata"
    folder.mkdir(parents=True)
    names = [f"{number:05d}-x.metadata.json" for number in range(250)]
    for number, name in enumerate(names):
        earlier = [{"metadata-file": f"file:///{one}"} for one in names[max(0, number - 100) : number]]
        (folder / name).write_text(json.dumps({"table-uuid": "u", "metadata-log": earlier}))
    assert [Path(path).name for path in metadata_of(str(tmp_path / "rows"))] == names[-1:]


def moved(place: str, to: Path, how: Callable[[str, Path], object] = shutil.move) -> str:
    how(place, to)
    return str(to)


@pytest.mark.parametrize("how", [shutil.move, shutil.copytree])
def test_an_iceberg_table_is_read_from_where_it_lies(how, tmp_path):
    """Also with rows that were deleted; of a copy the original's files say nothing."""
    table = catalog_of(tmp_path / "rows", pa.concat_tables([ROWS, OLD]))
    table.delete("item = 'old'")
    place = table.location().removeprefix("file://")
    there = moved(place, tmp_path / "with a blank é", how)
    assert counted(there) == ALL
    if how is shutil.copytree:
        table.overwrite(OLD)
        shutil.rmtree(Path(place, "data"))
        assert counted(there) == ALL


def test_an_iceberg_table_without_all_of_its_files_is_refused_by_name(tmp_path):
    place = iceberg(tmp_path / "rows", ROWS)
    there = moved(place, tmp_path / "copy", shutil.copytree)
    (lost,) = Path(there, "data").glob("*.parquet")
    lost.unlink()
    budget = dps.Budget(epsilon=1_000, delta="0.5")
    with pytest.raises(dps.ParameterError, match=f"all of whose files are there, got no file {lost}"):
        counted(there, budget)
    assert budget.left == 1


def test_a_file_outside_of_a_table_that_was_moved_is_refused_by_name(tmp_path):
    """Nobody knows whether it was moved too."""
    table = catalog_of(tmp_path / "rows", OLD)
    pq.write_table(ROWS, tmp_path / "outside.parquet")
    table.add_files([(tmp_path / "outside.parquet").as_uri()])
    place = table.location().removeprefix("file://")
    assert counted(place) == {**ALL, "old": 2}
    with pytest.raises(dps.ParameterError, match=r"once moved, got .*/outside\.parquet\nhint: the table was at"):
        counted(moved(place, tmp_path / "moved"))


def test_iceberg_is_prepared_and_its_files_are_added_once(tmp_path):
    table = catalog_of(tmp_path / "rows", ROWS)
    data = dps.Dataset(table.location().removeprefix("file://"), user="user", item="item")
    data.prepare(tmp_path / "x.prepared")
    assert counted(tmp_path / "x.prepared") == ALL
    table.append(OLD)
    with pytest.raises(dps.ParameterError, match=r"be files that are not in these data yet, got .*parquet"):
        data.prepare(tmp_path / "x.prepared", add=True)


def test_a_column_of_iceberg_may_have_any_name(tmp_path):
    place = iceberg(tmp_path / "rows", ROWS.rename_columns(["a.b", "item", "*"]))
    found = dps.Dataset(place, user="a.b", item="*").histogram([0, 1, 9], epsilon=200)
    assert [one.count for one in found][2] == 0
    assert found[0].count > 80


def test_a_column_of_sqlite_that_is_gone_is_not_its_name(tmp_path):
    """Between the schema and the rows: in SQLite a name in double quotes that is no column is a text."""
    path = sqlite(tmp_path / "rows.sqlite", ROWS)
    table = open_lake(path, "rows")
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE rows DROP COLUMN item")
    connection.close()
    with pytest.raises(sqlite3.OperationalError):
        list(table.select_columns([1], empty=False).rows)


@pytest.mark.parametrize("kind", ["Delta", "Iceberg", "SQLite"])
def test_what_the_package_said_is_not_kept_beside_the_message(kind, tmp_path):
    """It may quote rows, or secrets of an address."""
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "metadata").mkdir()
    names = {
        "Delta": "_delta_log/00000000000000000000.json",
        "Iceberg": "metadata/v1.metadata.json",
        "SQLite": "r.sqlite",
    }
    (tmp_path / names[kind]).write_text("{a row")
    if kind == "Iceberg":
        (tmp_path / "_delta_log").rmdir()
    with pytest.raises(dps.DataError) as found:
        counted(dps.Table(tmp_path / "r.sqlite", "rows") if kind == "SQLite" else tmp_path)
    assert found.value.__context__ is None
    assert "a row" not in str(found.value)


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


@pytest.mark.parametrize(
    "address", ["https://shop.example/x?id=sec", "s3://ann:sec@shop/x", "postgresql://ann:sec@localhost/shop"]
)
def test_a_secret_is_not_shown_of_a_question_either(address):
    """Of its domain; and nothing at an address is CSV."""
    asked = dps.Histogram(dps.Column(address, "item", "rows"))
    assert "sec" not in repr(asked)
    assert repr(asked).endswith("'item', 'rows'))")
    with pytest.raises(dps.ParameterError, match="be CSV or TSV files on this machine, got an address"):
        dps.CSV(address)


def test_a_snapshot_is_not_of_every_address():
    """What stands behind an address may say which file it is: the answer about another is not the stored one."""
    one, other = (
        identify_source(Address.parse(f"https://shop.example/get?file={name}.parquet"), is_named=True)[0]
        for name in "ab"
    )
    assert one != other
    assert "file" not in one + other
    at = [f"s3://{shop}/{name}@x.parquet?region=r" for shop, name in (("a", "n"), ("b", "n"), ("b", "m"))]
    assert len({identify_source(Address.parse(address), is_named=True)[0] for address in at}) == 3
    assert identify_source(Address.parse(at[0])) == identify_source(Address.parse(at[0]))


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
