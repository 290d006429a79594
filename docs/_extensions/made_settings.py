"""A table of the gateway's settings: its keys, what each is unless given, and the text below it in the model."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dpselect.gateway.settings import server, values


def settings(_page: str, name: str) -> str:
    """The table of one model; its links lead from docs/."""
    model: type[BaseModel] = (vars(values) | vars(server))[name]
    keys = [(key, one) for key, one in model.model_fields.items() if key != "name"]
    rows = [f"| `{key}` | {unless_given(one)} | {meanings(model.__module__)[name, key]} |" for key, one in keys]
    return "\n".join(["| key | unless given | meaning |", "| --- | --- | --- |", *rows])


def unless_given(one: FieldInfo) -> str:
    """The default of a key, in words or as TOML has it."""
    if one.is_required():
        return "required"
    value = one.get_default(call_default_factory=True, validated_data={})
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, BaseModel):
        return "below"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{float(value):.15g}`"


@cache
def meanings(module: str) -> dict[tuple[str, str], str]:
    """The text below each field of each model of a module."""
    found = {}
    for model in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(model, ast.ClassDef):
            for field, below in zip(model.body, model.body[1:], strict=False):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(text))):
                        found[model.name, key] = " ".join(text.split())
    return found
