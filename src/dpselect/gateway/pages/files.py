"""Style, script and picture of the pages, and a page for each kind of problem that the API names."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.pages import errors
from dpselect.gateway.pages.rendering import STATIC, content, page


async def static(request: Request) -> Response:
    """One of the files; its address changes whenever it does."""
    name = request.path_params["name"]
    if name not in STATIC:
        return errors.shown(request, errors.Problem(404, "not-found"))
    return Response(content(name), media_type=STATIC[name], headers={"Cache-Control": "public, max-age=31536000"})


async def problem(request: Request) -> Response:
    """What a kind of problem means."""
    kind = request.path_params["kind"]
    if kind not in errors.KINDS:
        return errors.shown(request, errors.Problem(404, "not-found"))
    return page(request, "kind.html", kind=kind, said=errors.KINDS[kind])
