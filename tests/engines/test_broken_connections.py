"""A server that goes away in the middle: a clear error, nothing comes out, its ceiling is paid, one may ask again."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from dpselect.engines.sql.pairs import SqlPairs
from dpselect.errors import DataError
from dpselect.ledger import EntryKind
from dpselect.release.release import Release
from tests.by_names import by_names
from tests.engines.every_engine import filled
from tests.engines.test_postgres import run
from tests.ledger.amounts import grant

psycopg = pytest.importorskip("psycopg")

ANN = dps.Account("default", "ann")
ROWS = [(f"u{n}", item, n) for n in range(200) for item in ("much", "some")[: 1 + n % 2]]
LOST = "the connection to the server was lost"


@pytest.fixture
def book(tmp_path: Path) -> str:
    place = str(tmp_path / "budget.sqlite")
    with dps.Ledger.create(place) as ledger:
        grant(ledger, ANN, 100, "0.1")
    return place


def used(book: str) -> tuple[list[Fraction], list[Fraction], list[EntryKind]]:
    """What is spent, what is reserved, each as epsilon and delta, and what the ledger tells in order."""
    with dps.Ledger(book) as ledger:
        assert ledger.verify() == []
        usage = ledger.standing(ANN).own
        told = [entry.kind for entry in ledger.entries(ANN)]
    spent, reserved = ([Fraction(one.epsilon), Fraction(one.delta)] for one in (usage.spent, usage.reserved))
    return spent, reserved, told


def killed(address: str, running: str) -> bool:
    """End the one backend of ours that runs such a statement."""
    sql = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'dpselect' AND state = 'active' AND query LIKE %s AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(sql, [f"%{running}%"]).fetchall() == [(True,)]


def check_asked_again(book: str, ask: Callable[[], Release], ceiling: list[Fraction]) -> None:
    """The lost question stays reserved for good; the same one is asked and paid anew, and its answer is then free."""
    before, reserved, told = used(book)
    assert (before, reserved, told) == ([0, 0], ceiling, [EntryKind.GRANT, EntryKind.HOLD, EntryKind.READ])
    again = ask()
    assert set(again.labels) == {"much", "some"}
    assert again.charged is not None
    assert again.charged.numbers["repeated"] is False
    spent, reserved, told = used(book)
    assert (spent, reserved) == (ceiling, ceiling)
    assert told == [EntryKind.GRANT, *2 * [EntryKind.HOLD, EntryKind.READ], EntryKind.SETTLE]
    free = ask()
    assert free.items == again.items
    assert used(book) == (spent, reserved, [*told, EntryKind.REPEAT])


def test_in_the_middle_of_a_statement(new_database: Callable[[], str], book: str) -> None:
    address = filled(new_database(), ROWS)
    name = f"slow_{time.monotonic_ns()}"
    run(address, f'CREATE VIEW {name} AS SELECT "user", item FROM t, LATERAL pg_sleep(length(item) + 30)')
    data = dps.Dataset(
        dps.Table(address, name),
        user="user",
        item="item",
        budget=dps.Budget.open(book, analyst="ann", snapshot="monday"),
        max_items_per_user=2,
    )
    ended: list[bool] = []

    def end() -> None:
        while not killed(address, f'"{name}"'):
            time.sleep(0.05)
        ended.append(True)

    killer = threading.Thread(target=end, daemon=True)
    killer.start()
    with pytest.raises(DataError, match=rf"{LOST}\nhint: ask again") as error:
        data.top_k(2, epsilon=30, delta="1e-6", domain=["much", "some"])
    killer.join(600)
    assert ended == [True]
    assert error.value.__context__ is None
    assert not any(word in str(error.value) for word in ("much", "some ", "terminat", "SELECT"))
    run(address, f'CREATE OR REPLACE VIEW {name} AS SELECT "user", item FROM t')
    ask = lambda: data.top_k(2, epsilon=30, delta="1e-6", domain=["much", "some"])  # noqa: E731
    check_asked_again(book, ask, used(book)[1])


@pytest.mark.parametrize("step", ["weigh", "release", "names", "released_item_counts"])
def test_in_the_middle_of_a_union(
    new_database: Callable[[], str], book: str, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The first time that the union comes to a step, its backend is ended before it."""
    address = filled(new_database(), ROWS)
    data = dps.Dataset(
        dps.Table(address, "t"),
        user="user",
        item="item",
        budget=dps.Budget.open(book, analyst="ann", snapshot="monday"),
    )
    right = getattr(SqlPairs, step)
    ended: list[int] = []

    def lost(pairs: SqlPairs, *words: Any) -> Any:
        if not ended:
            database: Any = pairs._database
            ((pid,),) = database.rows("SELECT pg_backend_pid()")
            run(address, f"SELECT pg_terminate_backend({pid}, 5000)")
            ended.append(pid)
        return right(pairs, *words)

    monkeypatch.setattr(SqlPairs, step, lost)

    def ask() -> Release:
        return by_names(data).union(
            epsilon=30, delta="1e-9", max_items_per_user=2, method="weighted-gaussian", counts=True, in_engine=True
        )

    with pytest.raises(DataError, match=LOST):
        ask()
    assert len(ended) == 1
    check_asked_again(book, ask, [Fraction(30), Fraction(1, 10**9)])
