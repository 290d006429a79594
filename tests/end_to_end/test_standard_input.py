"""`dpselect top -`: rows from a pipe, kept in a private folder while the command runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars
import pytest

from tests.end_to_end.conftest import ledger_of

ROWS = polars.DataFrame({"user": [f"u{n}" for n in range(200)] * 2, "item": ["a", "b"] * 100 + ["a"] * 200})
ASKED = ("--user", "user", "--item", "item", "--epsilon", 50, "-k", 2, "--quiet")
WRITE = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}


def piped(path: Path, name: str, *more: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dpselect", "top", name, *map(str, ASKED), *map(str, more)]
    with path.open("rb") as rows:
        return subprocess.run(
            command, stdin=rows, env=os.environ | environment, capture_output=True, text=True, timeout=600, check=False
        )


@pytest.mark.parametrize("kind", WRITE)
def test_standard_input_is_read_as_a_file_of_its_kind(kind: str, tmp_path: Path) -> None:
    """And nothing of it stays."""
    path, kept = tmp_path / f"rows.{kind}", tmp_path / "kept"
    kept.mkdir()
    getattr(ROWS, WRITE[kind])(path)
    ended = piped(path, "-" if kind == "csv" else f"{kind}:-", "--format", "csv", TMPDIR=str(kept))
    assert ended.returncode == 0, ended.stderr
    assert [line.split(",")[1] for line in ended.stdout.splitlines()] == ["item", "a", "b"]
    assert not list(kept.iterdir())


def test_what_it_is_must_be_known(tmp_path: Path) -> None:
    ROWS.write_csv(tmp_path / "rows.csv")
    ended = piped(tmp_path / "rows.csv", "exe:-")
    assert ended.returncode == 2
    assert "source must be Parquet, CSV" in ended.stderr


def test_each_time_is_paid(tmp_path: Path) -> None:
    """Nothing says that two pipes bring the same rows, unless somebody names them."""
    ROWS.write_csv(tmp_path / "rows.csv")
    paid = [*ledger_of(tmp_path / "ledger.sqlite", 1000, "1e-3"), "--format", "json"]
    named = [*paid, "--snapshot", "today"]
    told = [json.loads(piped(tmp_path / "rows.csv", "-", *more).stdout) for more in (paid, paid, named, named)]
    assert [one["charged"]["repeated"] for one in told] == [False, False, False, True]


def test_the_answer_is_not_written_over_the_rows(tmp_path: Path) -> None:
    ROWS.write_csv(path := tmp_path / "rows.csv")
    ended = piped(path, "-", "-o", path)
    assert (ended.returncode, polars.read_csv(path).height) == (2, ROWS.height)
    assert "-o must name a file other than the data" in ended.stderr
