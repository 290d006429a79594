"""Parquet files with one long text: refused by their metadata before anything is paid; ordinary files never are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines.duckdb import long_texts
from dpselect.errors import DataError
from tests.ledger.amounts import grant

MIB = 2**20
LONG = "x" * (5 * MIB)
MOST = 2 * MIB  # of a page, in these tests; writers end one after 1 MiB
ARROW: list[dict[str, Any]] = [
    {},
    {"compression": "none"},
    {"compression": "gzip", "data_page_version": "2.0"},
    {"compression": "zstd", "use_dictionary": False, "write_page_index": True},
    {"use_dictionary": False, "write_statistics": False, "write_page_checksum": True},
    {"max_rows_per_page": 100},
]


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setattr(long_texts, "available", lambda: None)
    monkeypatch.setattr(long_texts, "LEAST", MOST)


def rows(long: str | None, at: int = 5000, column: str = "item") -> pa.Table:
    """Six MiB of items by 10,000 users, one of which is long."""
    found: dict[str, list[Any]] = {
        "user": [f"u{number}" for number in range(10_000)],
        "item": [f"item {number % 50} {number}".ljust(600, "-") for number in range(10_000)],
        "other": [None if number % 7 else "other" for number in range(10_000)],
    }
    if long is not None:
        found[column][at] = long
    return pa.table(found)


def opened(path: object, **columns: Any) -> list[Any]:
    with dps.Dataset(path, **({"user": "user", "item": "item"} | columns)).engine() as engine:
        return engine.top(3).counts.tolist()


@pytest.mark.parametrize("how", ARROW, ids=str)
def test_one_long_text_is_refused_and_long_columns_are_not(tmp_path, how):
    path = tmp_path / "rows.parquet"
    for at in (0, 5000, 9999):
        pq.write_table(rows(LONG, at), path, **how)
        with pytest.raises(DataError, match="'item'"):
            opened(path)
        assert opened(path, item="other") == [1429]
    pq.write_table(rows(None), path, **how)
    assert opened(path) == [1, 1, 1]
    pq.write_table(rows(LONG[: MOST // 2]), path, **how)
    assert opened(path) == [1, 1, 1]


def test_a_bound_of_whole_columns_would_refuse_ordinary_files(tmp_path, monkeypatch):
    pq.write_table(rows(None), tmp_path / "rows.parquet")
    monkeypatch.setattr(long_texts, "_pages", lambda _, start, stop: [stop - start, 2**30])
    with pytest.raises(DataError):
        opened(tmp_path / "rows.parquet")


def test_files_of_other_writers(tmp_path):
    for name, long in (("plain", None), ("long", LONG)):
        source = rows(long)
        pl.from_arrow(source).write_parquet(tmp_path / f"{name}-polars.parquet")
        duckdb.sql(f"COPY (FROM source LIMIT 1000 OFFSET 4500) TO '{tmp_path}/{name}-duckdb.parquet'")
    assert opened([tmp_path / "plain-polars.parquet", tmp_path / "plain-duckdb.parquet"]) == [1, 1, 1]
    for writer in ("polars", "duckdb"):
        with pytest.raises(DataError, match=f"long-{writer}.parquet has a text too long"):
            opened([tmp_path / "plain-polars.parquet", tmp_path / f"long-{writer}.parquet"])


@pytest.mark.parametrize("column", ["ITEM", "it,em", "where", "by", "user"])
def test_every_column_that_is_read(tmp_path, column):
    name = column if column not in ("where", "by") else "other"
    table = rows(LONG, column="user" if column == "user" else "item")
    names = {"item": name} if column != "user" else {}
    table = table.select(["user", "item"]).rename_columns([names.get(one, one) for one in ("user", "item")])
    table = table.append_column("small", pa.array(["a"] * table.num_rows))
    pq.write_table(table, tmp_path / "rows.parquet")
    asked: dict[str, dict[str, Any]] = {
        "where": {"item": "small", "where": "other = 'b'"},
        "by": {"item": ("other", "small")},
        "user": {"item": "small"},
    }
    with pytest.raises(DataError, match=name):
        opened(tmp_path / "rows.parquet", **asked.get(column, {"item": name}))


def test_lists_of_long_texts(tmp_path):
    table = pa.table({"user": ["a", "b"], "item": ["x", "y"], "many": [["a", LONG], ["b"]]})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="'many"):
        opened(tmp_path / "rows.parquet", item="many")
    assert opened(tmp_path / "rows.parquet") == [1, 1]


def test_a_moment_that_the_engine_cannot_convert_hides_no_long_text(tmp_path):
    for long, name in ((None, "plain"), (LONG, "long")):
        table = rows(long)
        moments = pa.array([-(2**63), *range(table.num_rows - 1)], pa.int64()).cast(pa.timestamp("us", "UTC"))
        pq.write_table(table.append_column("at", moments), tmp_path / f"{name}.parquet")
    assert opened(tmp_path / "plain.parquet") == [1, 1, 1]
    with pytest.raises(DataError, match="'item'"):
        opened(tmp_path / "long.parquet")


def test_nothing_is_paid_and_no_folder_is_made(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(rows(LONG), path)
    with dps.Ledger.create(tmp_path / "budget.db") as ledger:
        grant(ledger, dps.Account("default", "ann"), 10, "1e-3")
        before = len(list(ledger.entries()))
        data = dps.Dataset(path, user="user", item="item", budget=dps.Budget.open(ledger, analyst="ann"))
        with pytest.raises(DataError, match="'item'"):
            data.top_k(2, epsilon=1, delta=1e-6)
        with pytest.raises(DataError, match="'item'"):
            data.union(epsilon=1, delta=1e-6)
        assert len(list(ledger.entries())) == before
    with pytest.raises(DataError, match="'item'"):
        dps.Dataset(path, user="user", item="item").prepare(tmp_path / "rows.prepared")
    assert not (tmp_path / "rows.prepared").exists()


NONSENSE = [
    b"", b"\x15", b"\x15\x80", b"\x18\xff\xff\xff\xff\x7f", b"\xff" * 40, b"\x1c" * 9, b"\x1c" * 9000,
    b"\x28\x03abc\x00", b"\x49\x1c\x19\x1c\x00", b"\x29\xf2\xff\xff\xff\xff\x7f\x00", b"\x27\x00",
]  # fmt: skip


@pytest.mark.parametrize("header", NONSENSE, ids=lambda header: header[:9].hex())
def test_headers_and_footers_that_cannot_be_read_refuse_nothing(tmp_path, header):
    path: Path = tmp_path / "bytes"
    path.write_bytes(header)
    assert all(page <= MOST for page in long_texts._pages(str(path), 0, 10**9))
    path.write_bytes(header + len(header).to_bytes(4, "little") + b"PAR1")
    assert list(long_texts._texts(str(path), MOST)) == []
