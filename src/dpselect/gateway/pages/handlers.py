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

from dpselect.audit import SpentSoFar, draw_picture
from dpselect.draws import fresh_key
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
    local_address,
    origin,
    read_posted,
    redirect,
    render_page,
    static,
)
from dpselect.gateway.people import COOKIE
from dpselect.gateway.problems import PROBLEM_KINDS, Refused, problem_of_asker
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.web.api import parse_body
from dpselect.gateway.web.desk import run_for_person
from dpselect.gateway.web.routes import ANALYST, AUDITOR, EVERYBODY, NOBODY, OWNER, Routes, call
from dpselect.release import draw_release, leaflet_html

PAGES = Routes(pages=True)
CACHE_FOR_A_YEAR = "public, max-age=31536000"
EVERY = 2  # seconds between two looks at a question, where there is no script
MAX_LIST_ROWS = 50  # rows of a list
MAX_ANSWER_ROWS = 200  # of an answer; all are in its files
_FORECASTS = 5  # of questions that wait
MAX_QUOTA_QUESTIONS = 500  # questions that the picture of a quota is made from
DOWNLOADS = ("csv", "parquet", "json", "svg", "html")
Row = Mapping[str, Any]


# ---- signing in and out --------------------------------------------------------------------------------------


@PAGES.route("GET", "/", NOBODY)
async def start(request: Request) -> Response:
    """Send a person to their first page."""
    person = request.state.person
    return redirect("/sign-in" if person is None else home(person.role))


@PAGES.route("GET", "/sign-in", NOBODY)
async def signing_in(request: Request) -> Response:
    """Show the form; a code in the address gets a button, so that programs that only follow links do not use it up."""
    code, destination = request.query_params.get("code", ""), local_address(request.query_params.get("to", ""))
    if request.state.person is not None and not code:
        return redirect(destination or home(request.state.person.role))
    return render_page(request, "sign_in.html", code=code, to=destination, wrong=None)


@PAGES.route("POST", "/sign-in", NOBODY)
async def sign_in(request: Request) -> Response:
    """Begin a session for whoever has a token or a code."""
    people = request.state.gateway.people
    code, token, destination = (value.strip() for value in await read_posted(request, "code", "token", "to"))
    person = await run_in_threadpool(people.redeem_code, code) if code else people.find_by_token(token)
    if person is None:
        return render_page(
            request, "sign_in.html", 401, code="", to=local_address(destination), wrong="link" if code else "token"
        )
    response = redirect(local_address(destination) or home(person.role))
    response.set_cookie(COOKIE, people.session(person), **_cookie(request))
    return response


@PAGES.route("POST", "/sign-out", NOBODY)
async def sign_out(request: Request) -> Response:
    """End the session, here and wherever else its cookie is."""
    response, cookie = redirect("/sign-in"), request.cookies.get(COOKIE)
    if cookie is not None:
        await run_in_threadpool(request.state.gateway.end_session, cookie)
    response.delete_cookie(COOKIE, **_cookie(request))
    return response


def _cookie(request: Request) -> dict[str, Any]:
    """Return a cookie's attributes. A link from a letter may bring it along; form posts are checked by themselves."""
    return {"httponly": True, "samesite": "lax", "secure": origin(request).startswith("https://")}


# ---- files, and what kinds of problems mean ------------------------------------------------------------------


@PAGES.route("GET", "/static/{name}", NOBODY)
async def file(request: Request) -> Response:
    """Return a style, script or picture; its address changes whenever it does."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise Refused("not-found", "There is no such file.")
    return Response(content(name), media_type=STATIC[name], headers={"Cache-Control": CACHE_FOR_A_YEAR})


@PAGES.route("GET", "/favicon.ico", NOBODY)
async def icon(_request: Request) -> Response:
    """Redirect to the picture that browsers look for beside a file that cannot name one."""
    return redirect(static("icon.svg"))


@PAGES.route("GET", "/problems/{kind}", NOBODY)
async def problem(request: Request) -> Response:
    """Explain a kind of problem."""
    kind = request.path_params["kind"]
    if kind not in PROBLEM_KINDS:
        raise Refused("not-found", "There is no problem with that name.")
    return render_page(request, "kind.html", kind=kind, title=PROBLEM_KINDS[kind].title, help=PROBLEM_KINDS[kind].help)


# ---- asking --------------------------------------------------------------------------------------------------


@PAGES.route("GET", "/ask", ANALYST)
async def asking_page(request: Request) -> Response:
    """Show the question as one sentence of menus, and its forecast beside it. Nothing is asked and nothing is paid."""
    described = await call(request, views.described)
    if not described:
        return render_page(request, "no_data.html")
    form, url = asking.form(fields_of(request.url.query), described), origin(request)
    body = form.body
    outcome = await _forecast_or_problem(request, body)
    is_problem = "detail" in outcome
    return render_page(
        request,
        "ask.html",
        form=form,
        body=body,
        forecast=None if is_problem else outcome,
        problem=outcome if is_problem else None,
        question=json.dumps(body, ensure_ascii=False),
        key=fresh_key().hex(),
        python="" if is_problem else snippets.python(url, body),
        url=url,
        twin="/v1/data",
    )


async def _forecast_or_problem(request: Request, body: Row) -> Row:
    """Return a question's forecast and price, or the problem that must be solved first."""
    try:
        forecast: Row = await run_for_person(request, Gateway.forecast, dict(body))
    except Exception as error:
        problem_details = problem_of_asker(error)
        if problem_details is None:
            raise
        return problem_details
    return forecast


