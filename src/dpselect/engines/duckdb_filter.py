"""Filter: a condition on one row, written in DuckDB's SQL and checked before it comes near the data.

What runs is SQL written from the checked syntax tree (see duckdb_row_rules.py for what may stand in it). Each
condition runs inside TRY: a row for which it fails (a cast, a division) is dropped, like one for which it is
false. An error would show that the row is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from dpselect.engines.duckdb_row_rules import CLOCK_NAMES, Node, Rules, refuse
from dpselect.engines.duckdb_scans import Scan
from dpselect.engines.duckdb_types import is_text, kind
from dpselect.engines.duckdb_workspace import Workspace, quoted
from dpselect.errors import ParameterError


@dataclass(frozen=True)
class RowFilter:
    """A checked filter: the columns and functions it names, and its conditions as SQL, all of which must hold."""

    columns: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    def sql(self) -> str:
        """What stands after WHERE."""
        return " AND ".join(f"TRY(({condition}))" for condition in self.conditions) or "true"

    def needs(self, scan: Scan) -> list[str]:
        """The columns of the source that it reads; like DuckDB it does not see letter case."""
        by_lower = {name.lower(): name for name in scan.names}
        found = []
        for column in self.columns:
            known = by_lower.get(column.lower()) if scan.names else column
            if known is not None:
                found.append(known)
            elif column.lower() not in CLOCK_NAMES:
                raise ParameterError("where", "use columns of the source", repr(column), scan.hint(column))
        return found


def parse(workspace: Workspace, text: str) -> RowFilter:
    """Read a filter and refuse what reaches beyond one row; no column is looked up yet."""
    rules = Rules(workspace)
    try:
        tree = _tree(workspace, text)
        rules.read(tree, frozenset())
        rules.judge()
        conditions: list[str] = _conditions(workspace, tree, text)
    except RecursionError:
        conditions = []
    if not conditions:
        refuse("one that is nested too deep")
    return RowFilter(tuple(rules.columns), tuple(rules.functions), tuple(conditions))


def check(workspace: Workspace, row_filter: RowFilter, types: Mapping[str, str]) -> None:
    """Run the filter on one row of nulls: names, types and constants that do not fit show before any data is read."""
    row = workspace.fresh()
    nulls = ", ".join(f"CAST(NULL AS {_shape(sql_type)}) AS {quoted(name)}" for name, sql_type in types.items())
    workspace.fetch(f"CREATE TEMP TABLE {row} AS SELECT {nulls}")
    workspace.fetch("PRAGMA disable_optimizer")  # it would decide about nulls without looking at the rest
    for condition in row_filter.conditions:
        problem, found = "", ""
        try:
            found = str(workspace.rows(f"SELECT typeof(({condition})), ({condition}) FROM {row}")[0][0])
        except duckdb.Error as error:
            problem = str(error).splitlines()[0]
        if problem:
            # There were no rows to be quoted, but the members of an ENUM inside a nested type are data as well.
            refuse("one that does not fit the types of the columns" if "ENUM" in problem else problem)
        if found != "BOOLEAN":
            refuse(f"a value of type {kind(found)}", "compare it with something, for example = 'yes'")
    workspace.fetch("PRAGMA enable_optimizer")


def _shape(sql_type: str) -> str:
    return "VARCHAR" if is_text(sql_type) else sql_type


def _tree(workspace: Workspace, text: str) -> Node:
    """The condition's tree, if the text means the same with and without parentheses around it."""
    wrapped = parsed(workspace, f"SELECT * FROM t WHERE ({text}\n)")
    bare = parsed(workspace, f"SELECT * FROM t WHERE {text}\n")
    alone = parsed(workspace, "SELECT * FROM t WHERE true")
    condition = bare.get("where_clause")
    if condition is None or not same(bare, wrapped) or not same(bare, alone | {"where_clause": condition}):
        refuse(repr(text), "write what would stand between WHERE and the end of a query")
    return dict(condition)


def _conditions(workspace: Workspace, tree: Node, text: str) -> list[str]:
    """The conditions that AND puts together, each on its own, so that a simple one still helps DuckDB to skip data."""
    parts = tree["children"] if tree["type"] == "CONJUNCTION_AND" else [tree]
    written = []
    for part in parts:
        node = parsed(workspace, "SELECT * FROM t WHERE true") | {"where_clause": part}
        statement = json.dumps({"error": False, "statements": [{"node": node, "named_param_map": []}]})
        sql = str(workspace.fetch("SELECT json_deserialize_sql(?::JSON)", [statement])[0][0])
        condition = sql.partition(" WHERE ")[2]
        if not same(parsed(workspace, f"SELECT * FROM t WHERE {condition}")["where_clause"], part):
            return [text + "\n"]  # DuckDB cannot write this tree back exactly, so the text stays as it was checked
        written.append(condition)
    return written


def parsed(workspace: Workspace, sql: str) -> Node:
    """The syntax tree of one statement."""
    answer = json.loads(str(workspace.fetch("SELECT json_serialize_sql(?)", [sql])[0][0]))
    if answer["error"]:
        # The parser speaks of the caller's own text only.
        refuse("one that cannot be parsed", str(answer.get("error_message")))
    if len(answer["statements"]) != 1:
        refuse("more than one statement")
    return dict(answer["statements"][0]["node"])


def same(one: object, other: object) -> bool:
    """Are two trees equal but for the places of their words in the text?"""
    return _unplaced(one) == _unplaced(other)


def _unplaced(node: object) -> object:
    if isinstance(node, dict):
        return {key: _unplaced(value) for key, value in node.items() if not key.startswith("query_location")}
    return [_unplaced(value) for value in node] if isinstance(node, list) else node
