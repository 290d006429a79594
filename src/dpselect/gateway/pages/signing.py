"""Signing in with a token or a link that works once, and signing out."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages import forms
from dpselect.gateway.pages.rendering import home, one, page, see

COOKIE = "dpselect"


async def start(request: Request) -> Response:
    """Where a person starts."""
    person = request.state.person
    return see("/sign-in" if person is None else home(person.role))


async def show(request: Request) -> Response:
    """The form; with a code in the address a button, since programs that only look at links must not use them up."""
    if request.state.person is not None:
        return see(home(request.state.person.role))
    return page(request, "sign_in.html", code=request.query_params.get("code", ""), wrong=None)


async def sign_in(request: Request) -> Response:
    """A session for whoever has a token or a code."""
    gateway, fields = request.state.gateway, await forms.posted(request)
    code, token = one(fields, "code").strip(), one(fields, "token").strip()
    if code:
        person = await run_in_threadpool(gateway.person_of_code, code)
    else:
        person = await run_in_threadpool(gateway.person_of_token, token) if token else None
    if person is None:
        wrong = "link" if code else "token"
        return page(request, "sign_in.html", 401, code="", wrong=wrong)
    answer = see(home(person.role))
    value = await run_in_threadpool(gateway.people.session_for, person)
    answer.set_cookie(COOKIE, value, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer


async def sign_out(request: Request) -> Response:
    """The session ends."""
    answer = see("/sign-in")
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer
