"""`POST /mcp`: the tools of an agent over HTTP, a message in each request and its reply as JSON."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.agents import LOOK, open_desk
from dpselect.gateway.web.api import looked, written
from dpselect.gateway.web.desk import desk_of
from dpselect.gateway.web.routes import ANALYST, Route
from dpselect.mcp.desk import is_open
from dpselect.mcp.protocol import MessageError, error_reply, parse_message, reply_to
from dpselect.mcp.tools import AgentTools


async def agents(request: Request) -> Response:
    """The reply to a message; nothing where it asks for none."""
    gateway, person = request.state.gateway, request.state.person
    thinking = partial(desk_of(request).run, person.name)
    try:
        message = await thinking(parse_message, await request.body())
    except MessageError as wrong:
        return written(error_reply(wrong), 400)
    tools = AgentTools(open_desk(gateway, person))
    reply = await thinking(reply_to, message, tools, version("dpselect"), tools.begin)
    if reply is None:
        return Response(status_code=202)
    found: dict[str, Any] = reply.get("result", {})
    if "state" in found:  # the job of a question
        with desk_of(request).holding(person.name):
            job = found
            while is_open(job):
                await asyncio.sleep(LOOK)
                if await request.is_disconnected():  # the question goes on; asked again it is the same one
                    return Response(status_code=202)
                job = await looked(request, found["id"])
        said = {name: found[name] for name in ("resultType",) if name in found}
        reply["result"] = {**await thinking(AgentTools(open_desk(gateway, request.state.person)).finish, job), **said}
    return written(reply)


ROUTE = Route("POST", "/mcp", agents, ANALYST)
