"""Problems as pages: one clear sentence, what may help, and a way on."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages.rendering import home, page


@dataclass(frozen=True)
class Kind:
    """One kind of problem: its title, and what may help."""

    title: str
    hint: str


KINDS = {
    "malformed": Kind("The request could not be read", "Go back and send it again."),
    "sign-in": Kind("Please sign in", "Your session may have ended, or your token is not known here."),
    "role": Kind("This page is for somebody else", "Ask the owner of the data if you need it."),
    "not-found": Kind("There is nothing here", "The address may be wrong, or what was here is not for you to see."),
    "method": Kind("This address does not do that", "Start from one of the pages above."),
    "budget": Kind("The budget does not suffice", "Ask for less, or ask the owner of the data for a larger quota."),
    "state": Kind("Too late for that", "The question has moved on. Look at it again."),
    "key": Kind("This was sent before, with another question", "Go back to the question and send it again."),
    "too-large": Kind("That is too large", "Send less at once."),
    "content": Kind("This kind of content is not read here", "Use the form, or send JSON."),
    "parameter": Kind("Something in the question must be changed", "Go back to the question and change it."),
    "too-many": Kind("Too many at once", "Wait a little, then try again."),
    "busy": Kind("Too many questions are waiting", "Wait a little, then try again. Nothing was charged."),
    "unavailable": Kind("This cannot be reached right now", "Try again in a minute. Nothing new was charged."),
    "failed": Kind(
        "The question failed",
        "What it was to cost stays charged, because rows may have been read. The owner of the data can see why.",
    ),
}


@dataclass(frozen=True)
class Problem:
    """What went wrong, as a person reads it."""

    status: int
    kind: str
    detail: str = ""
    hint: str = ""

    @property
    def title(self) -> str:
        """One short line."""
        return KINDS[self.kind].title if self.kind in KINDS else "That did not work"

    @property
    def help(self) -> str:
        """What may help."""
        return self.hint or (KINDS[self.kind].hint if self.kind in KINDS else "")


def shown(request: Request, problem: Problem, back: str | None = None) -> Response:
    """The page of a problem; `back` is where the person came from."""
    person = getattr(request.state, "person", None)
    way = back or ("/sign-in" if person is None else home(person.role))
    return page(request, "problem.html", problem.status, problem=problem, way=way, back=back is not None)
