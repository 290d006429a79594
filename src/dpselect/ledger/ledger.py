"""The ledger as its callers see it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from dpselect.errors import BudgetError, LedgerError
from dpselect.ledger.account import Account, Balance
from dpselect.ledger.audit import audit
from dpselect.ledger.charge import ZERO, Charge, amount_granted, check_text, check_total, told
from dpselect.ledger.entry import Draft, Entry, Kind, Pending, Reservation
from dpselect.ledger.journal import Journal
from dpselect.ledger.migrations import bring_up, build
from dpselect.ledger.port import Store
from dpselect.ledger.postgres_store import open_postgres
from dpselect.ledger.rows import Meta
from dpselect.ledger.sqlite_store import create_sqlite, open_sqlite
from dpselect.parameters import Number, flag, rounded_down, rounded_up
from dpselect.processes import here, refuse_copy

_FIND_OUT = "run `dpselect ledger verify`, then take it from a backup"
_FOR_RIGHTS = "ask its owner for the right to write to it"


class Ledger:
    """Budgets, charges and releases, kept for good in a SQLite file or in PostgreSQL (postgresql://...).

    Entries are only ever appended, each bound to all before it. A question reserves its highest price, says that it
    now reads rows, and settles what it really cost. What dies before it reads can be given back; what dies later stays
    reserved. Usable from several threads; a forked process must open the ledger anew.
    """

    __reduce_ex__ = refuse_copy

    def __init__(self, where: Where) -> None:
        """Open the ledger that is there."""
        self._start(open_store(where), bring_up)

    @staticmethod
    def create(where: Where) -> Ledger:
        """Make a new ledger; one that is there is never overwritten."""
        ledger = Ledger.__new__(Ledger)
        ledger._start(create_store(where), build)
        return ledger

    def _start(self, store: Store, prepare: Callable[[Store], None]) -> None:
        try:
            prepare(store)
        except BaseException:
            store.close()
            raise
        self._store: Store | None = store
        self._journal = Journal(store)
        self._lock = threading.RLock()
        self._home = here()
        self._place = store.place

    # ---- budgets and charges ------------------------------------------------------------------------------

    def grant(self, account: Account, epsilon: Number, delta: Number, *, total: bool = False) -> Balance:
        """Add to what the account may spend; with `total`, set its sum, never below what is used."""
        amount, total = amount_granted(epsilon, delta), flag("total", total)
        with self._writing() as (journal, end):
            before = journal.find_balance(account) or Balance(account, ZERO, ZERO, ZERO)
            granted = amount if total else before.granted + amount
            check_total(granted, before.used)
            after = replace(before, granted=granted)
            journal.append(end, Draft(Kind.GRANT, account, granted), after)
            return after

    def reserve(self, account: Account, ceiling: Charge, question: str) -> Reservation:
        """Set aside the most that a question may cost, or record that it was refused and raise BudgetError.

        No row may be read before `start`. So this entry need not be on the disk yet: it is, when `start` returns.
        """
        check_text("question", question)
        entry = None
        try:
            with self._writing(durable=False) as (journal, end):
                before = journal.balance(account)
                if ceiling.fits(before.left):
                    after = replace(before, reserved=before.reserved + ceiling)
                    entry = journal.append(end, Draft(Kind.HOLD, account, ceiling, question), after)
            if entry is not None:
                return Reservation.of(entry)
        except BaseException:  # it may have been written all the same
            if entry is not None:
                self.abandon(Reservation.of(entry))
            raise
        with self._writing() as (journal, end):
            journal.append(end, Draft(Kind.REFUSED, account, ceiling, question))
        raise BudgetError(
            f"the question costs up to {told(ceiling, rounded_up)}, and {account} has "
            f"{told(before.left, rounded_down)} left",
            "ask for less, or ask who keeps the ledger for a larger budget",
        )

    def start(self, reservation: Reservation) -> None:
        """Record that rows may be read from now on, so that the ceiling can no longer be given back. Twice is once."""
        self._check_home(reservation)
        with self._writing() as (journal, end):
            entry = self._open_entry(journal, reservation)
            if not journal.may_have_read(entry):
                journal.append(end, Draft(Kind.READ, entry.account, ZERO, refers_to=entry.number))

    def settle(self, reservation: Reservation, spent: Charge, release: str | None) -> Balance:
        """Record what the question cost and what was released; the rest of the reservation is free again."""
        self._check_home(reservation)
        if not spent.fits(reservation.ceiling):
            raise ValueError("a question must not cost more than what was reserved for it")
        if release is not None:
            check_text("release", release)
        with self._writing() as (journal, end):
            entry = self._open_entry(journal, reservation)
            if not journal.may_have_read(entry):
                raise ValueError("a question is started before it is settled")
            before = self._before(journal, entry)
            after = replace(before, spent=before.spent + spent, reserved=before.reserved - entry.charge)
            draft = Draft(Kind.SETTLE, entry.account, spent, refers_to=entry.number, release=release)
            journal.append(end, draft, after)
            return after

    def pending(self) -> Iterator[Pending]:
        """Every reservation that nobody has closed, oldest first: of questions at work, and of those that died."""
        after = 0
        while True:
            with self._reading() as journal:
                page = journal.pending(after)
            if not page:
                return
            yield from page
            after = page[-1].entry.number

    def give_back(self, reservation: Reservation | Pending) -> Balance:
        """Free a reservation under which no row was read. If its question still lives, `start` will refuse it."""
        if isinstance(reservation, Pending):
            reservation = Reservation.of(reservation.entry)
        self._check_home(reservation)
        with self._writing() as (journal, end):
            entry = self._open_entry(journal, reservation)
            if journal.may_have_read(entry):
                raise LedgerError(f"under reservation {entry.number} rows may have been read", "it stays spent")
            before = self._before(journal, entry)
            after = replace(before, reserved=before.reserved - entry.charge)
            journal.append(end, Draft(Kind.RETURN, entry.account, ZERO, refers_to=entry.number), after)
            return after

    def abandon(self, reservation: Reservation) -> None:
        """`give_back` on the way out of an error: where it cannot be done, the reservation stays as it is."""
        with suppress(LedgerError):
            self.give_back(reservation)

    def repeat(self, account: Account, question: str) -> str | None:
        """The latest release of exactly this question of this account, given again for free; None without one."""
        check_text("question", question)
        with self._reading() as journal:
            if journal.released(account, question) is None:
                return None
        with self._writing() as (journal, end):
            settle = journal.released(account, question)
            if settle is None:
                return None
            journal.append(end, Draft(Kind.REPEAT, account, ZERO, question, settle.number))
            return settle.release

    # ---- looking ------------------------------------------------------------------------------------------

    def balance(self, account: Account) -> Balance:
        """How the account stands."""
        with self._reading() as journal:
            return journal.balance(account)

    def balances(self) -> list[Balance]:
        """How every account stands, by data set and analyst."""
        with self._reading() as journal:
            return journal.balances()

    def entries(self, account: Account | None = None) -> Iterator[Entry]:
        """All entries, or those of one account, oldest first."""
        after = 0
        while True:
            with self._reading() as journal:
                page = journal.page(after, account)
            if not page:
                return
            yield from page
            after = page[-1].number

    @property
    def head(self) -> str:
        """The digest of the last entry: noted elsewhere, it shows later that nothing before it was changed."""
        with self._reading() as journal:
            return journal.meta().head

    @property
    def count(self) -> int:
        """The number of entries."""
        with self._reading() as journal:
            return journal.meta().entries

    def verify(self, head: str | None = None) -> list[str]:
        """Check every entry, sum and reference; the problems, one sentence each. `head`: a digest noted earlier."""
        with self._reading():
            return audit(self._opened(), head)

    # ---- lifetime -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Give the file or the connection back; closing twice, or in a forked child, does nothing."""
        if self._home != here():  # and take no lock: a fork may have copied it locked
            return
        with self._lock:
            store, self._store = self._store, None
            if store is not None:
                store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._place!r})"

    def _opened(self) -> Store:
        """The store, for the process that opened it: SQLite's locks and sockets do not survive a fork."""
        if self._store is None:
            raise LedgerError(f"the ledger at {self._place} is closed", "open it again")
        self._check_process()
        return self._store

    def _check_process(self) -> None:
        """Before any lock: a fork may have copied it locked."""
        if self._home != here():
            raise LedgerError(f"the ledger at {self._place} was opened in another process", "open it again in this one")

    def _check_home(self, reservation: Reservation) -> None:
        """A reservation is used by the process that made it, whichever opened the ledger."""
        if reservation.home != here():
            raise LedgerError(f"reservation {reservation.number} was made in another process", "make one in this one")

    def _open_entry(self, journal: Journal, reservation: Reservation) -> Entry:
        """The reservation, as it is written; LedgerError unless it is there and open."""
        entry = journal.entry(reservation.number)
        if entry is None or entry.kind not in (Kind.HOLD, Kind.RESERVE) or Reservation.of(entry) != reservation:
            raise LedgerError(f"the ledger at {self._place} holds no such reservation")
        match journal.closed(entry.number):
            case Kind.SETTLE:
                raise LedgerError(f"reservation {entry.number} was settled already")
            case Kind.RETURN:
                raise LedgerError(f"reservation {entry.number} was given back already", "ask again")
        return entry

    def _before(self, journal: Journal, entry: Entry) -> Balance:
        """How the account stands, which holds at least this reservation."""
        before = journal.balance(entry.account)
        if not entry.charge.fits(before.reserved):
            raise LedgerError(f"the ledger at {self._place} is damaged: {entry.account} has less reserved", _FIND_OUT)
        return before

    @contextmanager
    def _reading(self) -> Iterator[Journal]:
        self._check_process()
        with self._lock:
            self._opened()
            yield self._journal

    @contextmanager
    def _writing(self, *, durable: bool = True) -> Iterator[tuple[Journal, Meta]]:
        self._check_process()
        with self._lock:
            store = self._opened()
            if not store.writable:
                raise LedgerError(f"the ledger at {self._place} may not be written by this user", _FOR_RIGHTS)
            with store.transaction(durable=durable):
                yield self._journal, self._journal.end()


Where = str | os.PathLike[str]
_POSTGRES = ("postgresql://", "postgres://")


def open_store(where: Where) -> Store:
    """The store of an existing ledger."""
    return open_postgres(str(where)) if _is_postgres(where) else open_sqlite(_path(where))


def create_store(where: Where) -> Store:
    """The store of a ledger that is about to be made."""
    return open_postgres(str(where)) if _is_postgres(where) else create_sqlite(_path(where))


def _is_postgres(where: Where) -> bool:
    return isinstance(where, str) and where.startswith(_POSTGRES)


def _path(where: Where) -> Path:
    if isinstance(where, str) and "://" in where:
        raise LedgerError(
            f"a ledger cannot be at an address that starts with {where.partition('://')[0]}://",
            "give the path of a file, or postgresql://HOST/DATABASE",
        )
    return Path(where)
