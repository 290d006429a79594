"""Problems that a gateway tells of, as our own errors. Its words are shown, and steer no terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpselect.errors import BudgetError, DataError, DpselectError, GatewayError, ParameterError
from dpselect.release.formatting import text

LONGEST = 600  # characters of what a gateway says
DEEPEST = 100  # lists and objects inside each other
LISTS = "the ask page of the gateway, or described() of its Remote, has"  # for the command and Python
SIGN_IN = "give token=, DPSELECT_TOKEN or --token-file FILE; the owner of the gateway makes tokens"


def plainly(said: object) -> str:
    r"""What a gateway says, with escapes for what would steer a terminal; nothing where it is no text.

    >>> print(plainly("all is \x1b[2Jwell"))
    all is \x1b[2Jwell
    """
    if not isinstance(said, str):
        return ""
    return text(said if len(said) <= LONGEST else f"{said[:LONGEST]}...")


def tidied(found: Any, deep: int = 0) -> Any:
    """The same JSON, with all its texts so."""
    if deep > DEEPEST:
        raise GatewayError("the reply is nested deeper than any reply of a gateway", kind="reply")
    if isinstance(found, dict):
        return {text(name): tidied(value, deep + 1) for name, value in found.items()}
    if isinstance(found, list):
        return [tidied(value, deep + 1) for value in found]
    return text(found) if isinstance(found, str) else found


def error_of(problem: Mapping[str, Any]) -> DpselectError:
    """The error of a problem: the same one as where the data are here, and a GatewayError for all that is elsewhere."""
    kind = kind_of(problem)
    said = plainly(problem.get("detail")) or plainly(problem.get("title")) or "the gateway gives no detail"
    hint = plainly(problem.get("hint")).replace("GET /v1/data has", LISTS) or None
    match kind:
        case "parameter" if "parameter" in problem:
            name, must, came = (plainly(problem.get(one)) for one in ("parameter", "must", "came"))
            return ParameterError(name or "query", must or "be another", came or "something else", hint)
        case "budget":
            return BudgetError(said, hint)
        case "failed":
            return DataError(said, hint)
        case "sign-in":
            return GatewayError("the gateway rejected this token", hint or SIGN_IN, kind=kind)
        case _:
            return GatewayError(said, hint, kind=kind)


def kind_of(problem: Mapping[str, Any]) -> str:
    """The last part of its type."""
    found = re.fullmatch(r".{0,200}/problems/([a-z-]{1,40})", str(problem.get("type")))
    return found[1] if found else "unknown"
