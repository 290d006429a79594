"""The few exceptions of our own. No message ever holds a count, a label or a size of private data."""

from __future__ import annotations


class DpselectError(Exception):
    """Base of every error that dpselect raises on purpose."""


class ParameterError(DpselectError, ValueError):
    """A parameter is not what it must be. Raised before any data is touched, so it costs nothing."""

    def __init__(self, parameter: str, must: str, came: object, hint: str | None = None) -> None:
        self.parameter, self.must, self.came = parameter, must, came
        self.hint = hint
        message = f"{parameter} must {must}, got {came}"
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")


class DataError(DpselectError):
    """A source cannot be read as described. The message speaks of its schema only, never of its rows."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")


class OutputError(DpselectError):
    """A result cannot be written where it should go."""


class BudgetError(DpselectError):
    """A question would cost more than what is left. Raised before any data is touched; the question cost nothing."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")


class LedgerError(DpselectError):
    """A ledger cannot be read or written, or is not what it was when it was written."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")


class LedgerWarning(UserWarning):
    """A ledger lies where others can read or replace it."""
