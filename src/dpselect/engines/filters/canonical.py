"""The canonical text of a filter, by which a budget recognizes a repeated question, however it was typed.

Injective: it is JSON, in which every text is quoted; constants say their type, columns that of the source, operations
how many parts they have. A part that stands in a tree several times is written once, so the text is no longer than the
tree. Two filters have one text only if every engine writes the same SQL for both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from dpselect.engines.filters.tree import Constant, Name, Node, Plain

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
        return ["operation", node.sort, _to_plain(node.fixed), [index_node(part) for part in node.parts]]

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
