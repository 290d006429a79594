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
from dpselect.gateway.problems import PROBLEM_KINDS
from dpselect.gateway.settings.kinds import Role
from dpselect.release import Json

HERE = Path(__file__).parent
STATIC = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}
_NAVIGATION = {
    Role.ANALYST: (("/ask", "Ask"), ("/history", "Answers"), ("/budget", "Budget")),
    Role.OWNER: (("/owner", "Manage"), ("/history", "Answers"), ("/budget", "Budget"), ("/record", "Record")),
    Role.AUDITOR: (("/record", "Record"), ("/history", "Answers"), ("/budget", "Budget")),
}
FILTERS = {
    **{name: getattr(words, name) for name in ("moment", "number", "odds", "percent", "period", "price")},
    "asked": words.format_question,
    "listed": words.join_words,
    "things": words.format_items,
    "columns": words.key,
    "python": repr,
    "shell": shlex.quote,
}
MAX_FORM_FIELDS = 200  # of a form


@cache
def environment() -> Environment:
    """Return the templates; a name that nobody gave is an error, not a blank."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(FILTERS)
    everywhere: dict[str, Any] = templates.globals
    everywhere.update(count=words.count, amount=words.amount, cost=words.cost, STATES=words.STATES, static=static)
    return templates


@cache
def content(name: str) -> bytes:
    """Read a static file."""
    return (HERE / "static" / name).read_bytes()


@cache
def static(name: str) -> str:
    """Return the address of a static file, which changes as soon as the file does."""
    return f"/static/{name}?{hashlib.sha256(content(name)).hexdigest()[:12]}"


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Render a page."""
    person = getattr(request.state, "person", None)
    context = {
        "person": person,
        "navigation": () if person is None else _NAVIGATION[person.role],
        "twin": None,
        **values,
    }
    return HTMLResponse(environment().get_template(template).render(here=request.url.path, **context), status)


def problem_page(request: Request, details: Mapping[str, Json]) -> Response:
    """Render a problem, what may help, and a way on: back to the form, if one was sent."""
    person = getattr(request.state, "person", None)
    if details["status"] == 401:  # from there back to where the person wanted to go
        destination = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return redirect(f"/sign-in?to={quote(destination, safe='')}" if request.method == "GET" else "/sign-in")
    from_ = urlsplit(request.headers.get("referer", ""))
    back = local_address(from_._replace(scheme="", netloc="").geturl()) if from_.netloc == request.url.netloc else ""
    onward = (back if request.method == "POST" else "") or ("/sign-in" if person is None else home(person.role))
    context, status = {**details, "help": help_for(details)}, int(str(details["status"]))
    return render_page(request, "problem.html", status, problem=context, way=onward, back=onward == back)


def help_for(details: Mapping[str, Json]) -> str:
    """Return what may help with a problem."""
    hint = str(details.get("hint") or PROBLEM_KINDS[str(details["type"]).rpartition("/")[2]].help)
    return hint.replace("GET /v1/data has", "the menus of the ask page have")


def redirect(address: str) -> Response:
    """Redirect to an address, in answer to a form."""
    return RedirectResponse(address, 303)


def local_address(address: str) -> str:
    """Return an address of these pages, or an empty text for any other: nobody is sent elsewhere."""
    is_local = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if is_local and address.isprintable() and not address.startswith("/sign-") else ""


def home(role: Role) -> str:
    """Return the address of a role's first page."""
    return _NAVIGATION[role][0][0]


def origin(request: Request) -> str:
    """Return the address by which others reach the gateway."""
    url = request.state.gateway.settings.server.url
    return str(url).rstrip("/") if url else f"{request.url.scheme}://{request.url.netloc}"


def fields_of(text: str) -> dict[str, list[str]]:
    """Parse the fields of a query or a form, each with all its values; an empty dict if there are too many."""
    try:
        return parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS, errors="replace")
    except ValueError:
        return {}


async def read_posted(request: Request, *names: str) -> list[str]:
    """Read the last value of each field that a form has posted, or an empty text."""
    fields = fields_of((await request.body()).decode("utf-8", "replace"))
    return [fields.get(name, [""])[-1] for name in names]
