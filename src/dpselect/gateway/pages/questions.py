"""The page of a question that was asked: where it stands, when the answer is due, and how to stop it."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages import errors, words
from dpselect.gateway.pages.rendering import page, see

EVERY = 2  # seconds between two looks, where there is no script
EARLY = frozenset(("approval", "queued"))  # nothing is reserved, or it is given back


async def show(request: Request) -> Response:
    """How far it is; its answer once there is one."""
    gateway, person, number = request.state.gateway, request.state.person, request.path_params["id"]
    try:
        job = await run_in_threadpool(gateway.job, person, number)
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error))
    if job["answer"]:
        return see(f"/answers/{job['answer'].rpartition('/')[2]}?question={job['id']}")
    final = job["state"] in words.FINAL
    return page(
        request,
        "question.html",
        job=job,
        final=final,
        every=None if final else EVERY,
        may_cancel=job["state"] in EARLY and job["by"] == person.name,
        problem=job["problem"],
        help=errors.help_for(job["problem"]) if job["problem"] else "",
        twin=f"/v1/questions/{job['id']}",
    )


async def cancel(request: Request) -> Response:
    """Stop it, while nothing was read."""
    gateway, person, number = request.state.gateway, request.state.person, request.path_params["id"]
    try:
        await run_in_threadpool(gateway.cancel, person, number)
    except errors.TOLD as error:
        return errors.of_details(request, errors.told(request, error), f"/questions/{number}")
    return see(f"/questions/{number}")
