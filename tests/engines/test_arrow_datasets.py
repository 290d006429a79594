"""Datasets of PyArrow: files that each have the types of the dataset are streamed, others are refused."""

from __future__ import annotations

import datetime
import re

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import dpselect as dps

ROWS = pa.table({"user": range(300), "item": ["a", "b", "c"] * 100, "n": [number % 3 for number in range(300)]})

FOLDERS = pa.dataset.partitioning(pa.schema([("n", pa.int64())]), flavor="hive")


def counted(source: object, item: str = "item", items: object = ("a", "b", "c"), **more: object) -> list[float]:
    data = dps.Dataset(source, user="user", item=item, **more)
    return [one.count for one in data.histogram(items, epsilon=200)]


@pytest.mark.parametrize("file_format", ["parquet", "feather"])
def test_files_of_equal_types_are_streamed(file_format, tmp_path):
    pa.dataset.write_dataset(ROWS, tmp_path, format=file_format, partitioning=["n"], partitioning_flavor="hive")
    dataset = pa.dataset.dataset(tmp_path, format=file_format, partitioning=FOLDERS)
    assert counted(dataset) == [100] * 3
    assert counted(dataset, where="n = 1") == [0, 100, 0]
    assert counted(dataset, "n", [0, 1, 2]) == [100] * 3


def test_a_file_of_another_type_is_refused_whatever_it_holds(tmp_path):
    """PyArrow would cast each of its values, and fail for one that does not fit."""
    pq.write_table(ROWS.set_column(2, "n", pa.array([1] * 300, pa.int8())), tmp_path / "1.parquet")
    messages = set()
    for number in (1, 1000):
        pq.write_table(pa.table({"user": [0], "item": ["a"], "n": [number]}), tmp_path / "2.parquet")
        dataset = pa.dataset.dataset(tmp_path)
        assert counted(dataset) == [100] * 3
        with pytest.raises(
            dps.ParameterError, match=r"be a dataset whose files all have 'n' as int8, got .*2.parquet"
        ) as refused:
            counted(dataset, "n", [1])
        messages.add(str(refused.value))
    assert len(messages) == 1
    pq.write_table(ROWS.select(["item", "n"]), tmp_path / "2.parquet")
    with pytest.raises(dps.ParameterError, match="files all have 'user' as int64"):
        counted(pa.dataset.dataset(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows, _: rows.filter(pa.dataset.field("n") < 2),
            "be a dataset without a filter, .*\nhint: filter with where=",
        ),
        (
            lambda rows, _: rows.scanner(),
            "got an object of type Scanner\nhint: pass the Arrow table that its to_table",
        ),
        (
            lambda rows, _: pa.dataset.dataset([rows, rows]),
            "type UnionDataset\nhint: pass the Arrow table that its to_table",
        ),
        (
            lambda _, path: pa.dataset.dataset(path / "rows.csv", format="csv"),
            "be a dataset of Parquet or Arrow files",
        ),
    ],
)
def test_what_reads_by_rules_of_its_own_is_refused_with_a_line_that_works(change, message, tmp_path):
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("user,item\n1,a\n")
    source = change(pa.dataset.dataset(tmp_path / "rows.parquet"), tmp_path)
    with pytest.raises(dps.ParameterError, match=message):
        counted(source)


def test_times_of_96_bits_are_refused_in_nanoseconds(tmp_path):
    """They reach from 1677 to 2262: PyArrow lets others wrap, and no date is then what its row says."""
    moments = pa.array([datetime.datetime(year, 1, 2) for year in (1, 2026, 9999)] * 100, pa.timestamp("us"))
    rows = ROWS.append_column("at", moments)
    pq.write_table(rows, tmp_path / "x.parquet", use_deprecated_int96_timestamps=True)
    assert counted(pa.dataset.dataset(tmp_path)) == [100] * 3
    with pytest.raises(
        dps.ParameterError, match=r"'at', times of 96 bits, in microseconds.*\nhint: .*int96_timestamp_unit="
    ):
        counted(pa.dataset.dataset(tmp_path), "at", moments[:1].to_pylist())
    in_microseconds = pa.dataset.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    dataset = pa.dataset.dataset(tmp_path, format=in_microseconds)
    assert counted(dataset, "at", moments[:3].to_pylist()) == [100] * 3
    nanoseconds = pa.array([7] * 300, pa.timestamp("ns"))
    pq.write_table(ROWS.append_column("at", nanoseconds), tmp_path / "x.parquet")
    release = dps.Dataset(pa.dataset.dataset(tmp_path), user="user", item="at").top_k(1, epsilon=100)
    assert release.labels == ["1970-01-01 00:00:00.000000007"]


def test_no_two_questions_share_a_stream(tmp_path):
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    dataset = pa.dataset.dataset(tmp_path / "rows.parquet")
    data = dps.Dataset(dataset, user="user", item="item")
    assert re.match("Dataset", repr(data))
    for _ in range(2):
        assert data.top_k(3, epsilon=200, delta="1e-6").labels


def test_no_folder_decides_the_type_of_all_folders(tmp_path):
    """PyArrow finds numbers, unless one of the folders is called otherwise."""
    messages = set()
    for values in (["01", "02"], ["03", "x"]):
        for value in values:
            rows = ROWS.set_column(2, "n", pa.array([value] * 300))
            pa.dataset.write_dataset(
                rows,
                tmp_path,
                format="parquet",
                partitioning=["n"],
                partitioning_flavor="hive",
                existing_data_behavior="overwrite_or_ignore",
            )
        dataset = pa.dataset.dataset(tmp_path, partitioning="hive")
        assert counted(dataset) == [100] * 3
        with pytest.raises(dps.ParameterError, match="be a dataset that declares the type of 'n'") as refused:
            counted(dataset, "n", ["01"])
        messages.add(str(refused.value))
        line = str(refused.value).rpartition("partitioning=")[2]
        folders = eval(line, {"pyarrow": pa})
        assert counted(pa.dataset.dataset(tmp_path, partitioning=folders), "n", ["01", "1"]) == [300, 0]
    assert len(messages) == 1
