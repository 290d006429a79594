"""Filters as texts: written from columns and values, and held against what an owner of data opened to filters.

A filter harms nobody's privacy, whatever it says; but it is a right, which the owner gives column by column. A column
is listed with its values, or with none: then every condition of the language may be put to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal

from dpselect._ground.parameters import suggest
from dpselect.engines.filters import grammar
from dpselect.engines.filters.column_names import EXACTLY, MAX_SHOWN_CHARACTERS, describe_ambiguous, match_columns
from dpselect.engines.filters.tree import Constant, Name, Node, Operation, columns_in, name_nodes, quotes_hint
from dpselect.errors import ParameterError

PLAIN_COLUMN = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
RESERVED = frozenset(
    "and or not in between like ilike is case when then else end escape collate select from exists with any all over "
    "filter true false null date timestamp cast try_cast extract interval distinct".split()
)
_LOGIC = ("AND", "OR", "NOT")
_EQUAL = ("=", "<>", "IN")
WHERE_LISTED = "GET /v1/data has the lists"  # for HTTP; each other door says where it has them
Lists = Mapping[str, tuple[object, ...] | None]


def resolve(text: str, lists: Lists) -> str:
    """Return the filter with its columns as the owner spelt them, which is how a source is asked for them.

    Raises ParameterError unless every condition is one that the lists allow. It names columns and no listed value.
    """
    tree = grammar.parse(text)
    quoted_names = columns_in(tree)
    spellings = {}
    for name, columns in match_columns(quoted_names, list(lists)).items():
        if not columns:
            hint = suggest(name, list(lists)) if lists else "these data take no filter"
            hint = quotes_hint(name, hint) if quoted_names[name] else hint
            raise ParameterError(
                "where", "use columns that the owner opened to filters", repr(name[:MAX_SHOWN_CHARACTERS]), hint
            )
        if len(columns) > 1:
            raise ParameterError("where", EXACTLY, describe_ambiguous(name, columns))
        spellings[name] = columns[0]
    if any(name != spelling for name, spelling in spellings.items()):
        text = _respell(text, tree, spellings)
        tree = grammar.parse(text)
    _check_conditions(tree, lists)
    return text


def _respell(text: str, tree: Node, spellings: Mapping[str, str]) -> str:
    """Return the text with each column in its one spelling."""
    pieces, last = [], 0
    for (start, end), name in sorted({node.span: node.name for node in name_nodes(tree)}.items()):
        spelling = spellings[name]
        pieces += [text[last:start], text[start:end] if name == spelling else format_column(spelling)]
        last = end
    return "".join([*pieces, text[last:]])


def _check_conditions(node: Node, lists: Lists) -> None:
    if isinstance(node, Operation) and node.operator in _LOGIC:
        for part in node.operands:
            _check_conditions(part, lists)
        return
    listed_columns = [name for name in columns_in(node) if lists[name] is not None]
    if not listed_columns:
        return
    requirement = f"compare {listed_columns[0]} with the values that the owner listed, by =, <>, IN or IS NULL"
    allowed = lists[listed_columns[0]] or ()
    if not isinstance(node, Operation) or not isinstance(node.operands[0], Name):
        raise ParameterError("where", requirement, "another condition", WHERE_LISTED)
    if node.operator == "IS NULL":
        return
    if node.operator not in _EQUAL:
        raise ParameterError("where", requirement, "another condition", WHERE_LISTED)
    if not all(_is_listed(part, allowed) for part in node.operands[1:]):
        requirement = f"compare {listed_columns[0]} with listed values"
        raise ParameterError("where", requirement, "a value that is not listed", WHERE_LISTED)


def _is_listed(node: Node, allowed: tuple[object, ...]) -> bool:
    """Return whether a node is one of these constants; 1 and TRUE differ."""
    if not isinstance(node, Constant):
        return False
    value = node.value
    return any(
        value == allowed_value and isinstance(value, bool) == isinstance(allowed_value, bool)
        for allowed_value in allowed
    )


# ---- filters as texts ----------------------------------------------------------------------------------------


def format_literal(value: object) -> str:
    """Format a value as a constant of the filter language."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float, Decimal)):
        return f"{value:f}" if isinstance(value, Decimal) else str(value)
    prefix = "TIMESTAMP " if isinstance(value, datetime) else "DATE " if isinstance(value, date) else ""
    return prefix + "'" + str(value).replace("'", "''") + "'"


def format_column(name: str) -> str:
    """Format a column's name for the filter language, quoted if it must be."""
    needs_no_quotes = PLAIN_COLUMN.fullmatch(name) and name not in RESERVED
    return name if needs_no_quotes else '"' + name.replace('"', '""') + '"'
