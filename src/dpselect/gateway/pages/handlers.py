"""The pages: made by the server, readable without script, each for those roles that may see it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.audit.spending import SpentSoFar, draw_picture
from dpselect.draws.entropy import fresh_key
from dpselect.errors import ParameterError
from dpselect.gateway import views
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.jobs import FINAL
from dpselect.gateway.pages import asking, snippets, words
from dpselect.gateway.pages.rendering import (
    STATIC,
    content,
    fields_of,
    help_for,
    home,
    origin,
    own,
    page,
    posted,
    see,
    static,
)
from dpselect.gateway.people import COOKIE
from dpselect.gateway.problems import KINDS, Refused, mistake
from dpselect.gateway.settings.values import Role
from dpselect.gateway.web.api import parsed
from dpselect.gateway.web.desk import thinking
from dpselect.gateway.web.routes import ANALYST, AUDITOR, EVERYBODY, NOBODY, OWNER, Routes, call
from dpselect.release import charts, notebook

PAGES = Routes(pages=True)
YEAR = "public, max-age=31536000"
EVERY = 2  # seconds between two looks at a question, where there is no script
MOST = 50  # rows of a list
ROWS = 200  # of an answer; all are in its files
FORECASTS = 5  # of questions that wait
LAST = 500  # questions that the picture of a quota is made from
FORMS = ("csv", "parquet", "json", "svg", "html")
Row = Mapping[str, Any]


# ---- signing in and out --------------------------------------------------------------------------------------


@PAGES.at("GET", "/", NOBODY)
async def start(request: Request) -> Response:
    """Where a person starts."""
    person = request.state.person
    return see("/sign-in" if person is None else home(person.role))


@PAGES.at("GET", "/sign-in", NOBODY)
async def signing_in(request: Request) -> Response:
    """The form; with a code in the address a button, since programs that only look at links must not use them up."""
    code, to = request.query_params.get("code", ""), own(request.query_params.get("to", ""))
    if request.state.person is not None and not code:
        return see(to or home(request.state.person.role))
    return page(request, "sign_in.html", code=code, to=to, wrong=None)


@PAGES.at("POST", "/sign-in", NOBODY)
async def sign_in(request: Request) -> Response:
    """A session for whoever has a token or a code."""
    people = request.state.gateway.people
    code, token, to = (one.strip() for one in await posted(request, "code", "token", "to"))
    person = await run_in_threadpool(people.redeem_code, code) if code else people.find_by_token(token)
    if person is None:
        return page(request, "sign_in.html", 401, code="", to=own(to), wrong="link" if code else "token")
    answer = see(own(to) or home(person.role))
    answer.set_cookie(COOKIE, people.session(person), **_cookie(request))
    return answer


@PAGES.at("POST", "/sign-out", NOBODY)
async def sign_out(request: Request) -> Response:
    """The session ends, here and wherever else its cookie is."""
    answer, cookie = see("/sign-in"), request.cookies.get(COOKIE)
    if cookie is not None:
        await run_in_threadpool(request.state.gateway.people.end_session, cookie)
    answer.delete_cookie(COOKIE, **_cookie(request))
    return answer


def _cookie(request: Request) -> dict[str, Any]:
    """A link from a letter may bring it along; what a form sends is looked at by itself."""
    return {"httponly": True, "samesite": "lax", "secure": origin(request).startswith("https://")}


# ---- files, and what kinds of problems mean ------------------------------------------------------------------


@PAGES.at("GET", "/static/{name}", NOBODY)
async def file(request: Request) -> Response:
    """Style, script or picture; its address changes whenever it does."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise Refused("not-found", "There is no such file.")
    return Response(content(name), media_type=STATIC[name], headers={"Cache-Control": YEAR})


@PAGES.at("GET", "/favicon.ico", NOBODY)
async def icon(_request: Request) -> Response:
    """Where browsers look for a picture beside a file that cannot name one."""
    return see(static("icon.svg"))


@PAGES.at("GET", "/problems/{kind}", NOBODY)
async def problem(request: Request) -> Response:
    """What a kind of problem means."""
    kind = request.path_params["kind"]
    if kind not in KINDS:
        raise Refused("not-found", "There is no problem with that name.")
    return page(request, "kind.html", kind=kind, title=KINDS[kind].title, help=KINDS[kind].help)


