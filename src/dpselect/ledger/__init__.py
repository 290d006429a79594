"""The durable privacy budget: who was granted what, what was spent, and what was released. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect.first_use import fetched

if TYPE_CHECKING:
    from dpselect.ledger.account import Account, Balance
    from dpselect.ledger.charge import ZERO, Charge
    from dpselect.ledger.entry import Entry, Kind, Pending, Reservation
    from dpselect.ledger.ledger import Ledger

_HOMES = {
    "Account": "account",
    "Balance": "account",
    "Charge": "charge",
    "Entry": "entry",
    "Kind": "entry",
    "Ledger": "ledger",
    "Pending": "entry",
    "Reservation": "entry",
    "ZERO": "charge",
}

__all__ = ["ZERO", "Account", "Balance", "Charge", "Entry", "Kind", "Ledger", "Pending", "Reservation"]

__getattr__ = fetched(__name__, _HOMES)
