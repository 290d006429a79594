"""The HTTP interface as an OpenAPI 3.1 document, made from the table of operations and the queries' own parameters.

Everybody may read it, so it names no data set and no person: nothing of it depends on what the owner declared but the
address of the server.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from dpselect.gateway.asked import TEXT_PARAMETERS
from dpselect.gateway.pages.words import join_words
from dpselect.gateway.problems import PROBLEM_KINDS
from dpselect.gateway.settings.kinds import Role
from dpselect.gateway.web import replies
from dpselect.gateway.web.answers import ANSWER_FORMS
from dpselect.gateway.web.api import ROUTES
from dpselect.gateway.web.releases import Release
from dpselect.gateway.web.routes import JSON, Route
from dpselect.queries import PLANS, schemas
from dpselect.questions import QUESTIONS, or_null, schema_of_shape

if TYPE_CHECKING:
    from dpselect.gateway.settings.values import Settings

_PROBLEM = "application/problem+json"
_GUARDS = ("malformed", "too-large", "host", "too-many", "unexpected")  # whatever is asked for
IF_SIGNED_IN = ("sign-in", "role", "unavailable")
IF_BODY = ("content", "parameter")  # where there is a body
_IN_PATH = re.compile(r"{(\w+)}")
TAGS = {  # how their addresses begin, and what they are about
    "questions": ("/v1/(plan|price|questions)", "Plan, price and ask; poll for the answer."),
    "answers": ("/v1/answers", "Answers, free for everybody who may use the data."),
    "data": ("/v1/data", "What you may ask, as the owner declared it."),
    "budgets": ("/v1/(budget|grants)", "What is left of the promise and the quotas."),
    "record": (
        "/v1/(record|verification)",
        "What was asked and charged, and whether the record is consistent.",
    ),
    "people": ("/v1/(me|people)", "Who may sign in."),
    "server": ("/", "How the gateway is."),
}
ABOUT = """\
Many analysts ask under one promise: every answer is differentially private, and is charged to the budget of the data
before a row is read. The parameters of a question are those of the Python verbs. Numbers are exact: write "0.1" or
"1/3" as text, or a JSON number, which is read as its shortest decimal."""
NO_SIGN_IN: list[dict[str, Any]] = []  # signs in
RETRY_AFTER = {"description": "how many seconds to wait", "schema": {"type": "integer", "minimum": 0}}


Schema = dict[str, Any]
FLAG: Schema = {"type": "boolean", "default": False}


# ---- bodies ----------------------------------------------------------------------------------------------------

NAME: Schema = {"type": "string", "minLength": 1}
ITEM_SCHEMA, SOME = schema_of_shape("ITEM"), or_null(schema_of_shape("COLUMNS"))
_DATA_FIELDS: dict[str, Schema] = {
    name: {**schema, "description": description}
    for name, schema, description in (
        ("data", or_null(NAME), "the name of the data; optional if there is only one"),
        ("item", SOME, "the column of items, or several columns; for a quantile, the column of values"),
        ("where", or_null(NAME), "a condition that a row must meet to count, on columns that the owner lists"),
        ("during", SOME, "the names of periods, if the data have them"),
        ("share", or_null(schema_of_shape("SHARE")), 'instead of epsilon: a share of the quota, such as "1%"'),
        ("fresh", FLAG, "draw a new answer and pay again, even if the question was answered before"),
    )
}
"""In addition to the parameters of a query; the owner's declarations are the defaults."""
TOTAL = "set the quota to this amount instead of adding it"
_GRANT_BODY: Schema = {
    "type": "object",
    "properties": {
        "data": NAME,
        "analyst": NAME,
        "epsilon": {**schema_of_shape("NUMBER"), "minimum": 0},
        "delta": {**schema_of_shape("DELTA"), "default": 0},
        "total": {**FLAG, "description": TOTAL},
    },
    "required": ["data", "analyst", "epsilon"],
    "additionalProperties": False,
}


def component(verb: str) -> str:
    """Return the name of the schema of a verb's questions."""
    return "".join(part.title() for part in verb.split("_")) + "Question"


def question(verb: str) -> Schema:
    """Return the schema of a verb's questions. Only the verb is required: the owner may have declared the rest."""
    parameter_schemas = {
        name: _share_item_schema(schema) for name, schema in schemas(verb).items() if name not in TEXT_PARAMETERS
    }
    properties = {"verb": {"const": verb}, **parameter_schemas, **_DATA_FIELDS}
    return {
        "type": "object",
        "description": str(QUESTIONS[verb].__doc__).partition("\n")[0],
        "properties": properties,
        "required": ["verb"],
        "additionalProperties": False,
    }


def questions() -> dict[str, Schema]:
    """Return the schemas of all questions, and of one of any verb."""
    question_schemas = {component(verb): question(verb) for verb in PLANS}
    references = {verb: f"#/components/schemas/{component(verb)}" for verb in PLANS}
    any_question = {
        "oneOf": [{"$ref": ref} for ref in references.values()],
        "discriminator": {"propertyName": "verb", "mapping": references},
    }
    return {"Question": any_question, **question_schemas, "Item": ITEM_SCHEMA, "Grant": _GRANT_BODY}


def _share_item_schema(schema: Any) -> Any:
    """Return a schema with the schema of an item by its name, since it is long and comes often."""
    if schema == ITEM_SCHEMA:
        return {"$ref": "#/components/schemas/Item"}
    if isinstance(schema, dict):
        return {name: _share_item_schema(part) for name, part in schema.items()}
    return [_share_item_schema(part) for part in schema] if isinstance(schema, list) else schema


# ---- examples: all can be asked of the demonstration data ----------------------------------------------------

