"""A server that is killed at any moment: every question ends, and what left it is paid, once."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest

from dpselect.gateway.store import Jobs
from dpselect.ledger import Ledger
from tests.gateway.hammering import Hammer, check_books
from tests.gateway.processes import Server, make, running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL, and one process for a folder"),
]


def test_killed_under_load(tmp_path: Path) -> None:
    world = make(tmp_path)
    rng, server = random.Random(1), Server(world.settings())
    with running(server):
        with Hammer(world, [server], 1) as hammer:
            for _ in range(4):
                time.sleep(0.3 + rng.random())
                server.kill()
                server.start()
        hammer.finish(world, server)
        server.stop()
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        states = check_books(ledger, [Jobs(tmp_path / "state" / "questions.sqlite")], hammer)
    assert states["answered"] > 5, states
