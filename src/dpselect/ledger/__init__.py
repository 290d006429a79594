"""The durable privacy budget: grants, charges and releases. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect.ledger.account import Account, Balance, clean_name, default_unit
    from dpselect.ledger.budget import LedgerBudget, PromiseBudget
    from dpselect.ledger.chains import Chain
    from dpselect.ledger.charge import ZERO, Charge, parse_grant
    from dpselect.ledger.entry import Entry, EntryKind, Outcome, Pending, Reservation, hash_question
    from dpselect.ledger.ledger import Ledger
    from dpselect.ledger.places import create_store, open_store
    from dpselect.ledger.port import Cell, Store, StoreDialect
    from dpselect.ledger.question import Fingerprint
    from dpselect.ledger.receipts import Priced, cost_and_rest
    from dpselect.ledger.standing import DataAccount, Standing

_HOMES = {
    "Account": "account",
    "Balance": "account",
    "Cell": "port",
    "Chain": "chains",
    "Charge": "charge",
    "DataAccount": "standing",
    "Entry": "entry",
    "EntryKind": "entry",
    "Fingerprint": "question",
    "Ledger": "ledger",
    "LedgerBudget": "budget",
    "Outcome": "entry",
    "Pending": "entry",
    "Priced": "receipts",
    "PromiseBudget": "budget",
    "Reservation": "entry",
    "Standing": "standing",
    "Store": "port",
    "StoreDialect": "port",
    "ZERO": "charge",
    "clean_name": "account",
    "cost_and_rest": "receipts",
    "create_store": "places",
    "default_unit": "account",
    "hash_question": "entry",
    "open_store": "places",
    "parse_grant": "charge",
}

__all__ = [
    "ZERO",
    "Account",
    "Balance",
    "Cell",
    "Chain",
    "Charge",
    "DataAccount",
    "Entry",
    "EntryKind",
    "Fingerprint",
    "Ledger",
    "LedgerBudget",
    "Outcome",
    "Pending",
    "Priced",
    "PromiseBudget",
    "Reservation",
    "Standing",
    "Store",
    "StoreDialect",
    "clean_name",
    "cost_and_rest",
    "create_store",
    "default_unit",
    "hash_question",
    "open_store",
    "parse_grant",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
