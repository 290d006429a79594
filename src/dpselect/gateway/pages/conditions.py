"""Filters from menus: rows of column, comparison and value become one text of the filter language.

Names and texts are quoted as the language wants them, so nothing that is typed can be anything but a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpselect.gateway import filters

ANY = "any"
NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
OPERATORS = {
    "is": "is",
    "is-not": "is not",
    "at-least": "is at least",
    "at-most": "is at most",
    "more-than": "is more than",
    "less-than": "is less than",
    "begins": "begins with",
    "contains": "contains",
    "missing": "is missing",
    "there": "is not missing",
}
OF_LISTS = ("is", "is-not")  # what may be asked of a column whose values the owner lists
WITHOUT_VALUE = ("missing", "there")
SIGNS = {"at-least": ">=", "at-most": "<=", "more-than": ">", "less-than": "<"}
CALLS = {"begins": "starts_with", "contains": "contains"}


@dataclass(frozen=True)
class Condition:
    """One row of the form, and the values that its column may have; None: any."""

    column: str
    operator: str
    value: str
    values: tuple[object, ...] | None = None

    @property
    def operators(self) -> dict[str, str]:
        """The comparisons of its menu."""
        return OPERATORS if self.values is None else {name: OPERATORS[name] for name in OF_LISTS}

    @property
    def complete(self) -> bool:
        """Does it say something?"""
        return bool(self.column) and (self.operator in WITHOUT_VALUE or self.value != "")

    @property
    def literal(self) -> str:
        """The value in the language."""
        return filters.literal(self._value)

    @property
    def _value(self) -> object:
        """The listed value that was chosen, or what was typed."""
        return next((one for one in self.values or () if str(one) == self.value), typed(self.value))


def typed(text: str) -> str | Decimal:
    """What somebody typed: digits are a number, quotation marks around it make it a text."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return Decimal(text) if NUMBER.fullmatch(text) else text


def rows(fields: Mapping[str, Sequence[str]], filters: Mapping[str, Any]) -> list[Condition]:
    """The rows that a form holds, of columns that may be filtered; and one to be filled, if they are."""
    columns, operators, values = (fields.get(one, ()) for one in ("column", "comparison", "value"))
    found = []
    for place, column in enumerate(columns):
        if column not in filters:
            continue
        listed = filters[column]
        allowed = None if listed == ANY else tuple(listed)
        operator = operators[place] if place < len(operators) else "is"
        if operator not in (OPERATORS if allowed is None else OF_LISTS):
            operator = "is"
        value = values[place] if place < len(values) else ""
        if allowed is not None and value not in map(str, allowed):
            value = ""
        found.append(Condition(column, operator, value.strip(), allowed))
    return found if not all(one.complete for one in found) or not filters else [*found, Condition("", "is", "")]


def where(conditions: Sequence[Condition]) -> str | None:
    """All of them as one condition. Several of one column that say "is" mean any of these values."""
    said: list[str] = []
    complete = [one for one in conditions if one.complete]
    for column in dict.fromkeys(one.column for one in complete if one.operator == "is"):
        same = list(dict.fromkeys(one.literal for one in complete if (one.column, one.operator) == (column, "is")))
        said.append(
            f"{filters.column(column)} = {same[0]}"
            if len(same) == 1
            else f"{filters.column(column)} IN ({', '.join(same)})"
        )
    said += [_said(one) for one in complete if one.operator != "is"]
    return " AND ".join(dict.fromkeys(said)) or None


def _said(one: Condition) -> str:
    column = filters.column(one.column)
    if one.operator in WITHOUT_VALUE:
        return f"{column} IS {'NULL' if one.operator == 'missing' else 'NOT NULL'}"
    if one.operator in CALLS:
        text = one.value[1:-1] if len(one.value) > 1 and one.value[0] == one.value[-1] == '"' else one.value
        return f"{CALLS[one.operator]}({column}, {filters.literal(text)})"
    return f"{column} {SIGNS.get(one.operator, '<>')} {one.literal}"
