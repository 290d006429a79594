"""Delta tables whose files alone do not tell their rows, or that lie at an address."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from tests.lakes import ALL, OLD, ROWS, bitmap, bucket, counted, declared, delta, lines_of, newest, with_row_deleted

__all__ = ["bucket"]  # a fixture

EACH = pa.table({"user": range(300), "item": ["a", "b", "c"] * 100, "n": [number % 7 for number in range(300)]})
MAPPED = {"configuration": {"delta.columnMapping.mode": "name"}}
WITH_VECTORS = {"configuration": {"delta.enableDeletionVectors": "true"}}


def with_files(place: Path, rows: pa.Table, **options: object) -> str:
    """Write the one file of a table again, as another writer would; its size stands in the log."""
    log = newest(place)
    lines = lines_of(log)
    (added,) = (line["add"] for line in lines if "add" in line)
    path = place / unquote(str(added["path"]))
    pq.write_table(rows, path, **options)
    added["size"] = path.stat().st_size
    added["stats"] = json.dumps({"numRecords": len(rows)})
    log.write_text("\n".join(map(json.dumps, lines)))
    return str(place)


def test_rows_that_a_vector_deletes_do_not_count(tmp_path):
    place = tmp_path / "a b"
    delta(place, EACH, **WITH_VECTORS)
    assert counted(str(place)) == ALL
    with_row_deleted(place)
    assert counted(str(place)) == {**ALL, "b": 99}
    assert counted(deltalake.DeltaTable(str(place))) == {**ALL, "b": 99}
    assert counted(deltalake.DeltaTable(str(place), version=0)) == ALL


def test_a_vector_reaches_every_part_of_a_file(tmp_path):
    """Its positions are those in the file, which is read in many pieces."""
    rows = pa.table({"user": range(300_000), "item": ["a", "b"] * 150_000})
    place = tmp_path / "rows"
    deltalake.write_deltalake(place, rows, **WITH_VECTORS)
    with_row_deleted(place, 65_535)
    kept = dps.Dataset(place, user="user", item="item").histogram(["a", "b"], epsilon=200)
    assert {one.item: one.count for one in kept} == {"a": 150_000, "b": 149_999}
    near = [counted(str(place), where=f"user = {user}") for user in (65_534, 65_535, 65_536)]
    assert [sum(numbers.values()) for numbers in near] == [1, 0, 1]


def test_columns_are_called_as_the_table_calls_them(tmp_path):
    place = declared(tmp_path / "rows", **MAPPED["configuration"])
    assert counted(place) == ALL
    log = newest(tmp_path / "rows").with_name("00000000000000000000.json")
    log.write_text(log.read_text().replace('\\"name\\":\\"item\\"', '\\"name\\":\\"thing\\"'))
    renamed = dps.Dataset(place, user="user", item="thing").histogram(["a", "b", "c"], epsilon=200)
    assert [one.count for one in renamed] == [100] * 3


@pytest.mark.parametrize("options", [MAPPED, WITH_VECTORS])
def test_a_column_that_divides_the_files_is_that_of_the_log(options, tmp_path):
    """Its folders may be called otherwise, or not be there."""
    texts = ["x y", "a/b%20", "ü=1", "", None, "z"]
    place = tmp_path / "rows"
    deltalake.write_deltalake(place, EACH.append_column("part", pa.array(texts * 50)), partition_by=["part"], **options)
    expected = 50
    if options is WITH_VECTORS:
        with_row_deleted(place)
        expected = 49
    parts = dps.Dataset(place, user="user", item="part").top_k(9, epsilon=400, delta="1e-6", counts=True)
    assert {one.item: one.count for one in parts} == dict.fromkeys(["x y", "a/b%20", "ü=1", "z"], expected)
    assert sum(counted(place, where="part IS NULL").values()) == 2 * expected
    assert sum(counted(place, where="part = 'x y'").values()) == expected


def test_one_text_that_is_no_unicode_stops_no_question(tmp_path):
    """As deltalake's own reader would let it (1.6.6)."""
    deltalake.write_deltalake(tmp_path, EACH, **WITH_VECTORS)
    texts = pa.array([b"\xff\xfe" if row == 7 else b"a" for row in range(300)])
    wrong = pa.Array.from_buffers(pa.string(), 300, texts.buffers())
    place = with_files(tmp_path, EACH.set_column(1, "item", wrong))
    with_row_deleted(tmp_path)
    table = deltalake.DeltaTable(place)
    with pytest.raises(Exception, match="non UTF-8"):
        deltalake.QueryBuilder().register("t", table).execute("SELECT item FROM t").read_all()
    assert counted(place) == {**ALL, "a": 298, "b": 0, "c": 0}


def test_the_first_vector_changes_nothing_about_other_rows(tmp_path):
    """Another reader, which takes texts that are no UTF-8 otherwise, would tell that somebody was deleted."""
    deltalake.write_deltalake(tmp_path, EACH.append_column("part", pa.array([b"x"] * len(EACH))), partition_by=["part"],
                              **WITH_VECTORS)  # fmt: skip
    found = []
    (file,) = tmp_path.glob("part=*/*.parquet")
    texts = pa.array([b"a", *[b"b\xff"] * (len(EACH) - 1)], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(EACH), texts.buffers())
    pq.write_table(EACH.set_column(EACH.schema.get_field_index("item"), "item", texts), file)
    for _ in range(2):
        for item in ("item", "part"):
            data = dps.Dataset(str(tmp_path), user="user", item=item)
            found.append(set(data.top_k(3, epsilon=500, delta="1e-3").labels))
        with_row_deleted(tmp_path, row=0)
    assert found == [set(), {"\\u0078"}] * 2


