"""An upgrade that is killed before any statement leaves at most one ledger open, and is finished by the same."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dpselect.errors import LedgerError
from dpselect.ledger import Account, Ledger
from dpselect.ledger.port import Cell
from dpselect.ledger.postgres_store import PostgresStore
from dpselect.ledger.sqlite_store import SqliteStore
from tests.ledger.amounts import ask, charge, grant, started

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
ANN = Account("plays", "ann")
OLD_OPEN, NONE_OPEN, NEW_OPEN = (True, False), (False, False), (False, True)


def begun(where: str) -> None:
    with Ledger.create(where) as ledger:
        grant(ledger, ANN, 1, "1e-6")
        ask(ledger, ANN, charge("0.25", "1e-7"), "one", "[1]")
        started(ledger, ANN, charge("0.125"), "dead")


def upgraded(old: str, new: str, each: Callable[[int, str], None]) -> None:
    """Upgrade; `each` is told of the next statement, and its number."""
    numbers = itertools.count(1)

    def telling(run: Callable[..., Any]) -> Callable[..., Any]:
        def tells(store: object, sql: str, values: Sequence[Cell] = ()) -> Any:
            each(next(numbers), sql)
            return run(store, sql, values)

        return tells

    with pytest.MonkeyPatch.context() as patched:
        for store in (SqliteStore, PostgresStore):
            patched.setattr(store, "run", telling(store.run))
        Ledger.upgrade(old, new).close()


def killed(old: str, new: str, at: int) -> bool:
    """Upgrade in a child that dies before its statement of that number; False where it has fewer."""

    def dies(number: int, _: str) -> None:
        if number == at:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            upgraded(old, new, dies)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def is_open(where: str) -> bool:
    try:
        with Ledger(where) as ledger:
            ledger.check_open()
    except LedgerError:
        return False
    return True


def check_what_is_left(old: str, new: str, head: str) -> tuple[bool, bool]:
    """Which of the two are open; then the same upgrade again, with a question in between where the old one takes it."""
    found = is_open(old), is_open(new)
    with Ledger(old) as ledger:
        assert ledger.verify(head) == []
        assert (ledger.head == head) == found[0]
        if found[0]:
            ask(ledger, ANN, charge("0.0625"), "after it", "[2]")
        before = ledger.all_standings()
    with Ledger.upgrade(old, new) as after:
        assert (is_open(old), is_open(new)) == NEW_OPEN
        assert after.verify(head) == []
        assert after.all_standings() == before
        assert after.standing(ANN).own.total.epsilon == charge("0.4375" if found[0] else "0.375").epsilon
        assert [one.may_have_read for one in after.pending()] == [True]
        assert after.repeat(ANN, "after it") == ("[2]" if found[0] else None)
        store = after._session._store
        assert isinstance(store, PostgresStore) or store.run("PRAGMA journal_mode") == [("wal",)]
    return found


def check_stages(stages: list[tuple[bool, bool]]) -> None:
    assert stages == sorted(stages, key=[OLD_OPEN, NONE_OPEN, NEW_OPEN].index)
    assert stages[-1] == NEW_OPEN
    assert set(stages) == {OLD_OPEN, NONE_OPEN, NEW_OPEN}


def test_killed_at_every_statement_sqlite(tmp_path: Path) -> None:
    begun(str(tmp_path / "old"))
    with Ledger(tmp_path / "old") as ledger:
        head = ledger.head
    stages, alive = [], False
    for at in itertools.count(1):
        old, new = (str(tmp_path / f"{name} {at}") for name in ("old", "new"))
        shutil.copy(tmp_path / "old", old)
        alive = not killed(old, new, at)
        stages.append(check_what_is_left(old, new, head))
        if alive:
            break
    assert len(stages) > 60
    check_stages(stages)


def test_killed_at_some_statements_postgres(new_database: Callable[[], str]) -> None:
    """Around those that close the old ledger and open the new one."""
    old, new = new_database(), new_database()
    begun(old)
    commits: list[int] = []
    upgraded(old, new, lambda number, sql: commits.append(number) if sql == "COMMIT" else None)
    filled, closed, opened = commits[-3:]
    stages = []
    for at in (filled - 5, filled + 1, closed, closed + 1, opened, opened + 1):
        old, new = new_database(), new_database()
        begun(old)
        with Ledger(old) as ledger:
            head = ledger.head
        assert killed(old, new, at)
        stages.append(check_what_is_left(old, new, head))
    check_stages(stages)
