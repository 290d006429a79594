"""Row rules: what may stand in a filter. Every node of its tree must be known to stay inside one row.

A filter that looked at other rows (a subquery, a window, an aggregate, a row number) would let one user decide
about the rows of others, and the guarantee would be void. A function that can fail where TRY does not catch it
would show that such a row is there.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import duckdb

from dpselect.engines.duckdb_workspace import Workspace
from dpselect.errors import ParameterError

Node = dict[str, Any]

_INSIDE_ONE_ROW = frozenset(
    {
        "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "CONSTANT", "FUNCTION",
        "LAMBDA", "OPERATOR", "TYPE",
    }
)  # fmt: skip
_OUTSIDE = {
    "SUBQUERY": ("a subquery", "it would let other rows decide; x = ANY [...] can be written x IN (...)"),
    "WINDOW": ("a window function", "it would let other rows decide"),
    "STAR": ("a star", "name the columns"),
    "PARAMETER": ("a placeholder", "write the value itself"),
    "POSITIONAL_REFERENCE": ("a column by its number", "name the column"),
}
# The same for every row of one query, and nothing about the rows.
_CLOCK = frozenset(
    {"now", "today", "current_date", "get_current_timestamp", "get_current_time", "transaction_timestamp"}
)
CLOCK_NAMES = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})
# Functions that can fail where TRY does not catch it, or ask for any amount of memory: they were found by calling
# every function on odd values. With a constant at this place (None: everywhere) that no longer hangs on the row.
_CONSTANT_AT: Mapping[str, int | None] = {
    "like_escape": 2, "not_like_escape": 2, "ilike_escape": 2, "not_ilike_escape": 2, "time_bucket": 0,
    "array_length": 1, "lpad": 1, "rpad": 1, "repeat": 1, "list_resize": 1, "array_resize": 1, "bitstring": 1,
    "range": None, "generate_series": None, "variant_bytes_to_variant": None, "list_slice": 3, "array_slice": 3,
}  # fmt: skip
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass
class Rules:
    """Walks a tree, notes the columns and functions it names, and refuses what is not inside one row."""

    workspace: Workspace
    columns: dict[str, None] = field(default_factory=dict)
    functions: dict[str, None] = field(default_factory=dict)

    def read(self, node: object, bound: frozenset[str]) -> None:
        """One node and all below it; `bound` are the parameters of the lambdas around it."""
        if isinstance(node, list):
            for one in node:
                self.read(one, bound)
        if not isinstance(node, dict):
            return
        sort = node.get("class")
        if sort is not None and sort not in _INSIDE_ONE_ROW:
            refuse(*_OUTSIDE.get(sort, (f"one with {str(sort).lower()}",)))
        if sort == "COLUMN_REF":
            self._column(str(node["column_names"][0]), bound)
        elif sort == "LAMBDA":
            if node.get("syntax_type") == "SINGLE_ARROW":
                refuse("the arrow ->", "write ->> or json_extract(...), and lambda x: ... for a function")
            self.read(node["expr"], bound | _names(node["lhs"]))
        else:
            if sort == "FUNCTION":
                self._function(node, bound)
            for value in node.values():
                self.read(value, bound)

    def _column(self, name: str, bound: frozenset[str]) -> None:
        if name.lower() not in bound:
            self.columns.setdefault(name)

    def _function(self, node: Node, bound: frozenset[str]) -> None:
        name = str(node["function_name"]).lower()
        ordered = (node.get("order_bys") or {}).get("orders")
        if node.get("filter") or node.get("distinct") or node.get("export_state") or ordered:
            refuse(f"the aggregate {name}", "it would let other rows decide")
        if node.get("schema"):  # x.lower() is lower(x); the schema of a function is never needed
            self._column(str(node["schema"]), bound)
        if not node.get("is_operator"):
            self.functions.setdefault(name)
        arguments = _arguments(node)
        place = _CONSTANT_AT.get(name, -1)
        sizes = arguments if place is None else arguments[place : place + 1] if place >= 0 else []
        if _mentions_column(sizes):
            refuse(f"{name} with a size or pattern taken from a column", "write a constant there")

    def judge(self) -> None:
        """Refuse functions that are no plain functions of their arguments. Built-in macros are judged by their text."""
        judged: set[str] = set()
        while new := sorted(set(self.functions) - judged):
            judged.update(new)
            for name in new:
                entries = _own_functions().get(name, [])
                _allow(name, entries)
                for sort, _, definition in entries:
                    if sort == "macro":
                        self._macro(definition)

    def _macro(self, definition: str) -> None:
        sql = f"SELECT ({definition}\n)"
        tree = json.loads(str(self.workspace.fetch("SELECT json_serialize_sql(?)", [sql])[0][0]))
        # What looks like a column in there is a parameter of the macro.
        Rules(self.workspace, functions=self.functions).read(tree["statements"][0]["node"]["select_list"], frozenset())


@functools.cache
def _own_functions() -> Mapping[str, list[tuple[str, str, str]]]:
    """DuckDB's own functions: for each name its kinds, their stability and the text of macros."""
    columns = "function_name, function_type, stability, macro_definition"
    sql = f"SELECT DISTINCT {columns} FROM duckdb_functions() WHERE internal"
    found: dict[str, list[tuple[str, str, str]]] = {}
    with duckdb.connect() as connection:
        for name, sort, stability, definition in sorted(connection.execute(sql).fetchall(), key=str):
            found.setdefault(name.lower(), []).append((sort, stability or "", definition or ""))
    return found


def _allow(name: str, entries: Sequence[tuple[str, str, str]]) -> None:
    sorts = {sort for sort, _, _ in entries}
    if not _NAME.fullmatch(name):
        refuse(f"the function {name!r}")
    if sorts & {"aggregate", "window"}:
        refuse(f"the aggregate {name}", "it would let other rows decide; lists have list_sum(...) and the like")
    if not sorts & {"scalar", "macro"}:
        refuse(f"the function {name}", "it is not one of DuckDB's own functions of one row")
    if name not in _CLOCK and any(sort == "scalar" and stability != "CONSISTENT" for sort, stability, _ in entries):
        refuse(f"the function {name}", "it does not depend on the row alone")


def _arguments(node: Node) -> list[object]:
    return [one.get("expression", one) for one in node.get("arguments") or node.get("children") or []]


def _names(node: object) -> frozenset[str]:
    """The parameters of a lambda: one name, or a row of names."""
    if not isinstance(node, dict):
        return frozenset()
    if node.get("class") == "COLUMN_REF":
        return frozenset({str(node["column_names"][-1]).lower()})
    return frozenset[str]().union(*(_names(part) for part in _arguments(node)))


def _mentions_column(node: object) -> bool:
    if isinstance(node, list):
        return any(_mentions_column(one) for one in node)
    return isinstance(node, dict) and (
        node.get("class") == "COLUMN_REF" or any(_mentions_column(value) for value in node.values())
    )


def refuse(came: str, hint: str | None = None) -> NoReturn:
    """The one way in which a filter is refused."""
    raise ParameterError("where", "be one SQL condition on one row", came, hint)