@PAGES.route("POST", "/ask", ANALYST)
async def ask(request: Request) -> Response:
    """Ask the question of the form, once: the key of the form tells a second click from a second question."""
    question, key = await read_posted(request, "question", "key")
    body = parse_body(question.encode("utf-8", "surrogatepass"))
    job = await run_for_person(request, Gateway.ask, body, key or None)
    return redirect(f"/questions/{job['id']}")


# ---- questions and answers -----------------------------------------------------------------------------------


@PAGES.route("GET", "/questions/{id}", OWNER | ANALYST)
async def question(request: Request) -> Response:
    """Show how far a question is; redirect to its answer once there is one."""
    job = await call(request, Gateway.job, request.path_params["id"])
    if job["answer"]:
        return redirect(f"/answers/{job['answer'].rpartition('/')[2]}?question={job['id']}")
    has_ended, problem = job["state"] in FINAL, job["problem"]
    return render_page(
        request,
        "question.html",
        job=job,
        final=has_ended,
        every=None if has_ended else EVERY,
        may_cancel=job["state"] in ("approval", "queued") and job["by"] == request.state.person.name,
        problem=problem,
        help=help_for(problem) if problem else "",
        twin=f"/v1/questions/{job['id']}",
    )


@PAGES.route("POST", "/questions/{id}/cancel", ANALYST)
async def cancel(request: Request) -> Response:
    """Cancel a question, while nothing was read."""
    job = await call(request, Gateway.cancel, request.path_params["id"])
    return redirect(f"/questions/{job['id']}")


@PAGES.route("GET", "/answers/{id}", EVERYBODY)
async def answer(request: Request) -> Response:
    """Show an answer. Its address is for everybody who may use the data, and free."""
    number, url = request.path_params["id"], origin(request)
    answer = await call(request, Gateway.answer, number)
    picture = draw_release(answer.release) if answer.release.items else None
    return render_page(
        request,
        "answer.html",
        answer=answer,
        title=words.format_question(answer.question),
        shown=Markup(leaflet_html(answer.release._leaflet(), MAX_ANSWER_ROWS)),
        picture=Markup(picture.html(style=False)) if picture else None,
        job=await _find_reader_job(request, number),
        forms=[name for name in DOWNLOADS if picture or name != "svg"],
        python=snippets.python(url, answer.question),
        url=url,
        twin=f"/v1/answers/{number}",
    )


async def _find_reader_job(request: Request, number: str) -> Row | None:
    """Return the question that the reader asked to get it, for what it cost them."""
    try:
        job: Row = await call(request, Gateway.job, request.query_params.get("question", ""))
    except Refused:
        return None
    return job if str(job["answer"]).rpartition("/")[2] == number else None


@PAGES.route("GET", "/history", EVERYBODY)
async def history(request: Request) -> Response:
    """Show the reader's own questions, and everybody's answers."""
    role = request.state.person.role
    may_ask = role is not Role.AUDITOR
    jobs = (
        await call(request, views.questions, request.query_params.get("after") or None, MAX_LIST_ROWS)
        if may_ask
        else []
    )
    answers = await call(request, views.answers, MAX_LIST_ROWS)
    last_id = jobs[-1]["id"] if role is Role.ANALYST and len(jobs) == MAX_LIST_ROWS else None
    return render_page(
        request, "history.html", asks=may_ask, jobs=jobs, answers=answers, more=last_id, twin="/v1/questions"
    )


