"""Awkward values by sort of column: what a row may hold that no other row must feel."""

from __future__ import annotations

import datetime
import uuid
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

LONG = "x" * 1_000_000
HUGE = 50_000_000


@dataclass(frozen=True)
class Odd:
    """An awkward value. `trait` is what a source must be able to hold for it."""

    name: str
    value: object
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


class _Classless:
    """An object that fails where it is asked for its class, as a proxy without a target does."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("mallory has no class")


class _Sort(type):
    """A class of classes that cannot stand in a set."""

    def __hash__(cls) -> int:
        raise RuntimeError("mallory is of no sort")


class _BadlySorted(metaclass=_Sort):
    """An object of such a class."""


class _Yearless(datetime.date):
    """A date that fails where it is asked for its year."""

    @property
    def year(self) -> int:  # type: ignore[override]
        raise RuntimeError("mallory has no year")


class _Zone(datetime.tzinfo):
    """A zone that knows no offset."""

    def utcoffset(self, _moment: object) -> datetime.timedelta:
        raise ValueError("mallory is nowhere")


class _Text(str):
    """A text with methods of its own."""

    __slots__ = ()
    __str__ = __repr__ = __format__ = _Unwritable.__str__  # type: ignore[assignment]


NULL = Odd("null", None, "null")
_TEXTS = {
    "empty text": "",
    "a space": " ",
    "a hundred thousand letters": LONG[:100_000],
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
    *(Odd(name, text) for name, text in _TEXTS.items()),
    Odd("NUL", "a\0b", "nul"),
    Odd("half an emoji", "a\ud83d", "surrogate"),
    Odd("the other half", "\ude00", "surrogate"),
    Odd("invalid UTF-8", b"a\xff\xfe", "invalid"),
    Odd("a cut letter", b"caf\xc3", "invalid"),
    Odd("surrogates in UTF-8", b"\xed\xa0\xbd", "invalid"),
)
REALS = (
    NULL,
    Odd("NaN", float("nan")),
    Odd("infinity", float("inf")),
    Odd("minus infinity", float("-inf")),
    Odd("minus zero", -0.0),
    Odd("a huge number", 1.7e308, "wide"),
    Odd("a tiny number", 5e-324, "wide"),
)
WHOLES = (
    NULL,
    Odd("largest", 2**63 - 1),
    Odd("smallest", -(2**63)),
    Odd("beyond a double", 2**53 + 1),
    Odd("zero", 0),
)
DECIMALS = (
    NULL,
    Odd("largest", Decimal("9" * 34 + ".99")),
    Odd("smallest", Decimal("-" + "9" * 34 + ".99")),
    Odd("NaN", Decimal("NaN"), "special decimal"),
    Odd("infinity", Decimal("Infinity"), "special decimal"),
)


def _whole_times(unit: int) -> tuple[Odd, ...]:
    """Moments as whole numbers of this many in a day: the ends of Python's years, and beyond them."""
    first, last = -719_162 * unit, 2_932_896 * unit
    return (
        NULL,
        Odd("year 1", first),
        Odd("year 9999", last),
        Odd("year 0", first - 200 * unit, "beyond"),
        Odd("year 10000", last + unit, "beyond"),
        Odd("the end of 64 bits", 2**63 - 1, "far beyond"),
        Odd("the start of 64 bits", -(2**63) + 1, "far beyond"),
    )


_DAYS = (*_whole_times(1)[:5], *(Odd(f"day {n}", n, "far beyond") for n in (2**31 - 1, -(2**31) + 1)))
_TIMES = (
    NULL,
    Odd("the end of the day", 86_399_999_999),
    Odd("24:00", 86_400_000_000, "beyond the day"),
    Odd("before the day", -1, "beyond the day"),
    Odd("the end of 64 bits", 2**63 - 1, "beyond the day"),
)
_NANOS = (
    NULL,
    Odd("year 1678", -(2**63) + 10**9, "edge"),
    Odd("the end of 64 bits", 2**63 - 1, "edge"),
    Odd("a single nanosecond", 1),
)
ANY = (
    *(odd for odd in TEXTS if odd.trait != "invalid"),
    *REALS,
    Odd("a real number", 2.5),
    Odd("a whole number as a real one", 1.0),
    Odd("the same in letters", "1"),
    Odd("a text", "x"),
    Odd("a number of 31 digits", 10**30),
    Odd("a number of 5,000 digits", 10**4999, "object"),
    Odd("beyond 64 bits", 2**63),
    Odd("beyond a double", 2**53 + 1),
    Odd("a truth value", True),
    Odd("a list", [1, "x"]),
    Odd("an empty list", []),
    Odd("a mapping", {"a": 1, "item": "b"}),
    Odd("bytes", b"\xff", "object"),
    Odd("a date", datetime.date(2024, 2, 29), "object"),
    Odd("a moment", datetime.datetime(9999, 12, 31, 23, 59), "object"),
    Odd("a decimal number", Decimal("NaN"), "object"),
    Odd("a signalling NaN", Decimal("sNaN"), "object"),
    Odd("a complex number", 1j, "object"),
    Odd("a class", int, "object"),
    Odd("an object without a text", _Unwritable(), "object"),
    Odd("an object that cannot be compared", _Unequal(), "object"),
    Odd("an object without a class", _Classless(), "object"),
    Odd("an object of no sort", _BadlySorted(), "object"),
    Odd("a date without a year", _Yearless(2024, 1, 1), "object"),
    Odd("a moment nowhere", datetime.datetime(2024, 1, 1, tzinfo=_Zone()), "object"),
    Odd("a text of its own kind", _Text("y"), "object"),
    Odd("an identifier without a number", uuid.UUID.__new__(uuid.UUID), "object"),
    Odd("picoseconds", np.datetime64(5, "ps"), "object"),
)
BY_SORT: dict[str, tuple[Odd, ...]] = {
    "text": TEXTS,
    "whole": WHOLES,
    "real": REALS,
    "half": tuple(odd for odd in REALS if odd.trait != "wide"),
    "decimal": DECIMALS,
    "truth": (NULL,),
    "bytes": (NULL, Odd("empty", b""), Odd("odd bytes", b"\0\xff")),
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
