"""The reference of Python: signatures with types, and docstrings, of every public name.

A docstring is plain text that reads as Markdown but for three things: examples at a prompt, sections that begin with a
word and a colon, and pages that it names by their path. These are mended here.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any

from repository import DOCS
from sphinx.errors import SphinxError

from dpselect.questions.value import ParameterSet

SECTION = re.compile(
    r"^(Guarantee|Neighbors|Sensitivity|Exactness|Cost|Source|Example|Raises|Reads|Returns)(:| (?=[A-Z]))", re.MULTILINE
)
ARGS = re.compile(r"^Args:\n((?: {4}.*\n)+)", re.MULTILINE)
ARG = re.compile(r"^ {4}(\w+): ", re.MULTILINE)
PROMPT = re.compile(r"(?:^[ ]*>>> .*\n(?:^(?!\s*$).*\n?)*)", re.MULTILINE)
NAMED = re.compile(r"docs/([\w/-]+)\.md(#[\w-]+)?")
ATTRIBUTES = "__init__", "__call__", "__enter__", "__iter__", "__getitem__", "__len__"


def api(page: str, argument: str) -> str:
    """Every name of a module's `__all__`, or in this order those that are listed after it, one section each.

    `Name(one,two)` shows only these members of a class, and `Name()` none: the others are for our own rooms.
    """
    module_name, *names = argument.split()
    module = importlib.import_module(module_name)
    wanted = names or sorted(module.__all__, key=str.lower)
    return "\n\n".join(_entry(module, name, page) for name in wanted)


def _entry(module: ModuleType, wanted: str, page: str) -> str:
    name, bracket, listed = wanted.rstrip(")").partition("(")
    found = getattr(module, name)
    full = f"{module.__name__}.{name}"
    if inspect.isclass(found):
        return f"## {name}\n\n{_class(full, found, page, listed.split(',') if bracket else None)}"
    if inspect.isfunction(found):
        return f"## {name}\n\n{_described('function', full + _signature(found), found, page)}"
    return f"## {name}\n\n{_fenced(4, 'data', full, _alias(module, name))}"


def _alias(module: ModuleType, name: str) -> str:
    """What an alias of a type stands for, as the code writes it: in its home, or in a module below."""
    home = getattr(module, "_HOMES", {}).get(name, module.__name__)
    below = sorted(other for other in sys.modules if other.startswith(f"{module.__name__}."))
    for place in (home, *below):
        source = inspect.getsource(importlib.import_module(place))
        if line := re.search(rf"^{name} = (.*?)(?:  # (.*))?$", source, re.MULTILINE):
            return f"`{line[1]}`"
    raise SphinxError(f"nothing says what {module.__name__}.{name} stands for")


def _class(full: str, kind: type, page: str, listed: list[str] | None) -> str:
    heading = "exception" if issubclass(kind, BaseException) else "class"
    shown = "" if issubclass(kind, (BaseException, Enum)) or _abstract(kind) else _signature(kind)
    members = dict(_members(kind, page))
    wanted = members if listed is None else filter(None, listed)
    inner = "\n\n".join(members[name] for name in wanted)
    return _fenced(5, heading, full + shown, f"{_prose(kind, page)}\n\n{inner}")


def _abstract(kind: type) -> bool:
    return inspect.isabstract(kind) or bool(getattr(kind, "_is_protocol", False))


def _members(kind: type, page: str) -> Iterator[tuple[str, str]]:
    """Public methods and properties, in the order of the code, with those that it has from classes of ours."""
    seen = {*vars(ParameterSet)} if issubclass(kind, ParameterSet) else set()  # by which our own rooms read a question
    for home in (one for one in kind.__mro__ if one.__module__.startswith("dpselect")):
        for name, raw in vars(home).items():
            if name in seen or name.startswith("_") or dataclasses.is_dataclass(raw):
                continue
            seen.add(name)
            if issubclass(kind, Enum) and name in kind.__members__:
                yield name, _fenced(4, "attribute", name, f":value: {kind[name].value!r}")
            elif isinstance(raw, property) and raw.fget is not None:
                yield name, _described("property", name, raw.fget, page, _returned(raw.fget))
            elif isinstance(raw, staticmethod):
                shown = name + _signature(raw.__func__)
                yield name, _described("method", shown, raw.__func__, page, ":staticmethod:\n\n")
            elif isinstance(raw, classmethod):
                shown = name + _signature(raw.__func__, bound=True)
                yield name, _described("method", shown, raw.__func__, page, ":classmethod:\n\n")
            elif inspect.isfunction(raw):
                yield name, _described("method", name + _signature(raw, bound=True), raw, page)


def _described(heading: str, shown: str, what: Any, page: str, more: str = "") -> str:
    return _fenced(4, heading, shown, more + _prose(what, page))


def _fenced(depth: int, heading: str, shown: str, text: str) -> str:
    fence = "`" * depth
    return f"{fence}{{py:{heading}}} {shown}\n{text}\n{fence}"


def _returned(function: Any) -> str:
    said = inspect.signature(function).return_annotation
    return "" if said is inspect.Signature.empty else f":type: {_type(said)}\n\n"


def _signature(what: Any, *, bound: bool = False) -> str:
    """The signature as the code has it: annotations are text, since nothing evaluates them."""
    found = inspect.signature(what)
    given = list(found.parameters.values())[1 if bound else 0 :]
    given = [one for one in given if not one.name.startswith("_")]
    shown = []
    kinds = inspect.Parameter
    for place, one in enumerate(given):
        if one.kind is kinds.KEYWORD_ONLY and not any(
            earlier.kind in (kinds.KEYWORD_ONLY, kinds.VAR_POSITIONAL) for earlier in given[:place]
        ):
            shown.append("*")
        star = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(one.kind, "")
        said = "" if one.annotation is kinds.empty else f": {_type(one.annotation)}"
        default = "" if one.default is kinds.empty else f" = {_default(one.default)}"
        shown.append(f"{star}{one.name}{said}{default}")
    said = found.return_annotation
    returns = "" if said is inspect.Signature.empty or inspect.isclass(what) else f" -> {_type(said)}"
    return f"({', '.join(shown)}){returns}"


def _type(annotation: Any) -> str:
    said = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:typing|collections\.abc|dpselect(?:\.\w+)*)\.", "", said)


def _default(value: object) -> str:
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    said = repr(value)
    return said if "<" not in said and "object at" not in said else "..."


def _prose(what: Any, page: str) -> str:
    text = inspect.cleandoc(what.__doc__ or "")
    if dataclasses.is_dataclass(what) and text.startswith(f"{what.__name__}("):
        return ""  # what the standard library wrote
    text = PROMPT.sub(lambda one: f"\n```pycon\n{textwrap.dedent(one[0]).rstrip()}\n```\n", text + "\n")
    text = ARGS.sub(lambda one: "**Parameters**\n\n" + ARG.sub(r"- `\1`: ", one[1]).replace("\n        ", "\n  "), text)
    text = SECTION.sub(lambda one: f"\n**{one[1]}**{one[2]}", text)
    return NAMED.sub(lambda one: _link(one, page), text)


def _link(named: re.Match[str], page: str) -> str:
    path, anchor = named[1], named[2] or ""
    target = os.path.relpath(DOCS / f"{path}.md", (DOCS / page).parent)
    return f"[{path.rpartition('/')[2]}]({target}{anchor})"
