"""Signing in with a token or a link that works once, and signing out."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages import forms
from dpselect.gateway.pages.rendering import home, one, origin, page, see
from dpselect.gateway.web.identity import COOKIE


async def start(request: Request) -> Response:
    """Where a person starts."""
    person = request.state.person
    return see("/sign-in" if person is None else home(person.role))


async def show(request: Request) -> Response:
    """The form; with a code in the address a button, since programs that only look at links must not use them up."""
    code, to = request.query_params.get("code", ""), own(request.query_params.get("to", ""))
    if request.state.person is not None and not code:
        return see(to or home(request.state.person.role))
    return page(request, "sign_in.html", code=code, to=to, wrong=None)


async def sign_in(request: Request) -> Response:
    """A session for whoever has a token or a code."""
    people, fields = request.state.gateway.people_who_sign_in, await forms.posted(request)
    code, token, to = (one(fields, name).strip() for name in ("code", "token", "to"))
    if code:  # it works once, so a request too many must not use it up
        request.state.count(None)
        person = await run_in_threadpool(people.of_code, code)
    else:
        person = people.of_token(token)
        request.state.count(person)
    if person is None:
        return page(request, "sign_in.html", 401, code="", to=own(to), wrong="link" if code else "token")
    answer = see(own(to) or home(person.role))
    answer.set_cookie(COOKIE, people.session(person), **_cookie(request))
    return answer


async def sign_out(request: Request) -> Response:
    """The session ends, here and wherever else its cookie is."""
    answer, cookie = see("/sign-in"), request.cookies.get(COOKIE)
    if cookie is not None:
        await run_in_threadpool(request.state.gateway.people_who_sign_in.end, cookie)
    answer.delete_cookie(COOKIE, **_cookie(request))
    return answer


def _cookie(request: Request) -> dict[str, Any]:
    """A link from a letter may bring it along; what a form sends is looked at by itself."""
    secure = origin(request, request.state.gateway).startswith("https://")
    return {"httponly": True, "samesite": "lax", "secure": secure}


def own(address: str) -> str:
    """An address of these pages, or nothing: nobody is sent elsewhere."""
    plain = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if plain and address.isprintable() and not address.startswith("/sign-") else ""
