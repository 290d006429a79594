"""The canonical text of a filter, by which a budget knows the question again: of what was meant, not of what was typed.

Injective: it is JSON, in which every text is quoted; constants say their type, columns that of the source, operations
how many parts they have. A part that stands in a tree several times is written once, so the text is no longer than the
tree. Two filters have one text only if every engine writes the same SQL for both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from dpselect.engines.filters.tree import Constant, Name, Node, Plain

GRAMMAR = 4  # of what a tree means: raise it where an operation begins to give another value on some row


def canonical(tree: Node, columns: Mapping[str, tuple[str, str]]) -> str:
    """The nodes in their order, each after its parts; `columns` has the name and type of each column as written."""
    places: dict[str, int] = {}
    known: dict[int, int] = {}  # by the identity of nodes, which the tree keeps alive

    def place(node: Node) -> int:
        if id(node) not in known:
            known[id(node)] = places.setdefault(_text(written(node)), len(places))
        return known[id(node)]

    def written(node: Node) -> list[object]:
        if isinstance(node, Name):
            return ["column", *columns[node.name]]
        if isinstance(node, Constant):
            return ["constant", _plain(node.value)]
        return ["operation", node.sort, _plain(node.fixed), [place(part) for part in node.parts]]

    place(tree)
    return f"[{GRAMMAR},[{','.join(places)}]]"


def _plain(value: object) -> object:
    """A constant in JSON types, with its own type: 1, 1.0, '1' and TRUE differ."""
    if isinstance(value, tuple):
        return ["tuple", *map(_plain, value)]
    if is_dataclass(value):
        return [type(value).__name__, *(_plain(getattr(value, one.name)) for one in fields(value))]
    if not isinstance(value, Plain):
        raise TypeError(f"a {type(value).__name__} has no text that tells it from every other")
    return [type(value).__name__, float.hex(value) if isinstance(value, float) else str(value)]


def _text(node: list[object]) -> str:
    return json.dumps(node, ensure_ascii=True, separators=(",", ":"))
