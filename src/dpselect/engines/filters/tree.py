"""The tree of a filter: names, constants and operations, which hold no piece of SQL, and its canonical text.

By that text a budget recognizes a repeated question, however it was typed. Injective: it is JSON, in which every text
is quoted; constants say their type, columns that of the source, operations how many parts they have. A part that stands
in a tree several times is written once, so the text is no longer than the tree. Two filters have one text only if every
engine writes the same SQL for both.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass
from decimal import Decimal
from typing import NoReturn

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters.column_names import MAX_SHOWN_CHARACTERS
from dpselect.errors import ParameterError

Plain = str | bool | int | float | Decimal | datetime.date | datetime.datetime | None
"""A constant. 1.5 is a Decimal and 1e3 a float; a datetime is a moment without a zone."""

VIEW = "docs/filters.md has the whole language; for more, use a view, a frame or a relation as the source"
_DEPTH = 100


@dataclass(frozen=True)
class Name:
    """A column as it was written, whether in double quotes, and its start and end in the text."""

    name: str
    quoted: bool = field(default=False, compare=False)
    span: tuple[int, int] = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class Constant:
    """A value that the caller wrote."""

    value: Plain


@dataclass(frozen=True)
class Operation:
    """An operation by its name in operations.py, its operands, and its constant arguments."""

    operator: str
    operands: tuple[Node, ...]
    options: tuple[object, ...] = ()
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + max((part.depth for part in self.operands if isinstance(part, Operation)), default=0)
        if depth > _DEPTH:
            refuse("one that is nested too deep")
        object.__setattr__(self, "depth", depth)


Node = Name | Constant | Operation


def columns_in(node: Node) -> dict[str, bool]:
    """Return the columns that are named, each once, in their order, and whether in double quotes.

    A part may occur in a tree several times.
    """
    columns: dict[str, bool] = {}
    for name in name_nodes(node):
        columns[name.name] = name.quoted or columns.get(name.name, False)
    return columns


def name_nodes(node: Node) -> Iterator[Name]:
    """Yield every occurrence of a column's name, in the order of the text."""
    visited: set[int] = set()
    unvisited = [node]
    while unvisited:
        part = unvisited.pop()
        if isinstance(part, Name):
            yield part
        elif isinstance(part, Operation) and id(part) not in visited:
            visited.add(id(part))
            unvisited += reversed(part.operands)


def quotes_hint(name: str, hint: str | None) -> str:
    """Return the hint for a name in double quotes that is no column: most often a text was meant."""
    quoted_text = "'" + name[:MAX_SHOWN_CHARACTERS].replace("'", "''") + "'"
    column_hint = f"; or {hint}" if hint is not None and hint.startswith("did you mean") else ""
    return f"double quotes name a column, a text is in single quotes: {quoted_text}{column_hint}"


def text_hint(name: str, hint: str | None) -> str | None:
    """Return the hint for a name without quotes that is like no column: it may be a text without quotes."""
    if hint is None or not hint.startswith(("there is", "the first line")):
        return hint
    return f"{hint}; a text is in single quotes: '{name[:MAX_SHOWN_CHARACTERS]}'"


def refuse(came: str, hint: str | None = None) -> NoReturn:
    """Refuse a filter; no other function does."""
    raise ParameterError("where", "be one condition on one row", came, hint)


GRAMMAR = 4  # the version of the meaning of trees: raise it when an operation changes its value on some row


def canonical(tree: Node, columns: Mapping[str, tuple[str, str]]) -> str:
    """Return the text of the nodes in order, each after its parts; `columns` has the name and type of each column."""
    index_of_text: dict[str, int] = {}
    index_of_node: dict[int, int] = {}  # by the id of nodes, which the tree keeps alive

    def index_node(node: Node) -> int:
        if id(node) not in index_of_node:
            index_of_node[id(node)] = index_of_text.setdefault(_to_json(describe_node(node)), len(index_of_text))
        return index_of_node[id(node)]

    def describe_node(node: Node) -> list[object]:
        if isinstance(node, Name):
            return ["column", *columns[node.name]]
        if isinstance(node, Constant):
            return ["constant", _to_plain(node.value)]
        return ["operation", node.operator, _to_plain(node.options), [index_node(part) for part in node.operands]]

    index_node(tree)
    return f"[{GRAMMAR},[{','.join(index_of_text)}]]"


def _to_plain(value: object) -> object:
    """Convert a constant to JSON types, with its own type: 1, 1.0, '1' and TRUE differ."""
    if isinstance(value, tuple):
        return ["tuple", *map(_to_plain, value)]
    if is_dataclass(value):
        return [type(value).__name__, *(_to_plain(getattr(value, field.name)) for field in fields(value))]
    if not isinstance(value, Plain):
        raise TypeError(f"a {type(value).__name__} has no text that tells it from every other")
    return [type(value).__name__, float.hex(value) if isinstance(value, float) else str(value)]


def _to_json(node: list[object]) -> str:
    return json.dumps(node, ensure_ascii=True, separators=(",", ":"))
