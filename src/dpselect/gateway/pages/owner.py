"""The owner's page: data as declared, people and quotas, and questions that wait for a second pair of eyes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.errors import ParameterError
from dpselect.gateway.pages import errors, forms
from dpselect.gateway.pages.rendering import one, page, see
from dpselect.gateway.problems import problem
from dpselect.gateway.web.desk import thinking

MOST = 5  # questions that wait whose forecast is made at once


async def show(request: Request) -> Response:
    """Everything that an owner decides."""
    gateway, person = request.state.gateway, request.state.person
    try:
        described = await run_in_threadpool(gateway.described, person)
        people = await run_in_threadpool(gateway.people, person)
        budgets = await run_in_threadpool(gateway.budget, person)
        jobs = await run_in_threadpool(gateway.jobs, person)
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error))
    open_jobs = [job for job in jobs if job["state"] == "approval"]
    waiting = [(job, await _prospect(request, job) if at < MOST else None) for at, job in enumerate(open_jobs)]
    return page(
        request,
        "owner.html",
        described=described,
        people=people,
        budgets=budgets,
        waiting=waiting,
        twin="/v1/people",
    )


async def _prospect(request: Request, job: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Price and forecast of a question that waits."""
    try:
        gateway, person = request.state.gateway, request.state.person
        found: Mapping[str, Any] = await thinking(request, gateway.forecast, person, dict(job["question"]))
    except errors.TOLD:
        return None
    return found


async def grant(request: Request) -> Response:
    """More, or a quota at all, for an analyst."""
    gateway, person = request.state.gateway, request.state.person
    fields = await forms.posted(request)
    body = {name: one(fields, name).strip() for name in ("data", "analyst", "epsilon", "delta")}
    try:
        if not body["epsilon"]:
            raise ParameterError("epsilon", "be a number above 0", "nothing")
        await run_in_threadpool(
            gateway.grant, person, {**body, "delta": body["delta"] or "0", "total": one(fields, "total") == "yes"}
        )
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error), "/owner")
    return see("/owner#people")


async def decide(request: Request) -> Response:
    """Approve a question, or not."""
    gateway, person, number = request.state.gateway, request.state.person, request.path_params["id"]
    decision = one(await forms.posted(request), "decision")
    if decision not in ("approve", "reject"):
        return errors.of_details(request, problem("malformed", "The form did not say what was decided."), "/owner")
    try:
        await run_in_threadpool(gateway.decide, person, number, decision == "approve")
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error), "/owner")
    return see("/owner#waiting")
