"""What an address is: its method, who may use it, what answers there, and what the description says of it."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from dpselect._ground.dataclass import dataclass
from dpselect.gateway.settings.kinds import Role
from dpselect.release import Json

Handler = Callable[[Request], Awaitable[Response]]
JSON = "application/json"
OWNER, ANALYST, AUDITOR = (frozenset([role]) for role in Role)
EVERYBODY = OWNER | ANALYST | AUDITOR
NOBODY = frozenset[Role]()  # needs to sign in


@dataclass(frozen=True)
class Route:
    """A method of an address. Without roles it is open to everybody."""

    method: str
    path: str
    handler: Handler
    roles: frozenset[Role] = frozenset()
    page: bool = False  # what goes wrong is told as a page
    # what follows is in the description alone
    name: str = ""
    summary: str = ""
    returns: Any = None  # the type of what comes back, by which type of content
    media: str = JSON
    status: int = 200
    takes: str | None = None  # the schema of the body
    parameters: tuple[dict[str, Any], ...] = ()  # parameters of the query and of the header
    refused: tuple[str, ...] = ()  # kinds of problems beside those that all have


class Routes(list[Route]):
    """The addresses of the API, or of the pages. Roles are enforced from here and nowhere else."""

    def __init__(self, *, pages: bool = False) -> None:
        super().__init__()
        self._pages = pages

    def route(
        self, method: str, path: str, roles: frozenset[Role], returns: Any = None, **description: Any
    ) -> Callable[[Handler], Handler]:
        """Return a decorator: the function answers at this address, and its first line of docstring is the summary."""

        def add(handler: Handler) -> Handler:
            name, summary = handler.__name__, (handler.__doc__ or "").partition("\n")[0].removesuffix(".")
            self.append(Route(method, path, handler, roles, self._pages, name, summary, returns, **description))
            return handler

        return add

    def view(
        self,
        method: str,
        path: str,
        roles: frozenset[Role],
        returns: Any,
        action: Callable[..., Any],
        *,
        under: str = "",
        **description: Any,
    ) -> None:
        """Add an address whose reply is what the gateway returns to a person; a list gets the name `under`."""

        @functools.wraps(action)
        async def reply(request: Request) -> Response:
            value = await call(request, action, *request.path_params.values())
            return json_response({under: value} if under else value)

        self.route(method, path, roles, returns, **description)(reply)


def json_response(value: Json, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a value as a JSON response."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    content = body.encode("utf-8", "backslashreplace")
    return Response(content, status, headers=headers, media_type=JSON)


async def call(request: Request, action: Callable[..., Any], *arguments: object) -> Any:
    """Call the gateway for the person who asks, in a thread."""
    return await run_in_threadpool(action, request.state.gateway, request.state.person, *arguments)