def test_times_of_96_bits_reach_further_than_nanoseconds(tmp_path):
    moments = pa.array([253_402_300_799_000_000, *[0] * 299], pa.timestamp("us", "UTC"))
    deltalake.write_deltalake(tmp_path, EACH.append_column("at", moments), **WITH_VECTORS)
    with_files(
        tmp_path,
        EACH.append_column("at", moments.cast(pa.timestamp("us"))),
        use_deprecated_int96_timestamps=True,
    )
    place = with_row_deleted(tmp_path)
    ends = dps.Dataset(place, user="user", item="at").top_k(2, epsilon=400, delta="1e-6", counts=True, domain=None)
    assert [one.count for one in ends] == [298]
    late = dps.Dataset(place, user="user", item="item", where="at >= '9999-12-31'")
    assert [one.count for one in late.histogram(["a"], epsilon=200)] == [1]


def test_a_file_may_write_a_column_in_another_letter_case(tmp_path):
    """As in a table without vectors: its rows would have no item else, and nobody would be told."""
    deltalake.write_deltalake(tmp_path, EACH, **WITH_VECTORS)
    with_files(tmp_path, EACH.rename_columns(["USER", "Item", "n"]))
    assert counted(str(tmp_path)) == ALL
    assert counted(with_row_deleted(tmp_path)) == {**ALL, "b": 99}


def test_a_file_with_another_type_than_the_table_is_refused(tmp_path):
    """Which of its numbers fit would be told by whether the question fails."""
    deltalake.write_deltalake(tmp_path, EACH, **WITH_VECTORS)
    with_files(tmp_path, EACH.set_column(2, "n", EACH["n"].cast(pa.float64())))
    place = with_row_deleted(tmp_path)
    assert counted(place) == {**ALL, "b": 99}  # no question about other columns is the worse for it
    with pytest.raises(dps.ParameterError, match="whose files have 'n' as int64, got column 'n' of type double in"):
        counted(place, where="n = 1")


@pytest.mark.parametrize(
    ("feature", "written", "otherwise"),
    [
        ("columnMapping by id", '"delta.columnMapping.mode":"name"', '"delta.columnMapping.mode":"id"'),
        ("typeWidening", '\\"metadata\\":{}', '\\"metadata\\":{\\"delta.typeChanges\\":[]}'),
    ],
)
def test_what_is_not_read_by_file_is_refused_by_name_with_a_line_that_reads_it(feature, written, otherwise, tmp_path):
    deltalake.write_deltalake(tmp_path, EACH, **(MAPPED if "Mapping" in feature else WITH_VECTORS))
    log = newest(tmp_path)
    assert written in log.read_text()
    features = log.read_text()
    if feature == "typeWidening":
        features = features.replace('Features":[', 'Features":["typeWidening",')
    log.write_text(features.replace(written, otherwise))
    with pytest.raises(dps.ParameterError, match=f"rows can be read by file, got {feature}\nhint: pass .*QueryBuilder"):
        counted(str(tmp_path))


def test_a_vector_is_a_new_state_for_a_ledger(tmp_path):
    """The files of the rows stay as they were."""
    place = tmp_path / "rows"
    delta(place, EACH, **WITH_VECTORS)
    with_row_deleted(place, 1)
    budget = dps.Budget(epsilon=1000)

    def spent() -> float:
        counted(str(place), budget=budget)
        return budget.left

    first = spent()
    assert spent() == first
    log = newest(place)
    log.with_name(f"{int(log.stem) + 1:020d}.json").write_text(
        log.read_text().replace(bitmap(1)["pathOrInlineDv"], bitmap(2)["pathOrInlineDv"])
    )
    assert spent() < first


def test_such_a_table_is_inspected_and_prepared(tmp_path):
    place = tmp_path / "rows"
    delta(place, EACH, **WITH_VECTORS)
    with_row_deleted(place)
    data = dps.Dataset(place, user="user", item="item")
    assert "FAILS" not in str(data.inspect())
    data.prepare(tmp_path / "rows.prepared")
    assert counted(tmp_path / "rows.prepared") == {**ALL, "b": 99}


@pytest.mark.parametrize("write", [delta, lambda place, rows: delta(place, rows, **MAPPED)])
def test_a_table_at_an_address(write, bucket, monkeypatch):
    where, at = bucket
    write(where / "rows", ROWS)
    assert counted(at("/rows")) == ALL
    deltalake.write_deltalake(where / "each", EACH, partition_by=["n"], **WITH_VECTORS)
    with_row_deleted(where / "each", 0)
    assert sum(counted(at("/each")).values()) == 300 - 7
    server = at("").partition("endpoint_override=")[2].partition("&")[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{server}")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    assert counted(deltalake.DeltaTable("s3://bucket/rows")) == ALL


def test_a_folder_of_tables_at_an_address_is_refused(bucket):
    """Rows that were deleted since would count too."""
    where, at = bucket
    delta(where / "rows", OLD, ROWS)
    with pytest.raises(dps.ParameterError, match="hold no Delta or Iceberg table"):
        counted(at(""))


def test_a_file_that_is_gone_is_told_before_anything_is_paid(tmp_path):
    delta(tmp_path, EACH, **MAPPED)
    (file,) = (path for path in tmp_path.rglob("*.parquet") if "_delta_log" not in path.parts)
    os.remove(file)
    budget = dps.Budget(epsilon=1000)
    with pytest.raises(dps.DataError):
        counted(str(tmp_path), budget=budget)
    assert budget.left == 1
