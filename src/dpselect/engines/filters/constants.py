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
_DIGITS = 17  # as many as a float can have; with more, engines may round it to another neighbour


def text_of(text: str) -> str:
    """A text that every engine can hold."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        refuse("a text that not every engine can store")
    return text


def number_of(text: str, sign: int = 1) -> int | float | Decimal:
    """A number: 12 is whole, 0.5 exact, and 1e-3 a float."""
    digits, shown = text.replace("_", ""), text[:40]
    if "e" in digits.lower():
        number = sign * float(digits)
        if not math.isfinite(number) or number == 0:
            refuse(f"the number {shown}, which is too large or too small")
        return number
    whole, point, part = digits.partition(".")
    if point:
        if len((whole + part).lstrip("0")) > _DIGITS or len(part) > _DIGITS + 1:
            refuse(f"the number {shown}, which has more than {_DIGITS} digits", VIEW)
        return sign * Decimal(digits)
    if len(digits) > 19 or not -(2**63) <= sign * int(digits) < 2**63:
        refuse(f"the number {shown}, which does not fit in 64 bits", VIEW)
    return sign * int(digits)


def day(text: str) -> datetime.date:
    """A date as SQL writes it."""
    return _when(text, _DAY.fullmatch(text)).date()


def moment(text: str) -> datetime.datetime:
    """A moment as SQL writes it; a date is its midnight."""
    return _when(text, _DAY.fullmatch(text) or _MOMENT.fullmatch(text))


def moment_in_utc(text: str) -> datetime.datetime:
    """A moment with its zone, as the clocks of UTC showed it."""
    found = re.fullmatch(r"(.*?) ?(Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)", text)
    zone = "" if found is None else found[2].replace("UTC", "Z")
    if found is not None and _MOMENT.fullmatch(found[1]):
        with suppress(ValueError, OverflowError):
            aware = datetime.datetime.fromisoformat(f"{moment(found[1]).isoformat()}{zone}")
            return aware.astimezone(datetime.UTC).replace(tzinfo=None)
    return refuse(f"{text[:40]!r} for a moment with a zone", "write it like '2024-01-31 23:59:59Z'")


def _when(text: str, found: re.Match[str] | None) -> datetime.datetime:
    if found is not None:
        year, month, date, *time = found.groups()
        hour, minute, second, part = time or (None, None, None, None)
        numbers = [int(one or 0) for one in (year, month, date, hour, minute, second, (part or "").ljust(6, "0"))]
        with suppress(ValueError):
            return datetime.datetime(*numbers)  # type: ignore[arg-type]
    return refuse(f"{text[:40]!r} for a date", "write it like '2024-01-31' or '2024-01-31 23:59:59'")
