"""Filters from menus: rows of column, comparison and value become one text of the filter language.

Names and texts are quoted as the language wants them, so nothing that is typed can be anything but a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import zip_longest
from typing import Any

from dpselect.gateway import filters

ANY = "any"
NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
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
OF_LISTS = ("is", "is-not")  # what may be asked of a column whose values the owner lists
OF_TEXTS = ("begins", "contains")
WITHOUT_VALUE = ("missing", "there")


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
        return {name: said for name, (said, _) in OPERATORS.items() if self.values is None or name in OF_LISTS}

    @property
    def complete(self) -> bool:
        """Does it say something?"""
        return bool(self.column) and (self.operator in WITHOUT_VALUE or self.value != "")

    @property
    def literal(self) -> str:
        """The value in the language: the listed one that was chosen, or what was typed."""
        if self.operator in OF_TEXTS:
            return filters.literal(_unquoted(self.value))
        return filters.literal(next((one for one in self.values or () if str(one) == self.value), typed(self.value)))

    @property
    def said(self) -> str:
        """The condition in the language."""
        return OPERATORS[self.operator][1].format(filters.column(self.column), self.literal)


def typed(text: str) -> str | Decimal:
    """What somebody typed: digits are a number, quotation marks around it make it a text."""
    return Decimal(text) if NUMBER.fullmatch(text) else _unquoted(text)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def rows(fields: Mapping[str, Sequence[str]], filters: Mapping[str, Any]) -> list[Condition]:
    """The rows that a form holds, of columns that may be filtered; and one to be filled, if they are."""
    found = []
    names = ("column", "comparison", "value")
    for column, operator, value in zip_longest(*(fields.get(name, ()) for name in names), fillvalue=""):
        if column in filters:
            allowed = None if filters[column] == ANY else tuple(filters[column])
            one = Condition(column, operator, value.strip(), allowed)
            one = replace(one, operator=operator if operator in one.operators else "is")
            listed = allowed is None or value in map(str, allowed)
            found.append(one if listed else replace(one, value=""))
    return found if not all(one.complete for one in found) or not filters else [*found, Condition("", "is", "")]


def where(conditions: Sequence[Condition]) -> str | None:
    """All of them as one condition. Several of one column that say "is" mean any of these values."""
    complete = [one for one in conditions if one.complete]
    same: dict[str, list[Condition]] = {}
    for one in complete:
        if one.operator == "is":
            same.setdefault(one.column, []).append(one)
    said = [_any(several) for several in same.values()] + [one.said for one in complete if one.operator != "is"]
    return " AND ".join(dict.fromkeys(said)) or None


def _any(same: Sequence[Condition]) -> str:
    """One of the values of one column."""
    values = dict.fromkeys(one.literal for one in same)
    return same[0].said if len(values) == 1 else f"{filters.column(same[0].column)} IN ({', '.join(values)})"
