"""What must never show: rows in messages, more rows than asked for, anything left behind."""

from __future__ import annotations

import gzip
import os
import tempfile
import traceback
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect._ground.domain import Listed, Size, Span
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.errors import DataError, DpselectError
from tests.engines.opened import DuckDBEngine


@pytest.fixture(scope="module", autouse=True)
def own_duckdb() -> None:
    """Each workspace has its own here."""


CANARY = "CANARY"
ROWS = 40_000
SOUGHT = Listed((f"{CANARY}5",))


def shown(error: BaseException) -> str:
    """Everything that is printed of an error, and whatever hangs on it unseen."""
    text = "".join(traceback.format_exception(error)) + str(error) + repr(error) + repr(vars(error))
    unseen = [one for one in (error.__context__, error.__cause__) if one is not None]
    return text + "".join(shown(one) for one in unseen)


def broken_parquet(folder: Path) -> object:
    """A file whose schema is whole and whose pages are not."""
    table = pa.table({"user": [f"{CANARY}{n}" for n in range(ROWS)], "item": [f"{CANARY}{n}" for n in range(ROWS)]})
    pq.write_table(table, folder / "rows.parquet", use_dictionary=False, compression="snappy")
    content = bytearray((folder / "rows.parquet").read_bytes())
    content[1000:90_000] = CANARY.encode() * (89_000 // len(CANARY)) + b"xx"
    (folder / "rows.parquet").write_bytes(content)
    return folder / "rows.parquet"


def cut_gzip(folder: Path) -> object:
    content = gzip.compress(f"user,item\n{CANARY},{CANARY}\n".encode() * ROWS)
    (folder / "rows.csv.gz").write_bytes(content[: len(content) // 2])
    return folder / "rows.csv.gz"


def failing_view(_folder: Path) -> object:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT '{CANARY}' AS x FROM range({ROWS})").fetchall()
    return connection.sql("SELECT x::INT AS user, x AS item FROM t")


def failing_polars(_folder: Path) -> object:
    frame = pl.LazyFrame({"user": ["1", CANARY], "item": ["a", "b"]})
    return frame.with_columns(pl.col("user").cast(pl.Int64))


FAILING = [
    broken_parquet, cut_gzip, failing_view, failing_polars,
]  # fmt: skip


@pytest.mark.parametrize("make", FAILING, ids=lambda make: make.__name__)
@pytest.mark.parametrize("more", [{}, {"where": "item <> 'x'"}, {"max_items_per_user": 2}], ids=str)
def test_a_failure_while_reading_shows_no_row(make, more, tmp_path):
    source = make(tmp_path)
    for ask in (
        lambda e: e.top(10),
        lambda e: e.grouped(SOUGHT),
        lambda e: e.scores_of(SOUGHT.items),
        lambda e: e.contributions(),
    ):
        with pytest.raises(DataError) as caught, DuckDBEngine(source, user="user", item="item", key=b"k", **more) as e:
            ask(e)
        assert CANARY not in shown(caught.value)
        assert caught.value.__context__ is None


def test_a_failing_connection_stays_usable(tmp_path):
    relation = failing_view(tmp_path)
    with pytest.raises(DataError), DuckDBEngine(relation, user="user", item="item", key=b"k") as engine:
        engine.top(10)
    assert relation.query("r", "SELECT count(*) FROM r").fetchall() == [(ROWS,)]


SCHEMA_SLIPS = {
    "headerless csv": ("rows.csv", f"{CANARY},{CANARY}2\n{CANARY},x\n", {}),
    "csv without the column": ("rows.csv", f"a,b\n{CANARY},{CANARY}\n", {}),
    "a JSON array": ("rows.json", f'[{{"a": "{CANARY}"}}]', {}),
    "csv with another filter": ("rows.csv", f"user,item\n{CANARY},{CANARY}\n", {"where": "itm = 'x'"}),
    "csv with a bad cast of a constant": ("rows.csv", f"user,item\n{CANARY},{CANARY}\n", {"where": "item > 1::DATE"}),
    "not Parquet": ("rows.parquet", f"PAR1{CANARY}" * 100, {}),
    "not a database": ("rows.duckdb", CANARY * 1000, {"table": "t"}),
    "not gzip": ("rows.csv.gz", f"user,item\n{CANARY},{CANARY}\n", {}),
    "not gzip, json": ("rows.jsonl.gz", f'{{"a": "{CANARY}"}}\n', {}),
}


@pytest.mark.parametrize(("name", "content", "more"), SCHEMA_SLIPS.values(), ids=list(SCHEMA_SLIPS))
def test_a_slip_in_the_schema_shows_no_row(name, content, more, tmp_path):
    (tmp_path / name).write_text(content)
    with (
        pytest.raises(DpselectError) as caught,
        DuckDBEngine(tmp_path / name, user="user", item="item", key=b"k", **more) as e,
    ):
        e.top(10)
    assert CANARY not in shown(caught.value)


def test_one_bad_line_changes_nothing_else(tmp_path):
    lines = [f"u{n},{'a' if n % 2 else 'b'}" for n in range(3000)]
    bad = ["only one field", "\xff\xfe", "x" * 3_000_000 + ",y", 'q"uote,mid"dle', ""]
    (tmp_path / "good.csv").write_text("user,item\n" + "\n".join(lines) + "\n")
    mixed = [line for n, line in enumerate(lines) for line in ([line, bad[n // 600]] if n % 600 == 0 else [line])]
    (tmp_path / "bad.csv").write_bytes(("user,item\n" + "\n".join(mixed) + "\n").encode("latin-1"))
    found = []
    for name in ("good.csv", "bad.csv"):
        with DuckDBEngine(tmp_path / name, user="user", item="item", key=b"k") as engine:
            histogram = engine.top(2)
            found.append([(histogram.label(group, 0), histogram.counts[group]) for group in (0, 1)])
    assert found[0] == found[1] == [("a", 1500), ("b", 1500)]


def test_a_broken_record_of_json_is_left_out(tmp_path):
    lines = ['{"user": 1, "item": "a"}', "{broken", '{"user": 2, "item": {"b": [1]}}', "[]", "", '{"user": 3}']
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    with DuckDBEngine(tmp_path / "rows.jsonl", user="user", item="item", key=b"k") as engine:
        histogram = engine.top(5)
        assert [histogram.label(group, 0) for group in (0, 1)] == ["a", '{"b":[1]}']


@pytest.fixture
def leaving(monkeypatch) -> list[tuple[str, int]]:
    """Every statement that ran and how many rows it gave."""
    seen: list[tuple[str, int]] = []
    inner = Workspace.fetch_unguarded

    def rows(self, sql, values=()):
        found = inner(self, sql, values)
        seen.append((sql, len(found)))
        return found

    monkeypatch.setattr(Workspace, "fetch_unguarded", rows)
    return seen


MANY = {"user": np.arange(5000), "item": np.arange(5000) % 1000}


def test_no_more_rows_leave_than_were_asked_for(leaving):
    with DuckDBEngine(MANY, user="user", item="item", key=b"k") as engine:
        leaving.clear()
        engine.top(7)
        assert [number for _, number in leaving] == [7]


@pytest.mark.parametrize("domain", [None, Listed(tuple(range(900, 1100))), Span(0, 10**12), Size(10**12)], ids=repr)
def test_groups_leave_one_row_for_each_count(leaving, domain):
    with DuckDBEngine(MANY, user="user", item="item", key=b"k") as engine:
        engine.grouped(domain)
        leaving.clear()
        histogram = engine.grouped(domain)
        assert max(number for _, number in leaving) <= 2
        for _ in range(2):  # the first puts the items in their order, and DuckDB says that it is done in one row
            leaving.clear()
            histogram.label(0, 5)
            assert {number for _, number in leaving} == {1}
        assert len(leaving) == 1


def test_nothing_is_left_on_disk_or_in_the_connection(tmp_path, monkeypatch):
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))  # of its own: other tests run meanwhile
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS user, range % 7 AS item FROM range(1000)").fetchall()
    catalog = "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
    with DuckDBEngine(connection, user="user", item="item", table="t", max_items_per_user=3, key=b"k") as engine:
        histogram = engine.grouped(Listed((1, 2, 30)))
        assert connection.execute(catalog).fetchall() == [("t",)]
        assert histogram.label(0, 0) == 1
        assert [name[:9] for name in os.listdir(temporary)] == ["dpselect-"]
    assert connection.execute(catalog).fetchall() == [("t",)]
    assert os.listdir(here) == []
    assert os.listdir(temporary) == []


def test_spilled_files_lie_in_a_folder_of_this_user_only():
    workspace = Workspace()
    folder = Path(str(workspace.fetch("SELECT current_setting('temp_directory')")[0][0]))
    assert folder.is_dir()
    assert os.name == "nt" or folder.stat().st_mode & 0o077 == 0
    workspace.close()
    assert not folder.exists()


def test_the_source_is_not_changed():
    frame = pd.DataFrame({"user": [1, 2], "item": ["a", "b"], "x": [1.0, 2.0]})
    copy = frame.copy()
    with DuckDBEngine(frame, user="user", item="item", key=b"k") as engine:
        engine.top(3)
    pd.testing.assert_frame_equal(frame, copy)
    assert list(frame.columns) == ["user", "item", "x"]
