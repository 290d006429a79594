"""`POST /mcp`: the tools of an agent over HTTP, a message in each request and its reply as JSON."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.agents import LOOK, open_desk
from dpselect.gateway.web.api import find_job
from dpselect.gateway.web.desk import desk_of
from dpselect.gateway.web.routes import ANALYST, Route, json_response
from dpselect.mcp import AgentTools, MessageError, error_reply, is_open, parse_message, reply_to


async def agents(request: Request) -> Response:
    """Reply to a message of an agent, with nothing if it asks for no reply."""
    gateway, person = request.state.gateway, request.state.person
    run = partial(desk_of(request).run, person.name)
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
        with desk_of(request).holding(person.name):
            job = result
            while is_open(job):
                await asyncio.sleep(LOOK)
                if await request.is_disconnected():  # the question goes on; asked again it is the same one
                    return Response(status_code=202)
                job = await find_job(request, result["id"])
        kept_fields = {name: result[name] for name in ("resultType",) if name in result}
        reply["result"] = {**await run(AgentTools(open_desk(gateway, request.state.person)).finish, job), **kept_fields}
    return json_response(reply)


ROUTE = Route("POST", "/mcp", agents, ANALYST)
