"""Spelling: how an engine writes the few things that a filter is made of. In templates {} is an expression.

What every engine here does alike is written in operations.py. What stands here was tried on hostile values on each.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dpselect.engines.filters.cost import BYTES
from dpselect.engines.filters.patterns import Pattern

LAST = datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)


@dataclass(frozen=True)
class Spelling:
    """One engine's."""

    literal: Callable[[str], str]
    like: Callable[[str, Pattern], str]
    functions: Mapping[str, str]
    double: str = "DOUBLE"
    integer: str = "BIGINT"
    decimals: str = "DECIMAL({},{})"
    text: str = "VARCHAR"
    date: str = "DATE"
    timestamp: str = "TIMESTAMP"
    zoned: str = ""  # the type of a moment with a zone; nothing where none is known
    read: str = "TRY_CAST({} AS [])"  # a text that matched a pattern, as the type []
    in_utc: str = ""  # what the clocks of UTC showed at the moment of a text that matched a pattern
    collated: str = "{}"  # a text that is compared by its characters
    finite: str = "{}"  # an exact number that is no NaN
    few_digits: str = "[]"  # the form [] of a number {} of any number of digits, null where they are many
    rounded: str = "CAST({} AS DOUBLE)"  # an exact number of many digits as the nearest double
    matches: str = ""  # does {} match the pattern []?
    whole: str = "{}"  # a pattern, as one for the whole text
    listed: str = "({})"  # many constants behind IN, which are looked up

    def function(self, name: str, *parts: str) -> str:
        """One of the functions; {0} is what it works on, {1} and {2} are constants."""
        return self.functions[name].format(*parts)

    def fits(self, sql: str, pattern: Pattern) -> str:
        """Does a text fit a pattern?"""
        return self.like(self.binary(sql), pattern)

    def decimal(self, digits: int, scale: int) -> str:
        """The type of such exact numbers."""
        return self.decimals.format(digits, scale)

    def binary(self, sql: str) -> str:
        """A text that is compared by its characters."""
        return self.collated.replace("{}", sql)

    def short(self, sql: str, most: int = BYTES) -> str:
        """Null for a text of more bytes, which an engine knows without reading it."""
        return f"CASE WHEN {self.function('BYTES', sql)} <= {most} THEN {sql} END"

    def number(self, value: float) -> str:
        """A double that is a constant."""
        return f"CAST({self.literal(repr(value))} AS {self.double})"

    def moment(self, value: datetime.date, kind: str, type_name: str = "") -> str:
        """A date or a moment that is a constant."""
        if kind == "timestamp" and not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        text = value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
        return f"CAST({self.literal(text)} AS {type_name or (self.date if kind == 'date' else self.timestamp)})"

    def in_calendar(self, sql: str, kind: str) -> str:
        """Null for infinity and for years that not every engine has."""
        first = self.moment(datetime.date(1, 1, 1), kind)
        last = self.moment(LAST if kind == "timestamp" else LAST.date(), kind)
        return f"CASE WHEN {sql} BETWEEN {first} AND {last} THEN {sql} END"

    def in_range(self, sql: str) -> str:
        """Null for NaN, and for numbers so large or small that their product could not be held."""
        low, high = (self.number(value) for value in (1e-100, 1e100))
        return f"CASE WHEN abs({sql}) BETWEEN {low} AND {high} OR {sql} = 0 THEN {sql} END"

    def as_double(self, sql: str, *, exactly: bool) -> str:
        """An exact number as the nearest double; `exactly` if it is few digits."""
        return f"CAST({sql} AS {self.double})" if exactly else self.rounded.replace("{}", sql)

    def matched(self, sql: str, pattern: str) -> str:
        """Does a text match a regular expression as a whole? The pattern has no quote, backslash or percent sign."""
        whole = self.whole.replace("{}", pattern)
        return self.matches.replace("[]", f"'{whole}'").replace("{}", sql)