# ---- budgets and the record ----------------------------------------------------------------------------------


@PAGES.route("GET", "/budget", EVERYBODY)
async def budget(request: Request) -> Response:
    """Show a line for each analyst by data set and period, and a picture of one's own quota."""
    is_analyst = request.state.person.role is Role.ANALYST
    rows = [{**row, "period": row["period"] or ""} for row in await call(request, views.budget)]
    jobs = await call(request, views.questions, None, MAX_QUOTA_QUESTIONS) if is_analyst else []
    pictures = {name: _draw_quota(jobs, name) for name in {row["data"] for row in rows}}
    return render_page(request, "budget.html", rows=rows, own=is_analyst, pictures=pictures, twin="/v1/budget")


def _draw_quota(jobs: Sequence[Row], name: str) -> Markup | None:
    """Draw what was used after each question that was paid, oldest first, in the period of the last one."""
    paid_jobs = [job for job in jobs if job["data"] == name and job["cost"] and job["cost"]["left"] is not None]
    same_period = [
        job for job in reversed(paid_jobs) if job["question"].get("during") == paid_jobs[0]["question"].get("during")
    ]
    spent = [(number, job["asked_at"], 1 - float(job["cost"]["left"])) for number, job in enumerate(same_period, 1)]
    return _draw_spending(spent, "question")


def _draw_spending(spent: Sequence[tuple[int, object, float]], noun: str) -> Markup | None:
    """Draw what is used after each entry: its number, when it was made, and the part."""
    points = [SpentSoFar(number, str(when)[:10], part) for number, when, part in spent]
    return Markup(draw_picture({"": points}, noun).html(style=False)) if len(points) > 1 else None


@PAGES.route("GET", "/record", OWNER | AUDITOR)
async def records(request: Request) -> Response:
    """Verify the record, against a head that was noted earlier if one is given."""
    head = request.query_params.get("head", "").strip()
    verification = await call(request, views.verification, head or None) if "head" in request.query_params else None
    names = (await call(request, views.me))["data"]
    return render_page(request, "auditor.html", found=verification, head=head, names=names, twin="/v1/verification")


@PAGES.route("GET", "/record/{data}", OWNER | AUDITOR)
async def record(request: Request) -> Response:
    """Show everything in the ledger about one data set."""
    data = request.path_params["data"]
    data_record = await call(request, views.record, data)
    last_uses = [
        use for use in data_record["used"] if use["period"] == data_record["used"][-1]["period"]
    ]  # that was used last
    picture = _draw_spending(
        [(use["number"], use["when"], float(use["used"])) for use in last_uses], "entry of the ledger"
    )
    return render_page(request, "record.html", record=data_record, picture=picture, twin=f"/v1/record/{quote(data)}")


# ---- what an owner decides -----------------------------------------------------------------------------------


@PAGES.route("GET", "/owner", OWNER)
async def owner(request: Request) -> Response:
    """Show data as declared, people and quotas, and questions that wait for approval."""
    jobs = [job for job in await call(request, views.questions) if job["state"] == "approval"]
    return render_page(
        request,
        "owner.html",
        described=await call(request, views.described),
        people=await call(request, views.people),
        budgets=await call(request, views.budget),
        waiting=[
            (job, await _forecast_or_problem(request, job["question"]) if position < _FORECASTS else {})
            for position, job in enumerate(jobs)
        ],
        twin="/v1/people",
    )


@PAGES.route("POST", "/owner/grants", OWNER)
async def grant(request: Request) -> Response:
    """Grant more to an analyst, or a first quota."""
    names = ("data", "analyst", "epsilon", "delta")
    *values, total = (value.strip() for value in await read_posted(request, *names, "total"))
    body = dict(zip(names, values, strict=True))
    if not body["epsilon"]:
        raise ParameterError("epsilon", "be a number above 0", "nothing")
    await call(request, views.grant, {**body, "delta": body["delta"] or "0", "total": total == "yes"})
    return redirect("/owner#people")


@PAGES.route("POST", "/owner/questions/{id}", OWNER)
async def decide(request: Request) -> Response:
    """Approve a question, or reject it."""
    (decision,) = await read_posted(request, "decision")
    action = {"approve": Gateway.approve, "reject": Gateway.reject}.get(decision)
    if action is None:
        raise Refused("malformed", "The form contains no decision.")
    await call(request, action, request.path_params["id"])
    return redirect("/owner#waiting")
