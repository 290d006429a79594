"""Filters over a table of Ibis: comparisons of columns with constants, which every backend has for every value.

Both sides are in the column's one form, so text is compared by its bytes, and no text of a filter stands in a statement
but as hexadecimal digits. All else of the language would be as each backend has it, and is refused.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

from dpselect.engines.filters.tree import Constant, Name, Node, Operation, Plain, refuse
from dpselect.engines.filters.words import parse_day
from dpselect.engines.ibis.backends import Backend, Value
from dpselect.engines.ibis.forms import Form

HINT = "filter the expression itself: table.filter(table.country.lower() == 'de'); its owner vouches for it"
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Conditions:
    """The columns that a filter names, in their forms, of one backend."""

    columns: Mapping[str, tuple[Form, Value]]  # by the names that it writes
    backend: Backend

    def compile(self, node: Node) -> Value:
        """Compile a condition, or refuse one that not every backend reads alike."""
        match node:
            case Name():
                form, value = self.columns[node.name]
                return self._refuse(node.name) if form.kind != "boolean" else value == 1
            case Operation("AND" | "OR" as sort, parts):
                return reduce(operator.and_ if sort == "AND" else operator.or_, map(self.compile, parts))
            case Operation("NOT", (part,)):
                return ~self.compile(part)
            case Operation("IS NULL", (Name(name),)):
                return self.columns[name][1].isnull()
            case Operation("IN", (Name(name), *constants)):
                return reduce(operator.or_, (self._compare("=", name, constant) for constant in constants))
            case Operation("BETWEEN", (Name(name), low, high)):
                return self._compare(">=", name, low) & self._compare("<=", name, high)
            case Operation(sort, (Name(name), other)) if sort in _COMPARISONS:
                return self._compare(sort, name, other)
            case Operation(sort, (other, Name(name))) if sort in _COMPARISONS:
                return self._compare(_MIRRORED.get(sort, sort), name, other)
            case Operation(sort):
                return self._refuse(sort)
        return self._refuse("a constant as a condition")

    def _compare(self, sort: str, name: str, other: Node) -> Value:
        form, value = self.columns[name]
        constant = self._constant(form, other.value) if isinstance(other, Constant) else None
        if constant is None:
            return self._refuse(f"{name!r} compared with what is no constant of its type")
        return _COMPARISONS[sort](value, constant)

    def _constant(self, form: Form, value: Plain) -> Value | None:
        """Return a constant in the form of a column; None for one of another type, or that is no value of the type."""
        import ibis

        if isinstance(value, bool):
            return ibis.literal(int(value), "int64") if form.kind == "boolean" else None
        if form.kind in ("text", "uuid") and isinstance(value, str):
            return self.backend.constant(value.encode("utf-8", "replace"))
        if form.kind == "date":
            day = parse_day(value) if isinstance(value, str) else value
            is_day = isinstance(day, datetime.date) and not isinstance(day, datetime.datetime)
            return ibis.literal(day.year * 10000 + day.month * 100 + day.day, "int64") if is_day else None
        if form.kind == "integer" and isinstance(value, int):
            return ibis.literal(value, "int64") if -(2**63) <= value < 2**63 else None
        if form.kind == "decimal" and isinstance(value, int | Decimal):
            return _decimal(form, Decimal(value))
        return None

    def _refuse(self, description: str) -> Value:
        refuse(f"{description}, over a table of Ibis", HINT)


def _decimal(form: Form, value: Decimal) -> Value | None:
    """Return a constant as the type of a column, if that holds it."""
    import ibis

    digits, scale = map(int, form.duckdb[len("DECIMAL(") : -1].split(","))
    scaled = value.scaleb(scale)
    fits = scaled == scaled.to_integral_value() and abs(scaled) < 10**digits
    return ibis.literal(value, f"decimal({digits}, {scale})") if fits else None
