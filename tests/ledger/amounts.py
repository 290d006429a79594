"""Short ways to write charges, budgets and questions in tests."""

from __future__ import annotations

from fractions import Fraction

from dpselect.ledger import Account, Balance, Charge, Ledger, Reservation


def charge(epsilon: str, delta: str = "0") -> Charge:
    return Charge.up(Fraction(epsilon), Fraction(delta))


def started(ledger: Ledger, account: Account, ceiling: Charge, question: str = "{}") -> Reservation:
    """A question that may read rows."""
    reservation = ledger.reserve(account, ceiling, question)
    ledger.start(reservation)
    return reservation


def ask(ledger: Ledger, account: Account, price: Charge, question: str = "{}", release: str | None = "[]") -> Balance:
    """One whole life: reserve, read, then settle for all of it."""
    return ledger.settle(started(ledger, account, price, question), price, release)
