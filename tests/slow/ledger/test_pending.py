"""Questions that ended before a row was read give everything back; of others the ledger knows that it cannot."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpselect._ground.privacy import ApproxDP
from dpselect.audit.sums import Sums
from dpselect.errors import LedgerError
from dpselect.ledger import ZERO, Account, EntryKind, Ledger
from dpselect.ledger.budget import LedgerBudget
from dpselect.ledger.entry import Draft
from dpselect.ledger.journal import Journal
from dpselect.ledger.question import Fingerprint
from tests.interrupted import interrupted_at
from tests.ledger.amounts import Costing, charge, grant, rest, started

HALF = charge("0.5", "1e-6")


def test_what_is_held_can_be_given_back_once(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "1e-6")
    reservation = ledger.reserve(ann, HALF, "{}")
    (pending,) = ledger.pending()
    assert (pending.entry.number, pending.may_have_read) == (3, False)
    after = ledger.give_back(pending)
    assert (after, after.left) == (ledger.standing(ann), 1)
    assert rest(ledger.standing(ann)) == charge("1", "1e-6")
    assert list(ledger.pending()) == []
    for late in (lambda: ledger.give_back(pending), lambda: ledger.start(reservation)):
        with pytest.raises(LedgerError, match="reservation 3 was given back already"):
            late()
    assert [entry.kind for entry in ledger.entries()] == [
        EntryKind.DATA,
        EntryKind.GRANT,
        EntryKind.HOLD,
        EntryKind.RETURN,
    ]
    assert ledger.verify() == []


def test_what_may_have_read_stays_spent(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "1e-6")
    reservation = started(ledger, ann, HALF)
    ledger.start(reservation)  # twice is once
    (pending,) = ledger.pending()
    assert pending.may_have_read
    for which in (pending, reservation):
        with pytest.raises(LedgerError, match="rows may have been read under reservation 3\nhint: it stays spent"):
            ledger.give_back(which)
    ledger.abandon(reservation)
    assert ledger.standing(ann).own.reserved == HALF
    ledger.settle(reservation, ZERO, None)
    with pytest.raises(LedgerError, match="was settled already"):
        ledger.give_back(pending)
    assert [entry.kind for entry in ledger.entries()] == [
        EntryKind.DATA,
        EntryKind.GRANT,
        EntryKind.HOLD,
        EntryKind.READ,
        EntryKind.SETTLE,
    ]
    assert ledger.verify() == []


def test_nothing_is_settled_that_was_not_started(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "1e-6")
    reservation = ledger.reserve(ann, HALF, "{}")
    with pytest.raises(ValueError, match="must be started before it is settled"):
        ledger.settle(reservation, HALF, "[]")
    assert ledger.standing(ann).own.reserved == HALF


@pytest.mark.parametrize("second", [EntryKind.SETTLE, EntryKind.RETURN])
def test_the_tables_themselves_close_a_reservation_once(ledger: Ledger, ann: Account, second: EntryKind) -> None:
    grant(ledger, ann, 1, "1e-6")
    reservation = ledger.reserve(ann, HALF, "{}")
    ledger.give_back(reservation)
    with pytest.raises(LedgerError, match="refused an unexpected change"), ledger._session.writing() as (journal, end):
        journal.append(end, Draft(second, ann, ZERO, refers_to=reservation.number))


# ---- what verify says -------------------------------------------------------------------------------------

IMPOSSIBLE = {
    "read twice": ([(EntryKind.READ, 3), (EntryKind.READ, 3)], "entry 5 marks as reading something other than"),
    "read after the return": (
        [(EntryKind.RETURN, 3), (EntryKind.READ, 3)],
        "entry 5 marks as reading something other than",
    ),
    "returned after reading": (
        [(EntryKind.READ, 3), (EntryKind.RETURN, 3)],
        "entry 5 gives back something other than an open reservation",
    ),
    "returned twice": (
        [(EntryKind.RETURN, 3), (EntryKind.RETURN, 3)],
        "entry 5 gives back something other than an open reservation",
    ),
    "a grant returned": ([(EntryKind.RETURN, 2)], "entry 4 gives back something other than an open reservation"),
    "a promise returned": ([(EntryKind.RETURN, 1)], "entry 4 gives back something other than an open reservation"),
    "settled unread": ([(EntryKind.SETTLE, 3)], "entry 4 settles a question that was never marked as reading"),
    "settled after the return": ([(EntryKind.RETURN, 3), (EntryKind.SETTLE, 3)], "entry 5 settles no open reservation"),
}


@pytest.mark.parametrize(("entries", "found"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_entries_that_no_ledger_writes_are_named(
    tmp_path: Path, ann: Account, entries: list[tuple[EntryKind, int]], found: str
) -> None:
    """With sound digests, as somebody writes them who knows how: what they say does not add up."""
    with Ledger.create(tmp_path / "x") as ledger:
        grant(ledger, ann, 1, "1e-6")
        ledger.reserve(ann, HALF, "{}")
        run = ledger._session._store.run
        run("DROP INDEX entry_closes")
        run("DROP INDEX entry_reads")
        for kind, number in entries:
            with ledger._session.writing() as (journal, end):
                journal.append(end, Draft(kind, ann, ZERO, refers_to=number))
        assert any(problem.startswith(found) for problem in ledger.verify())


def test_a_return_of_somebody_elses_reservation_is_named(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "1e-6")
    ledger.reserve(ann, HALF, "{}")
    with ledger._session.writing() as (journal, end):
        journal.append(end, Draft(EntryKind.RETURN, Account("plays", "bob"), ZERO, refers_to=3))
    assert "entry 4 gives back something other than an open reservation of this account" in ledger.verify()[0]


class ForgetfulSums(Sums):
    """The broken twin of what verify adds up: it lets a reservation go back after rows were read."""

    def _is_unread(self, entry: Any) -> bool:
        return entry.refers_to in self._open_holds


def test_a_twin_that_gives_back_after_reading_would_free_what_was_spent(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "1e-6")
    reservation = started(ledger, ann, HALF)
    with ledger._session.writing() as (journal, end):
        journal.append(end, Draft(EntryKind.RETURN, ann, ZERO, refers_to=reservation.number))
    honest, twin = Sums(), ForgetfulSums()
    found = [[p for entry in ledger.entries() for p in sums.problems(entry)] for sums in (honest, twin)]
    assert found[0] == ["gives back something other than an open reservation of this account that read no row"]
    assert found[1] == []


# ---- Ctrl-C at every line ---------------------------------------------------------------------------------


def apart(ask: Callable[[], Any]) -> Iterator[Any]:
    """Call it in a generator: what Python takes for the exception being handled, where an interruption cut the
    handling short, stays there, and is not the context of every later exception of this process.
    """
    yield ask()


def asked(budget: LedgerBudget, read: list[bool]) -> None:
    """Ask one question, whose rows cannot be read."""

    def answer() -> Any:
        read.append(True)
        raise KeyError("rows were read")

    price, question = Costing(ApproxDP(HALF.epsilon, HALF.delta)), Fingerprint("{}", repeatable=False)
    with pytest.raises(KeyError):
        next(apart(lambda: budget.pay(price, question, answer, fresh=False)))


def test_an_interruption_at_any_line_before_rows_are_read_gives_all_back(tmp_path: Path, ann: Account) -> None:
    empty = tmp_path / "empty"
    with Ledger.create(empty) as ledger:
        grant(ledger, ann, 1, "1e-5")
    given_back = 0
    for line in itertools.count(1):
        path, read = tmp_path / f"{line}", list[bool]()
        shutil.copy(empty, path)
        budget = LedgerBudget(path, data=ann.dataset, analyst=ann.analyst)
        ended = interrupted_at(line, partial(asked, budget, read), "ledger")
        with Ledger(path) as ledger:
            kinds = {entry.kind for entry in ledger.entries()}
            assert ledger.verify() == []
            # What the ledger says is what happened: reserved if and only if rows may have been read.
            reserved = ledger.standing(ann).own.reserved
            held = (HALF.epsilon, HALF.delta) if EntryKind.READ in kinds else (0, 0)
            assert (reserved.epsilon, reserved.delta) == held, line
            assert [one.may_have_read for one in ledger.pending()] == [True] * (EntryKind.READ in kinds)
        assert not read or EntryKind.READ in kinds
        given_back += EntryKind.RETURN in kinds
        if ended:
            break
    assert line > 150
    assert given_back > 20


def test_a_ledger_that_cannot_take_the_mark_gives_back_in_time(
    tmp_path: Path, ann: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark fails, no row is read, and all is free again."""
    real = Journal.append

    def full(journal: Journal, end: Any, draft: Draft, *more: Any) -> Any:
        if draft.kind is EntryKind.READ:
            raise LedgerError("the disk is full")
        return real(journal, end, draft, *more)

    path = tmp_path / "x"
    with Ledger.create(path) as ledger:
        grant(ledger, ann, 1, "1e-5")
    monkeypatch.setattr(Journal, "append", full)
    question, price = Fingerprint("{}", repeatable=False), Costing(ApproxDP(HALF.epsilon, HALF.delta))
    with pytest.raises(LedgerError, match="the disk is full"):
        LedgerBudget(path, data=ann.dataset, analyst=ann.analyst).pay(
            price, question, lambda: pytest.fail("a row was read"), fresh=False
        )
    with Ledger(path) as ledger:
        assert ledger.standing(ann).own.total == ZERO
        assert ledger.verify() == []


@pytest.mark.parametrize("inside", ["set_used", "append"])
def test_what_comes_in_the_middle_of_a_change_leaves_no_half_of_it(
    ledger: Ledger, ann: Account, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    """A signal handler runs in the thread that it interrupts, and a generator is collected where memory is wanted."""
    grant(ledger, ann, 1, "1e-6")
    reservation, step = started(ledger, ann, HALF), getattr(Journal, inside)

    def interrupted(*given: Any) -> Any:
        with pytest.raises(LedgerError):
            ledger.standing(ann)
        return step(*given)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, inside, interrupted)
        with pytest.raises(LedgerError, match="used during a change, which was not made"):
            ledger.settle(reservation, ZERO, None)
    assert ledger.verify() == []
    assert ledger.standing(ann).own.reserved == HALF
    ledger.settle(reservation, ZERO, None)
    assert ledger.verify() == []
    assert ledger.standing(ann).own.reserved == ZERO
