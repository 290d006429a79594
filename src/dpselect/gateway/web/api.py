"""The JSON addresses under /v1. Each handler reads the request, asks the gateway in a thread, and writes JSON."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool as threaded
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from dpselect.errors import ParameterError, came
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.values import Person
from dpselect.gateway.web.answers import FORMS
from dpselect.gateway.web.desk import desk_of, thinking
from dpselect.gateway.web.waiting import LONGEST, Bell, changed, ended, is_final
from dpselect.release.formatting import Json

SIGN_IN = "Send a token: Authorization: Bearer TOKEN."
DEEPEST = 50  # lists and objects inside each other
SHORT = 1 << 14  # bytes of a body that is read at once


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


async def body_of(request: Request) -> tuple[Json, bytes]:
    """The body as JSON, and its bytes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused("content", "The body must be JSON: say Content-Type: application/json.")
    raw = await request.body()
    return parsed(raw) if len(raw) <= SHORT else await thinking(request, parsed, raw), raw


def parsed(raw: bytes) -> Json:
    """JSON as it is defined: no NaN, no name twice, no half of a pair."""
    try:
        found: Json = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_once, parse_float=_finite, parse_constant=_refuse
        )
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise Refused("malformed", "The body is no JSON that can be read.") from None
    if _depth(found) > DEEPEST:
        raise Refused("malformed", "The body is nested too deep.")
    return found


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def _finite(text: str) -> float:
    """A number that a float can hold: 1e999 would be read as infinity."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def _refuse(name: str) -> Json:
    raise ValueError(name)


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        inner: list[Json] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        level = inner
    return depth


def _number(request: Request, name: str, default: int, least: int, most: int) -> int:
    """A whole number of the query string."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10) or not least <= int(text) <= most:
        raise ParameterError(name, f"be a whole number from {least} to {most}", came(text))
    return int(text)


# ---- who and what -------------------------------------------------------------------------------------------


async def me(request: Request) -> Response:
    """Who is signed in."""
    return written(gateway_of(request).me(person_of(request)))


async def data(request: Request) -> Response:
    """What the owner declared."""
    return written({"data": [*gateway_of(request).described(person_of(request))]})


async def plan(request: Request) -> Response:
    """A forecast and the price."""
    body, _ = await body_of(request)
    return written(await thinking(request, gateway_of(request).forecast, person_of(request), body))


async def price(request: Request) -> Response:
    """The price alone."""
    body, _ = await body_of(request)
    return written(await thinking(request, gateway_of(request).price, person_of(request), body))


# ---- questions ----------------------------------------------------------------------------------------------


async def ask(request: Request) -> Response:
    """Take a question. Where the answer to the same one is known, nothing is waited for."""
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


async def questions(request: Request) -> Response:
    """One's own, newest first."""
    after, limit = request.query_params.get("after"), _number(request, "limit", 50, 1, 500)
    found = await threaded(gateway_of(request).jobs, person_of(request), after, limit)
    return written({"questions": [*found]})


async def question(request: Request) -> Response:
    """How far a question has come; with `wait`, when it has ended, after so many seconds at most."""
    wait = _number(request, "wait", 0, 0, math.floor(LONGEST))
    if not wait:
        return written(await looked(request))
    bell: Bell = request.app.state.bell
    with desk_of(request).holding(person_of(request).name):
        return written(await ended(bell, str(request.path_params["id"]), lambda: looked(request), wait))


async def cancel(request: Request) -> Response:
    """Take a question back."""
    return written(await threaded(gateway_of(request).cancel, person_of(request), str(request.path_params["id"])))


class HeldEvents(StreamingResponse):
    """Events, until they end or the caller has gone; then the connection counts no more."""

    def __init__(self, told: AsyncIterator[str], held: contextlib.ExitStack) -> None:
        super().__init__(told, media_type="text/event-stream")
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The whole of it."""
        with self._held:
            await super().__call__(scope, receive, send)


async def events(request: Request) -> Response:
    """Every change of a question, as server-sent events."""
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


async def approve(request: Request) -> Response:
    """Agree to a question."""
    found = await threaded(gateway_of(request).decide, person_of(request), str(request.path_params["id"]), True)
    return written(found)


async def reject(request: Request) -> Response:
    """Do not."""
    found = await threaded(gateway_of(request).decide, person_of(request), str(request.path_params["id"]), False)
    return written(found)


# ---- answers ------------------------------------------------------------------------------------------------


async def answers(request: Request) -> Response:
    """All that may be read."""
    return written({"answers": [*await threaded(gateway_of(request).answers, person_of(request))]})


async def answer(request: Request) -> Response:
    """One, in the form that its address ends with."""
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


async def budget(request: Request) -> Response:
    """How budgets stand."""
    return written({"budgets": [*await threaded(gateway_of(request).budget, person_of(request))]})


async def grant(request: Request) -> Response:
    """Add to a quota."""
    body, _ = await body_of(request)
    return written(await threaded(gateway_of(request).grant, person_of(request), body))


async def people(request: Request) -> Response:
    """Everybody."""
    return written({"people": [*await threaded(gateway_of(request).people, person_of(request))]})


async def record(request: Request) -> Response:
    """Everything that was asked and paid of one data set."""
    return written(await threaded(gateway_of(request).record, person_of(request), str(request.path_params["data"])))


async def verification(request: Request) -> Response:
    """The record checked."""
    head: Any = request.query_params.get("head")
    return written(await threaded(gateway_of(request).verification, person_of(request), head))


# ---- of the server itself -----------------------------------------------------------------------------------


async def health(request: Request) -> Response:  # noqa: ARG001 - it says that this process answers
    """This process answers."""
    return written({"status": "ok"})


async def ready(request: Request) -> Response:
    """The record and the table of questions can be used."""
    if not await threaded(gateway_of(request).ready):
        raise Refused("unavailable", "The record of budgets cannot be used right now.", after=5)
    return written({"status": "ok"})


async def metrics(request: Request) -> Response:
    """Numbers about the gateway."""
    text = await threaded(gateway_of(request).numbers, person_of(request))
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


async def description(request: Request) -> Response:
    """The OpenAPI document."""
    return written(request.app.state.document)
