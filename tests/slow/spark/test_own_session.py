"""A Spark that the command starts itself: its answer, and what is said where it cannot start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import spark as local_spark
from tests.end_to_end.conftest import process

SOON_WARM = {"JDK_JAVA_OPTIONS": local_spark.SOON_WARM}


@pytest.fixture(autouse=True)
def _java() -> None:
    try:
        local_spark.check()
    except local_spark.NoSparkError as error:
        pytest.skip(str(error))


def ask(rows: Path, **environment: str) -> tuple[int, str, str]:
    columns = ["--user", "user", "--item", "item", "--epsilon", 1000, "--delta", "1e-6", "--k", 2, "--format", "json"]
    ended = process("top", "spark:local[2]", "--table", rows, *columns, cwd=rows.parent, **SOON_WARM, **environment)
    return ended.returncode, ended.stdout, ended.stderr


def test_the_command_starts_its_own_session_and_leaves_nothing(tmp_path):
    rows = tmp_path / "rows.csv"
    pairs = [(user, item) for item, users in {"a": 60, "b": 40, "c": 20}.items() for user in range(users)]
    rows.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in pairs), "utf-8")
    status, out, err = ask(rows)
    assert status == 0, err
    assert [one["item"] for one in json.loads(out)["items"]] == ["a", "b"]
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def test_a_session_that_cannot_start_says_what_it_needs(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("user,item\nu,secret\n", "utf-8")
    status, out, err = ask(rows, JAVA_HOME=str(tmp_path))
    assert (status, out) == (3, "")
    assert "spark:local[2] could not be started" in err
    assert "JAVA_HOME" in err
    assert "secret" not in err
