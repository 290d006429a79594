"""Pages from templates: every value is escaped, every page names its style by what is in it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dpselect.gateway.pages import numbers, words
from dpselect.gateway.settings.values import Role

HERE = Path(__file__).parent
STATIC = {"style.css": "text/css", "script.js": "text/javascript", "icon.svg": "image/svg+xml"}
NAVIGATION = {
    Role.ANALYST: (("/ask", "Ask"), ("/history", "Answers"), ("/budget", "Budget")),
    Role.OWNER: (("/owner", "Manage"), ("/history", "Answers"), ("/budget", "Budget"), ("/record", "Record")),
    Role.AUDITOR: (("/record", "Record"), ("/history", "Answers"), ("/budget", "Budget")),
}


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
    found.filters.update(
        number=numbers.number,
        percent=numbers.percent,
        moment=numbers.moment,
        price=words.price,
        period=numbers.period,
        listed=numbers.listed,
        asked=words.asked,
        things=words.things,
        columns=words.key,
    )
    everywhere: dict[str, Any] = found.globals
    everywhere.update(count=numbers.count, amount=numbers.amount, STATES=words.STATES, FINAL=words.FINAL, static=static)
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
    """A page, which no cache keeps."""
    person = getattr(request.state, "person", None)
    menu = () if person is None else NAVIGATION[person.role]
    text = (
        environment()
        .get_template(template)
        .render(person=person, navigation=menu, here=request.url.path, **{"twin": None, **given})
    )
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


def see(address: str) -> Response:
    """The answer to a form: look there."""
    return RedirectResponse(address, 303, headers={"Cache-Control": "no-store"})


def sign_in_first(request: Request) -> Response:
    """To the sign-in page, and from there back to where the person wanted to go."""
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return see(f"/sign-in?to={quote(wanted, safe='')}" if request.method == "GET" else "/sign-in")


def home(role: Role) -> str:
    """Where a person starts."""
    return NAVIGATION[role][0][0]


def origin(request: Request, gateway: Any) -> str:
    """The address that others reach the gateway by."""
    url = gateway.settings.server.url
    return str(url).rstrip("/") if url else f"{request.url.scheme}://{request.url.netloc}"


def one(fields: Mapping[str, list[str]], name: str) -> str:
    """The last value of a field, or nothing."""
    return fields[name][-1] if fields.get(name) else ""
