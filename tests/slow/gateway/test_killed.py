"""Servers that are killed, databases that crash, full disks, clocks that are moved: every question ends, paid once.

`benchmarks/gateway_faults.py` does the same hundreds of times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.gateway import faults

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL, and one process for a folder"),
]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer people and workers: windows are shorter, and less is under way when a test waits for all of it."""
    monkeypatch.setattr(faults, "make", partial(faults.make, analysts=3, workers=2))


@pytest.fixture
def databases(postgres_server: str) -> faults.Places:
    return faults.new_databases(postgres_server)


def test_a_server_is_killed(tmp_path: Path) -> None:
    assert faults.killed(tmp_path, 2, seed=1)["answered"] > 0


def test_one_of_two_servers_on_one_ledger_is_killed(tmp_path: Path) -> None:
    assert faults.killed_beside_another(tmp_path, 2, seed=2)["answered"] > 0


@pytest.mark.parametrize("fault", [faults.killed_on_postgres, faults.database_restarted])
def test_postgres(fault: Callable[..., dict[str, int]], tmp_path: Path, databases: faults.Places) -> None:
    assert sum(fault(tmp_path, 1, 3, databases).values()) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit")
def test_the_disk_is_full_for_a_while(tmp_path: Path) -> None:
    assert faults.disk_full(tmp_path, 1, seed=4)["answered"] > 0


def test_the_clock_is_moved(tmp_path: Path) -> None:
    assert faults.clock_moved(tmp_path, 10, seed=5)["answered"] > 0
