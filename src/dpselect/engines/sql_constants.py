"""Constants of a filter, read from sqlglot's nodes and checked: a bad one shows before any data are seen."""

from __future__ import annotations

import datetime
import math
import re
from contextlib import suppress
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
SIGNS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


def constant(node: exp.Expr) -> Value:
    """A constant, checked here so that a bad one shows before any data are seen."""
    from sqlglot import exp

    if isinstance(node, exp.Literal):
        return text_of(str(node.this)) if node.is_string else _number(str(node.this))
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return _number(str(node.this.this), -1)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        refuse("a comparison with NULL, which no row fits", "write IS NULL or IS NOT NULL")
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        sort = str(node.to.this).rpartition(".")[2]
        if node.to.expressions:
            return refuse_node(node)  # TIMESTAMP(0) would round
        if sort == "DATE":
            return day(str(node.this.this))
        if sort in ("TIMESTAMP", "TIMESTAMPNTZ"):
            return moment(str(node.this.this))
    return refuse_node(node)


def text_of(text: str) -> str:
    """A text that every engine can hold."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        refuse("a text that not every engine can hold")
    return text


def _number(text: str, sign: int = 1) -> int | float | Decimal:
    found, shown = _NUMBER.fullmatch(text), text[:40]
    if found is None:
        refuse(f"the number {shown}", "write it like 12, 0.5 or 1e-3")
    if found["power"]:
        number = sign * float(text)
        if not math.isfinite(number) or number == 0:
            refuse(f"the number {shown}, which is too large or too small")
        return number
    if found["part"]:
        if len((found["whole"] + found["part"][1:]).lstrip("0")) > _DIGITS or len(found["part"]) > _DIGITS + 2:
            refuse(f"the number {shown}, which has more than {_DIGITS} digits", VIEW)
        return sign * Decimal(text)
    if len(text) > 19 or not -(2**63) <= sign * int(text) < 2**63:
        refuse(f"the number {shown}, which does not fit in 64 bits", VIEW)
    return sign * int(text)


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


def refuse_node(node: exp.Expr) -> NoReturn:
    """Refuse a node in words for what was written."""
    from sqlglot import exp

    sort = type(node).__name__
    if isinstance(node, exp.Func) and sort not in _WORDS:
        refuse(f"the function {str(node.name or node.sql_name()).lower()}", VIEW)
    if sort in SIGNS:
        refuse("a comparison of a comparison", "write AND between the two")
    refuse(_WORDS.get(sort, f"one with {re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', sort).lower()}"), VIEW)
