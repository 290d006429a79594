"""Awkward values by sort of column: what a row may hold that no other row must feel."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal

LONG = "x" * 1_000_000
HUGE = 50_000_000  # characters, where a test is slow


@dataclass(frozen=True)
class Odd:
    """An awkward value. `trait` is what a source must be able to hold for it; `group` its column in the table."""

    name: str
    value: object
    group: str
    trait: str = ""


class _Unwritable:
    """An object that cannot be written as text."""

    def __str__(self) -> str:
        raise ValueError("mallory has no text")

    __repr__ = __str__


class _Unequal:
    """An object that cannot be compared or hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise TypeError("mallory cannot be compared")


NULL = Odd("null", None, "missing", "null")
_TEXTS = {
    "empty text": "",
    "a space": " ",
    "a million letters": LONG,
    "controls": "a\x01\x07\x1b[2Jb\x7f\x85",
    "bidirectional marks": "a\u202eb\u2066c",
    "combining letters": "e\u0301" + "\u0301" * 40,
    "byte order mark": "\ufeffa",
    "last code points": "\uffff\U0010ffff",
    "an emoji": "\U0001f600",
    "a quote": '"',
    "an open quote": '"a',
    "quotes in quotes": '"a""b"',
    "delimiters": "a,b;c\td|e",
    "a line end": "a\nb",
    "Windows line end": "a\r\nb",
    "line separators": "a\u2028b\u2029c\vd\x0ce",
    "a backslash": "a\\",
    "NaN in letters": "NaN",
    "null in letters": "NULL",
    "a formula": "=1+1",
    "a number in letters": "1e400",
    "other case": "A",
    "a trailing space": "a ",
    "percent signs": "%s{}%",
}
TEXTS = (
    NULL,
    *(Odd(name, text, "text") for name, text in _TEXTS.items()),
    Odd("NUL", "a\0b", "broken text", "nul"),
    Odd("half an emoji", "a\ud83d", "broken text", "surrogate"),
    Odd("the other half", "\ude00", "broken text", "surrogate"),
    Odd("invalid UTF-8", b"a\xff\xfe", "broken text", "invalid"),
    Odd("a cut letter", b"caf\xc3", "broken text", "invalid"),
    Odd("surrogates in UTF-8", b"\xed\xa0\xbd", "broken text", "invalid"),
)
REALS = (
    NULL,
    Odd("NaN", float("nan"), "missing"),
    Odd("infinity", float("inf"), "numbers"),
    Odd("minus infinity", float("-inf"), "numbers"),
    Odd("minus zero", -0.0, "numbers"),
    Odd("a huge number", 1.7e308, "numbers", "wide"),
    Odd("a tiny number", 5e-324, "numbers", "wide"),
)
WHOLES = (
    NULL,
    Odd("largest", 2**63 - 1, "numbers"),
    Odd("smallest", -(2**63), "numbers"),
    Odd("beyond a double", 2**53 + 1, "numbers"),
    Odd("zero", 0, "numbers"),
)
DECIMALS = (
    NULL,
    Odd("largest", Decimal("9" * 34 + ".99"), "numbers"),
    Odd("smallest", Decimal("-" + "9" * 34 + ".99"), "numbers"),
    Odd("NaN", Decimal("NaN"), "missing", "special decimal"),
    Odd("infinity", Decimal("Infinity"), "numbers", "special decimal"),
)


def _whole_times(unit: int) -> tuple[Odd, ...]:
    """Moments as whole numbers of this many in a day: the ends of Python's years, and beyond them."""
    first, last = -719_162 * unit, 2_932_896 * unit
    return (
        NULL,
        Odd("year 1", first, "times"),
        Odd("year 9999", last, "times"),
        Odd("year 0", first - 200 * unit, "times", "beyond"),
        Odd("year 10000", last + unit, "times", "beyond"),
        Odd("the end of 64 bits", 2**63 - 1, "times", "far beyond"),
        Odd("the start of 64 bits", -(2**63) + 1, "times", "far beyond"),
    )


_DAYS = (*_whole_times(1)[:5], *(Odd(f"day {n}", n, "times", "far beyond") for n in (2**31 - 1, -(2**31) + 1)))
_TIMES = (
    NULL,
    Odd("the end of the day", 86_399_999_999, "times"),
    Odd("24:00", 86_400_000_000, "times", "beyond the day"),
    Odd("before the day", -1, "times", "beyond the day"),
    Odd("the end of 64 bits", 2**63 - 1, "times", "beyond the day"),
)
_NANOS = (
    NULL,
    Odd("year 1678", -(2**63) + 10**9, "times", "edge"),
    Odd("the end of 64 bits", 2**63 - 1, "times", "edge"),
    Odd("a single nanosecond", 1, "times"),
)
ANY = (
    *(odd for odd in TEXTS if odd.trait != "invalid"),
    *REALS,
    Odd("a real number", 2.5, "numbers"),
    Odd("a whole number as a real one", 1.0, "numbers"),
    Odd("the same in letters", "1", "wrong type"),
    Odd("a text", "x", "wrong type"),
    Odd("a number of 31 digits", 10**30, "numbers"),
    Odd("a number of 5,000 digits", 10**4999, "numbers", "object"),
    Odd("beyond 64 bits", 2**63, "numbers"),
    Odd("beyond a double", 2**53 + 1, "numbers"),
    Odd("a truth value", True, "wrong type"),
    Odd("a list", [1, "x"], "wrong type"),
    Odd("an empty list", [], "wrong type"),
    Odd("a mapping", {"a": 1, "item": "b"}, "wrong type"),
    Odd("bytes", b"\xff", "wrong type", "object"),
    Odd("a date", datetime.date(2024, 2, 29), "wrong type", "object"),
    Odd("a moment", datetime.datetime(9999, 12, 31, 23, 59), "wrong type", "object"),
    Odd("a decimal number", Decimal("NaN"), "wrong type", "object"),
    Odd("a signalling NaN", Decimal("sNaN"), "wrong type", "object"),
    Odd("a complex number", 1j, "wrong type", "object"),
    Odd("a class", int, "wrong type", "object"),
    Odd("an object without a text", _Unwritable(), "wrong type", "object"),
    Odd("an object that cannot be compared", _Unequal(), "wrong type", "object"),
)
BY_SORT: dict[str, tuple[Odd, ...]] = {
    "text": TEXTS,
    "whole": WHOLES,
    "real": REALS,
    "half": tuple(odd for odd in REALS if odd.trait != "wide"),
    "decimal": DECIMALS,
    "truth": (NULL,),
    "bytes": (NULL, Odd("empty", b"", "text"), Odd("odd bytes", b"\0\xff", "broken text")),
    "day": _DAYS,
    "time": _TIMES,
    "moment s": _whole_times(86_400),
    "moment ms": _whole_times(86_400_000),
    "moment us": _whole_times(86_400_000_000),
    "moment ns": _NANOS,
    "moment in a zone": _whole_times(86_400_000_000),
    "any of numbers": ANY,
    "any of texts": ANY,
}
