"""Short ways to write charges and budgets in tests."""

from __future__ import annotations

from fractions import Fraction

from dpselect.ledger import Account, Balance, Charge, Ledger


def charge(epsilon: str, delta: str = "0") -> Charge:
    return Charge.up(Fraction(epsilon), Fraction(delta))


def ask(ledger: Ledger, account: Account, price: Charge, question: str = "{}", release: str | None = "[]") -> Balance:
    """One whole life: reserve, then settle for all of it."""
    return ledger.settle(ledger.reserve(account, price, question), price, release)
