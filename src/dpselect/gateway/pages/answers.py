"""An answer as a page, words first, and the list of all answers that one may read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages import errors, snippets, tables, words
from dpselect.gateway.pages.rendering import origin, page
from dpselect.gateway.settings.values import Role
from dpselect.release import charts

MOST_BESIDE = 4  # columns of a table that has a picture at its side
MOST = 50  # rows of a list
FORMS = {"csv": "CSV", "parquet": "Parquet", "json": "JSON", "svg": "SVG", "html": "one HTML file"}


async def show(request: Request) -> Response:
    """What came back, how sure it is, and what it cost. Its address is for everybody who may use the data: free."""
    gateway, person, number = request.state.gateway, request.state.person, request.path_params["id"]
    try:
        answer = await run_in_threadpool(gateway.answer, person, number)
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error))
    job = await _job(gateway, person, request.query_params.get("question"), number)
    release, body, url = answer.release, answer.question, origin(request, gateway)
    picture, table = charts.picture(release) if release.items else None, tables.of(release, body)
    return page(
        request,
        "answer.html",
        answer=answer,
        release=release,
        title=words.asked(body),
        came_back=words.came_back(release, body),
        order=words.order(release),
        below_zero=words.below_zero(release),
        sure=words.sure(release),
        promise=words.promise(release),
        job=job,
        picture=Markup(picture.html(style=False)) if picture else None,
        table=table,
        beside=picture is not None and len(picture.panels) == 1 and len(table.heads) <= MOST_BESIDE,
        forms={name: said for name, said in FORMS.items() if picture or name != "svg"},
        python=snippets.python(url, body),
        python_answer=snippets.python_answer(url, number),
        curl_answer=snippets.curl_answer(url, number),
        address=f"{url}/answers/{number}",
        twin=f"/v1/answers/{number}",
    )


async def _job(gateway: Any, person: Any, question: str | None, number: str) -> Mapping[str, Any] | None:
    """The question that the reader asked to get it, for what it cost them."""
    if not question:
        return None
    try:
        job: Mapping[str, Any] = await run_in_threadpool(gateway.job, person, question)
    except errors.TOLD:
        return None
    return job if job["answer"] and job["answer"].rpartition("/")[2] == number else None


async def history(request: Request) -> Response:
    """The reader's own questions, and everybody's answers."""
    gateway, person = request.state.gateway, request.state.person
    after = request.query_params.get("after") or None
    try:
        asks = person.role is not Role.AUDITOR
        jobs = await run_in_threadpool(gateway.jobs, person, after, MOST) if asks else []
        found = await run_in_threadpool(gateway.answers, person)
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error))
    more = jobs[-1]["id"] if person.role is Role.ANALYST and len(jobs) == MOST else None
    return page(request, "history.html", asks=asks, jobs=jobs, answers=found[:MOST], more=more, twin="/v1/questions")
