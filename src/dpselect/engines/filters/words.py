"""Words: the text of a filter, split into names, constants and signs; and its constants, checked when they are read.

A bad constant shows before any data are seen.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import NoReturn

from dpselect._ground.dataclass import dataclass
from dpselect.engines.filters.tree import VIEW, refuse

MAX_FILTER_CHARACTERS = 200_000
"""The largest number of characters of a filter."""
HINT = "write what would follow WHERE in a query"
_WORD = re.compile(
    r"""(?P<space>\s+)
    |(?P<name>[^\W\d]\w*)
    |(?P<quoted>"(?:[^"]|"")+")
    |(?P<text>'(?:[^']|'')*')
    |(?P<number>[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<sign><=|>=|<>|!=|==|\|\||::|[=<>+*/%(),-])""",
    re.VERBOSE,
)
_REFUSED_STARTS = {
    "--": ("a remark", "leave it out"),
    "/*": ("a remark", "leave it out"),
    "'": ("a text without an end", "a quote inside a text is written twice: 'it''s'"),
    '"': ("a name without an end", "a quote inside a name is written twice"),
    ";": ("more than one statement", HINT),
    ".": ("a dot outside of a number", "name a column by its own name alone, and write 0.5 for .5"),
    **dict.fromkeys("?$:{#", ("a placeholder", "write the value itself")),
    "[": ("a list", VIEW),
}


@dataclass(frozen=True)
class Word:
    """A piece of the text, with its position."""

    kind: str  # name, quoted, text, number, sign, or end
    text: str
    start: int

    @property
    def span(self) -> tuple[int, int]:
        """The start and the end in the text."""
        return self.start, self.start + len(self.text)

    def is_(self, *words: str) -> bool:
        """Return whether it is one of these signs or unquoted words, which are in capitals."""
        return self.kind in ("name", "sign") and self.text.upper() in words


def split_words(text: str) -> list[Word]:
    """Return all words of a text, and the end."""
    if len(text) > MAX_FILTER_CHARACTERS:
        refuse(f"one of {len(text)} characters", f"at most {MAX_FILTER_CHARACTERS} are allowed")
    return [*_generate_words(text), Word("end", "", len(text))]


def _generate_words(text: str) -> Iterator[Word]:
    position = 0
    while position < len(text):
        for prefix, (description, hint) in _REFUSED_STARTS.items():
            if len(prefix) > 1 and text.startswith(prefix, position):
                refuse(f"{description} at character {position + 1}", hint)
        match = _WORD.match(text, position)
        if match is None:
            _refuse_character(text, position)
        sort = str(match.lastgroup)
        if sort != "space":
            yield Word(sort, match[0], position)
        position = match.end()


def _refuse_character(text: str, position: int) -> NoReturn:
    if text[position].isdigit():
        description, hint = f"the number {excerpt(text, position)}", "write it like 12, 0.5 or 1e-3"
    else:
        description, hint = _REFUSED_STARTS.get(text[position], (f"the sign {text[position]!r}", VIEW))
    refuse(f"{description} at character {position + 1}", hint)


def excerpt(text: str, position: int) -> str:
    """Return a short excerpt of the caller's own text."""
    return text[position : position + 20]


_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MOMENT = re.compile(_DAY.pattern + r"[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?")
_DIGITS = 17  # as many as a float can have; with more, engines may round to different neighbours


def parse_text(text: str) -> str:
    """Return a text that every engine can hold, or refuse it."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        refuse("a text that not every engine can store")
    return text


def parse_number(text: str, sign: int = 1) -> int | float | Decimal:
    """Parse a number: 12 is an integer, 0.5 exact, and 1e-3 a float."""
    digits, excerpt = text.replace("_", ""), text[:40]
    if "e" in digits.lower():
        number = sign * float(digits)
        if not math.isfinite(number) or number == 0:
            refuse(f"the number {excerpt}, which is too large or too small")
        return number
    integer_part, point, fraction = digits.partition(".")
    if point:
        if len((integer_part + fraction).lstrip("0")) > _DIGITS or len(fraction) > _DIGITS + 1:
            refuse(f"the number {excerpt}, which has more than {_DIGITS} digits", VIEW)
        return sign * Decimal(digits)
    if len(digits) > 19 or not -(2**63) <= sign * int(digits) < 2**63:
        refuse(f"the number {excerpt}, which does not fit in 64 bits", VIEW)
    return sign * int(digits)


def parse_day(text: str) -> datetime.date:
    """Parse a date as SQL writes it."""
    return _parse_match(text, _DAY.fullmatch(text)).date()


def parse_moment(text: str) -> datetime.datetime:
    """Parse a moment as SQL writes it; a date is its midnight."""
    return _parse_match(text, _DAY.fullmatch(text) or _MOMENT.fullmatch(text))


def parse_moment_in_utc(text: str) -> datetime.datetime:
    """Parse a moment with its zone, and return it in UTC without a zone."""
    match = re.fullmatch(r"(.*?) ?(Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)", text)
    zone = "" if match is None else match[2].replace("UTC", "Z")
    if match is not None and _MOMENT.fullmatch(match[1]):
        with suppress(ValueError, OverflowError):
            aware = datetime.datetime.fromisoformat(f"{parse_moment(match[1]).isoformat()}{zone}")
            return aware.astimezone(datetime.UTC).replace(tzinfo=None)
    return refuse(f"{text[:40]!r} for a moment with a zone", "write it like '2024-01-31 23:59:59Z'")


def _parse_match(text: str, match: re.Match[str] | None) -> datetime.datetime:
    if match is not None:
        year, month, date, *time = match.groups()
        hour, minute, second, fraction = time or (None, None, None, None)
        numbers = [
            int(number or 0) for number in (year, month, date, hour, minute, second, (fraction or "").ljust(6, "0"))
        ]
        with suppress(ValueError):
            return datetime.datetime(*numbers)  # type: ignore[arg-type]
    return refuse(f"{text[:40]!r} for a date", "write it like '2024-01-31' or '2024-01-31 23:59:59'")
