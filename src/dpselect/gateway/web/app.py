"""The application: routes behind one gate, which knows who asks, whether they may, and how a mistake is told."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.pages.errors import of_details, told
from dpselect.gateway.pages.rendering import sign_in_first
from dpselect.gateway.pages.routes import routes as page_routes
from dpselect.gateway.problems import Refused, problem
from dpselect.gateway.settings.values import Person, Settings
from dpselect.gateway.web import agents
from dpselect.gateway.web.api import ROUTES, SIGN_IN, written
from dpselect.gateway.web.desk import Bell, Desk
from dpselect.gateway.web.guards import App, Guards, Rates
from dpselect.gateway.web.identity import Identity
from dpselect.gateway.web.routes import Route
from dpselect.release.formatting import Json

UNCOUNTED = {("GET", "/healthz"), ("GET", "/readyz"), ("POST", "/sign-in")}
"""What nobody else's requests keep anybody from. Signing in counts by itself, once it has looked at the token."""


def application(settings: Settings, gateway: Gateway | None = None, *, file: Path | None = None) -> App:
    """The whole of it, for any ASGI server. Without a gateway it makes one when it starts."""

    @contextlib.asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        found = Gateway(settings, file=file) if gateway is None else gateway
        app.state.gateway, app.state.bell, app.state.desk = found, Bell(found), Desk()
        app.state.identity = Identity(found.people_who_sign_in, settings.server)
        found.start()
        try:
            yield
        finally:
            found.stop()

    from dpselect.gateway.web.openapi import document

    routes = all_routes()
    app = Starlette(
        routes=_mounted(routes, Rates(settings.server.rate)),
        lifespan=living,
        exception_handlers={HTTPException: _unknown},
    )
    app.state.document = document(settings)
    return Guards(app, settings.server)


def all_routes() -> Sequence[Route]:
    """Those of the API and those of the pages."""
    pages = [
        Route(method, path, handler, frozenset() if roles == "anyone" else frozenset(roles), page=True)
        for path, methods, handler, roles in page_routes()
        for method in methods
    ]
    return [*ROUTES, *pages, agents.ROUTE]


def _mounted(routes: Sequence[Route], rates: Rates) -> list[BaseRoute]:
    """One address may have several methods."""
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
            return _told(request, route, error)

    return gate


async def _admit(request: Request, route: Route, rates: Rates) -> None:
    """Who asks, and may they?"""
    person = await request.app.state.identity.of(request)
    request.state.person, request.state.gateway = person, request.app.state.gateway
    request.state.count = partial(_count, request, rates)
    if (route.method, route.path) not in UNCOUNTED:
        request.state.count(person)
    if not route.roles:
        return
    if person is None:
        raise Refused("sign-in", SIGN_IN)
    if person.role not in route.roles:
        may = " or ".join(sorted(str(role) for role in route.roles))
        raise Refused("role", f"Only {may} may do this; you are {person.role}.")


def _count(request: Request, rates: Rates, person: Person | None) -> None:
    """One more request of a person; of nobody, of the address that it comes from."""
    identity = request.app.state.identity
    if not rates.allow(f"address {identity.address(request)}" if person is None else f"person {person.name}"):
        raise Refused("too-many", "Too many requests came at once. Wait a second.", after=1)


def _told(request: Request, route: Route, error: Exception) -> Response:
    """A mistake as problem details."""
    details = told(request, error)
    headers = {}
    if isinstance(error, Refused) and error.after is not None:
        headers["Retry-After"] = str(error.after)
    if details["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if details["status"] == 503:
        headers.setdefault("Retry-After", "5")
    return _page(request, details, headers) if route.page else _problem(details, headers)


async def _unknown(request: Request, error: Exception) -> Response:
    """An address or a method that is not there. A browser is told so on a page."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status != 405 and not request.url.path.startswith("/v1/") and "text/html" in request.headers.get("accept", ""):
        request.state.person = await request.app.state.identity.of(request)
        return _page(request, problem("not-found", ""), {})
    if status == 405:
        headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
        return _problem(problem("method", f"This address does not take {request.method}."), headers)
    return _problem(problem("not-found", "There is nothing at this address."), {})


def _page(request: Request, details: Mapping[str, Json], headers: Mapping[str, str]) -> Response:
    """The same for a person, who is sent to sign in where that is all that is missing."""
    if details["status"] == 401:
        return sign_in_first(request)
    found = of_details(request, details)
    found.headers.update(headers)
    return found


def _problem(details: Mapping[str, Json], headers: dict[str, str]) -> Response:
    found = written(dict(details), int(str(details["status"])), headers)
    found.headers["content-type"] = "application/problem+json"
    return found
