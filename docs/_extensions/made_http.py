"""The reference of HTTP: every operation and every form, from the OpenAPI document that a gateway serves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dpselect.gateway.problems import PROBLEM_KINDS
from dpselect.gateway.web.openapi import document


def operations(_page: str, _argument: str) -> str:
    """A section for each tag, with its operations; then a section for each form of JSON."""
    found = document()
    return "\n\n".join([*_tags(found), *_forms(found["components"]["schemas"])])


def problems(_page: str, _argument: str) -> str:
    """Every kind of problem, with its status."""
    rows = [f"| {kind.status} | `{name}` | {kind.title} |" for name, kind in PROBLEM_KINDS.items()]
    return "\n".join(["| status | kind | title |", "| --- | --- | --- |", *rows])


def _tags(found: dict[str, Any]) -> Iterator[str]:
    for tag in found["tags"]:
        yield f"## {tag['name'].capitalize()}\n\n{tag['description']}"
        for path, methods in found["paths"].items():
            for method, one in methods.items():
                if tag["name"] in one["tags"]:
                    yield "\n\n".join(_operation(method.upper(), path, one))


def _operation(method: str, path: str, one: dict[str, Any]) -> Iterator[str]:
    yield f"### {method} {path}".replace("{", "\\{")
    yield f"{one['summary'].rstrip('.')}. {one.get('description', 'No token is needed.')}".replace("?.", "?")
    given = [f"| `{p['name']}` | {p['in']} | {_type(p['schema'])} | {p.get('description', '')} |" for p in _given(one)]
    if given:
        yield "\n".join(["| parameter | where | type | what |", "| --- | --- | --- | --- |", *given])
    for media, content in one.get("requestBody", {}).get("content", {}).items():
        yield f"Body: {_type(content['schema'])}, as `{media}`."
        yield from _examples(content.get("examples", {}))
    replies = [f"| {status} | {_reply(reply)} | {reply['description']} |" for status, reply in one["responses"].items()]
    yield "\n".join(["| status | body | when |", "| --- | --- | --- |", *replies])


def _given(one: dict[str, Any]) -> list[dict[str, Any]]:
    return list(one.get("parameters", ()))


def _examples(examples: dict[str, Any]) -> Iterator[str]:
    for example in examples.values():
        shown = json.dumps(example["value"], indent=2, ensure_ascii=False)
        yield f"{example.get('summary', 'For example')}:\n\n```json\n{shown}\n```"


def _reply(reply: dict[str, Any]) -> str:
    shown = [
        _type(one["schema"]) if one.get("schema") else f"`{media}`" for media, one in reply.get("content", {}).items()
    ]
    return ", ".join(shown)


def _forms(schemas: dict[str, Any]) -> Iterator[str]:
    yield "## Forms"
    for name, schema in schemas.items():
        yield f"(form-{name.lower()})=\n### {name}"
        if schema.get("description"):
            yield schema["description"]
        needed = set(schema.get("required", ()))
        rows = [
            f"| `{key}` | {_type(value)} | {'yes' if key in needed else ''} | {_cell(value.get('description', ''))} |"
            for key, value in schema.get("properties", {}).items()
        ]
        if rows:
            yield "\n".join(["| name | type | needed | what |", "| --- | --- | --- | --- |", *rows])
        else:
            yield f"{_type(schema)}."


def _type(schema: dict[str, Any]) -> str:
    """A schema in few words; the document itself has the rest."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#form-{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[several])))
    if "enum" in schema:
        return " or ".join(f"`{_cell(json.dumps(value))}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{_cell(json.dumps(schema['const']))}`"
    found = schema.get("type", "anything")
    if found == "array":
        return f"list of {_type(schema['items'])}" if "items" in schema else "list"
    if found == "object" and schema.get("properties"):
        return f"object of {', '.join(f'`{name}`' for name in schema['properties'])}"
    return " or ".join(found) if isinstance(found, list) else str(found)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
