"""Conditions: the part of SQL that means the same on every engine, as a small tree that is read from sqlglot's.

Whatever is not named here is refused, so nothing that looks at other rows, fails for a row or ends the statement can
get in. The tree holds names and values, never SQL: sql_comparisons.py writes it.
"""

from __future__ import annotations

import datetime
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

from dpselect.engines.duckdb_row_rules import refuse

if TYPE_CHECKING:
    from sqlglot import exp

Value = str | bool | int | float | Decimal | datetime.date | datetime.datetime
"""A constant. 1.5 is a Decimal and 1e3 a float, as in DuckDB."""

VIEW = "make a view of the rows that count and name it as the table, or filter the data frame first"
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?", re.ASCII)
_NUMBER = re.compile(r"(?P<whole>\d+)(?P<part>\.\d+)?(?P<power>[eE][+-]?\d{1,3})?", re.ASCII)
_DIGITS = 17  # as many as a float can have; with more, engines may round it to another neighbour
_WORDS = {
    "Case": "CASE",
    "Cast": "a cast",
    "Collate": "COLLATE",
    "Column": "a column where a constant must stand",
    "Concat": "two texts in a row",
    "Neg": "a minus before something other than a number",
    "Paren": "parentheses around a value",
}
_SIGNS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
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
    if sort in _SIGNS:
        return _compared(_SIGNS[sort], *_only(node, "this", "expression"))
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
        return Among(_column(column), tuple(map(_value, node.expressions)))
    if isinstance(node, exp.Between):
        column, low, high = _only(node, "this", "low", "high")
        return Between(_column(column), _value(low), _value(high))
    if isinstance(node, exp.Like):
        column, pattern = _only(node, "this", "expression", beside=("negate",))
        fits = Fits(_column(column), _pattern(pattern))
        return Not(fits) if node.args.get("negate") else fits
    return _refuse(node)


def _compared(sign: str, left: exp.Expr, right: exp.Expr) -> Compared:
    from sqlglot import exp

    if isinstance(left, exp.Column):
        return Compared(_column(left), sign, _column(right) if isinstance(right, exp.Column) else _value(right))
    if isinstance(right, exp.Column):
        return Compared(_column(right), _MIRRORED.get(sign, sign), _value(left))
    for side in (left, right):
        _value(side)  # says what is wrong with it, if it is no constant
    return refuse("a comparison without a column")


def _column(node: exp.Expr) -> Named:
    from sqlglot import exp

    if not isinstance(node, exp.Column):
        _refuse(node)
    name = _only(node, "this")[0]
    if not isinstance(name, exp.Identifier):
        _refuse(name)
    return Named(str(name.this))


def _value(node: exp.Expr) -> Value:
    """A constant, checked here so that a bad one shows before any data are seen."""
    from sqlglot import exp

    if isinstance(node, exp.Literal):
        return _text(str(node.this)) if node.is_string else _number(str(node.this))
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return _number(str(node.this.this), -1)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        refuse("a comparison with NULL, which no row fits", "write IS NULL or IS NOT NULL")
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        sort = str(node.to.this).rpartition(".")[2]
        if sort == "DATE":
            return day(str(node.this.this))
        if sort in ("TIMESTAMP", "TIMESTAMPNTZ"):
            return moment(str(node.this.this))
    return _refuse(node)


def _text(text: str) -> str:
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        refuse("a text that not every engine can hold")
    return text


def _number(text: str, sign: int = 1) -> int | float | Decimal:
    found = _NUMBER.fullmatch(text)
    if found is None:
        refuse(f"the number {text}", "write it like 12, 0.5 or 1e-3")
    if found["power"]:
        number = sign * float(text)
        if not math.isfinite(number):
            refuse(f"the number {text}, which is too large")
        return number
    if found["part"]:
        if len((found["whole"] + found["part"][1:]).lstrip("0")) > _DIGITS or len(found["part"]) > _DIGITS + 2:
            refuse(f"the number {text}, which has more than {_DIGITS} digits", VIEW)
        return sign * Decimal(text)
    if not -(2**63) <= sign * int(text) < 2**63:
        refuse(f"the number {text}, which does not fit in 64 bits", VIEW)
    return sign * int(text)


def _pattern(node: exp.Expr) -> str:
    from sqlglot import exp

    if not isinstance(node, exp.Literal) or not node.is_string:
        refuse("LIKE with something other than a text", "write the pattern itself: LIKE 'a%'")
    if "\\" in node.this:
        refuse("LIKE with a backslash, which engines read in different ways", VIEW)
    return _text(str(node.this))


def day(text: str) -> datetime.date:
    """A date as SQL writes it."""
    return _when(text, _DAY.fullmatch(text)).date()


def moment(text: str) -> datetime.datetime:
    """A moment as SQL writes it; a date is its midnight."""
    return _when(text, _DAY.fullmatch(text) or _MOMENT.fullmatch(text))


def _when(text: str, found: re.Match[str] | None) -> datetime.datetime:
    if found is not None:
        year, month, date, *time = found.groups()
        hour, minute, second, part = time or ("0", "0", "0", None)
        micro = int((part or "").ljust(6, "0"))
        with suppress(ValueError):
            return datetime.datetime(int(year), int(month), int(date), int(hour), int(minute), int(second), micro)
    return refuse(f"{text!r} for a date", "write it like '2024-01-31' or '2024-01-31 23:59:59'")


def _only(node: exp.Expr, *names: str, beside: tuple[str, ...] = ()) -> list[exp.Expr]:
    """The named parts of a node, which has no others."""
    if any(value for name, value in node.args.items() if name not in (*names, *beside)):
        _refuse(node)
    parts: list[exp.Expr] = [node.args[name] for name in names if hasattr(node.args.get(name), "args")]
    if len(parts) != len(names):
        _refuse(node)
    return parts


def _refuse(node: exp.Expr) -> NoReturn:
    from sqlglot import exp

    sort = type(node).__name__
    if isinstance(node, exp.Func) and sort not in _WORDS:
        refuse(f"the function {str(node.name or node.sql_name()).lower()}", VIEW)
    if sort in _SIGNS:
        refuse("a comparison of a comparison", "write AND between the two")
    refuse(_WORDS.get(sort, f"one with {re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', sort).lower()}"), VIEW)


def look_outside(tree: exp.Expr) -> None:
    """Refuse what would look at other rows, with a reason of its own."""
    from sqlglot import exp

    outside = {exp.Query: "a subquery", exp.Exists: "a subquery", exp.Window: "a window function"}
    for sort, words in (outside | {exp.AggFunc: "an aggregate"}).items():
        if tree.find(sort) is not None:
            refuse(words, "it would let other rows decide")
