"""Functions and types by the names that SQL has for them: each is one of our operations, or it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.tree import VIEW, Constant, Node, Operation, refuse

# Operations of one value without constant arguments.
_UNARY = {
    "LOWER": "LOWER", "LCASE": "LOWER", "UPPER": "UPPER", "UCASE": "UPPER",
    "LENGTH": "LENGTH", "LEN": "LENGTH", "CHAR_LENGTH": "LENGTH",
    "TRIM": "TRIM", "BTRIM": "TRIM", "LTRIM": "LTRIM", "RTRIM": "RTRIM",
    "ABS": "ABS", "FLOOR": "FLOOR", "CEIL": "CEIL", "CEILING": "CEIL",
}  # fmt: skip
PARTS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "ISODOW")
UNITS = ("YEAR", "MONTH", "WEEK", "DAY")
_AFFIXES = {
    "STARTS_WITH": ("", "%"), "STARTSWITH": ("", "%"), "PREFIX": ("", "%"),
    "ENDS_WITH": ("%", ""), "ENDSWITH": ("%", ""), "SUFFIX": ("%", ""), "CONTAINS": ("%", "%"),
}  # fmt: skip
_AGGREGATES = frozenset("COUNT SUM MIN MAX AVG MEAN ANY_VALUE FIRST LAST MEDIAN STRING_AGG ARRAY_AGG LIST".split())
_CLOCKS = frozenset("NOW TODAY CURRENT_DATE CURRENT_TIMESTAMP GETDATE LOCALTIMESTAMP".split())
_INTEGER_TYPES = frozenset("INTEGER INT INT4 BIGINT INT8 INT64 LONG".split())  # one type: integers of 64 bits
_TYPES = {
    "DOUBLE": "double", "FLOAT8": "double", "FLOAT64": "double", "TEXT": "text", "VARCHAR": "text", "STRING": "text",
    "DATE": "date", "TIMESTAMP": "timestamp", "DATETIME": "timestamp", "BOOLEAN": "boolean", "BOOL": "boolean",
}  # fmt: skip
_MAX_DIGITS = 38  # digits of a decimal


def parse_call(name: str, arguments: Sequence[Node]) -> Node:
    """Return the operation of a function call, or refuse it."""
    if name in _UNARY and len(arguments) == 1:
        return Operation(_UNARY[name], tuple(arguments))
    if name in _AFFIXES and len(arguments) == 2:
        return _parse_affix_test(name, arguments[0], arguments[1])
    if name in ("LEFT", "RIGHT") and len(arguments) == 2:
        return Operation(name, (arguments[0],), (_parse_size(name, arguments[1], 0),))
    if name in ("SUBSTRING", "SUBSTR") and len(arguments) in (2, 3):
        length = _parse_size(name, arguments[2], 0) if len(arguments) == 3 else 10**9
        return Operation("SUBSTRING", (arguments[0],), (_parse_size(name, arguments[1], 1), length))
    if name == "COALESCE" and arguments:
        return Operation(name, tuple(arguments))
    if name == "NULLIF" and len(arguments) == 2:
        return Operation("CASE", (Operation("=", tuple(arguments)), Constant(None), arguments[0]))
    if name in PARTS and len(arguments) == 1:
        return Operation("PART", (arguments[0],), (name,))
    if name in ("DATE_PART", "DATEPART", "DATE_TRUNC") and len(arguments) == 2:
        return _parse_date_part(name, arguments[0], arguments[1])
    return _refuse_call(name, len(arguments))


def _parse_affix_test(name: str, text: Node, part: Node) -> Operation:
    if not isinstance(part, Constant) or not isinstance(part.value, str):
        refuse(f"{name.lower()} with something other than a text behind the comma", "write the text itself")
    prefix, suffix = _AFFIXES[name]
    letters = tuple(part.value)
    pieces = [letters] if not prefix else [(), letters]
    return Operation("LIKE", (text,), (Pattern((*pieces, *([()] if suffix else []))),))


def _parse_size(name: str, node: Node, minimum: int) -> int:
    if isinstance(node, Constant) and type(node.value) is int and minimum <= node.value < 10**9:
        return node.value
    return refuse(f"{name.lower()} with a size that is no constant", f"write a whole number from {minimum} on")


def _parse_date_part(name: str, unit_node: Node, moment: Node) -> Operation:
    units = UNITS if name == "DATE_TRUNC" else (*PARTS, "DOW")
    unit = unit_node.value.upper() if isinstance(unit_node, Constant) and isinstance(unit_node.value, str) else ""
    if unit not in units:
        refuse(f"{name.lower()} of something else", f"use one of {', '.join(units).lower()}")
    if unit == "DOW":  # Sunday is 0
        return Operation("%", (Operation("PART", (moment,), ("ISODOW",)), Constant(7)))
    return Operation("TRUNC" if name == "DATE_TRUNC" else "PART", (moment,), (unit,))


def _refuse_call(name: str, argument_count: int) -> NoReturn:
    known_functions = {
        *_UNARY,
        *_AFFIXES,
        *PARTS,
        "LEFT",
        "RIGHT",
        "SUBSTRING",
        "SUBSTR",
        "COALESCE",
        "NULLIF",
        "DATE_PART",
    }
    if name in known_functions:
        refuse(f"the function {name.lower()} of {argument_count} values", VIEW)
    if name in _AGGREGATES:
        refuse(f"the aggregate {name.lower()}", "it depends on other rows")
    if name in _CLOCKS:
        refuse(f"the function {name.lower()}", "write the date itself: a clock makes each question a new one")
    refuse(f"the function {name.lower()[:40]}", VIEW)


def parse_type(name: str, numbers: Sequence[str]) -> tuple[object, ...]:
    """Parse a type of a cast: its kind and, for exact numbers, the minimum, the maximum and the scale."""
    word = name.upper()
    if word in _INTEGER_TYPES and not numbers:
        return "exact", -(2**63), 2**63 - 1, 0
    if word in _TYPES and not numbers:
        return (_TYPES[word],)
    if word == "TIMESTAMPTZ" and not numbers:
        return "timestamp", "zone"
    if word in ("DECIMAL", "NUMERIC"):
        sizes = [int(size) for size in numbers if size.isascii() and size.isdigit() and len(size) < 3]
        digits, scale = (*sizes, 0, 0)[:2]
        if len(sizes) == len(numbers) in (1, 2) and 1 <= digits <= _MAX_DIGITS and scale <= digits:
            return "exact", -(10**digits) + 1, 10**digits - 1, scale
        refuse(f"a cast to {word}", f"give its digits: {word}(10, 2), up to {_MAX_DIGITS}")
    known_types = "INTEGER, BIGINT, DOUBLE, DECIMAL(10, 2), TEXT, DATE, TIMESTAMP, TIMESTAMPTZ, BOOLEAN"
    return refuse(f"a cast to {word[:40]}", f"there may stand {known_types}")


def lowercase_ascii(text: str) -> str:
    """Return a text with its ASCII letters in lower case."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)
