"""What is seen from another process: locks of files, what is left behind, which packages are loaded."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dpselect._ground.domain import Column
from dpselect.engines.address import Address
from dpselect.engines.identity import identify_source
from dpselect.errors import DataError
from tests.engines.test_conformance import pairs
from tests.engines.test_duckdb_names import made, opened

OPEN = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('CREATE TABLE theirs(x INT)').fetchall()"


def is_locked(file: Path) -> bool:
    """Can no other process open it to write?"""
    other = subprocess.run([sys.executable, "-c", OPEN, str(file)], capture_output=True, check=False)
    assert other.returncode == 0 or b"lock" in other.stderr.lower()
    return other.returncode != 0


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_the_caller_has_open_keeps_its_lock(tmp_path, read_only):
    file, linked, soft = made(tmp_path / "rows.duckdb"), tmp_path / "linked.duckdb", tmp_path / "soft.duckdb"
    linked.hardlink_to(file)
    soft.symlink_to(file)
    connection = duckdb.connect(str(file), read_only=read_only)
    for source in (file, linked, soft):
        with pytest.raises(DataError, match="pass that connection as the source"):
            opened(str(source))
        with opened(connection) as engine, pytest.raises(DataError, match="cannot be opened"):
            engine.check(Column(str(source), "item", table="t"))
        assert identify_source(Address.parse(str(source)))[1]
    assert is_locked(file)
    with opened(connection) as engine:
        assert pairs(engine.top(3)) == [(2, 1)]
    connection.close()
    assert not is_locked(file)


@pytest.mark.parametrize(
    ("name", "said"), [("rows.db", "opened as a DuckDB database"), ("rows.sqlite", "read as SQLite")]
)
def test_another_engine_keeps_its_lock(tmp_path, name, said):
    """Whether the file is called as one of DuckDB's or as one of SQLite's."""
    file = tmp_path / name
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t(x)")
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DataError, match=f"cannot be {said}"):
            opened(str(file), table="t")
        sql = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('INSERT INTO t VALUES (1)')"
        other = subprocess.run([sys.executable, "-c", sql, str(file)], capture_output=True, check=False)
        assert b"locked" in other.stderr


def test_a_forgotten_engine_is_tidied_up_and_silent(tmp_path):
    code = """
import duckdb, gc
from tests.engines.opened import DuckDBEngine
connection = duckdb.connect()
connection.execute("CREATE TABLE t AS SELECT range AS user, range % 7 AS item FROM range(1000)").fetchall()
engine = DuckDBEngine(connection, user="user", item="item", table="t", key=b"k")
histogram = engine.grouped()
print(histogram.label(0, 0))
"""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    assert os.listdir(tmp_path) == []


def test_narwhals_is_loaded_by_who_uses_it_only():
    program = (
        "import sys, pyarrow as pa, dpselect as dps\n"
        "dps.Dataset(pa.table({'user': [1], 'item': [1]}), user='user', item='item').engine().top(1)\n"
        "assert 'narwhals' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
