"""Pages from templates: every value is escaped, every page names its style by what is in it; and what forms send."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dpselect.gateway.pages import words
from dpselect.gateway.problems import KINDS
from dpselect.gateway.settings.values import Role
from dpselect.release.formatting import Json

HERE = Path(__file__).parent
STATIC = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}
NAVIGATION = {
    Role.ANALYST: (("/ask", "Ask"), ("/history", "Answers"), ("/budget", "Budget")),
    Role.OWNER: (("/owner", "Manage"), ("/history", "Answers"), ("/budget", "Budget"), ("/record", "Record")),
    Role.AUDITOR: (("/record", "Record"), ("/history", "Answers"), ("/budget", "Budget")),
}
FILTERS = {
    **{
        name: getattr(words, name)
        for name in ("asked", "listed", "moment", "number", "odds", "percent", "period", "price", "things")
    },
    "columns": words.key,
    "python": repr,
    "shell": shlex.quote,
}
FIELDS = 200  # of a form


@cache
def environment() -> Environment:
    """The templates; a name that nobody gave is an error, not a blank."""
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(FILTERS)
    everywhere: dict[str, Any] = found.globals
    everywhere.update(count=words.count, amount=words.amount, cost=words.cost, STATES=words.STATES, static=static)
    return found


@cache
def content(name: str) -> bytes:
    """A static file."""
    return (HERE / "static" / name).read_bytes()


@cache
def static(name: str) -> str:
    """The address of a static file, another one as soon as the file is another."""
    return f"/static/{name}?{hashlib.sha256(content(name)).hexdigest()[:12]}"


def page(request: Request, template: str, status: int = 200, **given: Any) -> Response:
    """A page."""
    person = getattr(request.state, "person", None)
    said = {"person": person, "navigation": () if person is None else NAVIGATION[person.role], "twin": None, **given}
    return HTMLResponse(environment().get_template(template).render(here=request.url.path, **said), status)


def problem_page(request: Request, details: Mapping[str, Json]) -> Response:
    """What is wrong, what may help, and a way on: back to the form, where one was sent."""
    person = getattr(request.state, "person", None)
    if details["status"] == 401:  # from there back to where the person wanted to go
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return see(f"/sign-in?to={quote(wanted, safe='')}" if request.method == "GET" else "/sign-in")
    from_ = urlsplit(request.headers.get("referer", ""))
    back = own(from_._replace(scheme="", netloc="").geturl()) if from_.netloc == request.url.netloc else ""
    way = (back if request.method == "POST" else "") or ("/sign-in" if person is None else home(person.role))
    found, status = {**details, "help": help_for(details)}, int(str(details["status"]))
    return page(request, "problem.html", status, problem=found, way=way, back=way == back)


def help_for(details: Mapping[str, Json]) -> str:
    """What may help."""
    hint = str(details.get("hint") or KINDS[str(details["type"]).rpartition("/")[2]].help)
    return hint.replace("GET /v1/data has", "the menus of the ask page have")


def see(address: str) -> Response:
    """The answer to a form: look there."""
    return RedirectResponse(address, 303)


def own(address: str) -> str:
    """An address of these pages, or nothing: nobody is sent elsewhere."""
    plain = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if plain and address.isprintable() and not address.startswith("/sign-") else ""


def home(role: Role) -> str:
    """Where a person starts."""
    return NAVIGATION[role][0][0]


def origin(request: Request) -> str:
    """The address that others reach the gateway by."""
    url = request.state.gateway.settings.server.url
    return str(url).rstrip("/") if url else f"{request.url.scheme}://{request.url.netloc}"


def fields_of(text: str) -> dict[str, list[str]]:
    """The fields of a query or a form, each with all its values; none where there are too many."""
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=FIELDS, errors="replace")
    except ValueError:
        return {}


async def posted(request: Request, *names: str) -> list[str]:
    """The last value of each field that a form has posted, or nothing."""
    fields = fields_of((await request.body()).decode("utf-8", "replace"))
    return [fields.get(name, [""])[-1] for name in names]
