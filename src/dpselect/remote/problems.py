"""Problems that a gateway tells of, as our own errors. Its words are shown, and steer no terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpselect.errors import BudgetError, DataError, DpselectError, GatewayError, ParameterError
from dpselect.release.formatting import text

MAX_PROBLEM_CHARACTERS = 600  # characters of what a gateway says
MAX_DEPTH = 100  # lists and objects inside each other
WHERE_LISTED = "the ask page of the gateway, or described() of its Remote, has"  # for the command and Python
SIGN_IN = "give token=, DPSELECT_TOKEN or --token-file FILE; the owner of the gateway makes tokens"


def escape_text(message: object) -> str:
    r"""Return a gateway's text, with escapes for what would steer a terminal; an empty text for any other value.

    >>> print(escape_text("all is \x1b[2Jwell"))
    all is \x1b[2Jwell
    """
    if not isinstance(message, str):
        return ""
    return text(message if len(message) <= MAX_PROBLEM_CHARACTERS else f"{message[:MAX_PROBLEM_CHARACTERS]}...")


def escape_json(value: Any, depth: int = 0) -> Any:
    """Return JSON of which all texts are escaped."""
    if depth > MAX_DEPTH:
        raise GatewayError("the reply is nested deeper than any reply of a gateway", kind="reply")
    if isinstance(value, dict):
        return {text(name): escape_json(value, depth + 1) for name, value in value.items()}
    if isinstance(value, list):
        return [escape_json(value, depth + 1) for value in value]
    return text(value) if isinstance(value, str) else value


def error_of(problem: Mapping[str, Any]) -> DpselectError:
    """Return the error of a problem: as for data on this computer, and a GatewayError for what only a gateway has."""
    kind = kind_of(problem)
    detail = escape_text(problem.get("detail")) or escape_text(problem.get("title")) or "the gateway gives no detail"
    hint = escape_text(problem.get("hint")).replace("GET /v1/data has", WHERE_LISTED) or None
    match kind:
        case "parameter" if "parameter" in problem:
            name, requirement, what_came = (escape_text(problem.get(field)) for field in ("parameter", "must", "came"))
            return ParameterError(name or "query", requirement or "be another", what_came or "something else", hint)
        case "budget":
            return BudgetError(detail, hint)
        case "failed":
            return DataError(detail, hint)
        case "sign-in":
            return GatewayError("the gateway rejected this token", hint or SIGN_IN, kind=kind)
        case _:
            return GatewayError(detail, hint, kind=kind)


def kind_of(problem: Mapping[str, Any]) -> str:
    """Return the kind of a problem: the last part of its type."""
    match = re.fullmatch(r".{0,200}/problems/([a-z-]{1,40})", str(problem.get("type")))
    return match[1] if match else "unknown"
