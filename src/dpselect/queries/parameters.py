"""Every parameter of every question as programs, forms and docs have it: JSON Schema, control, line in a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect.queries.planning import plan_class
from dpselect.questions.kinds import OneOf
from dpselect.questions.parts import method_names
from dpselect.questions.questions import QUESTIONS
from dpselect.questions.schemas import Schema, as_integer, or_null, schema_of_shape, types_of
from dpselect.questions.value import Inner, strip_links


@dataclass(frozen=True)
class Parameter:
    """A parameter of a question: its help, the shape of its JSON, and what it may be."""

    name: str
    help: str
    shape: str
    default: Any = None
    words: tuple[str, ...] | None = None  # of which it is one
    needs: str | None = None  # the parameter without which it means nothing


def list_parameters(verb: str) -> list[Parameter]:
    """List the parameters of a verb: of its question, its price and its data."""
    needs = _dependencies(verb)
    parameters = []
    for name, field in plan_class(verb).fields().items():
        kind, default = field.metadata["kind"], None if field.default is MISSING else field.default
        words = kind.words if isinstance(kind, OneOf) else tuple(method_names(verb)) if name == "method" else None
        help_text = strip_links(field.metadata["help"])
        parameters.append(Parameter(name, help_text, kind.shape, default, words, needs.get(name)))
    return parameters


def _dependencies(verb: str) -> dict[str, str]:
    """Map each parameter that needs another one to its name: those of groups need the columns of groups."""
    dependencies: dict[str, str] = {}
    for field in QUESTIONS[verb].parameters():
        kind = field.metadata["kind"]
        for part in kind.classes if isinstance(kind, Inner) else ():
            first, *rest = part.flat_names()
            dependencies |= dict.fromkeys(rest, first) if part.parameters()[0].default is MISSING else {}
    return dependencies


def with_integers(verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments from JSON, where 3.0 is an integer if the parameter of this name is one."""
    shapes = {name: field.metadata["kind"].shape for name, field in plan_class(verb).fields().items()}
    return {
        name: as_integer(value, types_of(schema_of_shape(shapes[name]))) if name in shapes else value
        for name, value in arguments.items()
    }


def schemas(verb: str) -> dict[str, Schema]:
    """Return the schema of each parameter of a verb, with its line in words."""
    return {parameter.name: _schema(parameter) for parameter in list_parameters(verb)}


def table(verb: str) -> list[str]:
    """Return the lines of the table of a verb, for the docs."""
    rows = [f"| `{name}` | {parameter.metadata['help']} |" for name, parameter in plan_class(verb).fields().items()]
    return ["| parameter | what |", "| --- | --- |", *rows]


def _schema(parameter: Parameter) -> Schema:
    shape = schema_of_shape(parameter.shape) if parameter.words is None else {"enum": [*parameter.words]}
    default = {} if parameter.default is None else {"default": parameter.default}
    return {**or_null(shape), **default, "description": parameter.help}
