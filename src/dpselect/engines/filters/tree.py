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
    """A column as it was written, whether in double quotes, and where in the text it starts and ends."""

    name: str
    quoted: bool = field(default=False, compare=False)
    span: tuple[int, int] = field(default=(0, 0), compare=False)


@dataclass(frozen=True)
class Constant:
    """A value that the caller wrote."""

    value: Plain


@dataclass(frozen=True)
class Operation:
    """An operation by its name in operations.py, what it works on, and what must be constant in it."""

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


def names(node: Node) -> dict[str, bool]:
    """The columns that are named, each once, in their order, and whether in double quotes.

    A part may stand in a tree several times.
    """
    columns: dict[str, bool] = {}
    for name in name_nodes(node):
        columns[name.name] = name.quoted or columns.get(name.name, False)
    return columns


def name_nodes(node: Node) -> Iterator[Name]:
    """Yield every place where a column is named, in the order of the text."""
    seen: set[int] = set()
    ahead = [node]
    while ahead:
        part = ahead.pop()
        if isinstance(part, Name):
            yield part
        elif isinstance(part, Operation) and id(part) not in seen:
            seen.add(id(part))
            ahead += reversed(part.parts)


def quotes(name: str, hint: str | None) -> str:
    """The hint where a name in double quotes is no column: most often it was to be a text."""
    said = "'" + name[:LONGEST].replace("'", "''") + "'"
    more = f"; or {hint}" if hint is not None and hint.startswith("did you mean") else ""
    return f"double quotes name a column, a text is in single quotes: {said}{more}"


def unquoted(name: str, hint: str | None) -> str | None:
    """The hint where a name without quotes is like no column: it may be a text that has none."""
    if hint is None or not hint.startswith(("there is", "the first line")):
        return hint
    return f"{hint}; a text is in single quotes: '{name[:LONGEST]}'"


def refuse(came: str, hint: str | None = None) -> NoReturn:
    """The one way in which a filter is refused."""
    raise ParameterError("where", "be one condition on one row", came, hint)
