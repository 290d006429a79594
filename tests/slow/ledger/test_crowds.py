"""Many processes on one ledger: exactly what the budget affords is answered, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter

import pytest

from dpselect.errors import BudgetError
from dpselect.ledger import ZERO, Account, Charge, EntryKind, Ledger, Standing
from dpselect.ledger.account import ALWAYS
from dpselect.ledger.entry import Draft
from dpselect.ledger.journal import Journal
from dpselect.ledger.terms import Chain
from tests.ledger import crowd
from tests.ledger.amounts import charge, grant

PROCESSES, QUESTIONS, AFFORDABLE, OF_ONE = 12, 40, 288, 120
ANALYSTS = ("ann", "bob", "eve")


def test_twelve_processes(where: str) -> None:
    """Of three analysts, whose quotas are together more than the account: nobody has more than theirs."""
    price = crowd.PRICE.epsilon
    with Ledger.create(where) as ledger:
        ledger.data("plays", AFFORDABLE * price, "1e-5")
        for name in ANALYSTS:
            ledger.grant(Account("plays", name), OF_ONE * price, "1e-5")
    script = [sys.executable, crowd.__file__, where, str(QUESTIONS)]
    crowd_ = [
        subprocess.Popen([*script, ANALYSTS[number % 3]], stdout=subprocess.PIPE, text=True)
        for number in range(PROCESSES)
    ]
    told: Counter[str] = Counter()
    for process in crowd_:
        output, _ = process.communicate(timeout=1200)
        assert process.returncode == 0
        told.update(json.loads(output))
    assert told == {"answered": AFFORDABLE, "refused": PROCESSES * QUESTIONS - AFFORDABLE}
    with Ledger(where) as ledger:
        used = [ledger.standing(Account("plays", name)).own.total for name in ANALYSTS]
        assert all(one.epsilon <= OF_ONE * price for one in used)
        assert sum(one.epsilon for one in used) == AFFORDABLE * price
        ((_, of_all),) = ledger.data_accounts()
        assert (of_all[""].reserved, of_all[""].spent.epsilon) == (ZERO, AFFORDABLE * price)
        kinds = Counter(entry.kind for entry in ledger.entries())
        assert kinds == {
            EntryKind.DATA: 1,
            EntryKind.GRANT: 3,
            EntryKind.HOLD: AFFORDABLE,
            EntryKind.READ: AFFORDABLE,
            EntryKind.SETTLE: AFFORDABLE,
            EntryKind.REFUSED: PROCESSES * QUESTIONS - AFFORDABLE,
        }
        assert ledger.verify(ledger.head) == []


SPENDS = """
import sys
import dpselect as dps
budget = dps.Budget.open(sys.argv[1], data="plays", analyst="ann")
ran = 0
for _ in range(20):
    try:
        with budget.spend(epsilon="1/8", delta=0, unit="one user", neighbors="add-remove", note="a mean"):
            ran += 1
    except dps.BudgetError:
        pass
print(ran)
"""


def test_processes_that_state_prices(where: str, ann: Account) -> None:
    """Four of them, twenty blocks each, of which forty are paid in all."""
    with Ledger.create(where) as ledger:
        ledger.data(ann.dataset, 5, 0)
        ledger.grant(ann, 5, 0)
    script = [sys.executable, "-c", SPENDS, where]
    crowd_ = [subprocess.Popen(script, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    ran = [int(process.communicate(timeout=600)[0]) for process in crowd_]
    assert sum(ran) == 40
    with Ledger(where) as ledger:
        assert (ledger.standing(ann).own.spent.epsilon, ledger.standing(ann).own.reserved) == (5, ZERO)
        kinds = Counter(entry.kind for entry in ledger.entries())
        assert (kinds[EntryKind.SETTLE], kinds[EntryKind.REFUSED]) == (40, 40)
        assert ledger.verify() == []


Meanwhile = tuple[threading.Event, threading.Event]
"""Told when a balance was read, and waited for before it is used."""


def careless_reserve(ledger: Ledger, account: Account, ceiling: Charge, meanwhile: Meanwhile | None) -> None:
    """The broken twin of `reserve`: what is left is read before the transaction, not inside of it."""
    before = ledger.standing(account)
    if meanwhile is not None:
        read, go = meanwhile
        read.set()
        go.wait(60)
    if not before.admits(ceiling):
        raise BudgetError("too much")
    with ledger._session.writing() as (journal, end):
        hold(journal, end, before, ceiling)


def hold(journal: Journal, end: Chain, before: Standing, ceiling: Charge) -> None:
    """Write a question that is open from here on."""
    journal.append(end, Draft(EntryKind.HOLD, before.account, ceiling, "{}"))
    journal.set_used(before.with_hold(ceiling))


def interleaved(where: str, ann: Account, *, careless: bool) -> tuple[list[str], list[str]]:
    """Two connections ask for three quarters each, the second while the first is in the middle of it."""
    told: list[str] = []

    def ask(ledger: Ledger, meanwhile: Meanwhile | None) -> None:
        try:
            if careless:
                careless_reserve(ledger, ann, charge("0.75"), meanwhile)
            else:
                ledger.reserve(ann, charge("0.75"), "{}")
            told.append("granted")
        except BudgetError:
            told.append("refused")

    with Ledger.create(where) as first, Ledger(where) as second:
        grant(first, ann, 1, 0)
        read, go = threading.Event(), threading.Event()
        waiting = threading.Thread(target=ask, args=(second, (read, go)))
        if careless:
            waiting.start()
            assert read.wait(60)  # it has read, and waits
            ask(first, None)
            go.set()
        else:
            with first._session.store() as store, store.transaction():
                waiting.start()  # it cannot even read before the first is done
                waiting.join(0.2)
                assert waiting.is_alive()
                journal = first._session._journal
                hold(journal, journal.end(), journal.standings(ann, lambda _: [ALWAYS])[0], charge("0.75"))
                told.append("granted")
        waiting.join(60)
        return told, first.verify()


def test_two_connections_take_turns(where: str, ann: Account) -> None:
    assert interleaved(where, ann, careless=False) == (["granted", "refused"], [])


def test_a_careless_twin_is_found_out(where: str, ann: Account) -> None:
    told, problems = interleaved(where, ann, careless=True)
    assert told == ["granted", "granted"]
    assert (
        "entry 4 leaves 'ann' on 'plays' with more spent and reserved than its quota or the account allows" in problems
    )


@pytest.mark.parametrize("number", [2, 3])
def test_a_late_reader_sees_one_moment(where: str, ann: Account, number: int) -> None:
    with Ledger.create(where) as writer, Ledger(where) as reader:
        writer.data(ann.dataset, 10, 0)
        for _ in range(number - 1):
            writer.grant(ann, 1, 0)
        store = reader._session._store
        with store.snapshot():
            assert reader.count == number
            writer.grant(ann, 1, 0)
            assert reader.count == number
        assert reader.count == number + 1
