"""The tools of an agent: at a gateway of this process, and over HTTP as `POST /mcp`, a message in each request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway import views
from dpselect.gateway.gateway import Gateway
from dpselect.gateway.problems import Refused, problem_of_asker, problem_of_error
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.settings.server import Person
from dpselect.gateway.web.api import find_job
from dpselect.gateway.web.desk import slow_requests_of
from dpselect.gateway.web.routes import ANALYST, Route, json_response
from dpselect.mcp import (
    AgentDesk,
    AgentTools,
    Body,
    MessageError,
    error_of,
    error_reply,
    is_open,
    parse_message,
    reply_to,
)

SECONDS_BETWEEN_STATES = 0.1  # seconds between two looks whether a question has ended, which it does at its tick


def open_desk(gateway: Gateway, person: Person) -> AgentDesk:
    """Return the desk of one person, whose refusals are those that an HTTP client has."""

    def with_problems(action: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: object) -> Any:
            try:
                current_person = gateway.people.find(person.name)  # as they are now, where their owner has changed it
                if current_person is None or current_person.role is not Role.ANALYST:
                    raise Refused("role", f"Only analysts may ask, and {person.name} is not an analyst now.")
                return action(current_person, *arguments)
            except Exception as error:
                if problem_of_asker(error) is None:
                    gateway.log.failed("a tool failed", error)
                raise error_of(problem_of_error(error)) from None

        return call

    def wait_briefly(job: Body) -> Any:
        time.sleep(SECONDS_BETWEEN_STATES)
        return with_problems(gateway.job)(job["id"])

    return AgentDesk(
        described=with_problems(partial(views.described, gateway)),
        budget=with_problems(partial(views.budget, gateway)),
        answers=with_problems(partial(views.answers, gateway)),
        answer=with_problems(lambda current_person, number: gateway.answer(current_person, number).release),
        price=with_problems(gateway.price),
        ask=with_problems(gateway.ask),
        look=wait_briefly,
    )


async def agents(request: Request) -> Response:
    """Reply to a message of an agent, with nothing if it asks for no reply."""
    gateway, person = request.state.gateway, request.state.person
    run = partial(slow_requests_of(request).run, person.name)
    try:
        message = await run(parse_message, await request.body())
    except MessageError as error:
        return json_response(error_reply(error), 400)
    tools = AgentTools(open_desk(gateway, person))
    reply = await run(reply_to, message, tools, version("dpselect"), tools.begin)
    if reply is None:
        return Response(status_code=202)
    result: dict[str, Any] = reply.get("result", {})
    if "state" in result:  # the job of a question
        with slow_requests_of(request).holding(person.name):
            job = result
            while is_open(job):
                await asyncio.sleep(SECONDS_BETWEEN_STATES)
                if await request.is_disconnected():  # the question goes on; asked again it is the same one
                    return Response(status_code=202)
                job = await find_job(request, result["id"])
        kept_fields = {name: result[name] for name in ("resultType",) if name in result}
        reply["result"] = {**await run(AgentTools(open_desk(gateway, request.state.person)).finish, job), **kept_fields}
    return json_response(reply)


ROUTE = Route("POST", "/mcp", agents, ANALYST)
