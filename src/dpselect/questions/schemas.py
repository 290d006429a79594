"""JSON Schema (2020-12) of the values of parameters, by their kind.

Whether parameters fit together, and fit the data, only the question itself can check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpselect._ground.parameters import MAX_INTEGER

Schema = dict[str, Any]

DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
NUMBER: Schema = {
    "type": ["number", "string"],
    "pattern": rf"^({DECIMAL}|[+-]?[0-9]+/[0-9]*[1-9][0-9]*)$",
    "maxLength": 1000,
}
WHOLE: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER}
COLUMNS: Schema = {
    "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]
}
PERIODS = COLUMNS
PLAIN: Schema = {"type": ["null", "boolean", "number", "string"]}
KINDS = ("fraction", "decimal", "datetime", "date", "time", "bytes", "float", "int")
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
POPULAR = ITEMS
INTEGER: Schema = {"anyOf": [{"type": "integer"}, KIND]}
SPAN: Schema = {
    "type": "object",
    "properties": {"start": INTEGER, "stop": INTEGER},
    "required": ["start", "stop"],
    "additionalProperties": False,
}
NULL: Schema = {"type": "null"}
DOMAIN: Schema = {"anyOf": [ITEMS, SPAN, {"type": "integer", "minimum": 1}]}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}, "minItems": 1}
LEVELS: Schema = {"anyOf": [WHOLE, {"type": "array", "items": WHOLE, "minItems": 2, "maxItems": 2}]}
MEASURES: Schema = {"anyOf": [{"type": "string"}, TEXTS]}
NUMBERS: Schema = {"anyOf": [NUMBER, {"type": "array", "items": NUMBER, "minItems": 1}]}
EPSILON: Schema = {**NUMBER, "exclusiveMinimum": 0}
DELTA: Schema = {**NUMBER, "minimum": 0, "exclusiveMaximum": 1}
SHARE: Schema = {
    "type": ["number", "string"],
    "exclusiveMinimum": 0,
    "exclusiveMaximum": 1,
    "pattern": rf"^\s*({DECIMAL}|[0-9]+/[0-9]+)\s*%?\s*$",
}
PAIR: Schema = {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}
FLAG: Schema = {"type": "boolean"}
TEXT: Schema = {"type": "string", "minLength": 1}
COLUMN = TEXT
TOKENIZER: Schema = {"type": "string", "pattern": "^(words|spaces|sentences|re:.+)$"}


def schema_of_shape(name: str) -> Schema:
    """Return the schema of a shape, which kinds of values name."""
    schema: Schema = globals()[name]
    return schema


def or_null(schema: Schema) -> Schema:
    """Return the schema of a parameter that may be left out, which null means."""
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return {**schema, "type": [*types, "null"]}
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], NULL]}
    return {"anyOf": [schema, NULL]}


def types_of(schema: Schema) -> list[str]:
    """Return the types that a value may have in JSON."""
    type_entries = [entry.get("type", "string") for entry in schema.get("anyOf", [schema])]
    return [*dict.fromkeys(name for entry in type_entries for name in ([entry] if isinstance(entry, str) else entry))]


def as_integer(value: object, types: Sequence[str]) -> object:
    """Return the integer that a number such as 3.0 is where JSON Schema asks for one, and any other value as it is."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= MAX_INTEGER
    return int(value) if is_whole and "integer" in types and "number" not in types else value  # type: ignore[call-overload]
