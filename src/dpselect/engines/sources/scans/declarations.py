"""Declared types: what an owner says that a column is, in one text form for Python, the command, settings and ledgers.

Nothing here looks at a value. `reading.py` has the SQL that reads each value as its declared type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest
from dpselect._ground.periods import parse_timezone
from dpselect.errors import ParameterError, came

ZONED = "TIMESTAMP WITH TIME ZONE"
UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Units of epoch numbers, and the digits that they have after a second."""
_SIGNED = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"}
_PLAIN = _SIGNED | {f"U{name}" for name in _SIGNED} | {"DOUBLE", "DATE", "TIMESTAMP", ZONED, "BOOLEAN", "VARCHAR"}
_ALIASES = {
    "INT": "INTEGER", "LONG": "BIGINT", "TEXT": "VARCHAR", "STRING": "VARCHAR", "BOOL": "BOOLEAN",
    "FLOAT8": "DOUBLE", "DOUBLE PRECISION": "DOUBLE", "TIMESTAMPTZ": ZONED,
}  # fmt: skip
_HINT = (
    "BIGINT, DECIMAL(18,2), DOUBLE, BOOLEAN, DATE, TIMESTAMP, TIMESTAMPTZ, VARCHAR, "
    "NUMBER(decimal=','), TIME(zone='Europe/Berlin')"
)
_TYPE_WITH_OPTIONS = re.compile(r"(NUMBER|TIME) ?\((.*)\)", re.IGNORECASE | re.DOTALL)
_ONE_OPTION = re.compile(r"\s*([a-z]+)\s*=\s*'((?:[^']|'')*)'\s*(?:,|$)")
_OPTIONS_OF_TYPES = {"NUMBER": ("type", "decimal", "thousands"), "TIME": ("zone", "format", "unit")}


@dataclass(frozen=True)
class DeclaredType:
    """A declared type: the SQL type of a column's values, and how texts or numbers show a value of that type."""

    type: str
    decimal: str = "."
    thousands: str = ""
    zone: str | None = None  # where the clocks stood that showed a value without a zone
    format: str | None = None
    unit: str | None = None  # of numbers that count time from 1970 on

    @property
    def text(self) -> str:
        """The declaration as text, the same for declarations that read every value alike."""
        marks = {"decimal": self.decimal} if self.decimal != "." else {}
        marks |= {"thousands": self.thousands} if self.thousands else {}
        if marks:
            return _format_with_options("NUMBER", ({"type": self.type} if self.type != "DOUBLE" else {}) | marks)
        times = {"zone": self.zone, "format": self.format, "unit": self.unit}
        time_options = {name: value for name, value in times.items() if value is not None}
        return (
            _format_with_options("TIME", time_options)
            if time_options
            else "TIMESTAMPTZ"
            if self.type == ZONED
            else self.type
        )


Types = Mapping[str, DeclaredType]
"""What is declared of columns, by their names in the source."""


def _format_with_options(name: str, options: Mapping[str, str]) -> str:
    parts = (f"{key}='{value.replace(chr(39), chr(39) * 2)}'" for key, value in options.items())
    return f"{name}({', '.join(parts)})"


def parse_type(column: str, text: object) -> DeclaredType:
    """Return the declaration that a text is, such as "DECIMAL(18,2)" or "TIME(zone='Europe/Berlin')".

    Messages name the column; it is empty where their reader has it beside them, as in a file of settings.
    """
    of_column = f" for {column!r}" if column else ""
    if isinstance(text, str):
        if (call := _TYPE_WITH_OPTIONS.fullmatch(text.strip())) is not None:
            options = _parse_options(of_column, text, call[1].upper(), call[2])
            return (number_type if call[1].upper() == "NUMBER" else time_type)(**options)
        if (sql := _sql_type(text)) is not None:
            return DeclaredType(sql)
        if re.fullmatch(r"\s*(DECIMAL|NUMERIC)\s*", text, re.IGNORECASE):
            hint = "DECIMAL(18,2) has 18 digits, 2 of them after the point"
            raise ParameterError("types", f"say how many digits there are{of_column}", came(text), hint)
    raise ParameterError("types", f"be one of the known types{of_column}", came(text), _HINT)


def _sql_type(text: str) -> str | None:
    word = re.sub(r"\s*([(,)])\s*", r"\1", " ".join(text.upper().split()))
    word = _ALIASES.get(word, word)
    if word in _PLAIN:
        return word
    digits = re.fullmatch(r"(?:DECIMAL|NUMERIC)\((\d{1,2}),(\d{1,2})\)", word)
    if digits and 0 <= int(digits[2]) <= int(digits[1]) <= 38 and int(digits[1]):
        return f"DECIMAL({int(digits[1])},{int(digits[2])})"
    return None


def _parse_options(of_column: str, text: str, name: str, inside: str) -> dict[str, str]:
    """Parse the options of NUMBER(...) or TIME(...), each of them known and given once."""
    options: dict[str, str] = {}
    end = 0
    while end < len(inside) and (option := _ONE_OPTION.match(inside, end)) is not None:
        if option[1] in options or option[1] not in _OPTIONS_OF_TYPES[name]:
            hint = suggest(option[1], _OPTIONS_OF_TYPES[name])
            raise ParameterError("types", f"have each option once{of_column}", came(text), hint)
        options[option[1]] = option[2].replace("''", "'")
        end = option.end()
    if inside[end:].strip():
        raise ParameterError("types", f"have options such as decimal=','{of_column}", came(text), _HINT)
    return options


