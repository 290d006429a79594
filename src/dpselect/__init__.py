"""Differentially private selection with exact randomness. `import dpselect as dps` and ask for what you need.

Nothing heavy is imported before it is used: each public name is fetched from its module at its first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # true for type checkers; to import typing takes as long as Python does to start
if TYPE_CHECKING:
    from dpselect import accounting, mechanisms
    from dpselect._ground.domain import Column
    from dpselect.aggregates.measures import Mean, Sum
    from dpselect.checking.check import check
    from dpselect.dataset import Dataset
    from dpselect.errors import (
        BudgetError,
        DataError,
        DpselectError,
        GatewayError,
        LedgerError,
        OutputError,
        ParameterError,
        WeakPromiseWarning,
    )
    from dpselect.forecast import Forecast, Population
    from dpselect.ledger import Account, Budget, Ledger
    from dpselect.queries.choose import choose
    from dpselect.queries.plan import Plan
    from dpselect.queries.quantile import quantile
    from dpselect.questions.parts import By, Gain, Method, Total
    from dpselect.questions.questions import Choose, Histogram, Quantile, Question, TopK, Union, Users
    from dpselect.release.release import Release
    from dpselect.remote.dataset import RemoteDataset
    from dpselect.remote.remote import Remote, connect
    from dpselect.rows import CSV, NumberText, Split, Table, Time, TimeText
    from dpselect.texts.text import Text

    __version__: str

_HOMES = {
    "CSV": "dpselect.rows",
    "Split": "dpselect.rows",
    "NumberText": "dpselect.rows",
    "Table": "dpselect.rows",
    "Time": "dpselect.rows",
    "TimeText": "dpselect.rows",
    "By": "dpselect.questions.parts",
    "Choose": "dpselect.questions.questions",
    "Gain": "dpselect.questions.parts",
    "Histogram": "dpselect.questions.questions",
    "Method": "dpselect.questions.parts",
    "Quantile": "dpselect.questions.questions",
    "Question": "dpselect.questions.questions",
    "TopK": "dpselect.questions.questions",
    "Total": "dpselect.questions.parts",
    "Union": "dpselect.questions.questions",
    "Users": "dpselect.questions.questions",
    "Account": "dpselect.ledger",
    "Budget": "dpselect.ledger",
    "BudgetError": "dpselect.errors",
    "Column": "dpselect._ground.domain",
    "DataError": "dpselect.errors",
    "Dataset": "dpselect.dataset",
    "DpselectError": "dpselect.errors",
    "GatewayError": "dpselect.errors",
    "Ledger": "dpselect.ledger",
    "LedgerError": "dpselect.errors",
    "Mean": "dpselect.aggregates.measures",
    "OutputError": "dpselect.errors",
    "ParameterError": "dpselect.errors",
    "Forecast": "dpselect.forecast",
    "Plan": "dpselect.queries.plan",
    "Population": "dpselect.forecast",
    "Release": "dpselect.release.release",
    "Remote": "dpselect.remote.remote",
    "RemoteDataset": "dpselect.remote.dataset",
    "Sum": "dpselect.aggregates.measures",
    "WeakPromiseWarning": "dpselect.errors",
    "Text": "dpselect.texts.text",
    "check": "dpselect.checking.check",
    "choose": "dpselect.queries.choose",
    "connect": "dpselect.remote.remote",
    "quantile": "dpselect.queries.quantile",
}

__all__ = [  # noqa: RUF022 - in the order of `dir`
    "Account",
    "Budget",
    "BudgetError",
    "By",
    "CSV",
    "Choose",
    "Column",
    "DataError",
    "Dataset",
    "DpselectError",
    "Forecast",
    "Gain",
    "GatewayError",
    "Histogram",
    "Ledger",
    "LedgerError",
    "Mean",
    "Method",
    "NumberText",
    "OutputError",
    "ParameterError",
    "Plan",
    "Population",
    "Quantile",
    "Question",
    "Release",
    "Remote",
    "RemoteDataset",
    "Split",
    "Sum",
    "Table",
    "Text",
    "Time",
    "TimeText",
    "TopK",
    "Total",
    "Union",
    "Users",
    "WeakPromiseWarning",
    "__version__",
    "accounting",
    "check",
    "choose",
    "connect",
    "mechanisms",
    "quantile",
]


def __getattr__(name: str) -> object:
    """Fetch a public name at its first use; afterwards it is an ordinary attribute."""
    from importlib import import_module

    value: object
    if name in ("accounting", "mechanisms"):
        value = import_module(f"dpselect.{name}")
    elif name == "__version__":
        value = import_module("importlib.metadata").version("dpselect")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'dpselect' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
