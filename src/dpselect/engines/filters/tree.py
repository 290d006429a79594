"""The tree of a filter: names, constants and operations. It holds no piece of SQL."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NoReturn

from dpselect.engines.filters.column_names import LONGEST
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

    sort: str
    parts: tuple[Node, ...]
    fixed: tuple[object, ...] = ()
    depth: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        depth = 1 + max((part.depth for part in self.parts if isinstance(part, Operation)), default=0)
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
            unvisited += reversed(part.parts)


def quotes_hint(name: str, hint: str | None) -> str:
    """Return the hint for a name in double quotes that is no column: most often a text was meant."""
    quoted_text = "'" + name[:LONGEST].replace("'", "''") + "'"
    column_hint = f"; or {hint}" if hint is not None and hint.startswith("did you mean") else ""
    return f"double quotes name a column, a text is in single quotes: {quoted_text}{column_hint}"


def text_hint(name: str, hint: str | None) -> str | None:
    """Return the hint for a name without quotes that is like no column: it may be a text without quotes."""
    if hint is None or not hint.startswith(("there is", "the first line")):
        return hint
    return f"{hint}; a text is in single quotes: '{name[:LONGEST]}'"


def refuse(came: str, hint: str | None = None) -> NoReturn:
    """Refuse a filter; no other function does."""
    raise ParameterError("where", "be one condition on one row", came, hint)
