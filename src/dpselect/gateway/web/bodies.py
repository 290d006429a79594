"""The JSON of requests, as JSON Schema: a question of each verb, from the queries' own parameters, and a grant."""

from __future__ import annotations

from typing import Any

from dpselect.gateway.asked import OF_TEXTS
from dpselect.queries.parameters import schemas
from dpselect.queries.plan import PLANS
from dpselect.questions.schemas import COLUMNS, ITEM, NUMBER, SHARE, TEXTS, or_null

Schema = dict[str, Any]

# Beside the parameters of a query; what the owner declared stands for what is left out.
BESIDE: dict[str, Schema] = {
    "data": {
        "type": ["string", "null"],
        "minLength": 1,
        "description": "the name of the data; may be left out where there is one",
    },
    "item": {
        "anyOf": [*COLUMNS["anyOf"], {"type": "null"}],
        "description": "the column of items, or several columns; of a quantile, that of values",
    },
    "where": {
        "type": ["string", "null"],
        "minLength": 1,
        "description": "which rows count: a condition on one row, within what the owner lists",
    },
    "during": {
        "anyOf": [{"type": "string", "minLength": 1}, TEXTS, {"type": "null"}],
        "description": "the names of periods, of data that have them",
    },
    "share": {
        **or_null(SHARE),
        "description": 'in place of epsilon: a share of the quota, such as "1%"',
    },
    "fresh": {
        "type": "boolean",
        "default": False,
        "description": "ask anew, and pay again, where the same question was answered before",
    },
}
TITLES = {
    "top_k": "The k items that most users share",
    "union": "All items that enough users share",
    "choose": "The best of known candidates",
    "histogram": "How many users have each item of a known list",
    "users": "How many users there are, in all or in each of some listed groups",
    "quantile": "The values below which shares of all users' values lie",
}
GRANT: Schema = {
    "type": "object",
    "properties": {
        "data": {"type": "string", "minLength": 1},
        "analyst": {"type": "string", "minLength": 1},
        "epsilon": {**NUMBER, "minimum": 0},
        "delta": {**NUMBER, "minimum": 0, "exclusiveMaximum": 1, "default": 0},
        "total": {
            "type": "boolean",
            "default": False,
            "description": "whether the quota becomes this much, in place of growing by it",
        },
    },
    "required": ["data", "analyst", "epsilon"],
    "additionalProperties": False,
}


def component(verb: str) -> str:
    """What the schema of a verb's questions is called."""
    return "".join(part.title() for part in verb.split("_")) + "Question"


def question(verb: str) -> Schema:
    """A question of one verb. Only the verb must be there: bounds and domains the owner may have declared."""
    own = {name: _shared(one) for name, one in schemas(verb).items() if name not in OF_TEXTS}
    properties = {"verb": {"const": verb}, **own, **BESIDE}
    return {
        "type": "object",
        "title": TITLES[verb],
        "properties": properties,
        "required": ["verb"],
        "additionalProperties": False,
    }


def questions() -> dict[str, Schema]:
    """The schemas of all questions, and of one of them."""
    each = {component(verb): question(verb) for verb in PLANS}
    where = {verb: f"#/components/schemas/{component(verb)}" for verb in PLANS}
    one = {
        "oneOf": [{"$ref": ref} for ref in where.values()],
        "discriminator": {"propertyName": "verb", "mapping": where},
    }
    return {"Question": one, **each, "Item": ITEM, "Grant": GRANT}


def _shared(schema: Any) -> Any:
    """The same with the schema of an item by its name, since it is long and comes often."""
    if schema == ITEM:
        return {"$ref": "#/components/schemas/Item"}
    if isinstance(schema, dict):
        return {name: _shared(one) for name, one in schema.items()}
    return [_shared(one) for one in schema] if isinstance(schema, list) else schema
