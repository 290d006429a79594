"""Spelling: the SQL of an engine for the elements of filters. In templates {} is an expression.

SQL that every engine shares is in operations.py. All of this was tested on hostile values on each engine.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from string import ascii_lowercase, ascii_uppercase

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters.cost import MAX_BYTES
from dpselect.engines.filters.patterns import Pattern

LAST = datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)


@dataclass(frozen=True)
class Spelling:
    """The SQL of one engine."""

    literal: Callable[[str], str]
    like: Callable[[str, Pattern], str]
    functions: Mapping[str, str]
    double: str = "DOUBLE"
    integer: str = "BIGINT"
    decimals: str = "DECIMAL({},{})"
    text: str = "VARCHAR"
    date: str = "DATE"
    timestamp: str = "TIMESTAMP"
    zoned: str = ""  # the type of a moment with a zone; empty if none is known
    read: str = "TRY_CAST({} AS [])"  # a text that matched a pattern, as the type []
    in_utc: str = ""  # the moment in UTC of a text that matched a pattern
    collated: str = "{}"  # a text that is compared by its characters
    finite: str = "{}"  # an exact number that is no NaN
    few_digits: str = "[]"  # the form [] of a number {} with any number of digits, null if it has many
    rounded: str = "CAST({} AS DOUBLE)"  # an exact number of many digits as the nearest double
    matches: str = ""  # the condition that {} matches the pattern []
    anchored: str = "{}"  # a pattern, as one of the whole text
    long_list: str = "({})"  # many constants after IN, which are looked up

    def function(self, name: str, *parts: str) -> str:
        """Compile a function; {0} is its operand, {1} and {2} are constants."""
        return self.functions[name].format(*parts)

    def compile_like(self, sql: str, pattern: Pattern) -> str:
        """Compile the condition that a text matches a pattern."""
        return self.like(self.binary(sql), pattern)

    def decimal(self, digits: int, scale: int) -> str:
        """Return the type of exact numbers with these digits and this scale."""
        return self.decimals.format(digits, scale)

    def binary(self, sql: str) -> str:
        """Compile a text that is compared by its characters."""
        return self.collated.replace("{}", sql)

    def null_if_long(self, sql: str, max_bytes: int = MAX_BYTES) -> str:
        """Compile a text, null if it has more bytes, which an engine knows without reading it."""
        return f"CASE WHEN {self.function('BYTES', sql)} <= {max_bytes} THEN {sql} END"

    def number(self, value: float) -> str:
        """Compile a constant double."""
        return f"CAST({self.literal(repr(value))} AS {self.double})"

    def moment(self, value: datetime.date, kind: str, type_name: str = "") -> str:
        """Compile a constant date or moment."""
        if kind == "timestamp" and not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        text = value.isoformat(" ") if isinstance(value, datetime.datetime) else value.isoformat()
        return f"CAST({self.literal(text)} AS {type_name or (self.date if kind == 'date' else self.timestamp)})"

    def in_calendar(self, sql: str, kind: str) -> str:
        """Compile a date or moment, null for infinity and for years that not every engine has."""
        minimum = self.moment(datetime.date(1, 1, 1), kind)
        maximum = self.moment(LAST if kind == "timestamp" else LAST.date(), kind)
        return f"CASE WHEN {sql} BETWEEN {minimum} AND {maximum} THEN {sql} END"

    def in_range(self, sql: str) -> str:
        """Compile a number, null for NaN, and for numbers so large or small that their product would overflow."""
        low, high = (self.number(value) for value in (1e-100, 1e100))
        return f"CASE WHEN abs({sql}) BETWEEN {low} AND {high} OR {sql} = 0 THEN {sql} END"

    def as_double(self, sql: str, *, exactly: bool) -> str:
        """Compile an exact number to the nearest double; `exactly` if it has few digits."""
        return f"CAST({sql} AS {self.double})" if exactly else self.rounded.replace("{}", sql)

    def compile_match(self, sql: str, pattern: str) -> str:
        """Compile the condition that a regular expression matches a whole text.

        The pattern has no quote, backslash or percent sign.
        """
        anchored = self.anchored.replace("{}", pattern)
        return self.matches.replace("[]", f"'{anchored}'").replace("{}", sql)


# ---- what several engines spell alike ----

ASCII_CASE = {
    "LOWER": f"translate({{0}}, '{ascii_uppercase}', '{ascii_lowercase}')",
    "UPPER": f"translate({{0}}, '{ascii_lowercase}', '{ascii_uppercase}')",
}
SHARED_FUNCTIONS = {
    "BYTES": "octet_length({0})",
    "LENGTH": "CAST(length({0}) AS BIGINT)",
    "LEFT": "left({0}, {1})",
    "RIGHT": "right({0}, {1})",
    "SUBSTRING": "substring({0}, {1}, {2})",
    "||": "({0} || {1})",
    "ABS": "abs({0})",
    "FLOOR": "floor({0})",
    "CEIL": "ceil({0})",
    "%": "mod({0}, {1})",
}
DATE_PARTS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def quote_text(text: str) -> str:
    """Return a literal whose quotes are doubled."""
    return "'" + text.replace("'", "''") + "'"
