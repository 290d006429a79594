"""What this version offers, as plain JSON: public names and signatures, the command's options, HTTP operations."""

from __future__ import annotations

import argparse
import dataclasses
import enum
import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import dpselect as dps
from dpselect.command.parser import Parser, parser
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "reference" / "compatibility.md"
PLAIN = (type(None), bool, int, float, str, tuple)
ROOMS = ("accounting", "mechanisms")

# ---- Python ----------------------------------------------------------------------------------------------


def names() -> dict[str, Any]:
    """Every public name with what it is."""
    found = {name: described(getattr(dps, name)) for name in dps.__all__ if name not in ("__version__", *ROOMS)}
    for room in ROOMS:
        held = getattr(dps, room)
        found |= {f"{room}.{name}": described(getattr(held, name)) for name in held.__all__}
    for name, one in found.items():
        given = {parameter["name"] for parameter in one.get("parameters", [])}
        ours = own_rooms().get(name, set())
        if name.startswith("mechanisms."):
            ours = set(one.get("members", {})) - given - {"privacy"}
        for member in ours & set(one.get("members", {})):
            del one["members"][member]
    return found


def own_rooms() -> dict[str, set[str]]:
    """The names that the page does not promise, by class."""
    section = PAGE.read_text("utf-8").partition("### Names of our own rooms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE)
    return {name: set(re.findall(r"`(\w+)`", names)) for name, names in rows}


def described(value: Any) -> dict[str, Any]:
    """A class with its members, a function with its parameters, or a type that is neither."""
    if inspect.isclass(value):
        return {
            "kind": "class",
            "above": [one.__name__ for one in value.__mro__[1:] if issubclass(one, Exception) and one is not Exception],
            "parameters": parameters(value),
            "members": dict(sorted(members(value))),
        }
    return {"kind": "function", "parameters": parameters(value)} if callable(value) else {"kind": "value"}


def parameters(value: Callable[..., Any]) -> list[dict[str, Any]]:
    """The parameters in their order: name, kind, and the default where there is one; of our own code only."""
    home = next((one for one in getattr(value, "__mro__", ()) if "__init__" in vars(one)), value)
    if not home.__module__.startswith("dpselect") or isinstance(value, enum.EnumType):
        return []
    found = inspect.signature(value).parameters.values()
    return [
        {"name": one.name, "kind": one.kind.name}
        | ({} if one.default is one.empty else {"default": default(one.default)})
        for one in found
        if one.name not in ("self", "cls")
    ]


def default(value: Any) -> str:
    """A default as text: itself where it is plain, else its type."""
    return repr(value) if isinstance(value, PLAIN) else type(value).__name__


def members(of: type) -> Iterator[tuple[str, dict[str, Any]]]:
    """Public methods, properties, fields and values of a class of ours."""
    if issubclass(of, enum.Enum):
        yield from ((one.name, {"kind": "value", "is": str(one.value)}) for one in of)
        return
    if dataclasses.is_dataclass(of):
        yield from ((one.name, {"kind": "field"}) for one in dataclasses.fields(of) if not one.name.startswith("_"))
    for name in dir(of):
        if name.startswith("_"):
            continue
        home = next(one for one in of.__mro__ if name in vars(one))
        value = vars(home)[name]
        if not home.__module__.startswith("dpselect"):
            continue
        if isinstance(value, (types.FunctionType, classmethod, staticmethod)):
            yield name, {"kind": "method", "parameters": parameters(getattr(of, name))}
        elif not dataclasses.is_dataclass(of) or name not in of.__dataclass_fields__:
            yield name, {"kind": "field"}  # a property or another attribute: read the same way


# ---- the command -----------------------------------------------------------------------------------------


def command() -> dict[str, Any]:
    """Every command and action with its options and what each takes."""
    return {name: of_command(one) for name, one in parser().commands().items()}


def of_command(one: Parser) -> dict[str, Any]:
    """Options and places of one command, and the same of its actions."""
    taken = {}
    for action in one.filled()._actions:
        if not isinstance(action, (argparse._SubParsersAction, argparse._HelpAction)):
            name = max(action.option_strings, key=len) if action.option_strings else action.dest
            taken[name] = {
                "spelled": sorted(action.option_strings),
                "choices": sorted(map(str, action.choices)) if action.choices else [],
                "required": action.required,
            }
    return {"takes": taken, "actions": {name: of_command(inner) for name, inner in one.commands().items()}}


# ---- HTTP ------------------------------------------------------------------------------------------------


def http() -> dict[str, Any]:
    """Operations, their parameters and answers, the fields of every schema, and the kinds of problems."""
    from dpselect.gateway.problems import KINDS
    from dpselect.gateway.web.openapi import document

    said = document()
    operations = {
        f"{method.upper()} {path}": {
            "parameters": {
                f"{one['in']} {one['name']}": one.get("required", False) for one in of.get("parameters", [])
            },
            "answers": sorted(of["responses"]),
        }
        for path, methods in said["paths"].items()
        for method, of in methods.items()
    }
    return {
        "operations": operations,
        "schemas": {name: fields(one) for name, one in said["components"]["schemas"].items()},
        "problems": {name: one.status for name, one in sorted(KINDS.items())},
    }


def fields(schema: Any) -> dict[str, Any]:
    """The properties of a schema at any depth, by their path, and which must be there."""
    found: dict[str, Any] = {"properties": [], "required": []}

    def walk(one: Any, at: str) -> None:
        if isinstance(one, list):
            for inner in one:
                walk(inner, at)
        if not isinstance(one, dict):
            return
        for name, inner in one.get("properties", {}).items():
            found["properties"].append(f"{at}{name}")
            walk(inner, f"{at}{name}.")
        found["required"] += [f"{at}{name}" for name in one.get("required", ())]
        for key in ("items", "anyOf", "oneOf", "allOf", "additionalProperties"):
            walk(one.get(key), at)

    walk(schema, "")
    return {key: sorted(set(one)) for key, one in found.items()}
