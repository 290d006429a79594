"""Functions and types by the names that SQL has for them: each is one of our operations, or it is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from dpselect.engines.filters.patterns import Pattern
from dpselect.engines.filters.tree import VIEW, Constant, Node, Operation, refuse

# Operations of one value without anything constant beside it.
_PLAIN = {
    "LOWER": "LOWER", "LCASE": "LOWER", "UPPER": "UPPER", "UCASE": "UPPER",
    "LENGTH": "LENGTH", "LEN": "LENGTH", "CHAR_LENGTH": "LENGTH",
    "TRIM": "TRIM", "BTRIM": "TRIM", "LTRIM": "LTRIM", "RTRIM": "RTRIM",
    "ABS": "ABS", "FLOOR": "FLOOR", "CEIL": "CEIL", "CEILING": "CEIL",
}  # fmt: skip
PARTS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "ISODOW")
UNITS = ("YEAR", "MONTH", "WEEK", "DAY")
_FITS = {
    "STARTS_WITH": ("", "%"), "STARTSWITH": ("", "%"), "PREFIX": ("", "%"),
    "ENDS_WITH": ("%", ""), "ENDSWITH": ("%", ""), "SUFFIX": ("%", ""), "CONTAINS": ("%", "%"),
}  # fmt: skip
_AGGREGATES = frozenset("COUNT SUM MIN MAX AVG MEAN ANY_VALUE FIRST LAST MEDIAN STRING_AGG ARRAY_AGG LIST".split())
_CLOCKS = frozenset("NOW TODAY CURRENT_DATE CURRENT_TIMESTAMP GETDATE LOCALTIMESTAMP".split())
_WHOLE = frozenset("INTEGER INT INT4 BIGINT INT8 INT64 LONG".split())  # one type: whole numbers of 64 bits
_TYPES = {
    "DOUBLE": "double", "FLOAT8": "double", "FLOAT64": "double", "TEXT": "text", "VARCHAR": "text", "STRING": "text",
    "DATE": "date", "TIMESTAMP": "timestamp", "DATETIME": "timestamp", "BOOLEAN": "boolean", "BOOL": "boolean",
}  # fmt: skip
_MOST = 38  # digits of a decimal


def call(name: str, given: Sequence[Node]) -> Node:
    """What a function means."""
    if name in _PLAIN and len(given) == 1:
        return Operation(_PLAIN[name], tuple(given))
    if name in _FITS and len(given) == 2:
        return _fits(name, given[0], given[1])
    if name in ("LEFT", "RIGHT") and len(given) == 2:
        return Operation(name, (given[0],), (_size(name, given[1], 0),))
    if name in ("SUBSTRING", "SUBSTR") and len(given) in (2, 3):
        length = _size(name, given[2], 0) if len(given) == 3 else 10**9
        return Operation("SUBSTRING", (given[0],), (_size(name, given[1], 1), length))
    if name == "COALESCE" and given:
        return Operation(name, tuple(given))
    if name == "NULLIF" and len(given) == 2:
        return Operation("CASE", (Operation("=", tuple(given)), Constant(None), given[0]))
    if name in PARTS and len(given) == 1:
        return Operation("PART", (given[0],), (name,))
    if name in ("DATE_PART", "DATEPART", "DATE_TRUNC") and len(given) == 2:
        return _of_a_day(name, given[0], given[1])
    return _refuse_call(name, len(given))


def _fits(name: str, text: Node, part: Node) -> Operation:
    if not isinstance(part, Constant) or not isinstance(part.value, str):
        refuse(f"{name.lower()} with something other than a text behind the comma", "write the text itself")
    before, after = _FITS[name]
    letters = tuple(part.value)
    pieces = [letters] if not before else [(), letters]
    return Operation("LIKE", (text,), (Pattern((*pieces, *([()] if after else []))),))


def _size(name: str, node: Node, least: int) -> int:
    if isinstance(node, Constant) and type(node.value) is int and least <= node.value < 10**9:
        return node.value
    return refuse(f"{name.lower()} with a size that is no constant", f"write a whole number from {least} on")


def _of_a_day(name: str, first: Node, when: Node) -> Operation:
    known = UNITS if name == "DATE_TRUNC" else (*PARTS, "DOW")
    part = first.value.upper() if isinstance(first, Constant) and isinstance(first.value, str) else ""
    if part not in known:
        refuse(f"{name.lower()} of something else", f"use one of {', '.join(known).lower()}")
    if part == "DOW":  # Sunday is 0
        return Operation("%", (Operation("PART", (when,), ("ISODOW",)), Constant(7)))
    return Operation("TRUNC" if name == "DATE_TRUNC" else "PART", (when,), (part,))


def _refuse_call(name: str, given: int) -> NoReturn:
    known = {*_PLAIN, *_FITS, *PARTS, "LEFT", "RIGHT", "SUBSTRING", "SUBSTR", "COALESCE", "NULLIF", "DATE_PART"}
    if name in known:
        refuse(f"the function {name.lower()} of {given} values", VIEW)
    if name in _AGGREGATES:
        refuse(f"the aggregate {name.lower()}", "it depends on other rows")
    if name in _CLOCKS:
        refuse(f"the function {name.lower()}", "write the date itself: a clock makes each question a new one")
    refuse(f"the function {name.lower()[:40]}", VIEW)


def type_of(name: str, numbers: Sequence[str]) -> tuple[object, ...]:
    """A type as a cast has it: its kind; for exact numbers the least, the largest and the digits after the point."""
    word = name.upper()
    if word in _WHOLE and not numbers:
        return "exact", -(2**63), 2**63 - 1, 0
    if word in _TYPES and not numbers:
        return (_TYPES[word],)
    if word == "TIMESTAMPTZ" and not numbers:
        return "timestamp", "zone"
    if word in ("DECIMAL", "NUMERIC"):
        sizes = [int(one) for one in numbers if one.isascii() and one.isdigit() and len(one) < 3]
        digits, scale = (*sizes, 0, 0)[:2]
        if len(sizes) == len(numbers) in (1, 2) and 1 <= digits <= _MOST and scale <= digits:
            return "exact", -(10**digits) + 1, 10**digits - 1, scale
        refuse(f"a cast to {word}", f"give its digits: {word}(10, 2), up to {_MOST}")
    known = "INTEGER, BIGINT, DOUBLE, DECIMAL(10, 2), TEXT, DATE, TIMESTAMP, TIMESTAMPTZ, BOOLEAN"
    return refuse(f"a cast to {word[:40]}", f"there may stand {known}")


def lowered(text: str) -> str:
    """Letters of ASCII in lower case, others as they are."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)
