"""A process that is killed at any moment of a question leaves a sound ledger, and never a release that cost nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpselect.errors import LedgerError
from dpselect.ledger import Account, EntryKind, Ledger
from tests.ledger import crowd
from tests.ledger.amounts import grant
from tests.slow.ledger import killed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

NOTHING, RESERVED, SETTLED = ["0", "0"], ["0", "3/4"], ["1/2", "0"]

# What is used, whether it surely read no row, and what is used once that was given back: at each stage of a life.
STAGES = [(NOTHING, [], NOTHING), (RESERVED, [True], NOTHING), (RESERVED, [False], RESERVED), (SETTLED, [], SETTLED)]


def lives(*arguments: str) -> list[dict[str, Any]]:
    """What each killed process left behind; the last one lived."""
    script = [sys.executable, killed.__file__, *arguments]
    lines = subprocess.run(script, check=True, capture_output=True, text=True, timeout=1200).stdout.splitlines()
    return [json.loads(line) for line in lines]


def check(found: list[dict[str, Any]]) -> None:
    stages = []
    for life in found:
        assert life["problems"] == [], life
        stages.append(STAGES.index((life["used"], life["unread"], life["after"])))
        assert stages[-1] >= {"": 0, "r": 2, "r!": 3}[life["said"]], life
    assert found[-1]["status"] == 0
    assert all(life["status"] == 9 for life in found[:-1])
    assert stages == sorted(stages)
    assert set(stages) == {0, 1, 2, 3}
    assert found[-1]["said"] == "r!"


def test_killed_at_every_line_sqlite(tmp_path: Path, ann: Account) -> None:
    path = tmp_path / "x"
    with Ledger.create(path) as ledger:
        grant(ledger, ann, 1, "1e-6")
    found = lives(str(path), "1", "copy")
    assert len(found) > 100
    check(found)


def test_killed_at_many_lines_postgres(new_database: Callable[[], str]) -> None:
    address = new_database()
    Ledger.create(address).close()
    found = lives(address, "5")
    assert len(found) > 20
    check(found)


def test_killed_at_any_moment(where: str, ann: Account) -> None:
    """Between lines too, inside of the stores: the moments are spread over what a process needs for 40 questions."""
    with Ledger.create(where) as ledger:
        grant(ledger, ann, 1000, "0.1")
    script = [sys.executable, crowd.__file__, where, "100000"]
    for kills in range(1, 7):
        before = Counter(entry.kind for entry in opened_entries(where))
        child = subprocess.Popen(script, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        with Ledger(where) as watcher:
            count = watcher.count
            while watcher.count == count and time.monotonic() < deadline:
                time.sleep(0.001)
        time.sleep(kills * 0.0065)
        child.kill()
        child.wait()
        kinds = Counter(entry.kind for entry in opened_entries(where))
        assert kinds[EntryKind.HOLD] > before[EntryKind.HOLD]
        assert 0 <= kinds[EntryKind.HOLD] - kinds[EntryKind.SETTLE] <= kills
    with Ledger(where) as ledger:
        assert ledger.verify() == []


def opened_entries(where: str) -> list[Any]:
    with Ledger(where) as ledger:
        assert ledger.all_standings()
        return list(ledger.entries())


SPENDS = """
import os, signal, sys
import dpselect as dps
where, dies = sys.argv[1:]
budget = dps.Budget.open(where, data="plays", analyst="ann")
with budget.spend(epsilon="1/4", delta="1e-9", unit="one user", neighbors="add-remove", note="a mean"):
    if dies == "yes":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("dies", ["no", "yes"])
def test_a_stated_price_is_charged_though_its_block_is_killed(where: str, ann: Account, dies: str) -> None:
    with Ledger.create(where) as ledger:
        grant(ledger, ann, 1, "1e-6")
    done = subprocess.run([sys.executable, "-c", SPENDS, where, dies], check=False, timeout=120)
    assert done.returncode == (-9 if dies == "yes" else 0)
    with Ledger(where) as ledger:
        dead = list(ledger.pending())
        assert [one.may_have_read for one in dead] == [True] * (dies == "yes")
        for one in dead:
            with pytest.raises(LedgerError, match="rows may have been read"):
                ledger.give_back(one)
        used = ledger.standing(ann).own.total
        assert (used.epsilon, used.delta) == (Fraction(1, 4), Fraction(1, 10**9))
        assert ledger.verify() == []
