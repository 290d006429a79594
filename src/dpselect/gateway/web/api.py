"""The JSON addresses under /v1. Each handler reads the request, asks the gateway in a thread, and writes JSON."""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool as threaded
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from dpselect.errors import ParameterError, came
from dpselect.gateway import views
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.problems import Refused
from dpselect.gateway.settings.server import Person
from dpselect.gateway.web import replies
from dpselect.gateway.web.answers import ANSWER_FORMS
from dpselect.gateway.web.desk import MAX_WAIT_SECONDS, run_for_person, slow_requests_of, wait_until_ended
from dpselect.gateway.web.releases import Release
from dpselect.gateway.web.routes import ANALYST, AUDITOR, EVERYBODY, NOBODY, OWNER, Routes, call, json_response
from dpselect.questions import items_to_json, parse_json
from dpselect.release import Json

ROUTES = Routes()
SIGN_IN_HINT = "Send a token: Authorization: Bearer TOKEN."
MAX_BODY_DEPTH = 50  # lists and objects inside each other
SHORT_BODY_BYTES = 1 << 14  # bytes of a body that is read at once


def _in_query(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


WAIT = _in_query(
    "wait", "reply when the question has ended, or after this many seconds", type="integer", minimum=0, maximum=30
)
AFTER_PARAMETER = _in_query("after", "the id of a question: list only those before it", type="string")
LIMIT_PARAMETER = _in_query("limit", "the most to list, 50 by default", type="integer", minimum=1, maximum=500)
HEAD_PARAMETER = _in_query(
    "head", "the digest of an entry that was noted earlier, to check that it is still in the record", type="string"
)
AGAIN = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a text that you choose: the same request sent twice with it is one question",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}


def _parse_number(request: Request, name: str, default: int, minimum: int, maximum: int) -> int:
    """Parse a whole number of the query string."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10) or not minimum <= int(text) <= maximum:
        raise ParameterError(name, f"be a whole number from {minimum} to {maximum}", came(text))
    return int(text)


# ---- how a body is read -------------------------------------------------------------------------------------


async def read_body(request: Request) -> tuple[Json, bytes]:
    """Read the body as JSON, and its bytes."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise Refused("content", "The body must be JSON: send Content-Type: application/json.")
    raw = await request.body()
    if len(raw) <= SHORT_BODY_BYTES:
        return parse_body(raw), raw
    return await slow_requests_of(request).run(request.state.person.name, parse_body, raw), raw


def parse_body(raw: bytes) -> Json:
    """Parse JSON that has no half of a surrogate pair and is not nested deep."""
    try:
        value: Json = parse_json(raw)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise Refused("malformed", "The body is not valid JSON.") from None
    if _depth(value) > MAX_BODY_DEPTH:
        raise Refused("malformed", "The body is nested too deep.")
    return value


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        inner: list[Json] = []
        for part in level:
            if isinstance(part, dict):
                inner += part.values()
            elif isinstance(part, list):
                inner += part
        level = inner
    return depth


# ---- who and what -------------------------------------------------------------------------------------------


ROUTES.view("GET", "/v1/me", EVERYBODY, replies.Me, views.me)


def data(gateway: Gateway, person: Person) -> list[dict[str, Json]]:
    """List the data sets that may be asked, as declared.

    Integers that JavaScript would round are [kind, text].
    """

    def write_items(values: Any) -> Json:
        return items_to_json(values) if isinstance(values, (list, tuple)) else values

    descriptions = views.described(gateway, person)
    for description in descriptions:
        for name in ("filters", "domains"):
            description[name] = {column: write_items(values) for column, values in dict(description[name]).items()}  # type: ignore[arg-type]
    return descriptions


ROUTES.view("GET", "/v1/data", EVERYBODY, replies.DataList, data, under="data")


@ROUTES.route("POST", "/v1/plan", OWNER | ANALYST, replies.Plan, takes="Question")
async def plan(request: Request) -> Response:
    """Forecast a question, its accuracy and its price: free, and without data."""
    body, _ = await read_body(request)
    return json_response(await run_for_person(request, Gateway.forecast, body))


@ROUTES.route("POST", "/v1/price", OWNER | ANALYST, replies.Price, takes="Question")
async def price(request: Request) -> Response:
    """Price a question: free, and without data."""
    body, _ = await read_body(request)
    return json_response(await run_for_person(request, Gateway.price, body))


# ---- questions ----------------------------------------------------------------------------------------------


@ROUTES.route(
    "POST",
    "/v1/questions",
    ANALYST,
    replies.Job,
    takes="Question",
    parameters=(AGAIN,),
    status=202,
    refused=("budget", "key", "busy"),
)
async def ask(request: Request) -> Response:
    """Ask a question. Its answer is waited for at the address in Location."""
    key, raw = request.headers.get("idempotency-key"), await request.body()
    job: Any = request.state.gateway.at_hand(request.state.person, raw) if key is None else None
    if job is None:
        body, raw = await read_body(request)
        job = await run_for_person(request, Gateway.ask, body, key, raw=raw)
    return json_response(job, 202, {"Location": f"/v1/questions/{job['id']}"})


@ROUTES.route(
    "GET",
    "/v1/questions",
    OWNER | ANALYST,
    replies.QuestionList,
    parameters=(AFTER_PARAMETER, LIMIT_PARAMETER),
    refused=("not-found", "parameter"),
)
async def questions(request: Request) -> Response:
    """List your questions, newest first; an owner also sees those that wait for approval."""
    after, limit = request.query_params.get("after"), _parse_number(request, "limit", 50, 1, 500)
    return json_response({"questions": await call(request, views.questions, after, limit)})


@ROUTES.route("GET", "/v1/questions/{id}", OWNER | ANALYST, replies.Job, parameters=(WAIT,), refused=("parameter",))
async def question(request: Request) -> Response:
    """Return how far a question has come."""
    wait, number = _parse_number(request, "wait", 0, 0, math.floor(MAX_WAIT_SECONDS)), str(request.path_params["id"])

    if not wait:
        return json_response(await find_job(request, number))
    with slow_requests_of(request).holding(request.state.person.name):
        return json_response(
            await wait_until_ended(request.app.state.bell, number, partial(find_job, request, number), wait)
        )


async def find_job(request: Request, number: str) -> dict[str, Json]:
    """Return the job of a question for whoever asks, if they may still sign in."""
    request.state.person = await request.state.gateway.people.authenticate(request)
    if request.state.person is None:
        raise Refused("sign-in", SIGN_IN_HINT)
    job: dict[str, Json] = await call(request, Gateway.job, number)
    return job


ROUTES.view("DELETE", "/v1/questions/{id}", ANALYST, replies.Job, Gateway.cancel, refused=("state",))
ROUTES.view("POST", "/v1/questions/{id}/approve", OWNER, replies.Job, Gateway.approve, refused=("state",))
ROUTES.view("POST", "/v1/questions/{id}/reject", OWNER, replies.Job, Gateway.reject, refused=("state",))


# ---- answers ------------------------------------------------------------------------------------------------


ROUTES.view("GET", "/v1/answers", EVERYBODY, replies.AnswerList, views.answers, under="answers")


@ROUTES.route("GET", "/v1/answers/{id}", EVERYBODY, Release)
async def answer(request: Request) -> Response:
    """Return an answer."""
    number, dot, name = str(request.path_params["id"]).partition(".")
    form = ANSWER_FORMS.get(name if dot else "json")
    if form is None:
        raise Refused("not-found", f"There are these forms of an answer: {', '.join(ANSWER_FORMS)}.")
    known_answer = request.state.gateway.answer_at_hand(request.state.person, number)
    if known_answer is not None and form is ANSWER_FORMS["json"]:
        content = known_answer.json
    else:
        written_answer = known_answer if known_answer is not None else await call(request, Gateway.answer, number)
        content = await threaded(form.write, written_answer)
    request.state.gateway.metrics.count("dpselect_answers_total", f'form="{name if dot else "json"}"')
    headers = (
        {"Content-Disposition": f'attachment; filename="answer-{number}.{name.removeprefix("plain-")}"'}
        if form.download
        else None
    )
    return Response(content, headers=headers, media_type=form.media)


# ---- budgets and the record ---------------------------------------------------------------------------------


ROUTES.view("GET", "/v1/budget", EVERYBODY, replies.BudgetList, views.budget, under="budgets")


@ROUTES.route("POST", "/v1/grants", OWNER, replies.Granted, takes="Grant", refused=("not-found",))
async def grant(request: Request) -> Response:
    """Grant an analyst a quota."""
    body, _ = await read_body(request)
    return json_response(await call(request, views.grant, body))


ROUTES.view("GET", "/v1/people", OWNER, replies.PersonList, views.people, under="people")
ROUTES.view("GET", "/v1/record/{data}", OWNER | AUDITOR, replies.Record, views.record)


@ROUTES.route("GET", "/v1/verification", OWNER | AUDITOR, replies.Verification, parameters=(HEAD_PARAMETER,))
async def verification(request: Request) -> Response:
    """Check whether the record agrees with itself."""
    return json_response(await call(request, views.verification, request.query_params.get("head")))


# ---- of the server itself -----------------------------------------------------------------------------------


@ROUTES.route("GET", "/healthz", NOBODY, replies.Health)
async def health(request: Request) -> Response:  # noqa: ARG001 - this process answers
    """Reply if the process lives."""
    return json_response({"status": "ok"})


@ROUTES.route("GET", "/readyz", NOBODY, replies.Health, refused=("unavailable",))
async def ready(request: Request) -> Response:
    """Reply if questions can be answered."""
    if not await threaded(views.is_ready, request.state.gateway):
        raise Refused("unavailable", "The record of budgets cannot be used right now.", after=5)
    return json_response({"status": "ok"})


@ROUTES.route("GET", "/metrics", OWNER | AUDITOR, str, media="text/plain")
async def metrics(request: Request) -> Response:
    """Return counters for monitoring."""
    return PlainTextResponse(await call(request, views.numbers), media_type="text/plain; version=0.0.4")


@ROUTES.route("GET", "/v1/openapi.json", NOBODY, dict[str, Any])
async def openapi(request: Request) -> Response:
    """Return this description."""
    return json_response(request.app.state.document)
