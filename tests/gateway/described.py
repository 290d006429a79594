"""The OpenAPI document for tests: a validator of each of its schemas, which also refuses what is not described."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema_rs

from dpselect.gateway.web.openapi import document


def closed(schema: Any) -> Any:
    """The same, but objects with named properties have no others. Answers are open for later versions only."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(one) for name, one in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        found["additionalProperties"] = False
    return found


@cache
def validator(name: str) -> Any:
    """Of a schema by its name, with nothing beside what it names."""
    components = closed(document()["components"])
    return jsonschema_rs.Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": components})
