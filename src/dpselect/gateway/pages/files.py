"""Style, script and picture of the pages, and a page for each kind of problem that the API names."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages.errors import HELP
from dpselect.gateway.pages.rendering import STATIC, content, page, see
from dpselect.gateway.pages.rendering import static as static_address
from dpselect.gateway.problems import KINDS, Refused

YEAR = "public, max-age=31536000"


async def static(request: Request) -> Response:
    """One of the files; its address changes whenever it does."""
    name = request.path_params["name"]
    if name not in STATIC:
        raise Refused("not-found", "There is no such file.")
    return Response(content(name), media_type=STATIC[name], headers={"Cache-Control": YEAR})


async def icon(_request: Request) -> Response:
    """Where browsers look for a picture beside a file that cannot name one."""
    return see(static_address("icon.svg"))


async def problem(request: Request) -> Response:
    """What a kind of problem means."""
    kind = request.path_params["kind"]
    if kind not in KINDS:
        raise Refused("not-found", "There is no problem of that kind.")
    return page(request, "kind.html", kind=kind, title=KINDS[kind].title, help=HELP.get(kind, ""))
