"""The JSON of requests: how it is read, and what it is as JSON Schema, from the queries' own parameters."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.requests import Request

from dpselect.gateway.asked import OF_TEXTS
from dpselect.gateway.problems import Refused
from dpselect.gateway.web.desk import thinking
from dpselect.queries.parameters import schemas
from dpselect.queries.plan import PLANS
from dpselect.questions.schemas import COLUMNS, ITEM, NUMBER, SHARE, TEXTS, or_null
from dpselect.release.formatting import Json

Schema = dict[str, Any]
DEEPEST = 50  # lists and objects inside each other
SHORT = 1 << 14  # bytes of a body that is read at once


# ---- how it is read ------------------------------------------------------------------------------------------


async def body_of(request: Request) -> tuple[Json, bytes]:
    """The body as JSON, and its bytes."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused("content", "The body must be JSON: say Content-Type: application/json.")
    raw = await request.body()
    return parsed(raw) if len(raw) <= SHORT else await thinking(request, parsed, raw), raw


def parsed(raw: bytes) -> Json:
    """JSON as it is defined: no NaN, no name twice, no half of a pair."""
    try:
        found: Json = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_once, parse_float=_finite, parse_constant=_refuse
        )
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise Refused("malformed", "The body is no JSON that can be read.") from None
    if _depth(found) > DEEPEST:
        raise Refused("malformed", "The body is nested too deep.")
    return found


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def _finite(text: str) -> float:
    """A number that a float can hold: 1e999 would be read as infinity."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def _refuse(name: str) -> Json:
    raise ValueError(name)


def _depth(value: Json) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        inner: list[Json] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        level = inner
    return depth


# ---- what it is ----------------------------------------------------------------------------------------------

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
GRANT_BODY: Schema = {
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
    return {"Question": one, **each, "Item": ITEM, "Grant": GRANT_BODY}


def _shared(schema: Any) -> Any:
    """The same with the schema of an item by its name, since it is long and comes often."""
    if schema == ITEM:
        return {"$ref": "#/components/schemas/Item"}
    if isinstance(schema, dict):
        return {name: _shared(one) for name, one in schema.items()}
    return [_shared(one) for one in schema] if isinstance(schema, list) else schema


# ---- examples: all can be asked of the demonstration data ----------------------------------------------------

TOP = {"verb": "top_k", "k": 10, "share": "1%"}
QUESTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "top": ("The ten artists that most users hear", TOP),
    "by_country": (
        "The same in every country, of those who listen for ten minutes at once",
        {"verb": "top_k", "k": 5, "epsilon": "1/4", "by": "country", "where": "minutes >= 10"},
    ),
    "union": ("All artists that enough users hear", {"verb": "union", "epsilon": "1/4", "max_items_per_user": 10}),
    "median": ("How many minutes half of all users listen at once", {"verb": "quantile", "epsilon": "1/4"}),
}
GRANT = ("More for one analyst", {"data": "listening", "analyst": "analyst", "epsilon": "1/10", "delta": "1e-7"})
EXAMPLES: dict[str, dict[str, Any]] = {
    **{
        name: {which: {"summary": said, "value": value} for which, (said, value) in QUESTIONS.items()}
        for name in ("plan", "price", "ask")
    },
    "grant": {"more": {"summary": GRANT[0], "value": GRANT[1]}},
}
