"""The application: routes behind one gate, which knows who asks, whether they may, and how a mistake is told."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.pages.handlers import PAGES
from dpselect.gateway.pages.rendering import problem_page
from dpselect.gateway.problems import Refused, problem, problem_of_asker, problem_of_error
from dpselect.gateway.settings.values import Settings
from dpselect.gateway.web import agents
from dpselect.gateway.web.api import ROUTES, SIGN_IN_HINT
from dpselect.gateway.web.desk import Bell, SlowRequests
from dpselect.gateway.web.guards import App, Guards, Rates
from dpselect.gateway.web.routes import Route, json_response
from dpselect.release import Json


def application(settings: Settings, gateway: Gateway | None = None, *, file: Path | None = None) -> App:
    """Make the ASGI application. Without a gateway it makes one when it starts."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        served_gateway = Gateway(settings, file=file) if gateway is None else gateway
        app.state.gateway, app.state.bell, app.state.desk = served_gateway, Bell(served_gateway), SlowRequests()
        served_gateway.start()
        try:
            yield
        finally:
            served_gateway.stop()

    from dpselect.gateway.web.openapi import document

    routes = all_routes()
    app = Starlette(
        routes=_mount(routes, Rates(settings.server.rate)),
        lifespan=lifespan,
        exception_handlers={HTTPException: _answer_unknown},
    )
    app.state.document = document(settings)
    return Guards(app, settings.server)


def all_routes() -> Sequence[Route]:
    """Return the addresses of the API, of the pages and of agents."""
    return [*ROUTES, *PAGES, agents.ROUTE]


def _mount(routes: Sequence[Route], rates: Rates) -> list[BaseRoute]:
    """Join the methods of each address."""
    by_path: defaultdict[str, dict[str, Route]] = defaultdict(dict)
    for route in routes:
        by_path[route.path][route.method] = route
    return [StarletteRoute(path, _gate(methods, rates), methods=[*methods]) for path, methods in by_path.items()]


def _gate(methods: dict[str, Route], rates: Rates) -> Callable[[Request], object]:
    async def gate(request: Request) -> Response:
        route = methods["GET" if request.method == "HEAD" else request.method]
        try:
            await _admit(request, route, rates)
            return await route.handler(request)
        except Exception as error:
            return _problem_response(request, route, error)

    return gate


async def _admit(request: Request, route: Route, rates: Rates) -> None:
    """Find out who asks, and refuse what they may not do."""
    person = await request.app.state.gateway.people.authenticate(request)
    request.state.person, request.state.gateway = person, request.app.state.gateway
    if not route.roles:
        return
    if person is None:
        raise Refused("sign-in", SIGN_IN_HINT)
    if not rates.allow(person.name):
        raise Refused("too-many", "Too many requests at once. Wait a second.", after=1)
    if person.role not in route.roles:
        roles = " or ".join(sorted(str(role) for role in route.roles))
        raise Refused("role", f"Only {roles} may do this; you are {person.role}.")


def _problem_response(request: Request, route: Route, error: Exception) -> Response:
    """Return a mistake as problem details; whatever else goes wrong is in the log."""
    details = problem_of_error(error)
    if problem_of_asker(error) is None:
        request.app.state.gateway.log.failed("a request failed", error, path=route.path, method=request.method)
    after = getattr(error, "after", None) or (5 if details["status"] == 503 else None)
    headers = {} if after is None else {"Retry-After": str(after)}
    if details["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return _page_response(request, details, headers) if route.page else _json_problem(details, headers)


async def _answer_unknown(request: Request, error: Exception) -> Response:
    """Answer for an address or a method that is not there; a browser gets a page."""
    http_error = error if isinstance(error, HTTPException) else HTTPException(404)
    if http_error.status_code == 405:
        details = problem("method", f"This address does not support {request.method}.")
        return _json_problem(details, dict(http_error.headers or {}))
    details = problem("not-found", "There is nothing at this address.")
    if request.url.path.startswith("/v1/") or "text/html" not in request.headers.get("accept", ""):
        return _json_problem(details, {})
    request.state.person = await request.app.state.gateway.people.authenticate(request)
    return _page_response(request, {**details, "detail": ""}, {})


def _page_response(request: Request, details: Mapping[str, Json], headers: Mapping[str, str]) -> Response:
    response = problem_page(request, details)
    if details["status"] != 401:  # where the person is sent to sign in
        response.headers.update(headers)
    return response


def _json_problem(details: Mapping[str, Json], headers: dict[str, str]) -> Response:
    response = json_response(dict(details), int(str(details["status"])), headers)
    response.headers["content-type"] = "application/problem+json"
    return response
