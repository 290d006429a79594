"""Every parameter of every question as other programs and docs have it: its JSON Schema, and its line in a table."""

from __future__ import annotations

from dataclasses import MISSING, Field
from typing import Any

from dpselect.queries.plan import plan_class
from dpselect.questions import schemas as shapes
from dpselect.questions.kinds import OneOf
from dpselect.questions.parts import method_names
from dpselect.questions.schemas import Schema, or_null
from dpselect.questions.value import strip_links


def schemas(verb: str) -> dict[str, Schema]:
    """Return the schema of each parameter of a verb, with its line in words."""
    return {name: _schema(verb, name, parameter) for name, parameter in plan_class(verb).fields().items()}


def table(verb: str) -> list[str]:
    """Return the lines of the table of a verb, for the docs."""
    rows = [f"| `{name}` | {parameter.metadata['help']} |" for name, parameter in plan_class(verb).fields().items()]
    return ["| parameter | what |", "| --- | --- |", *rows]


def _schema(verb: str, name: str, parameter: Field[Any]) -> Schema:
    kind = parameter.metadata["kind"]
    shape: Schema = getattr(shapes, kind.shape)
    if name == "method":
        shape = {"enum": method_names(verb)}
    elif isinstance(kind, OneOf):
        shape = {"enum": [*kind.words]}
    default = {} if parameter.default in (None, MISSING) else {"default": parameter.default}
    return {**or_null(shape), **default, "description": strip_links(parameter.metadata["help"])}
