"""Every parameter of every question as other programs and docs have it: its JSON Schema, and its line in a table."""

from __future__ import annotations

from dataclasses import MISSING, Field
from typing import Any

from dpselect.queries.plan import kind
from dpselect.questions import schemas as shapes
from dpselect.questions.kinds import OneOf
from dpselect.questions.parts import method_names
from dpselect.questions.schemas import Schema, or_null
from dpselect.questions.value import strip_links


def schemas(verb: str) -> dict[str, Schema]:
    """The schema of each parameter of a verb, with its line in words."""
    return {name: _schema(verb, name, one) for name, one in kind(verb).fields().items()}


def table(verb: str) -> list[str]:
    """The lines of the table of a verb, for the docs."""
    rows = [f"| `{name}` | {one.metadata['help']} |" for name, one in kind(verb).fields().items()]
    return ["| parameter | what |", "| --- | --- |", *rows]


def _schema(verb: str, name: str, one: Field[Any]) -> Schema:
    of = one.metadata["kind"]
    shape: Schema = getattr(shapes, of.shape)
    if name == "method":
        shape = {"enum": method_names(verb)}
    elif isinstance(of, OneOf):
        shape = {"enum": [*of.words]}
    usual = {} if one.default in (None, MISSING) else {"default": one.default}
    return {**or_null(shape), **usual, "description": strip_links(one.metadata["help"])}
