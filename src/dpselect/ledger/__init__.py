"""The durable privacy budget: who was granted what, what was spent, and what was released. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.ledger.account import Account, Balance
    from dpselect.ledger.chains import Chain
    from dpselect.ledger.charge import ZERO, Charge
    from dpselect.ledger.entry import Entry, EntryKind, Pending, Reservation
    from dpselect.ledger.ledger import Ledger
    from dpselect.ledger.standing import DataAccount, Standing

_HOMES = {
    "Account": "account",
    "Balance": "account",
    "Chain": "chains",
    "Charge": "charge",
    "DataAccount": "standing",
    "Entry": "entry",
    "EntryKind": "entry",
    "Ledger": "ledger",
    "Pending": "entry",
    "Reservation": "entry",
    "Standing": "standing",
    "ZERO": "charge",
}

__all__ = [
    "ZERO",
    "Account",
    "Balance",
    "Chain",
    "Charge",
    "DataAccount",
    "Entry",
    "EntryKind",
    "Ledger",
    "Pending",
    "Reservation",
    "Standing",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
