"""Constants of a filter, checked when they are read: a bad one shows before any data are seen."""

from __future__ import annotations

import datetime
import math
import re
from contextlib import suppress
from decimal import Decimal

from dpselect.engines.filters.tree import VIEW, refuse

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
