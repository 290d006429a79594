"""Problems as pages: one clear sentence, what may help, and a way on."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from dpselect.errors import BudgetError, ParameterError
from dpselect.gateway.pages.rendering import home, page
from dpselect.gateway.problems import Refused, of_error
from dpselect.release.formatting import Json

TOLD = (ParameterError, BudgetError, Refused)
"""Errors that are the caller's own, or that say how things stand: a page can tell them beside what led to them."""
HELP = {
    "malformed": "Go back and send it again.",
    "sign-in": "Your session may have ended, or your token is not known here.",
    "role": "Ask the owner of the data if you need it.",
    "cross-site": "Open the page here, and send the form again.",
    "not-found": "The address may be wrong, or what was here is not for you to see.",
    "method": "Start from one of the pages above.",
    "budget": "Ask for less, or ask the owner of the data for a larger quota.",
    "state": "The question has moved on. Look at it again.",
    "key": "Go back to the question and send it again.",
    "too-large": "Send less at once.",
    "content": "Use the form, or send JSON.",
    "host": "Use the address that you were given.",
    "parameter": "Go back and change it.",
    "too-many": "Wait a little, then try again.",
    "busy": "Wait a little, then try again. Nothing was charged.",
    "unavailable": "Try again in a minute. Nothing new was charged.",
    "unexpected": "The log of the server says more to its owner.",
    "failed": "What it was to cost may stay charged, because rows may have been read.",
    "lost": "The same question can be asked again, at a new price.",
    "rejected": "The owner of the data can say why.",
}


def told(request: Request, error: Exception) -> Mapping[str, Json]:
    """What to show of an error. What is not told is in the log."""
    details = of_error(error)
    if kind_of(details) in ("unexpected", "unavailable"):
        path = getattr(request.scope.get("route"), "path", "")
        request.app.state.gateway.log.failed("a request failed", error, path=path, method=request.method)
    return details


def kind_of(details: Mapping[str, Json]) -> str:
    """The kind of a problem."""
    return str(details["type"]).rpartition("/")[2]


def help_for(details: Mapping[str, Json]) -> str:
    """What may help."""
    return str(details.get("hint") or HELP.get(kind_of(details), ""))


def of_details(request: Request, details: Mapping[str, Json], back: str | None = None) -> Response:
    """The page of a problem; `back` is where the person came from."""
    person = getattr(request.state, "person", None)
    way = back or ("/sign-in" if person is None else home(person.role))
    status = int(str(details["status"]))
    return page(request, "problem.html", status, problem=details, help=help_for(details), way=way, back=bool(back))