EXAMPLE_QUESTION = {"verb": "top_k", "k": 10, "share": "1%"}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "top": ("The ten artists with the most users", EXAMPLE_QUESTION),
    "by_country": (
        "The same in every country, for rows of at least ten minutes",
        {"verb": "top_k", "k": 5, "epsilon": "1/4", "by": "country", "where": "minutes >= 10"},
    ),
    "union": ("All artists with enough users", {"verb": "union", "epsilon": "1/4", "max_items_per_user": 10}),
    "median": ("The median number of minutes", {"verb": "quantile", "epsilon": "1/4"}),
}
GRANT = ("More for one analyst", {"data": "listening", "analyst": "analyst", "epsilon": "1/10", "delta": "1e-7"})
EXAMPLES: dict[str, dict[str, Any]] = {
    **{
        name: {which: {"summary": description, "value": value} for which, (description, value) in ASKED.items()}
        for name in ("plan", "price", "ask")
    },
    "grant": {"more": {"summary": GRANT[0], "value": GRANT[1]}},
}


# ---- the document -----------------------------------------------------------------------------------------------


class _Untitled(GenerateJsonSchema):
    """A generator of schemas without titles, because names of properties say enough."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - whatever the property is
        """Return that no property has a title beside its name."""
        return False


def _form_route(name: str) -> Route:
    """Return the address of an answer in one form."""
    answer_route = next(route for route in ROUTES if route.name == "answer")
    media = ANSWER_FORMS[name].media.partition(";")[0]
    returns = Release if media == JSON else str if media.startswith("text/") else None
    refused = (*answer_route.refused, "parameter") if name == "svg" else answer_route.refused  # nothing to draw
    operation_id, summary = f"answer_{name.replace('-', '_')}", f"An answer {ANSWER_FORMS[name].description}"
    return replace(
        answer_route,
        path=f"{answer_route.path}.{name}",
        name=operation_id,
        summary=summary,
        returns=returns,
        media=media,
        refused=refused,
    )


OPERATIONS = (*ROUTES, *map(_form_route, ANSWER_FORMS))


def document(settings: Settings | None = None) -> dict[str, Any]:
    """Return the whole OpenAPI document."""
    kinds = dict.fromkeys([*(route.returns for route in OPERATIONS if route.returns is not None), replies.Problem])
    returned, defined = TypeAdapter.json_schemas(
        [(kind, "serialization", TypeAdapter[Any](kind)) for kind in kinds],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    paths: dict[str, dict[str, Any]] = {}
    for route in OPERATIONS:
        schema = returned.get((route.returns, "serialization"), {})
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema)
    url = "/" if settings is None or settings.server.url is None else settings.server.url
    return {
        "openapi": "3.1.0",
        "info": {"title": "dpselect gateway", "version": "1", "description": ABOUT},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{"url": url}],
        "tags": [{"name": name, "description": description} for name, (_, description) in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": {**defined["$defs"], **questions()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def ref(name: str) -> dict[str, Any]:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def roles_of(route: Route) -> tuple[str, ...]:
    """Return the roles that may use an address; with none, nobody needs to sign in."""
    return tuple(str(role) for role in Role if role in route.roles)


def _operation(route: Route, returns: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [next(tag for tag, (first, _) in TAGS.items() if re.match(first, route.path))],
        "summary": route.summary,
        "parameters": [*_in_path(route.path), *route.parameters],
        "responses": {str(route.status): _success(route, returns), **_refusals(route)},
    }
    if route.takes is not None:
        content: dict[str, Any] = {"schema": ref(route.takes)}
        if route.name in EXAMPLES:
            content["examples"] = EXAMPLES[route.name]
        operation["requestBody"] = {"required": True, "content": {JSON: content}}
    if route.roles:
        operation["description"] = f"For {join_words([f'{role}s' for role in roles_of(route)])}."
        operation["x-roles"] = [*roles_of(route)]
    else:
        operation["security"] = NO_SIGN_IN
    return {name: value for name, value in operation.items() if value or name == "security"}


def _in_path(path: str) -> list[dict[str, Any]]:
    """Return the parameters that stand in braces."""
    collection, _, _ = path.partition("/{")
    descriptions = {
        "id": f"the id of the {collection.rpartition('/')[2].removesuffix('s')}",
        "data": "the name of the data",
    }
    common_fields = {"in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    return [{"name": name, "description": descriptions[name], **common_fields} for name in _IN_PATH.findall(path)]


def _success(route: Route, returns: dict[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": route.summary, "content": {route.media: {"schema": returns}}}
    if route.status == 202:
        response["headers"] = {
            "Location": {"description": "where the question is", "schema": {"type": "string"}, "required": True}
        }
    return response


def _refusals(route: Route) -> dict[str, Any]:
    """Return one response for each status, which may stand for several kinds of problems."""
    kinds = [
        *_GUARDS,
        *(() if route.method == "GET" else ("cross-site",)),
        *(IF_SIGNED_IN if route.roles else ()),
    ]
    kinds += [
        *(IF_BODY if route.takes else ()),
        *(("not-found",) if "{" in route.path else ()),
        *route.refused,
    ]
    statuses: dict[int, list[str]] = {}
    for kind in dict.fromkeys(kinds):
        statuses.setdefault(PROBLEM_KINDS[kind].status, []).append(kind)
    responses: dict[str, Any] = {}
    for status in sorted(statuses):
        description = "; ".join(f"{kind}: {PROBLEM_KINDS[kind].title.lower()}" for kind in statuses[status])
        responses[str(status)] = {"description": description, "content": {_PROBLEM: {"schema": ref("Problem")}}}
        if status in (429, 503):
            responses[str(status)]["headers"] = {"Retry-After": RETRY_AFTER}
    return responses
