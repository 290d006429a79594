"""Errors of the gateway as problems for a page: the caller's own mistakes in full, of all else only the kind."""

from __future__ import annotations

from dpselect.errors import BudgetError, DpselectError, ParameterError
from dpselect.gateway.pages.errors import Problem


def told(error: DpselectError) -> Problem:
    """What to show."""
    if isinstance(error, ParameterError):
        return Problem(422, "parameter", f"{error.parameter} must {error.must}, got {error.came}", error.hint or "")
    if isinstance(error, BudgetError):
        return Problem(409, "budget", str(error).partition("\nhint: ")[0], error.hint or "")
    status, kind = getattr(error, "status", 503), getattr(error, "kind", "unavailable")
    return Problem(status, kind, getattr(error, "detail", ""), error.hint or "")
