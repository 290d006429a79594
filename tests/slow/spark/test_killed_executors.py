"""An executor that dies in the middle of a question: the right answer or a clear error, and charged once."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import dpselect as dps
from tests import spark as local_spark
from tests.ledger.amounts import grant

SCRIPT = Path(__file__).with_name("killed_executors.py")


@dataclass(frozen=True)
class Lives:
    """What the questions of a cluster came to, each a pair: where tasks may fail, and where none may."""

    again: list[dict[str, object]]
    never: list[dict[str, object]]


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Lives:
    """Both clusters, one after the other in one process."""
    try:
        local_spark.check()
    except local_spark.NoSparkError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("clusters")
    command: list[str | Path] = [sys.executable, SCRIPT, local_spark.SOON_WARM]
    for failures in ("4", "1"):
        ledger = folder / f"budget-{failures}.sqlite"
        with dps.Ledger.create(ledger) as book:
            grant(book, dps.Account("default", "ann"), 10**6, "0.9", of="10000000")
        command += [ledger, folder, failures]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Lives(told[:2], told[2:])


def test_tasks_that_run_again_give_the_same_answer_which_is_charged_once(lives):
    top, union = lives.again
    assert top["killed"]
    assert union["killed"]
    assert (top["found"], top["said"]) == ([0, 1, 2], None)
    assert (union["found"], union["said"]) == (list(range(20)), None)
    assert 0 < top["used"] <= 1000
    assert 0 < union["used"] - top["used"] <= 1000


def test_where_none_may_run_again_nothing_is_released_and_the_ceiling_stays_charged(lives):
    top, union = lives.never
    for one in (top, union):
        assert one["killed"]
        assert one["found"] is None
        assert str(one["said"]).startswith("Spark: Spark was lost or stopped during the query\nhint: ask again")
    assert top["used"] == 1000
    assert union["used"] == 2000
