"""Every operation of the HTTP interface: what it takes, what comes back, and what it may be refused for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpselect.gateway.settings.values import Role
from dpselect.gateway.web.answers import FORMS
from dpselect.gateway.web.replies import EVENT, TEXT, Schema, listed, of, ref
from dpselect.gateway.web.routes import ROUTES

JSON, PROBLEM = "application/json", "application/problem+json"
PLAIN, EVENTS = "text/plain", "text/event-stream"
_ROLES = {(route.method, route.path): route.roles for route in ROUTES}

GUARDS = ("malformed", "too-large", "host", "too-many", "unexpected")  # whatever is asked for
SIGNED = ("sign-in", "role", "unavailable")
READ = ("content", "parameter")


@dataclass(frozen=True, kw_only=True)
class HttpOperation:
    """One method of one address. `returns` is the schema of what comes back, by which type of content."""

    method: str
    path: str
    name: str
    tag: str
    summary: str
    takes: str | None = None  # the schema of the body
    given: tuple[Mapping[str, Any], ...] = ()  # parameters of the query and of the header
    status: int = 200
    returns: Schema = field(default_factory=dict)
    media: str = JSON
    refused: tuple[str, ...] = ()  # kinds of problems beside those that all have

    @property
    def roles(self) -> tuple[str, ...]:
        """Who may, as the routes have it; nobody needs to sign in where there are none."""
        path = self.path.partition("}.")[0]
        found = _ROLES[self.method, self.path if path == self.path else f"{path}}}"]
        return tuple(str(role) for role in Role if role in found)


def _in_query(name: str, schema: Schema, said: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": said, "schema": schema}


WAIT = _in_query(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": 30},
    "answer when the question has ended, or after so many seconds",
)
AFTER = _in_query("after", {"type": "string"}, "the id of a question: only those before it")
LIMIT = _in_query("limit", {"type": "integer", "minimum": 1, "maximum": 500}, "how many at most, 50 by default")
HEAD = _in_query(
    "head", {"type": "string"}, "the digest of a last entry that somebody noted: is it still in the record?"
)
AGAIN = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "a text of your own: a request that is sent twice with it is one question",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
}
FORMS_IN_WORDS = {
    "json": "as JSON",
    "csv": "as CSV, without formulas",
    "plain-csv": "as CSV, with labels as they are",
    "parquet": "as Parquet",
    "svg": "as a picture",
    "html": "as a page",
}


def _form(name: str) -> HttpOperation:
    media = FORMS[name].media.partition(";")[0]
    return HttpOperation(
        method="GET",
        path=f"/v1/answers/{{id}}.{name}",
        name=f"answer_{name.replace('-', '_')}",
        tag="answers",
        summary=f"An answer {FORMS_IN_WORDS[name]}",
        returns=ref("Release") if media == JSON else TEXT if media.startswith("text/") else {},
        media=media,
        refused=("not-found", "parameter")
        if name == "svg"
        else ("not-found",),  # there is nothing to draw without numbers
    )


def _listing(path: str, name: str, tag: str, summary: str, schema: str, **more: Any) -> HttpOperation:
    """A list of things under one name."""
    of_name = path.rpartition("/")[2]
    returns = of({more.pop("under", of_name): listed(ref(schema))})
    return HttpOperation(method="GET", path=path, name=name, tag=tag, summary=summary, returns=returns, **more)


def _decision(name: str, summary: str) -> HttpOperation:
    path, refused = f"/v1/questions/{{id}}/{name}", ("not-found", "state")
    return HttpOperation(
        method="POST",
        path=path,
        name=name,
        tag="questions",
        summary=summary,
        returns=ref("Job"),
        refused=refused,
    )


OPERATIONS: tuple[HttpOperation, ...] = (
    HttpOperation(
        method="GET",
        path="/healthz",
        name="health",
        tag="server",
        summary="Does the process live?",
        returns=of({"status": TEXT}),
    ),
    HttpOperation(
        method="GET",
        path="/readyz",
        name="ready",
        tag="server",
        summary="Can questions be answered?",
        returns=of({"status": TEXT}),
        refused=("unavailable",),
    ),
    HttpOperation(
        method="GET",
        path="/v1/openapi.json",
        name="openapi",
        tag="server",
        summary="This description",
        returns={"type": "object"},
    ),
    HttpOperation(
        method="GET",
        path="/metrics",
        name="metrics",
        tag="server",
        summary="Counters for monitoring",
        returns=TEXT,
        media=PLAIN,
    ),
    HttpOperation(
        method="GET",
        path="/v1/me",
        name="me",
        tag="people",
        summary="Who is signed in",
        returns=ref("Me"),
    ),
    _listing("/v1/data", "data", "data", "The data sets that may be asked, as declared", "Data"),
    HttpOperation(
        method="POST",
        path="/v1/plan",
        name="plan",
        tag="questions",
        summary="What would come back, how sure, and what it costs: free, and without data",
        takes="Question",
        returns=ref("Plan"),
        refused=READ,
    ),
    HttpOperation(
        method="POST",
        path="/v1/price",
        name="price",
        tag="questions",
        summary="What a question costs: free, and without data",
        takes="Question",
        returns=ref("Price"),
        refused=READ,
    ),
    HttpOperation(
        method="POST",
        path="/v1/questions",
        name="ask",
        tag="questions",
        summary="Ask. The answer is waited for at the address in Location",
        takes="Question",
        given=(AGAIN,),
        status=202,
        returns=ref("Job"),
        refused=(*READ, "budget", "key", "busy"),
    ),
    _listing(
        "/v1/questions",
        "questions",
        "questions",
        "Your questions, newest first; an owner also sees those that wait for approval",
        "Job",
        given=(AFTER, LIMIT),
        refused=("not-found", "parameter"),
    ),
    HttpOperation(
        method="GET",
        path="/v1/questions/{id}",
        name="question",
        tag="questions",
        summary="How far a question has come",
        given=(WAIT,),
        returns=ref("Job"),
        refused=("not-found", "parameter"),
    ),
    HttpOperation(
        method="DELETE",
        path="/v1/questions/{id}",
        name="cancel",
        tag="questions",
        summary="Cancel a question of which no row has been read",
        returns=ref("Job"),
        refused=("not-found", "state"),
    ),
    HttpOperation(
        method="GET",
        path="/v1/questions/{id}/events",
        name="events",
        tag="questions",
        summary="Every change of state, as server-sent events, up to the last",
        returns=EVENT,
        media=EVENTS,
        refused=("not-found",),
    ),
    _decision("approve", "Agree to a question"),
    _decision("reject", "Refuse a question"),
    _listing("/v1/answers", "answers", "answers", "The answers that may be read: all are free", "Answer"),
    HttpOperation(
        method="GET",
        path="/v1/answers/{id}",
        name="answer",
        tag="answers",
        summary="An answer",
        returns=ref("Release"),
        refused=("not-found",),
    ),
    *map(_form, FORMS),
    _listing(
        "/v1/budget",
        "budget",
        "budgets",
        "What is left: of your quotas; owners and auditors see all",
        "Budget",
        under="budgets",
    ),
    HttpOperation(
        method="POST",
        path="/v1/grants",
        name="grant",
        tag="budgets",
        summary="Grant an analyst a quota",
        takes="Grant",
        returns=ref("Granted"),
        refused=(*READ, "not-found"),
    ),
    _listing("/v1/people", "people", "people", "Who may sign in", "Person"),
    HttpOperation(
        method="GET",
        path="/v1/record/{data}",
        name="record",
        tag="record",
        summary="The record of one data set",
        returns=ref("Record"),
        refused=("not-found",),
    ),
    HttpOperation(
        method="GET",
        path="/v1/verification",
        name="verification",
        tag="record",
        summary="Does the record agree with itself?",
        given=(HEAD,),
        returns=ref("Verification"),
    ),
)
