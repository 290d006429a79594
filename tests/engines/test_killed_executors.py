"""An executor that dies in the middle of a question: the right answer or a clear error, and charged once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dpselect as dps
from tests.engines import spark as local_spark
from tests.ledger.amounts import grant

SCRIPT = Path(__file__).with_name("killed_executors.py")
pytestmark = pytest.mark.slow


def lives(tmp_path: Path, failures: int) -> list[dict[str, object]]:
    """What the questions of one process came to."""
    try:
        local_spark.check()
    except local_spark.NoSparkError as error:
        pytest.skip(str(error))
    ledger = tmp_path / "budget.sqlite"
    with dps.Ledger.create(ledger) as book:
        grant(book, dps.Account("default", "ann"), 10**6, "0.9")
    command = [sys.executable, SCRIPT, ledger, tmp_path, str(failures)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_tasks_that_run_again_give_the_same_answer_which_is_charged_once(tmp_path):
    top, union = lives(tmp_path, 4)
    assert top["killed"]
    assert union["killed"]
    assert (top["found"], top["said"]) == ([0, 1, 2], None)
    assert (union["found"], union["said"]) == (list(range(20)), None)
    assert 0 < top["used"] <= 1000
    assert 0 < union["used"] - top["used"] <= 1000


def test_where_none_may_run_again_nothing_is_released_and_the_ceiling_stays_charged(tmp_path):
    top, union = lives(tmp_path, 1)
    for one in (top, union):
        assert one["killed"]
        assert one["found"] is None
        assert str(one["said"]).startswith("Spark: Spark was lost or stopped while it answered\nhint: ask again")
    assert top["used"] == 1000
    assert union["used"] == 2000
