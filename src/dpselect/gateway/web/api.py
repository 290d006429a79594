"""The JSON addresses under /v1. Each handler reads the request, asks the gateway in a thread, and writes JSON."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool as threaded
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from dpselect.errors import ParameterError, came
from dpselect.gateway import views
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.values import Person
from dpselect.gateway.web import replies
from dpselect.gateway.web.answers import FORMS
from dpselect.gateway.web.bodies import body_of
from dpselect.gateway.web.desk import LONGEST, Bell, changed, desk_of, ended, is_final, thinking
from dpselect.gateway.web.routes import ANALYST, AUDITOR, EVERYBODY, NOBODY, OWNER, Routes, call
from dpselect.release.formatting import Json

ROUTES = Routes()
SIGN_IN = "Send a token: Authorization: Bearer TOKEN."


def _in_query(name: str, said: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": said, "schema": schema}


WAIT = _in_query(
    "wait", "answer when the question has ended, or after so many seconds", type="integer", minimum=0, maximum=30
)
AFTER = _in_query("after", "the id of a question: only those before it", type="string")
LIMIT = _in_query("limit", "how many at most, 50 by default", type="integer", minimum=1, maximum=500)
HEAD = _in_query("head", "the digest of a last entry that somebody noted: is it still in the record?", type="string")
AGAIN = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a text of your own: a request that is sent twice with it is one question",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}


def gateway_of(request: Request) -> Gateway:
    """What is behind the routes."""
    found: Gateway = request.app.state.gateway
    return found


def person_of(request: Request) -> Person:
    """Who is signed in; a route that is open to roles has one."""
    found: Person = request.state.person
    return found


def written(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    content = body.encode("utf-8", "backslashreplace")
    return Response(content, status, headers=headers, media_type="application/json")


async def of_person(request: Request, what: Callable[..., Any], *given: object, under: str = "") -> Response:
    """The same as JSON, where a list has a name."""
    found = await call(request, what, *given)
    return written({under: [*found]} if under else found)


def _number(request: Request, name: str, default: int, least: int, most: int) -> int:
    """A whole number of the query string."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10) or not least <= int(text) <= most:
        raise ParameterError(name, f"be a whole number from {least} to {most}", came(text))
    return int(text)


# ---- who and what -------------------------------------------------------------------------------------------


@ROUTES.at("GET", "/v1/me", EVERYBODY, replies.Me)
async def me(request: Request) -> Response:
    """Who is signed in."""
    return await of_person(request, views.me)


@ROUTES.at("GET", "/v1/data", EVERYBODY, replies.DataList)
async def data(request: Request) -> Response:
    """The data sets that may be asked, as declared."""
    return await of_person(request, views.described, under="data")


@ROUTES.at("POST", "/v1/plan", OWNER | ANALYST, replies.Plan, takes="Question")
async def plan(request: Request) -> Response:
    """What would come back, how sure, and what it costs: free, and without data."""
    body, _ = await body_of(request)
    return written(await thinking(request, gateway_of(request).forecast, person_of(request), body))


@ROUTES.at("POST", "/v1/price", OWNER | ANALYST, replies.Price, takes="Question")
async def price(request: Request) -> Response:
    """What a question costs: free, and without data."""
    body, _ = await body_of(request)
    return written(await thinking(request, gateway_of(request).price, person_of(request), body))


# ---- questions ----------------------------------------------------------------------------------------------


@ROUTES.at(
    "POST",
    "/v1/questions",
    ANALYST,
    replies.Job,
    takes="Question",
    given=(AGAIN,),
    status=202,
    refused=("budget", "key", "busy"),
)
async def ask(request: Request) -> Response:
    """Ask. The answer is waited for at the address in Location."""
    gateway, person = gateway_of(request), person_of(request)
    again = request.headers.get("idempotency-key")
    job = gateway.at_hand(person, await request.body()) if again is None else None
    if job is None:
        body, raw = await body_of(request)
        job = await thinking(request, gateway.ask, person, body, again, raw=raw)
    return written(job, 202, {"Location": f"/v1/questions/{job['id']}"})


async def looked(request: Request) -> dict[str, Json]:
    """How far a question has come, for whoever asks, if they may still sign in."""
    person = await request.app.state.identity.of(request)
    if person is None:
        raise Refused("sign-in", SIGN_IN)
    return await threaded(gateway_of(request).job, person, str(request.path_params["id"]))


@ROUTES.at(
    "GET",
    "/v1/questions",
    OWNER | ANALYST,
    replies.QuestionList,
    given=(AFTER, LIMIT),
    refused=("not-found", "parameter"),
)
async def questions(request: Request) -> Response:
    """Your questions, newest first; an owner also sees those that wait for approval."""
    after, limit = request.query_params.get("after"), _number(request, "limit", 50, 1, 500)
    return await of_person(request, views.questions, after, limit, under="questions")


@ROUTES.at("GET", "/v1/questions/{id}", OWNER | ANALYST, replies.Job, given=(WAIT,), refused=("parameter",))
async def question(request: Request) -> Response:
    """How far a question has come."""
    wait = _number(request, "wait", 0, 0, math.floor(LONGEST))
    if not wait:
        return written(await looked(request))
    bell: Bell = request.app.state.bell
    with desk_of(request).holding(person_of(request).name):
        return written(await ended(bell, str(request.path_params["id"]), lambda: looked(request), wait))


