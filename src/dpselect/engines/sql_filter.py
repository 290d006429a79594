"""Filter for every engine: the part of SQL that keeps the same rows on each, checked and written anew for it.

What runs is written from a small tree of names and values; no piece of the caller's text is copied into it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from dpselect.engines.duckdb_row_rules import refuse
from dpselect.engines.sql_comparisons import Writer
from dpselect.engines.sql_conditions import Condition, Joined, Named, Not, Truth, condition, look_outside
from dpselect.engines.sql_constants import VIEW
from dpselect.engines.sql_port import Dialect, SqlType
from dpselect.errors import DataError, ParameterError
from dpselect.parameters import near

if TYPE_CHECKING:
    from sqlglot import exp

_DEPTH = 50  # of parentheses, and of NOT in a row
_MARKS = frozenset({"=", "==", "<>", "!=", "<", "<=", ">", ">=", "-", "(", ")", ","})
_WRITE = "write what would stand between WHERE and the end of a query"
_WRONG = {
    ";": ("more than one statement", _WRITE),
    ".": ("a dot outside of a number", "name a column by its own name alone, and write 0.5 for .5"),
    **dict.fromkeys("?$:{%", ("a placeholder", "write the value itself")),
    "::": ("a cast", VIEW),
}


@dataclass(frozen=True)
class SqlFilter:
    """A checked filter: the columns that it names, as written, and its tree."""

    columns: tuple[str, ...]
    condition: Condition

    def needs(self, names: Sequence[str]) -> list[str]:
        """The columns of the table that it reads; like DuckDB it does not see letter case."""
        return list(_meant(self.columns, names).values())

    def sql(self, types: Mapping[str, SqlType], dialect: Dialect) -> str:
        """What stands after WHERE; refuses comparisons that do not fit the types of the columns."""
        meant = _meant(self.columns, tuple(types))
        return Writer({column: (name, types[name]) for column, name in meant.items()}, dialect).sql(self.condition)


def parse(text: str) -> SqlFilter:
    """Read a filter and refuse what not every engine does in the same way; no column is looked up yet."""
    if find_spec("sqlglot") is None:
        raise DataError("a filter on a database needs sqlglot", "pip install sqlglot")
    found = None
    try:
        tree = _tree(text)
        look_outside(tree)
        found = condition(tree)
    except RecursionError:
        pass
    if found is None:
        refuse("one that is nested too deep")
    return SqlFilter(tuple(_columns(found)), found)


def _tree(text: str) -> exp.Expr:
    """sqlglot's tree of the one condition in a text without remarks, placeholders and other surprises."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        _check_words(text)
        return sqlglot.parse_one(text, read="duckdb", into=exp.Condition)
    except SqlglotError:
        pass
    return refuse("one that cannot be parsed", _WRITE)


def _check_words(text: str) -> None:
    """Refuse signs that no condition of ours has, before anything is made of them."""
    import sqlglot

    depth = nots = 0
    for token in sqlglot.tokenize(text, read="duckdb"):
        if token.comments:
            refuse("a remark", "leave it out")
        word = text[token.start : token.end + 1]
        depth += {"(": 1, ")": -1}.get(word, 0)
        nots = nots + 1 if word.upper() == "NOT" else 0
        if depth > _DEPTH or nots > _DEPTH:
            refuse("one that is nested too deep")
        if word not in _MARKS and not (word[:1].isalnum() or word[:1] in ("_", "'", '"')):
            refuse(*_WRONG.get(word, _WRONG.get(word[:1], (f"the sign {word!r}", VIEW))))


def _columns(node: Condition) -> dict[str, None]:
    """The columns that a condition names, each once."""
    if isinstance(node, Named):
        return {node.name: None}
    if isinstance(node, Truth):
        return {}
    if isinstance(node, Not):
        return _columns(node.part)
    if isinstance(node, Joined):
        return {name: None for part in node.parts for name in _columns(part)}
    other = getattr(node, "other", None)
    return {node.column.name: None} | (_columns(other) if isinstance(other, Named) else {})


def _meant(columns: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """For each column as written, the one of the table that is meant."""
    by_lower: dict[str, list[str]] = {}
    for name in names:
        by_lower.setdefault(name.lower(), []).append(name)
    found = {}
    for column in columns:
        known = by_lower.get(column.lower(), [])
        if not known:
            raise ParameterError("where", "use columns of the source", repr(column), near(column, tuple(names)))
        if len(known) > 1:
            came = f"{column!r}, which may be {' or '.join(map(repr, known))}"
            raise ParameterError("where", "use columns that differ by more than case", came, VIEW)
        found[column] = known[0]
    return found
