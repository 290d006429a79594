"""A question that is paid, killed at many points of its life: what is charged is never less than what came out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dpselect as dps

SCRIPT = Path(__file__).with_name("killed.py")
STEP = 13  # a prime, so that no rhythm of the code hides a line; tests/ledger kills at every line of the ledger itself


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and fork")
def test_a_question_killed_anywhere_is_paid_or_was_never_answered(events, tmp_path):
    ledger = tmp_path / "budget.sqlite"
    with dps.Ledger.create(ledger) as book:
        book.data("default", 10**6, "0.9")
        book.grant(dps.Account("default", "ann"), 10**6, "0.9")
    command = [sys.executable, SCRIPT, events, ledger, "1", str(STEP)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    lives = [json.loads(line) for line in done.stdout.splitlines()]
    used = [0.0, 0.0]
    stages = set()
    for life in lives:
        assert life["problems"] == []
        spent, reserved = (now - before for now, before in zip(life["amounts"], used, strict=True))
        used = life["amounts"]
        # Nothing yet, the ceiling of 1 reserved, or settled for what the answer cost: no other state is ever seen.
        assert (round(spent, 9), round(reserved, 9)) in {(0, 0), (0, 1), (1, 0)}
        if life["told"]:
            assert spent > 0
        stages.add((round(spent, 9), round(reserved, 9), life["told"]))
    assert lives[-1] == {**lives[-1], "line": None, "told": True, "status": 0}
    # The kills fell into every stage: before the reservation, between, and after the answer was kept.
    assert {(0, 0, False), (0, 1, False), (1, 0, False), (1, 0, True)} <= stages
    assert len(lives) > 30
