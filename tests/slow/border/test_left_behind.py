"""What holds rows does not outlive its process: signals and kills at many of its lines."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dpselect._ground.temporary import PREFIX
from tests.border.test_left_behind import CLEAN

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals of POSIX")
SCRIPT = Path(__file__).with_name("signalled.py")
STEP = 72  # lines from one moment to the next


def lives(tmp_path: Path, number: int, first: int = 1, step: int = STEP) -> list[dict]:
    events = tmp_path / "events.csv"
    events.write_text("user,animal\n" + "".join(f"u{i},cat\n" for i in range(200)))
    command = [sys.executable, SCRIPT, events, tmp_path, int(number), first, step]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) > 5
    assert found[-1]["ended"] == 0  # the last one lived to its end
    return found


@pytest.mark.parametrize(("turn", "number"), list(enumerate(CLEAN)), ids=[one.name for one in CLEAN])
def test_a_signal_at_any_line_leaves_nothing(turn: int, number: int, tmp_path: Path) -> None:
    """Each at lines of its own."""
    found = lives(tmp_path, number, first=1 + turn * STEP // len(CLEAN))
    assert [life for life in found if life["left"]] == []
    assert {life["ended"] for life in found[:-1]} <= {128 + number, -number, 0}


def test_what_a_kill_leaves_is_swept_by_the_next_start(tmp_path: Path) -> None:
    found = lives(tmp_path, signal.SIGKILL, step=STEP // 2)
    dirty = [life for life in found if life["left"]]
    assert any(name.startswith(PREFIX) for life in dirty for name in life["left"])
    assert any(name.endswith(".part") for life in dirty for name in life["left"])
    assert all(len(life["left"]) <= 3 for life in dirty)  # of one life each, never of all before
    assert found[-1]["left"] == []