def number_type(type: object = "DOUBLE", decimal: object = ".", thousands: object = "") -> DeclaredType:
    """Return the type of numbers in a text with marks of its own."""
    sql = _sql_type(type) if isinstance(type, str) else None
    if sql is None or not (sql in _SIGNED or sql == "DOUBLE" or sql.startswith("DECIMAL")):
        raise ParameterError("type", "be BIGINT, DOUBLE, DECIMAL(18,2) or another type of numbers", came(type))
    for name, mark, min_length in (("decimal", decimal, 1), ("thousands", thousands, 0)):
        if (
            not isinstance(mark, str)
            or not min_length <= len(mark) <= 1
            or mark in set("+-0123456789eE" + " " * min_length)
        ):
            raise ParameterError(name, "be one character that no number has otherwise", came(mark))
    if decimal == thousands:
        raise ParameterError("thousands", "be another mark than decimal", came(thousands))
    return DeclaredType(sql, decimal=str(decimal), thousands=str(thousands))


def time_type(zone: object = None, format: object = None, unit: object = None) -> DeclaredType:
    """Return the type of times in a text, or in numbers that count from 1970 on."""
    if zone is None and format is None and unit is None:
        hint = "TimeText(zone='Europe/Berlin'), TimeText(format='%d.%m.%Y'), TimeText(unit='ms')"
        raise ParameterError("zone", "be given, or format or unit", "none of them", hint)
    if unit is not None:
        if not isinstance(unit, str) or unit not in UNITS:
            raise ParameterError("unit", f"be one of {', '.join(UNITS)}", came(unit))
        if zone is not None or format is not None:
            raise ParameterError("unit", "be given alone: such numbers count from 1970 on in UTC", came(unit))
        return DeclaredType(ZONED, unit=unit)
    checked = None if zone is None else parse_timezone(zone)
    if format is None:
        return DeclaredType(ZONED, zone=checked)
    pattern_of_format(format)
    if has_zone(str(format)) and zone is not None:
        hint = f"TimeText(format={str(format)!r}): %z says the zone of each text"
        raise ParameterError("zone", "be left out if format has %z", came(zone), hint)
    return DeclaredType(
        ZONED if has_zone(str(format)) or zone is not None else "TIMESTAMP", zone=checked, format=str(format)
    )


# The letters of a format, each with a pattern of its texts. Numbers that touch each other have all of their digits, or
# two could share one: 1112026 may be the 1st of November or the 11th of January.
_FORMATS: Mapping[str, str] = {
    "%Y": "[0-9]{4}", "%m": "(0?[1-9]|1[0-2])", "%d": "(0?[1-9]|[12][0-9]|3[01])", "%H": "([01]?[0-9]|2[0-3])",
    "%I": "(0?[1-9]|1[0-2])", "%M": "[0-5]?[0-9]", "%S": "[0-5]?[0-9]", "%f": "[0-9]{1,6}", "%p": "[AaPp][Mm]",
    "%z": "[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?", "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]{3,9}", "%%": "%",
}  # fmt: skip
_NUMBERS = {"%Y": "[0-9]{4}", "%m": "(0[1-9]|1[0-2])", "%d": "(0[1-9]|[12][0-9]|3[01])", "%H": "([01][0-9]|2[0-3])",
            "%I": "(0[1-9]|1[0-2])", "%M": "[0-5][0-9]", "%S": "[0-5][0-9]", "%f": "[0-9]{6}"}  # fmt: skip
_PARTS_OF_A_DAY = ("%Y", ("%m", "%b", "%B"), "%d")


def has_zone(format: str) -> bool:
    """Return whether texts of a format say their zone; %%z is the two letters %z."""
    return "%z" in re.findall("%.", format, re.DOTALL)


def pattern_of_format(format: object) -> str:
    """Return the regular expression of the texts that a format describes; refuse one that names no whole day."""
    requirement = "be a format such as '%d.%m.%Y %H:%M'"
    if not isinstance(format, str):
        raise ParameterError("format", requirement, came(format))
    parts = re.findall(r"%.|[^%]+|%", format, re.DOTALL)
    letters = [part for part in parts if part.startswith("%")]
    unknown = next((part for part in letters if part not in _FORMATS), None)
    if unknown is not None:
        raise ParameterError("format", f"use {' '.join(_FORMATS)}", came(format), f"{unknown} is not among them")
    for group in _PARTS_OF_A_DAY:
        if sum(letters.count(letter) for letter in ([group] if isinstance(group, str) else group)) != 1:
            raise ParameterError("format", f"{requirement}, with one year, month and day", came(format))
    if len(set(letters) - {"%%"}) < len([letter for letter in letters if letter != "%%"]):
        raise ParameterError("format", f"{requirement}, with each part once", came(format))
    if ("%I" in letters) != ("%p" in letters) or {"%I", "%H"} <= set(letters):
        raise ParameterError("format", f"{requirement}: %I needs %p, and %H stands without both", came(format))
    patterns = []
    for previous, part, following in zip(["", *parts], parts, [*parts[1:], ""], strict=False):
        touches = previous in _NUMBERS or previous[-1:].isdigit() or following in _NUMBERS or following[:1].isdigit()
        pattern_by_part = _NUMBERS if touches and part in _NUMBERS else _FORMATS
        patterns.append(pattern_by_part[part] if part.startswith("%") else re.escape(part))
    return "".join(patterns)
