"""Servers that are killed, databases that crash, full disks, clocks that are moved: every question ends, paid once.

`benchmarks/gateway_faults.py` does the same hundreds of times.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.gateway import faults
from tests.house import pace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL, and one process for a folder"),
]
MANY = 10 if pace.thorough() else 1


def test_killed_under_load(tmp_path: Path) -> None:
    assert faults.killed(tmp_path, 4, seed=1)["answered"] > 5
