"""The ask page: a question as one sentence of menus, and beside it what to expect and what it costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.draws.entropy import fresh_key
from dpselect.gateway.pages import asking, errors, forms, snippets
from dpselect.gateway.pages.asking import Form
from dpselect.gateway.pages.conditions import Condition
from dpselect.gateway.pages.rendering import one, origin, page, see
from dpselect.gateway.problems import Refused, problem
from dpselect.gateway.web.bodies import parsed
from dpselect.gateway.web.desk import thinking

Forecast = Mapping[str, Any]


async def show(request: Request) -> Response:
    """The menus as the address says, and the forecast of that question. Nothing is asked and nothing is paid."""
    gateway, person = request.state.gateway, request.state.person
    described = await run_in_threadpool(gateway.described, person)
    if not described:
        return page(request, "no_data.html")
    fields = forms.from_text(request.url.query)
    form = asking.form(fields, described)
    forecast, wrong = await _forecast(request, form)
    rows = [*form.conditions]
    if form.data["filters"] and (not rows or all(row.complete for row in rows)):
        rows.append(Condition("", "is", ""))
    url = origin(request, gateway)
    return page(
        request,
        "ask.html",
        form=form,
        rows=rows,
        filters=form.data["filters"],
        forecast=forecast,
        table=_table(forecast),
        rows_expected=_rows(forecast),
        problem=wrong,
        question=json.dumps(form.body, ensure_ascii=False),
        key=fresh_key().hex(),
        query=urlencode(fields, doseq=True),
        python="" if wrong else snippets.python(url, form.body),
        curl="" if wrong else snippets.curl(url, form.body),
        twin="/v1/data",
    )


async def _forecast(request: Request, form: Form) -> tuple[Forecast | None, Any]:
    """What to expect, or what must be changed first."""
    if form.missing:
        return None, {"detail": form.missing, "hint": ""}
    try:
        return await thinking(request, request.state.gateway.forecast, request.state.person, form.body), None
    except errors.TOLD as error:
        return None, {"hint": "", **errors.told(request, error)}


COLUMNS = {
    "items": "come back",
    "groups": "groups with an answer",
    "lost": "missing of the best",
    "within": "places within",
    "width": "numbers within",
}


def _table(forecast: Forecast | None) -> dict[str, str]:
    """The columns of the forecast in which something stands, and their heads."""
    return {name: head for name, head in COLUMNS.items() if any(row[name] is not None for row in _rows(forecast))}


def _rows(forecast: Forecast | None) -> list[dict[str, Any]]:
    """Less, this, and more; what a row does not say is None."""
    rows: Sequence[Mapping[str, Any]] = () if forecast is None else forecast["rows"]
    return [{**dict.fromkeys(("share", "epsilon", *COLUMNS)), "asked": False, **row} for row in rows]


async def ask(request: Request) -> Response:
    """The question of the form, once: the key of the form tells a second click from a second question."""
    gateway, person = request.state.gateway, request.state.person
    fields = await forms.posted(request)
    back = f"/ask?{urlencode(forms.from_text(one(fields, 'form')), doseq=True)}"
    try:
        body = parsed(one(fields, "question").encode("utf-8", "surrogatepass"))
    except Refused:
        return errors.of_details(request, problem("malformed", "The form did not hold a question."), back)
    try:
        job = await thinking(request, gateway.ask, person, body, one(fields, "key") or None)
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error), back)
    return see(f"/questions/{job['id']}")
