"""The JSON that every parameter of a question may be, as JSON Schema (2020-12): from its field where that says enough.

A schema tells what a parameter looks like. Whether parameters go together, and with the data, the question itself says.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any

from dpselect._ground import methods
from dpselect._ground.methods import AUTO
from dpselect._ground.parameters import MOST
from dpselect._ground.privacy import Neighbors
from dpselect.engines.port import PerUser
from dpselect.queries.query import kind
from dpselect.queries.words import WORDS, plain
from dpselect.texts.tokenizer import WORDS as TOKENS

Schema = dict[str, Any]

DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
NUMBER: Schema = {
    "type": ["number", "string"],
    "pattern": rf"^({DECIMAL}|[+-]?[0-9]+/[0-9]*[1-9][0-9]*)$",
    "maxLength": 1000,
}
WHOLE: Schema = {"type": "integer", "minimum": 1, "maximum": MOST}
COLUMNS: Schema = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]
}
PLAIN: Schema = {"type": ["null", "boolean", "number", "string"]}
KINDS = ("fraction", "decimal", "datetime", "date", "time", "bytes", "float")
KIND: Schema = {
    "type": "array",
    "prefixItems": [{"enum": [*KINDS]}, {"type": "string"}],
    "minItems": 2,
    "maxItems": 2,
}
TUPLE: Schema = {
    "type": "array",
    "prefixItems": [{"const": "tuple"}, {"type": "array", "items": {"anyOf": [PLAIN, KIND]}, "minItems": 2}],
    "minItems": 2,
    "maxItems": 2,
}
ITEM: Schema = {"anyOf": [PLAIN, KIND, TUPLE]}
ITEMS: Schema = {"type": "array", "items": ITEM, "minItems": 1}
SPAN: Schema = {
    "type": "object",
    "properties": {"start": {"type": "integer"}, "stop": {"type": "integer"}},
    "required": ["start", "stop"],
    "additionalProperties": False,
}
NULL: Schema = {"type": "null"}
KNOWN: Schema = {"anyOf": [ITEMS, SPAN]}
DOMAIN: Schema = {"anyOf": [ITEMS, SPAN, {"type": "integer", "minimum": 1}]}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}, "minItems": 1}
LEVELS: Schema = {"anyOf": [WHOLE, {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}]}

# By annotation; what stands in STATED is said there instead.
OF_TYPES: dict[str, Schema] = {
    "bool": {"type": "boolean"},
    "int": WHOLE,
    "Number": NUMBER,
    "str": {"type": "string", "minLength": 1},
    "Sequence[str]": TEXTS,
    "Sequence[Number]": {"type": "array", "items": NUMBER, "minItems": 1},
    "None": NULL,
}
STATED: dict[tuple[str, str], Schema] = {
    ("top_k", "domain"): {"anyOf": [*DOMAIN["anyOf"], NULL]},
    ("top_k", "k_bar"): {**WHOLE, "type": ["integer", "null"], "maximum": MOST - 1},  # one more is looked at
    ("top_k", "groups"): {"anyOf": [ITEMS, NULL]},
    ("top_k", "exclude"): {"anyOf": [ITEMS, NULL]},
    ("top_k", "measures"): {"anyOf": [{"type": "string"}, TEXTS, NULL]},
    ("union", "max_items_per_user"): {"anyOf": [WHOLE, {"const": AUTO}, NULL]},
    ("union", "popular"): {"anyOf": [{"type": "array", "items": ITEM}, NULL]},
    ("union", "exclude"): {"anyOf": [ITEMS, NULL]},
    ("union", "ngrams"): {**LEVELS, "default": 1},
    ("union", "tokenizer"): {"type": "string", "pattern": "^(words|spaces|sentences|re:.+)$", "default": TOKENS},
    ("union", "lower"): {"type": "boolean", "default": True},
    ("choose", "domain"): DOMAIN,
    ("choose", "groups"): {"anyOf": [ITEMS, NULL]},
    ("choose", "neighbors"): {"enum": [*map(str, Neighbors)], "default": str(Neighbors.ADD_REMOVE)},
    ("histogram", "domain"): KNOWN,
    ("quantile", "q"): {"anyOf": [NUMBER, {"type": "array", "items": NUMBER, "minItems": 1}], "default": "1/2"},
    ("quantile", "bounds"): {"type": ["array", "null"], "items": NUMBER, "minItems": 2, "maxItems": 2},
    ("quantile", "per_user"): {"enum": [*map(str, PerUser)], "default": str(PerUser.RANDOM)},
    ("quantile", "groups"): {"anyOf": [ITEMS, NULL]},
}
LIMITS: dict[str, Schema] = {
    "epsilon": {"exclusiveMinimum": 0},
    "delta": {"minimum": 0, "exclusiveMaximum": 1},
}
PRICED = ("epsilon", "within", "users_for")  # a question has one of them
ASKED_OF_DATA = {"choose": ("domain",)}  # what may be left out only by a question about the caller's own scores


def parameters(verb: str) -> dict[str, Schema]:
    """The schema of each parameter of a verb, with its line in words."""
    known = {one.name: one for one in fields(kind(verb))}
    return {name: _described(verb, name, known.get(name)) for name in WORDS[verb]}


def required(verb: str) -> list[str]:
    """The parameters that must be given, but for the price, which has several names."""
    needed = {one.name for one in fields(kind(verb)) if one.init and one.default is MISSING}
    return [name for name in WORDS[verb] if name in needed | {*ASKED_OF_DATA.get(verb, ())} and name not in PRICED]


def _described(verb: str, name: str, field: Any) -> Schema:
    found = STATED.get((verb, name)) or _derived(verb, name, field)
    return {**found, **LIMITS.get(name, {}), "description": plain(WORDS[verb][name])}


def _derived(verb: str, name: str, field: Any) -> Schema:
    """The schema of a field: by its annotation and its default; of a method the menu."""
    if name == "method":
        known = methods.names(verb)
        found: Schema = {"enum": known if verb == "choose" else [AUTO, *known]}
    else:
        found = _either([OF_TYPES[part.strip()] for part in field.type.split("|")])
    default = field.default
    if default is None or default is MISSING:
        return found
    return {**found, "default": str(default) if isinstance(default, Fraction) else default}


def _either(kinds: list[Schema]) -> Schema:
    """Any of these; null beside one alone is one more type of it."""
    first, *others = kinds
    if others == [NULL] and "type" in first:
        types = first["type"] if isinstance(first["type"], list) else [first["type"]]
        return {**first, "type": [*types, "null"]}
    return {"anyOf": kinds} if others else dict(first)
