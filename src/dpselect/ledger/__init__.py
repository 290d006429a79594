"""The durable privacy budget: grants, charges and releases. Every other room imports from here."""

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
    from dpselect.ledger.account import ALWAYS, Account, clean_name, computer_user, default_unit
    from dpselect.ledger.budget import Budget, LedgerBudget, LedgerSource, PromiseBudget, parse_budget
    from dpselect.ledger.chains import Chains
    from dpselect.ledger.charge import ZERO, Ceiling, Charge, format_decimal, parse_grant
    from dpselect.ledger.entry import Entry, EntryKind, Pending, Reservation, ReservationOutcome, hash_question
    from dpselect.ledger.ledger import Ledger
    from dpselect.ledger.locations import create_store, open_store
    from dpselect.ledger.port import Cell, Store, StoreDialect
    from dpselect.ledger.question import STATED, Fingerprint, fingerprint, typed_name
    from dpselect.ledger.receipts import Priced, Quote, cost_and_rest, quote_price
    from dpselect.ledger.records import CacheRecord, EntryRecord, Records
    from dpselect.ledger.standing import DataAccount, Standing, Usage
    from dpselect.ledger.terms import Chain, format_data_terms

_HOMES = {
    "ALWAYS": "account",
    "Account": "account",
    "Budget": "budget",
    "CacheRecord": "records",
    "Ceiling": "charge",
    "Cell": "port",
    "Chain": "terms",
    "Chains": "chains",
    "Charge": "charge",
    "DataAccount": "standing",
    "Entry": "entry",
    "EntryKind": "entry",
    "EntryRecord": "records",
    "Fingerprint": "question",
    "Ledger": "ledger",
    "LedgerBudget": "budget",
    "LedgerSource": "budget",
    "MAX_PERIODS": "dpselect._ground.periods",
    "PERIOD_KINDS": "dpselect._ground.periods",
    "Pending": "entry",
    "Periods": "dpselect._ground.periods",
    "Priced": "receipts",
    "PromiseBudget": "budget",
    "Quote": "receipts",
    "Records": "records",
    "Reservation": "entry",
    "ReservationOutcome": "entry",
    "STATED": "question",
    "Standing": "standing",
    "Store": "port",
    "StoreDialect": "port",
    "Usage": "standing",
    "ZERO": "charge",
    "clean_name": "account",
    "computer_user": "account",
    "cost_and_rest": "receipts",
    "create_store": "locations",
    "default_unit": "account",
    "fingerprint": "question",
    "format_cost": "dpselect._ground.budget_parts",
    "format_data_terms": "terms",
    "format_decimal": "charge",
    "hash_question": "entry",
    "key_to_text": "dpselect._ground.keys",
    "open_store": "locations",
    "parse_budget": "budget",
    "parse_grant": "charge",
    "parse_periods": "dpselect._ground.periods",
    "parse_timezone": "dpselect._ground.periods",
    "percent": "dpselect._ground.budget_parts",
    "periods_between": "dpselect._ground.periods",
    "quote_price": "receipts",
    "rounded_part": "dpselect._ground.budget_parts",
    "typed_name": "question",
}

__all__ = [
    "ALWAYS",
    "MAX_PERIODS",
    "PERIOD_KINDS",
    "STATED",
    "ZERO",
    "Account",
    "Budget",
    "CacheRecord",
    "Ceiling",
    "Cell",
    "Chain",
    "Chains",
    "Charge",
    "DataAccount",
    "Entry",
    "EntryKind",
    "EntryRecord",
    "Fingerprint",
    "Ledger",
    "LedgerBudget",
    "LedgerSource",
    "Pending",
    "Periods",
    "Priced",
    "PromiseBudget",
    "Quote",
    "Records",
    "Reservation",
    "ReservationOutcome",
    "Standing",
    "Store",
    "StoreDialect",
    "Usage",
    "clean_name",
    "computer_user",
    "cost_and_rest",
    "create_store",
    "default_unit",
    "fingerprint",
    "format_cost",
    "format_data_terms",
    "format_decimal",
    "hash_question",
    "key_to_text",
    "open_store",
    "parse_budget",
    "parse_grant",
    "parse_periods",
    "parse_timezone",
    "percent",
    "periods_between",
    "quote_price",
    "rounded_part",
    "typed_name",
]

__getattr__: Callable[[str], object] = lazy_attributes(__name__, _HOMES)
