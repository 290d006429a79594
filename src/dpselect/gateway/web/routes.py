"""Every address: its method, who may use it, and what answers. Roles are enforced from this table and nowhere else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from dpselect.gateway.settings.values import Role
from dpselect.gateway.web import api

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Route:
    """One method of one address. Without roles it is open to everybody."""

    method: str
    path: str
    handler: Handler
    roles: frozenset[Role] = frozenset()
    page: bool = False  # what goes wrong is told as a page


OWNER, ANALYST, AUDITOR = (frozenset([role]) for role in Role)
EVERYBODY = OWNER | ANALYST | AUDITOR

ROUTES = (
    Route("GET", "/healthz", api.health),
    Route("GET", "/readyz", api.ready),
    Route("GET", "/v1/openapi.json", api.description),
    Route("GET", "/metrics", api.metrics, OWNER | AUDITOR),
    Route("GET", "/v1/me", api.me, EVERYBODY),
    Route("GET", "/v1/data", api.data, EVERYBODY),
    Route("POST", "/v1/plan", api.plan, OWNER | ANALYST),
    Route("POST", "/v1/price", api.price, OWNER | ANALYST),
    Route("POST", "/v1/questions", api.ask, ANALYST),
    Route("GET", "/v1/questions", api.questions, OWNER | ANALYST),
    Route("GET", "/v1/questions/{id}", api.question, OWNER | ANALYST),
    Route("DELETE", "/v1/questions/{id}", api.cancel, ANALYST),
    Route("GET", "/v1/questions/{id}/events", api.events, OWNER | ANALYST),
    Route("POST", "/v1/questions/{id}/approve", api.approve, OWNER),
    Route("POST", "/v1/questions/{id}/reject", api.reject, OWNER),
    Route("GET", "/v1/answers", api.answers, EVERYBODY),
    Route("GET", "/v1/answers/{id}", api.answer, EVERYBODY),
    Route("GET", "/v1/budget", api.budget, EVERYBODY),
    Route("POST", "/v1/grants", api.grant, OWNER),
    Route("GET", "/v1/people", api.people, OWNER),
    Route("GET", "/v1/record/{data}", api.record, OWNER | AUDITOR),
    Route("GET", "/v1/verification", api.verification, OWNER | AUDITOR),
)
