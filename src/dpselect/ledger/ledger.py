"""The ledger as its callers see it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from types import TracebackType

from dpselect.errors import BudgetError, LedgerError, ParameterError
from dpselect.ledger.account import Account, Balance
from dpselect.ledger.audit import audit
from dpselect.ledger.charge import ZERO, Charge, short
from dpselect.ledger.entry import Draft, Entry, Kind, Reservation
from dpselect.ledger.journal import Journal
from dpselect.ledger.migrations import bring_up, build
from dpselect.ledger.port import Store
from dpselect.ledger.rows import Meta
from dpselect.ledger.stores import Where, create_store, open_store
from dpselect.parameters import Number, probability, rational, rounded_down, rounded_up

_FIND_OUT = "run `dpselect ledger verify`, then take it from a backup"
_FOR_RIGHTS = "ask its owner for the right to write to it"


class Ledger:
    """Budgets, charges and releases, kept for good in a SQLite file or in PostgreSQL (postgresql://...).

    Entries are only ever appended, each bound to all before it. A question reserves its highest price before
    any data is read and settles what it really cost; a crash in between leaves the price reserved. Usable from
    several threads; a forked process must open the ledger anew.
    """

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
        self._process = os.getpid()
        self._place = store.place

    # ---- budgets and charges ------------------------------------------------------------------------------

    def grant(self, account: Account, epsilon: Number, delta: Number, *, total: bool = False) -> Balance:
        """Add to what the account may spend; with `total`, set its sum, never below what is used."""
        amount = _granted(epsilon, delta)
        with self._writing() as (journal, end):
            before = journal.find_balance(account) or Balance(account, ZERO, ZERO, ZERO)
            granted = amount if total else before.granted + amount
            _check_total(granted, before.used)
            after = replace(before, granted=granted)
            journal.append(end, Draft(Kind.GRANT, account, granted), after)
            return after

    def reserve(self, account: Account, ceiling: Charge, question: str) -> Reservation:
        """Set aside the most that a question may cost, or record that it was refused and raise BudgetError."""
        _check_text("question", question)
        with self._writing() as (journal, end):
            before = journal.balance(account)
            fits = ceiling.fits(before.left)
            draft = Draft(Kind.RESERVE if fits else Kind.REFUSED, account, ceiling, question)
            after = replace(before, reserved=before.reserved + ceiling) if fits else None
            entry = journal.append(end, draft, after)
        if not fits:
            raise BudgetError(
                f"the question costs up to {_told(ceiling, rounded_up)}, and {account} has "
                f"{_told(before.left, rounded_down)} left",
                "ask for less, or ask who keeps the ledger for a larger budget",
            )
        return Reservation(entry.number, account, ceiling)

    def settle(self, reservation: Reservation, spent: Charge, release: str | None) -> Balance:
        """Record what the question cost and what was released; the rest of the reservation is free again."""
        if not spent.fits(reservation.ceiling):
            raise ValueError("a question must not cost more than what was reserved for it")
        if release is not None:
            _check_text("release", release)
        with self._writing() as (journal, end):
            account = reservation.account
            entry = journal.entry(reservation.number)
            if entry is None or (entry.kind, entry.account, entry.charge) != (
                Kind.RESERVE, account, reservation.ceiling,
            ):  # fmt: skip
                raise LedgerError(f"the ledger at {self._place} holds no such reservation")
            if journal.is_settled(entry.number):
                raise LedgerError(f"reservation {entry.number} was settled already")
            before = journal.balance(account)
            if not entry.charge.fits(before.reserved):
                raise LedgerError(f"the ledger at {self._place} is damaged: {account} has less reserved", _FIND_OUT)
            after = replace(before, spent=before.spent + spent, reserved=before.reserved - entry.charge)
            draft = Draft(Kind.SETTLE, account, spent, refers_to=entry.number, release=release)
            journal.append(end, draft, after)
            return after

    def repeat(self, account: Account, question: str) -> str | None:
        """The latest release of exactly this question of this account, given again for free; None without one."""
        _check_text("question", question)
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
        """Give the file or the connection back; closing twice does nothing."""
        with self._lock:
            store, self._store = self._store, None
            if store is not None and self._process == os.getpid():
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
        if self._process != os.getpid():
            raise LedgerError(f"the ledger at {self._place} was opened in another process", "open it again in this one")
        return self._store

    @contextmanager
    def _reading(self) -> Iterator[Journal]:
        with self._lock:
            self._opened()
            yield self._journal

    @contextmanager
    def _writing(self) -> Iterator[tuple[Journal, Meta]]:
        with self._lock:
            store = self._opened()
            if not store.writable:
                raise LedgerError(f"the ledger at {self._place} may not be written by this user", _FOR_RIGHTS)
            with store.transaction():
                yield self._journal, self._journal.end()


def _told(charge: Charge, rounded: Callable[[Fraction], str]) -> str:
    """An amount in a few digits."""
    return f"epsilon {rounded(charge.epsilon)} and delta {rounded(charge.delta)}"


def _granted(epsilon: Number, delta: Number) -> Charge:
    """The amount of a grant. It is rounded as charges are, so that a question may cost all of it."""
    least = "be a finite number of at least 0"
    number = rational("epsilon", epsilon, least)
    if number < 0:
        raise ParameterError("epsilon", least, repr(epsilon))
    amount = Charge.up(number, probability("delta", delta, zero=True))
    if amount == ZERO:
        raise ParameterError("epsilon", "be above 0 where delta is 0", repr(epsilon))
    return amount


def _check_total(granted: Charge, used: Charge) -> None:
    """A total covers what is spent and reserved, and its delta still promises something."""
    for name, total, least in (("epsilon", granted.epsilon, used.epsilon), ("delta", granted.delta, used.delta)):
        if total < least:
            raise ParameterError(name, f"be at least the {short(least)} that is spent or reserved", short(total))
    if granted.delta >= 1:
        raise ParameterError("delta", "be less than 1 in total", short(granted.delta), "1 would allow everything")


def _check_text(parameter: str, text: object) -> None:
    """Text that every store can keep."""
    must = "be a text without NUL characters and lone surrogates"
    if not isinstance(text, str) or "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise ParameterError(parameter, must, type(text).__name__)
