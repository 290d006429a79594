"""Differentially private selection with exact randomness. `import dpselect as dps` and ask for what you need.

Nothing heavy is imported before it is used: each public name is fetched from its module at its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpselect import accounting, mechanisms
    from dpselect.dataset import Dataset
    from dpselect.engines.domain import Column, Listed, Size, Span
    from dpselect.engines.warehouse_source import Warehouse
    from dpselect.errors import (
        BudgetError,
        DataError,
        DpselectError,
        LedgerError,
        OutputError,
        ParameterError,
        WeakPromiseWarning,
    )
    from dpselect.inspection import Inspection, inspect
    from dpselect.ledger import Account, Ledger
    from dpselect.privacy import Neighbors
    from dpselect.prospects import Prospects, plan
    from dpselect.quantiles import median, quantile
    from dpselect.release import Item, Receipt, Release, Statement
    from dpselect.session import Session
    from dpselect.verbs import choose

    __version__: str

_HOMES = {
    "Account": "dpselect.ledger",
    "BudgetError": "dpselect.errors",
    "Column": "dpselect.engines.domain",
    "DataError": "dpselect.errors",
    "Dataset": "dpselect.dataset",
    "DpselectError": "dpselect.errors",
    "Inspection": "dpselect.inspection",
    "Item": "dpselect.release",
    "Ledger": "dpselect.ledger",
    "LedgerError": "dpselect.errors",
    "Listed": "dpselect.engines.domain",
    "Neighbors": "dpselect.privacy",
    "OutputError": "dpselect.errors",
    "ParameterError": "dpselect.errors",
    "Prospects": "dpselect.prospects",
    "Receipt": "dpselect.release",
    "Release": "dpselect.release",
    "Session": "dpselect.session",
    "Size": "dpselect.engines.domain",
    "Span": "dpselect.engines.domain",
    "Statement": "dpselect.release",
    "WeakPromiseWarning": "dpselect.errors",
    "Warehouse": "dpselect.engines.warehouse_source",
    "choose": "dpselect.verbs",
    "inspect": "dpselect.inspection",
    "median": "dpselect.quantiles",
    "plan": "dpselect.prospects",
    "quantile": "dpselect.quantiles",
}

__all__ = [
    "Account",
    "BudgetError",
    "Column",
    "DataError",
    "Dataset",
    "DpselectError",
    "Inspection",
    "Item",
    "Ledger",
    "LedgerError",
    "Listed",
    "Neighbors",
    "OutputError",
    "ParameterError",
    "Prospects",
    "Receipt",
    "Release",
    "Session",
    "Size",
    "Span",
    "Statement",
    "Warehouse",
    "WeakPromiseWarning",
    "__version__",
    "accounting",
    "choose",
    "inspect",
    "mechanisms",
    "median",
    "plan",
    "quantile",
]


def __getattr__(name: str) -> object:
    """A public name at its first use; afterwards it is an ordinary attribute."""
    value: object
    if name in ("accounting", "mechanisms"):
        value = importlib.import_module(f"dpselect.{name}")
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("dpselect")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'dpselect' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
