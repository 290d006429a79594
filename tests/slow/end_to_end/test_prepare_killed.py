"""Preparing and adding, killed at more than a hundred points while others ask: the old state or the new one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("killed_prepare.py")
MOMENTS = 5  # kills at a moment, of each of the two


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL and fork")
def test_whoever_asks_sees_one_state_whole_wherever_a_writer_dies(tmp_path: Path) -> None:
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    command = [sys.executable, SCRIPT, tmp_path, str(MOMENTS)]
    environment = {**os.environ, "TMPDIR": str(spilled)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr
    *lives, end = [json.loads(line) for line in done.stdout.splitlines()]
    killed = [life for life in lives if life["at"] is not None]
    assert len(killed) >= 100
    assert {life["after"] - life["before"] for life in lives} == {0, 1}  # before and after the new one counted
    assert all(life["after"] == life["before"] + 1 for life in lives if life["at"] is None)
    assert any(life["left"] for life in killed)
    assert max(len(life["left"]) for life in killed) < 40  # of few lives, never of all before
    for reader in end["readers"]:
        assert reader["wrong"] == []
        assert reader["answers"] > 10
    assert end == {**end, "last": lives[-1]["after"] + 1, "left": []}
