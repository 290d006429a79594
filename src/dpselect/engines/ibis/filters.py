"""Filters over a table of Ibis: comparisons of columns with constants, which every backend has for every value.

Both sides are in the column's one form, so text is compared by its bytes, and no text of a filter stands in a statement
but as hexadecimal digits. All else of the language would be as each backend has it, and is refused.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

from dpselect.engines.filters.tree import Constant, Name, Node, Operation, Plain, refuse
from dpselect.engines.filters.words import parse_day
from dpselect.engines.ibis.backends import Value
from dpselect.engines.ibis.forms import Form

_HINT = "filter the expression itself: table.filter(table.country.lower() == 'de'); its owner vouches for it"
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
Columns = Mapping[str, tuple[Form, Value]]
"""The forms of columns, and their values, by the names that a filter writes."""


def compile_condition(node: Node, columns: Columns) -> Value:
    """Compile a condition, or refuse one that not every backend reads alike."""
    match node:
        case Name(name) if columns[name][0].kind == "boolean":
            return columns[name][1] == 1
        case Operation("AND" | "OR" as comparison, parts):
            conditions = (compile_condition(part, columns) for part in parts)
            return reduce(operator.and_ if comparison == "AND" else operator.or_, conditions)
        case Operation("NOT", (part,)):
            return ~compile_condition(part, columns)
        case Operation("IS NULL", (Name(name),)):
            return columns[name][1].isnull()
        case Operation("IN", (Name(name), *constants)):
            return reduce(operator.or_, (_compare("=", columns[name], constant) for constant in constants))
        case Operation("BETWEEN", (Name(name), low, high)):
            return _compare(">=", columns[name], low) & _compare("<=", columns[name], high)
        case Operation(comparison, (Name(name), other)) if comparison in _COMPARISONS:
            return _compare(comparison, columns[name], other)
        case Operation(comparison, (other, Name(name))) if comparison in _COMPARISONS:
            return _compare(_MIRRORED.get(comparison, comparison), columns[name], other)
    return _refuse(node.operator if isinstance(node, Operation) else "a condition without a comparison")


def _compare(comparison: str, column: tuple[Form, Value], other: Node) -> Value:
    form, value = column
    constant = _constant(form, other.value) if isinstance(other, Constant) else None
    return (
        _refuse("a comparison with no constant of that type")
        if constant is None
        else _COMPARISONS[comparison](value, constant)
    )


def _constant(form: Form, value: Plain) -> Value | None:
    """Return a constant in the form of a column; None for one of another type, or that is no value of the type."""
    import ibis

    number: object = None
    if form.kind in ("text", "uuid"):
        return form.backend.constant(value) if isinstance(value, str) else None
    if form.kind == "date":
        day = parse_day(value) if isinstance(value, str) else value
        if isinstance(day, datetime.date) and not isinstance(day, datetime.datetime):
            number = day.year * 10000 + day.month * 100 + day.day
    elif isinstance(value, bool):
        number = int(value) if form.kind == "boolean" else None
    elif form.kind == "integer" and isinstance(value, int):
        number = value
    elif form.kind == "decimal" and isinstance(value, int | Decimal):
        scaled = Decimal(value).scaleb(form.type.scale)
        fits = scaled == scaled.to_integral_value() and abs(scaled) < 10**form.type.precision
        return ibis.literal(Decimal(value), form.type) if fits else None
    return None if number is None else ibis.literal(number, "int64")


def _refuse(description: str) -> Value:
    refuse(f"{description}, over a table of Ibis", _HINT)
