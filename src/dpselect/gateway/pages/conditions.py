"""Filters from menus: rows of column, comparison and value become one text of the filter language.

Names and texts are quoted as the language wants them, so nothing that is typed can be anything but a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from dpselect._ground.dataclass import dataclass
from dpselect.filter_texts import format_column, format_literal

ANY_OF = "any"
NUMBER_TEXT = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
OPERATORS = {  # in words, and in the language
    "is": ("is", "{} = {}"),
    "is-not": ("is not", "{} <> {}"),
    "at-least": ("is at least", "{} >= {}"),
    "at-most": ("is at most", "{} <= {}"),
    "more-than": ("is more than", "{} > {}"),
    "less-than": ("is less than", "{} < {}"),
    "begins": ("begins with", "starts_with({}, {})"),
    "contains": ("contains", "contains({}, {})"),
    "missing": ("is missing", "{} IS NULL"),
    "there": ("is not missing", "{} IS NOT NULL"),
}
_OF_LISTS = ("is", "is-not")  # what may be asked of a column whose values the owner lists
TEXT_OPERATORS = ("begins", "contains")
_WITHOUT_VALUE = ("missing", "there")


@dataclass(frozen=True)
class Condition:
    """A row of the form, and the values that its column may have; None if any."""

    column: str
    operator: str
    value: str
    values: tuple[object, ...] | None = None

    @property
    def operators(self) -> dict[str, str]:
        """The comparisons in its menu."""
        return {name: words for name, (words, _) in OPERATORS.items() if self.values is None or name in _OF_LISTS}

    @property
    def complete(self) -> bool:
        """True if the row is filled in."""
        return bool(self.column) and (self.operator in _WITHOUT_VALUE or self.value != "")

    @property
    def literal(self) -> str:
        """The value in the filter language: the listed one that was chosen, or the one that was typed."""
        if self.operator in TEXT_OPERATORS:
            return format_literal(_unquoted(self.value))
        return format_literal(
            next(
                (listed_value for listed_value in self.values or () if str(listed_value) == self.value),
                parse_typed(self.value),
            )
        )

    @property
    def sql(self) -> str:
        """The condition in the filter language."""
        return OPERATORS[self.operator][1].format(format_column(self.column), self.literal)


def parse_typed(text: str) -> str | Decimal:
    """Parse a value that was typed: digits are a number, unless quotation marks make them a text."""
    return Decimal(text) if NUMBER_TEXT.fullmatch(text) else _unquoted(text)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def rows(fields: Mapping[str, Sequence[str]], filters: Mapping[str, Any]) -> list[Condition]:
    """Read the rows of a form about columns that may be filtered, and add one to fill if all are filled."""
    conditions = []
    names = ("column", "comparison", "value")
    for column, operator, value in zip_longest(*(fields.get(name, ()) for name in names), fillvalue=""):
        if column in filters:
            allowed = None if filters[column] == ANY_OF else tuple(filters[column])
            condition = Condition(column, operator, value.strip(), allowed)
            condition = replace(condition, operator=operator if operator in condition.operators else "is")
            is_allowed = allowed is None or value in map(str, allowed)
            conditions.append(condition if is_allowed else replace(condition, value=""))
    return (
        conditions
        if not all(condition.complete for condition in conditions) or not filters
        else [*conditions, Condition("", "is", "")]
    )


def join_conditions(conditions: Sequence[Condition]) -> str | None:
    """Join conditions into one filter. Several of one column that say "is" mean any of these values."""
    complete = [condition for condition in conditions if condition.complete]
    equalities: dict[str, list[Condition]] = {}
    for condition in complete:
        if condition.operator == "is":
            equalities.setdefault(condition.column, []).append(condition)
    parts = [_any_of(equal_conditions) for equal_conditions in equalities.values()] + [
        condition.sql for condition in complete if condition.operator != "is"
    ]
    return " AND ".join(dict.fromkeys(parts)) or None


def _any_of(equal_conditions: Sequence[Condition]) -> str:
    """Return a filter for any of the values of one column."""
    values = dict.fromkeys(condition.literal for condition in equal_conditions)
    return (
        equal_conditions[0].sql
        if len(values) == 1
        else f"{format_column(equal_conditions[0].column)} IN ({', '.join(values)})"
    )
