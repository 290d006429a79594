"""From a hold to its settlement: what a question may cost is reserved before it reads rows, and settled after.

A question that is interrupted before `start` returns can have all of it back; after that its ceiling stays reserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from dpselect._ground.dataclass import dataclass
from dpselect._ground.periods import Periods
from dpselect._ground.processes import process_identity
from dpselect.accounting.prices import Price
from dpselect.errors import LedgerError
from dpselect.ledger.account import Account, check_unit
from dpselect.ledger.charge import ZERO, Ceiling, Charge, check_text
from dpselect.ledger.entry import Draft, Entry, EntryKind, Reservation, largest_charge
from dpselect.ledger.journal import Journal
from dpselect.ledger.port import VERIFY_HINT
from dpselect.ledger.session import Session
from dpselect.ledger.standing import Standing, charged_periods, check_user
from dpselect.ledger.terms import format_parts


@dataclass(frozen=True)
class Request:
    """A question for which a price is to be reserved, with all that its account must agree to."""

    account: Account
    price: Price | Charge
    question: str
    order: int | None
    user: str | None
    during: Periods | None
    unit: str | None
    approved_by: str | None

    def standings(self, journal: Journal) -> list[Standing]:
        """Return the standing in each period that pays, after checking that the account covers the question."""
        standings = journal.standings(self.account, lambda data: charged_periods(data, self.during))
        data = standings[0].data
        check_user(data, self.user)
        check_unit(data.unit if self.unit is None else self.unit, data.unit)
        if isinstance(self.price, Price) and data.promise.order != self.order:
            raise LedgerError(f"the account of {data.dataset!r} was changed meanwhile", "ask again")
        uncomposed = Ceiling.from_price(self.price).without_composition
        if data.promise.order is None and uncomposed.renyi < uncomposed.epsilon:
            raise ValueError("a divergence counts by its epsilon where epsilons add up")
        return standings

    def draft(self, kind: EntryKind, parts: Mapping[str, Charge]) -> Draft:
        """Return the entry of this question, whose price in each period is a part."""
        terms = format_parts(parts, self.approved_by)
        return Draft(kind, self.account, largest_charge(parts.values()), self.question, terms=terms)


def reserve(session: Session, request: Request) -> Reservation:
    """Reserve the ceiling in each period, or record that it was refused and raise BudgetError."""
    ceiling, entry, refusal = Ceiling.from_price(request.price), None, None
    try:
        with session.writing(durable=False) as (journal, end):
            standings = request.standings(journal)
            parts = {standing.period: standing.ceiling(ceiling) for standing in standings}
            for standing in standings:
                if refusal is None and not standing.admits(parts[standing.period]):
                    refusal = standing.refusal(parts[standing.period])
            if refusal is None:
                entry = journal.append(end, request.draft(EntryKind.HOLD, parts))
                for standing in standings:
                    journal.set_used(standing.with_hold(parts[standing.period]))
        if entry is not None:
            return Reservation.from_hold(entry)
    except BaseException:  # the entry may have been written nevertheless
        if entry is not None:
            abandon(session, Reservation.from_hold(entry))
        raise
    with session.writing() as (journal, end):
        journal.append(end, request.draft(EntryKind.REFUSED, parts))
    assert refusal is not None
    raise refusal


def start(session: Session, reservation: Reservation) -> None:
    """Record that rows may be read from now on; a second call does nothing."""
    _check_home(reservation)
    with session.writing() as (journal, end):
        entry, may_have_read = _open_entry(session, journal, reservation)
        if not may_have_read:
            journal.append(end, Draft(EntryKind.READ, entry.account, ZERO, refers_to=entry.number))


def settle(session: Session, reservation: Reservation, spent: Price | Charge, release: str | None) -> Standing:
    """Record what the question cost and what was released; the rest of the reservation is free again."""
    _check_home(reservation)
    costs = {period: Ceiling.from_price(spent).charge_for_hold(hold) for period, hold in reservation.parts.items()}
    if not all(costs[period].fits(hold) for period, hold in reservation.parts.items()):
        raise ValueError("a question must not cost more than what was reserved for it")
    if release is not None:
        check_text("release", release)
    with session.writing() as (journal, end):
        entry, may_have_read = _open_entry(session, journal, reservation)
        if not may_have_read:
            raise ValueError("a question must be started before it is settled")
        standing = _close(session, journal, entry, costs)
        amount, terms = largest_charge(costs.values()), format_parts(costs)
        draft = Draft(EntryKind.SETTLE, entry.account, amount, refers_to=entry.number, release=release, terms=terms)
        journal.append(end, draft)
        return standing


def give_back(session: Session, reservation: Reservation) -> Standing:
    """Free a reservation under which no row was read."""
    _check_home(reservation)
    with session.writing() as (journal, end):
        entry, may_have_read = _open_entry(session, journal, reservation)
        if may_have_read:
            raise LedgerError(f"rows may have been read under reservation {entry.number}", "it stays spent")
        standing = _close(session, journal, entry, dict.fromkeys(entry.parts, ZERO))
        journal.append(end, Draft(EntryKind.RETURN, entry.account, ZERO, refers_to=entry.number))
        return standing


def abandon(session: Session, reservation: Reservation) -> None:
    """Give a reservation back on the way out of an error; if that fails, it stays as it is."""
    with suppress(LedgerError):
        give_back(session, reservation)


def _check_home(reservation: Reservation) -> None:
    """Refuse a reservation of another process, whichever opened the ledger."""
    if reservation.home != process_identity():
        raise LedgerError(f"reservation {reservation.number} was made in another process", "make one in this one")


def _open_entry(session: Session, journal: Journal, reservation: Reservation) -> tuple[Entry, bool]:
    """Return an open reservation as it was written, and whether rows may have been read under it.

    Raises: LedgerError if the reservation is not open.
    """
    entry = journal.entry(reservation.number)
    if entry is None or entry.kind is not EntryKind.HOLD or Reservation.from_hold(entry) != reservation:
        raise LedgerError(f"the ledger at {session.location} holds no such reservation")
    followers = journal.followers(entry.number)
    if EntryKind.SETTLE in followers:
        raise LedgerError(f"reservation {entry.number} was settled already")
    if EntryKind.RETURN in followers:
        raise LedgerError(f"reservation {entry.number} was given back already", "ask again")
    return entry, EntryKind.READ in followers


def _close(session: Session, journal: Journal, entry: Entry, costs: Mapping[str, Charge]) -> Standing:
    """Put a cost in place of what is held in each period; return the standing in the period with the least left."""
    account, parts = entry.account, entry.parts
    standings = []
    for standing in journal.standings(account, lambda _: parts):
        hold, cost = parts[standing.period], costs[standing.period]
        if not (hold.fits(standing.own.reserved) and hold.fits(standing.all.reserved)):
            raise LedgerError(f"the ledger at {session.location} is damaged: {account} has less reserved", VERIFY_HINT)
        closed = standing.with_settlement(hold, cost)
        journal.set_used(closed)
        standings.append(closed)
    return standings[0] if len(standings) == 1 else min(standings, key=lambda standing: standing.left)
