"""The HTTP interface as an OpenAPI 3.1 document, made from the table of operations and the queries' own parameters.

Everybody may read it, so it names no data set and no person: nothing of it depends on what the owner declared but the
address of the server.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dpselect.gateway.problems import KINDS
from dpselect.gateway.web.bodies import questions
from dpselect.gateway.web.examples import EXAMPLES
from dpselect.gateway.web.operations import GUARDS, JSON, OPERATIONS, PROBLEM, SIGNED, HttpOperation
from dpselect.gateway.web.replies import REPLIES, TEXT, ref

if TYPE_CHECKING:
    from dpselect.gateway.settings.values import Settings

IN_PATH = re.compile(r"{(\w+)}")
TAGS = {
    "questions": "Plan, price and ask; an answer is waited for.",
    "answers": "What came back, free for everybody who may use the data.",
    "data": "What may be asked, as the owner declared it.",
    "budgets": "What is left of the promise and of quotas.",
    "record": "What was asked and charged, and whether the record agrees with itself.",
    "people": "Who may sign in.",
    "server": "How the gateway is.",
}
ABOUT = """\
Many analysts ask, one promise pays: every answer is differentially private, and the budget of the data pays for it
before a row is read. The parameters of a question are those of the Python verbs. Numbers are exact: write "0.1" or
"1/3" as text, or a JSON number, which is taken at its shortest decimal."""
NOBODY: list[dict[str, Any]] = []  # signs in
AFTER = {"description": "how many seconds to wait", "schema": {"type": "integer", "minimum": 0}}


def document(settings: Settings | None = None) -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    url = "/" if settings is None or settings.server.url is None else settings.server.url
    return {
        "openapi": "3.1.0",
        "info": {"title": "dpselect gateway", "version": "1", "description": ABOUT},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{"url": url}],
        "tags": [{"name": name, "description": said} for name, said in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": {**questions(), **REPLIES},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(one: HttpOperation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": one.name,
        "tags": [one.tag],
        "summary": one.summary,
        "parameters": [*_in_path(one.path), *one.given],
        "responses": {str(one.status): _success(one), **_refusals(one)},
    }
    if one.takes is not None:
        content: dict[str, Any] = {"schema": ref(one.takes)}
        if one.name in EXAMPLES:
            content["examples"] = EXAMPLES[one.name]
        found["requestBody"] = {"required": True, "content": {JSON: content}}
    if one.roles:
        found["description"] = f"For {_and(one.roles)}."
        found["x-roles"] = [*one.roles]
    else:
        found["security"] = NOBODY
    return {name: value for name, value in found.items() if value or name == "security"}


def _in_path(path: str) -> list[dict[str, Any]]:
    """The parameters that stand in braces."""
    room, _, _ = path.partition("/{")
    means = {"id": f"the id of the {room.rpartition('/')[2].removesuffix('s')}", "data": "the name of the data"}
    given = {"in": "path", "required": True, "schema": {**TEXT, "minLength": 1}}
    return [{"name": name, "description": means[name], **given} for name in IN_PATH.findall(path)]


def _success(one: HttpOperation) -> dict[str, Any]:
    found: dict[str, Any] = {"description": one.summary, "content": {one.media: {"schema": one.returns}}}
    if one.status == 202:
        found["headers"] = {"Location": {"description": "where the question is", "schema": TEXT, "required": True}}
    return found


def _refusals(one: HttpOperation) -> dict[str, Any]:
    """One answer for each status, which may stand for several kinds of problems."""
    kinds = [*GUARDS, *(() if one.method == "GET" else ("cross-site",)), *(SIGNED if one.roles else ()), *one.refused]
    statuses: dict[int, list[str]] = {}
    for kind in dict.fromkeys(kinds):
        statuses.setdefault(KINDS[kind].status, []).append(kind)
    found: dict[str, Any] = {}
    for status in sorted(statuses):
        said = "; ".join(f"{kind}: {KINDS[kind].title.lower()}" for kind in statuses[status])
        found[str(status)] = {"description": said, "content": {PROBLEM: {"schema": ref("Problem")}}}
        if status in (429, 503):
            found[str(status)]["headers"] = {"Retry-After": AFTER}
    return found


def _and(names: tuple[str, ...]) -> str:
    """Roles in words."""
    every = [f"{name}s" for name in names]
    return every[0] if len(every) == 1 else f"{', '.join(every[:-1])} and {every[-1]}"
