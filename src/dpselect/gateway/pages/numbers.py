"""Numbers, times and lists as a person reads them: 1,685 and 1.8 % and 22 November 2026, 12:00."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from dpselect.release import formatting

SPACE = "\N{NO-BREAK SPACE}"
SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def number(value: object) -> str:
    """With thousands separators."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        return formatting.text(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{float(value):,.6g}"


def amount(epsilon: object, delta: object) -> str:
    """An (epsilon, delta) in words that can be read aloud."""
    return f"epsilon {decimal(epsilon)}" + (f", delta {decimal(delta)}" if decimal(delta) != "0" else "")


def decimal(value: object) -> str:
    """An exact number, such as "1/2", in a few digits."""
    try:
        return formatting.price(Fraction(str(value)))
    except (ValueError, ZeroDivisionError):
        return formatting.text(value)


def count(how_many: int, one: str, more: str | None = None) -> str:
    """One user, 2,000 users; small numbers as words."""
    said = SMALL[how_many] if 0 <= how_many < len(SMALL) else f"{how_many:,}"
    return f"{said} {one if how_many == 1 else more or one + 's'}"


def listed(parts: Sequence[str], word: str = "and") -> str:
    """A, B and C."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def moment(text: object, *, seconds: bool = False) -> str:
    """A time in ISO form for a person, in the zone that it says itself."""
    try:
        at = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        return formatting.text(text)
    zone = "" if at.tzinfo is None else " UTC" if not at.utcoffset() else f" {at:%z}"
    clock = f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"
    return f"{at.day}{SPACE}{MONTHS[at.month - 1]} {at.year}, {clock}{zone}"


def period(name: object) -> str:
    """A period for a person: October 2026 for 2026-10; other names say what they are."""
    said = str(name)
    year, _, month = said.partition("-")
    if len(year) == 4 and len(month) == 2 and month.isdigit() and 1 <= int(month) <= 12:
        return f"{MONTHS[int(month) - 1]} {year}"
    return said


# ---- what an epsilon and a delta mean ------------------------------------------------------------------------


def odds(promise: Mapping[str, float], unit: str = "user") -> str:
    """The promise as odds: whoever reads learns little more of anybody than if that one were not in the data."""
    epsilon, delta = (Fraction(str(promise[name])) for name in ("epsilon", "delta"))
    if epsilon > 20:
        return f"With so large an epsilon little is promised to any one {unit}."
    times = math.exp(float(epsilon))
    shown = f"{math.ceil(times * 100) / 100:,.2f}" if times < 10 else f"{math.ceil(times):,}"
    said = (
        f"Whether any one {unit} is in the data changes the chance of anything that this may show by a factor of at "
        f"most {shown}"
    )
    if delta:
        said += f", and by {_one_in(delta)} beside it"
    return f"{said}."


def _one_in(delta: Fraction) -> str:
    many = math.floor(1 / delta)
    if many < 2:
        return formatting.price(delta)
    digits = len(str(many)) - 2
    return f"one in {many // 10**digits * 10**digits if digits > 0 else many:,}"