# ---- asking --------------------------------------------------------------------------------------------------


@PAGES.at("GET", "/ask", ANALYST)
async def asking_page(request: Request) -> Response:
    """The question as one sentence of menus, and its forecast beside it. Nothing is asked and nothing is paid."""
    described = await call(request, views.described)
    if not described:
        return page(request, "no_data.html")
    form, url = asking.form(fields_of(request.url.query), described), origin(request)
    body = form.body
    found = await _forecast(request, body)
    wrong = "detail" in found
    return page(
        request,
        "ask.html",
        form=form,
        body=body,
        forecast=None if wrong else found,
        problem=found if wrong else None,
        question=json.dumps(body, ensure_ascii=False),
        key=fresh_key().hex(),
        python="" if wrong else snippets.python(url, body),
        url=url,
        twin="/v1/data",
    )


async def _forecast(request: Request, body: Row) -> Row:
    """What to expect and what it costs; or what must be changed first."""
    try:
        found: Row = await thinking(request, Gateway.forecast, dict(body))
    except Exception as error:
        wrong = mistake(error)
        if wrong is None:
            raise
        return wrong
    return found


@PAGES.at("POST", "/ask", ANALYST)
async def ask(request: Request) -> Response:
    """The question of the form, once: the key of the form tells a second click from a second question."""
    question, key = await posted(request, "question", "key")
    body = parsed(question.encode("utf-8", "surrogatepass"))
    job = await thinking(request, Gateway.ask, body, key or None)
    return see(f"/questions/{job['id']}")


# ---- questions and answers -----------------------------------------------------------------------------------


@PAGES.at("GET", "/questions/{id}", OWNER | ANALYST)
async def question(request: Request) -> Response:
    """How far it is; its answer once there is one."""
    job = await call(request, Gateway.job, request.path_params["id"])
    if job["answer"]:
        return see(f"/answers/{job['answer'].rpartition('/')[2]}?question={job['id']}")
    final, problem = job["state"] in FINAL, job["problem"]
    return page(
        request,
        "question.html",
        job=job,
        final=final,
        every=None if final else EVERY,
        may_cancel=job["state"] in ("approval", "queued") and job["by"] == request.state.person.name,
        problem=problem,
        help=help_for(problem) if problem else "",
        twin=f"/v1/questions/{job['id']}",
    )


@PAGES.at("POST", "/questions/{id}/cancel", ANALYST)
async def cancel(request: Request) -> Response:
    """Stop it, while nothing was read."""
    job = await call(request, Gateway.cancel, request.path_params["id"])
    return see(f"/questions/{job['id']}")


@PAGES.at("GET", "/answers/{id}", EVERYBODY)
async def answer(request: Request) -> Response:
    """The answer as it shows itself. Its address is for everybody who may use the data, and free."""
    number, url = request.path_params["id"], origin(request)
    found = await call(request, Gateway.answer, number)
    drawn = charts.draw_release(found.release) if found.release.items else None
    return page(
        request,
        "answer.html",
        answer=found,
        title=words.asked(found.question),
        shown=Markup(notebook.html(found.release._leaflet(), ROWS)),
        picture=Markup(drawn.html(style=False)) if drawn else None,
        job=await _asked_by(request, number),
        forms=[name for name in FORMS if drawn or name != "svg"],
        python=snippets.python(url, found.question),
        url=url,
        twin=f"/v1/answers/{number}",
    )


async def _asked_by(request: Request, number: str) -> Row | None:
    """The question that the reader asked to get it, for what it cost them."""
    try:
        job: Row = await call(request, Gateway.job, request.query_params.get("question", ""))
    except Refused:
        return None
    return job if str(job["answer"]).rpartition("/")[2] == number else None


@PAGES.at("GET", "/history", EVERYBODY)
async def history(request: Request) -> Response:
    """The reader's own questions, and everybody's answers."""
    role = request.state.person.role
    asks = role is not Role.AUDITOR
    jobs = await call(request, views.questions, request.query_params.get("after") or None, MOST) if asks else []
    answers = await call(request, views.answers, MOST)
    more = jobs[-1]["id"] if role is Role.ANALYST and len(jobs) == MOST else None
    return page(request, "history.html", asks=asks, jobs=jobs, answers=answers, more=more, twin="/v1/questions")