@ROUTES.at("DELETE", "/v1/questions/{id}", ANALYST, replies.Job, refused=("state",))
async def cancel(request: Request) -> Response:
    """Cancel a question of which no row has been read."""
    return await of_person(request, Gateway.cancel, request.path_params["id"])


class HeldEvents(StreamingResponse):
    """Events, until they end or the caller has gone; then the connection counts no more."""

    def __init__(self, told: AsyncIterator[str], held: contextlib.ExitStack) -> None:
        super().__init__(told, media_type="text/event-stream")
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The whole of it."""
        with self._held:
            await super().__call__(scope, receive, send)


@ROUTES.at("GET", "/v1/questions/{id}/events", OWNER | ANALYST, replies.Event, media="text/event-stream")
async def events(request: Request) -> Response:
    """Every change of state, as server-sent events, up to the last."""
    bell: Bell = request.app.state.bell
    first = await looked(request)
    held = contextlib.ExitStack()
    held.enter_context(desk_of(request).holding(person_of(request).name))

    async def told() -> AsyncIterator[str]:
        job, last = first, None
        while True:
            if job != last:
                yield f"event: state\ndata: {json.dumps(job, ensure_ascii=True)}\n\n"
            if is_final(job) or await request.is_disconnected():
                return
            last = job
            try:
                job = await changed(bell, str(job["id"]), lambda: looked(request), LONGEST / 2, job)
            except Refused:  # who is no longer signed in hears no more
                return

    return HeldEvents(told(), held)


@ROUTES.at("POST", "/v1/questions/{id}/approve", OWNER, replies.Job, refused=("state",))
async def approve(request: Request) -> Response:
    """Agree to a question."""
    return await of_person(request, Gateway.decide, request.path_params["id"], True)


@ROUTES.at("POST", "/v1/questions/{id}/reject", OWNER, replies.Job, refused=("state",))
async def reject(request: Request) -> Response:
    """Refuse a question."""
    return await of_person(request, Gateway.decide, request.path_params["id"], False)


# ---- answers ------------------------------------------------------------------------------------------------


@ROUTES.at("GET", "/v1/answers", EVERYBODY, replies.AnswerList)
async def answers(request: Request) -> Response:
    """The answers that may be read: all are free."""
    return await of_person(request, views.answers, under="answers")


@ROUTES.at("GET", "/v1/answers/{id}", EVERYBODY, replies.Release)
async def answer(request: Request) -> Response:
    """An answer."""
    gateway = gateway_of(request)
    number, dot, name = str(request.path_params["id"]).partition(".")
    form = FORMS.get(name if dot else "json")
    if form is None:
        raise Refused("not-found", f"There are these forms of an answer: {', '.join(FORMS)}.")
    found = gateway.answer_at_hand(person_of(request), number)
    if found is not None and form is FORMS["json"]:
        content = found.json
    else:
        read = found if found is not None else await threaded(gateway.answer, person_of(request), number)
        content = await threaded(form.write, read)
    gateway.metrics.count("dpselect_answers_total", f'form="{name if dot else "json"}"')
    headers = (
        {"Content-Disposition": f'attachment; filename="answer-{number}.{name.removeprefix("plain-")}"'}
        if form.download
        else None
    )
    return Response(content, headers=headers, media_type=form.media)


# ---- budgets and the record ---------------------------------------------------------------------------------


@ROUTES.at("GET", "/v1/budget", EVERYBODY, replies.BudgetList)
async def budget(request: Request) -> Response:
    """What is left: of your quotas; owners and auditors see all."""
    return await of_person(request, views.budget, under="budgets")


@ROUTES.at("POST", "/v1/grants", OWNER, replies.Granted, takes="Grant", refused=("not-found",))
async def grant(request: Request) -> Response:
    """Grant an analyst a quota."""
    body, _ = await body_of(request)
    return await of_person(request, views.grant, body)


@ROUTES.at("GET", "/v1/people", OWNER, replies.PersonList)
async def people(request: Request) -> Response:
    """Who may sign in."""
    return await of_person(request, views.people, under="people")


@ROUTES.at("GET", "/v1/record/{data}", OWNER | AUDITOR, replies.Record)
async def record(request: Request) -> Response:
    """The record of one data set."""
    return await of_person(request, views.record, request.path_params["data"])


@ROUTES.at("GET", "/v1/verification", OWNER | AUDITOR, replies.Verification, given=(HEAD,))
async def verification(request: Request) -> Response:
    """Does the record agree with itself?"""
    return await of_person(request, views.verification, request.query_params.get("head"))


# ---- of the server itself -----------------------------------------------------------------------------------


@ROUTES.at("GET", "/healthz", NOBODY, replies.Health)
async def health(request: Request) -> Response:  # noqa: ARG001 - this process answers
    """Does the process live?"""
    return written({"status": "ok"})


@ROUTES.at("GET", "/readyz", NOBODY, replies.Health, refused=("unavailable",))
async def ready(request: Request) -> Response:
    """Can questions be answered?"""
    if not await threaded(views.ready, gateway_of(request)):
        raise Refused("unavailable", "The record of budgets cannot be used right now.", after=5)
    return written({"status": "ok"})


@ROUTES.at("GET", "/metrics", OWNER | AUDITOR, str, media="text/plain")
async def metrics(request: Request) -> Response:
    """Counters for monitoring."""
    return PlainTextResponse(await call(request, views.numbers), media_type="text/plain; version=0.0.4")


@ROUTES.at("GET", "/v1/openapi.json", NOBODY, dict[str, Any])
async def openapi(request: Request) -> Response:
    """This description."""
    return written(request.app.state.document)
