"""The JSON addresses under /v1. Each handler reads the request, asks the gateway in a thread, and writes JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool as threaded
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from dpselect._ground import json_text
from dpselect.errors import ParameterError, came
from dpselect.gateway import views
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.values import Person
from dpselect.gateway.web import replies
from dpselect.gateway.web.answers import FORMS
from dpselect.gateway.web.desk import LONGEST, desk_of, ended, thinking
from dpselect.gateway.web.routes import ANALYST, AUDITOR, EVERYBODY, NOBODY, OWNER, Routes, call
from dpselect.questions.kinds import items_to_json
from dpselect.release.formatting import Json

ROUTES = Routes()
SIGN_IN = "Send a token: Authorization: Bearer TOKEN."
DEEPEST = 50  # lists and objects inside each other
SHORT = 1 << 14  # bytes of a body that is read at once


def _in_query(name: str, said: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": said, "schema": schema}


WAIT = _in_query(
    "wait", "reply when the question has ended, or after this many seconds", type="integer", minimum=0, maximum=30
)
AFTER = _in_query("after", "the id of a question: list only those before it", type="string")
LIMIT = _in_query("limit", "the most to list, 50 by default", type="integer", minimum=1, maximum=500)
HEAD = _in_query(
    "head", "the digest of an entry that was noted earlier, to check that it is still in the record", type="string"
)
AGAIN = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a text that you choose: the same request sent twice with it is one question",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}


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


# ---- how a body is read -------------------------------------------------------------------------------------


async def body_of(request: Request) -> tuple[Json, bytes]:
    """The body as JSON, and its bytes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused("content", "The body must be JSON: send Content-Type: application/json.")
    raw = await request.body()
    if len(raw) <= SHORT:
        return parsed(raw), raw
    return await desk_of(request).run(request.state.person.name, parsed, raw), raw


def parsed(raw: bytes) -> Json:
    """JSON with no half of a pair of surrogates, and not nested deep."""
    try:
        found: Json = json_text.parse_json(raw)
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise Refused("malformed", "The body is not valid JSON.") from None
    if _depth(found) > DEEPEST:
        raise Refused("malformed", "The body is nested too deep.")
    return found


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


# ---- who and what -------------------------------------------------------------------------------------------


@ROUTES.at("GET", "/v1/me", EVERYBODY, replies.Me)
async def me(request: Request) -> Response:
    """Who is signed in."""
    return await of_person(request, views.me)


@ROUTES.at("GET", "/v1/data", EVERYBODY, replies.DataList)
async def data(request: Request) -> Response:
    """The data sets that may be asked, as declared."""
    return await of_person(request, _described, under="data")


def _described(gateway: Gateway, person: Person) -> list[dict[str, Json]]:
    """Return the description of the data, with integers that JavaScript would round as [kind, text]."""

    def written(values: Any) -> Json:
        return items_to_json(values) if isinstance(values, (list, tuple)) else values

    found = views.described(gateway, person)
    for one in found:
        for name in ("filters", "domains"):
            one[name] = {column: written(values) for column, values in dict(one[name]).items()}  # type: ignore[arg-type]
    return found


@ROUTES.at("POST", "/v1/plan", OWNER | ANALYST, replies.Plan, takes="Question")
async def plan(request: Request) -> Response:
    """The forecast, the accuracy and the price of a question: free, and without data."""
    body, _ = await body_of(request)
    return written(await thinking(request, Gateway.forecast, body))


@ROUTES.at("POST", "/v1/price", OWNER | ANALYST, replies.Price, takes="Question")
async def price(request: Request) -> Response:
    """What a question costs: free, and without data."""
    body, _ = await body_of(request)
    return written(await thinking(request, Gateway.price, body))


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
    key, raw = request.headers.get("idempotency-key"), await request.body()
    job: Any = request.state.gateway.at_hand(request.state.person, raw) if key is None else None
    if job is None:
        body, raw = await body_of(request)
        job = await thinking(request, Gateway.ask, body, key, raw=raw)
    return written(job, 202, {"Location": f"/v1/questions/{job['id']}"})


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
    wait, number = _number(request, "wait", 0, 0, math.floor(LONGEST)), str(request.path_params["id"])

    if not wait:
        return written(await looked(request, number))
    with desk_of(request).holding(request.state.person.name):
        return written(await ended(request.app.state.bell, number, partial(looked, request, number), wait))


async def looked(request: Request, number: str) -> dict[str, Json]:
    """A question, for whoever asks, if they may still sign in."""
    request.state.person = await request.state.gateway.people.authenticate(request)
    if request.state.person is None:
        raise Refused("sign-in", SIGN_IN)
    job: dict[str, Json] = await call(request, Gateway.job, number)
    return job


@ROUTES.at("DELETE", "/v1/questions/{id}", ANALYST, replies.Job, refused=("state",))
async def cancel(request: Request) -> Response:
    """Cancel a question of which no row has been read."""
    return await of_person(request, Gateway.cancel, request.path_params["id"])


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
    number, dot, name = str(request.path_params["id"]).partition(".")
    form = FORMS.get(name if dot else "json")
    if form is None:
        raise Refused("not-found", f"There are these forms of an answer: {', '.join(FORMS)}.")
    found = request.state.gateway.answer_at_hand(request.state.person, number)
    if found is not None and form is FORMS["json"]:
        content = found.json
    else:
        read = found if found is not None else await call(request, Gateway.answer, number)
        content = await threaded(form.write, read)
    request.state.gateway.metrics.count("dpselect_answers_total", f'form="{name if dot else "json"}"')
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
    if not await threaded(views.ready, request.state.gateway):
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
