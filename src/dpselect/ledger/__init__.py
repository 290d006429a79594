"""The durable privacy budget: grants, charges and releases. Import from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpselect._ground.first_use import lazy_attributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpselect._ground.budget_parts import format_cost, percent, rounded_part
    from dpselect._ground.keys import key_to_text
    from dpselect._ground.periods import (
        MAX_PERIODS,
        PERIOD_KINDS,
        Periods,
        parse_periods,
        parse_timezone,
        periods_between,
    )
    from dpselect.ledger.account import Account, Balance, clean_name, default_unit
    from dpselect.ledger.budget import LedgerBudget, PromiseBudget
    from dpselect.ledger.chains import Chain
    from dpselect.ledger.charge import ZERO, Charge, parse_grant
    from dpselect.ledger.entry import Entry, EntryKind, Outcome, Pending, Reservation, hash_question
    from dpselect.ledger.ledger import Ledger
    from dpselect.ledger.places import create_store, open_store
    from dpselect.ledger.port import Cell, Store, StoreDialect
    from dpselect.ledger.question import Fingerprint
    from dpselect.ledger.receipts import Priced, Quote, cost_and_rest, quote_price
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
    "MAX_PERIODS": "dpselect._ground.periods",
    "Outcome": "entry",
    "PERIOD_KINDS": "dpselect._ground.periods",
    "Pending": "entry",
    "Periods": "dpselect._ground.periods",
    "Priced": "receipts",
    "PromiseBudget": "budget",
    "Quote": "receipts",
    "Reservation": "entry",
    "Standing": "standing",
    "Store": "port",
    "StoreDialect": "port",
    "ZERO": "charge",
    "clean_name": "account",
    "cost_and_rest": "receipts",
    "create_store": "places",
    "default_unit": "account",
    "format_cost": "dpselect._ground.budget_parts",
    "hash_question": "entry",
    "key_to_text": "dpselect._ground.keys",
    "open_store": "places",
    "parse_grant": "charge",
    "parse_periods": "dpselect._ground.periods",
    "parse_timezone": "dpselect._ground.periods",
    "periods_between": "dpselect._ground.periods",
    "percent": "dpselect._ground.budget_parts",
    "quote_price": "receipts",
    "rounded_part": "dpselect._ground.budget_parts",
}

__all__ = [
    "MAX_PERIODS",
    "PERIOD_KINDS",
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
    "Periods",
    "Priced",
    "PromiseBudget",
    "Quote",
    "Reservation",
    "Standing",
    "Store",
    "StoreDialect",
    "clean_name",
    "cost_and_rest",
    "create_store",
    "default_unit",
    "format_cost",
    "hash_question",
    "key_to_text",
    "open_store",
    "parse_grant",
    "parse_periods",
    "parse_timezone",
    "percent",
    "periods_between",
    "quote_price",
    "rounded_part",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