# ---- budgets and the record ----------------------------------------------------------------------------------


@PAGES.at("GET", "/budget", EVERYBODY)
async def budget(request: Request) -> Response:
    """By data set and period, a line for each analyst; of one's own quota a picture."""
    own_quota = request.state.person.role is Role.ANALYST
    rows = [{**row, "period": row["period"] or ""} for row in await call(request, views.budget)]
    jobs = await call(request, views.questions, None, LAST) if own_quota else []
    pictures = {name: _of_quota(jobs, name) for name in {row["data"] for row in rows}}
    return page(request, "budget.html", rows=rows, own=own_quota, pictures=pictures, twin="/v1/budget")


def _of_quota(jobs: Sequence[Row], name: str) -> Markup | None:
    """What was used after each question that somebody paid, the oldest first, of the period that was asked last."""
    paid = [job for job in jobs if job["data"] == name and job["cost"] and job["cost"]["left"] is not None]
    same = [job for job in reversed(paid) if job["question"].get("during") == paid[0]["question"].get("during")]
    spent = [(place, job["asked_at"], 1 - float(job["cost"]["left"])) for place, job in enumerate(same, 1)]
    return _drawn(spent, "question")


def _drawn(spent: Sequence[tuple[int, object, float]], what: str) -> Markup | None:
    """What is used after each entry: its number, when it was made, and the part."""
    found = [SpentSoFar(number, str(when)[:10], used) for number, when, used in spent]
    return Markup(draw_picture({"": found}, what).html(style=False)) if len(found) > 1 else None


@PAGES.at("GET", "/record", OWNER | AUDITOR)
async def records(request: Request) -> Response:
    """Verify the record, against a head that was noted earlier where one is given."""
    head = request.query_params.get("head", "").strip()
    found = await call(request, views.verification, head or None) if "head" in request.query_params else None
    names = (await call(request, views.me))["data"]
    return page(request, "auditor.html", found=found, head=head, names=names, twin="/v1/verification")


@PAGES.at("GET", "/record/{data}", OWNER | AUDITOR)
async def record(request: Request) -> Response:
    """All that the ledger says of one data set."""
    data = request.path_params["data"]
    found = await call(request, views.record, data)
    used = [one for one in found["used"] if one["period"] == found["used"][-1]["period"]]  # that was used last
    drawn = _drawn([(one["number"], one["when"], float(one["used"])) for one in used], "entry of the ledger")
    return page(request, "record.html", record=found, picture=drawn, twin=f"/v1/record/{quote(data)}")


# ---- what an owner decides -----------------------------------------------------------------------------------


@PAGES.at("GET", "/owner", OWNER)
async def owner(request: Request) -> Response:
    """Data as declared, people and quotas, and questions that wait for somebody's approval."""
    jobs = [job for job in await call(request, views.questions) if job["state"] == "approval"]
    return page(
        request,
        "owner.html",
        described=await call(request, views.described),
        people=await call(request, views.people),
        budgets=await call(request, views.budget),
        waiting=[
            (job, await _forecast(request, job["question"]) if at < FORECASTS else {}) for at, job in enumerate(jobs)
        ],
        twin="/v1/people",
    )


@PAGES.at("POST", "/owner/grants", OWNER)
async def grant(request: Request) -> Response:
    """More, or a quota at all, for an analyst."""
    names = ("data", "analyst", "epsilon", "delta")
    *given, total = (one.strip() for one in await posted(request, *names, "total"))
    body = dict(zip(names, given, strict=True))
    if not body["epsilon"]:
        raise ParameterError("epsilon", "be a number above 0", "nothing")
    await call(request, views.grant, {**body, "delta": body["delta"] or "0", "total": total == "yes"})
    return see("/owner#people")


@PAGES.at("POST", "/owner/questions/{id}", OWNER)
async def decide(request: Request) -> Response:
    """Approve a question, or not."""
    (decision,) = await posted(request, "decision")
    if decision not in ("approve", "reject"):
        raise Refused("malformed", "The form contains no decision.")
    await call(request, Gateway.decide, request.path_params["id"], decision == "approve")
    return see("/owner#waiting")
