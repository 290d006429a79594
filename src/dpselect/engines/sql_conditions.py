"""Conditions: the part of SQL that means the same on every engine, as a small tree that is read from sqlglot's.

Whatever is not named here is refused, so nothing that looks at other rows, fails for a row or ends the statement can
get in. The tree holds names and values, never SQL: sql_comparisons.py writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpselect.engines.duckdb_row_rules import refuse
from dpselect.engines.sql_constants import SIGNS, VIEW, Value, constant, refuse_node, text_of

if TYPE_CHECKING:
    from sqlglot import exp

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Named:
    """A column as it was written; alone it is a condition if it is boolean."""

    name: str


@dataclass(frozen=True)
class Truth:
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True)
class Missing:
    """IS NULL."""

    column: Named


@dataclass(frozen=True)
class Compared:
    """A column, a sign, and a constant or another column."""

    column: Named
    sign: str
    other: Value | Named


@dataclass(frozen=True)
class Among:
    """IN (constants)."""

    column: Named
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Between:
    """BETWEEN two constants."""

    column: Named
    low: Value
    high: Value


@dataclass(frozen=True)
class Fits:
    """LIKE a constant pattern."""

    column: Named
    pattern: str


@dataclass(frozen=True)
class Not:
    """NOT."""

    part: Condition


@dataclass(frozen=True)
class Joined:
    """Conditions with AND, or with OR, between them."""

    word: str
    parts: tuple[Condition, ...]


Condition = Named | Truth | Missing | Compared | Among | Between | Fits | Not | Joined


def condition(node: exp.Expr) -> Condition:
    """The condition that one of sqlglot's nodes stands for."""
    from sqlglot import exp

    sort = type(node).__name__
    if isinstance(node, exp.Paren):
        return condition(_only(node, "this")[0])
    if isinstance(node, exp.Column):
        return _column(node)
    if isinstance(node, exp.Boolean):
        return Truth(bool(node.this))
    if isinstance(node, exp.Not):
        return Not(condition(_only(node, "this")[0]))
    if isinstance(node, exp.And | exp.Or):
        _only(node, "this", "expression")
        # flatten() looks through parentheses, and does not nest: a condition may have thousands of parts.
        return Joined("AND" if isinstance(node, exp.And) else "OR", tuple(map(condition, node.flatten())))
    if sort in SIGNS:
        return _compared(SIGNS[sort], *_only(node, "this", "expression"))
    return _of_a_column(node)


def _of_a_column(node: exp.Expr) -> Condition:
    """IS NULL, IN, BETWEEN and LIKE, which stand behind a column."""
    from sqlglot import exp

    if isinstance(node, exp.Is):
        column, nothing = _only(node, "this", "expression")
        if not isinstance(nothing, exp.Null):
            refuse("IS with something other than NULL", "a boolean column is a condition by itself: b, or NOT b")
        return Missing(_column(column))
    if isinstance(node, exp.In):
        if not node.expressions:
            refuse("IN without a list of constants", "write the constants themselves: IN (1, 2)")
        column = _only(node, "this", beside=("expressions",))[0]
        return Among(_column(column), tuple(map(constant, node.expressions)))
    if isinstance(node, exp.Between):
        column, low, high = _only(node, "this", "low", "high")
        return Between(_column(column), constant(low), constant(high))
    if isinstance(node, exp.Like):
        column, pattern = _only(node, "this", "expression", beside=("negate",))
        fits = Fits(_column(column), _pattern(pattern))
        return Not(fits) if node.args.get("negate") else fits
    return refuse_node(node)


def _compared(sign: str, left: exp.Expr, right: exp.Expr) -> Compared:
    from sqlglot import exp

    if isinstance(left, exp.Column):
        return Compared(_column(left), sign, _column(right) if isinstance(right, exp.Column) else constant(right))
    if isinstance(right, exp.Column):
        return Compared(_column(right), _MIRRORED.get(sign, sign), constant(left))
    for side in (left, right):
        constant(side)  # says what is wrong with it, if it is no constant
    return refuse("a comparison without a column")


def _column(node: exp.Expr) -> Named:
    from sqlglot import exp

    if not isinstance(node, exp.Column):
        refuse_node(node)
    name = _only(node, "this")[0]
    if not isinstance(name, exp.Identifier):
        refuse_node(name)
    return Named(str(name.this))


def _pattern(node: exp.Expr) -> str:
    from sqlglot import exp

    if not isinstance(node, exp.Literal) or not node.is_string:
        refuse("LIKE with something other than a text", "write the pattern itself: LIKE 'a%'")
    if "\\" in node.this:
        refuse("LIKE with a backslash, which engines read in different ways", VIEW)
    return text_of(str(node.this))


def _only(node: exp.Expr, *names: str, beside: tuple[str, ...] = ()) -> list[exp.Expr]:
    """The named parts of a node, which has no others."""
    if any(value for name, value in node.args.items() if name not in (*names, *beside)):
        refuse_node(node)
    parts: list[exp.Expr] = [node.args[name] for name in names if hasattr(node.args.get(name), "args")]
    if len(parts) != len(names):
        refuse_node(node)
    return parts


def look_outside(tree: exp.Expr) -> None:
    """Refuse what would look at other rows, with a reason of its own."""
    from sqlglot import exp

    outside = {exp.Query: "a subquery", exp.Exists: "a subquery", exp.Window: "a window function"}
    for sort, words in (outside | {exp.AggFunc: "an aggregate"}).items():
        if tree.find(sort) is not None:
            refuse(words, "it would let other rows decide")
