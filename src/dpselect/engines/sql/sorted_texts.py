"""Texts that sort as the numbers do that they were written from, whole or decimal, and back.

A number is its sign, how many digits stand before its point, and its digits; of a negative one everything but the sign
is turned round, digit by digit, and ends with a character above all digits. So texts compare as the numbers do, digit
by digit, however long they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

DIGITS, COMPLEMENTS = "0123456789", "9876543210"
_COMPLEMENT = str.maketrans(COMPLEMENTS, DIGITS)
_END = "~"


@dataclass(frozen=True)
class SortedText:
    """The form of a type's values as such texts: the SQL of the text of {}, and the label from a text."""

    sql: str
    label: Callable[[str], object]


def number_text(plain: str, integer_part: str, width: int, *, text: str) -> str:
    """Compile the text of a number, from its own in decimal notation and the part of that before the point.

    No part has more than 10^width - 1 characters; `text` is the SQL of a number of those as a text.
    """

    def size(part: str) -> str:
        return f"lpad({text.replace('{}', f'length({part})')}, {width}, '0')"

    negated = f"translate(concat({size(integer_part)}, substr({plain}, 2)), '{DIGITS}', '{COMPLEMENTS}')"
    nonnegative, negative = f"concat('1', {size(integer_part)}, {plain})", f"concat('0', {negated}, '{_END}')"
    return f"CASE WHEN substr({plain}, 1, 1) = '-' THEN {negative} ELSE {nonnegative} END"


def decimal_notation(text: str, width: int) -> str:
    """Return the decimal notation that a text was written from."""
    if text.startswith("1"):
        return text[1 + width :]
    return f"-{text[1 + width : -len(_END)].translate(_COMPLEMENT)}"


def integer_texts(width: int, *, text: str) -> SortedText:
    """Return the form of integers of up to 10^width - 1 digits."""
    plain = text
    return SortedText(
        number_text(plain, plain, width, text=text), lambda stored_text: int(decimal_notation(stored_text, width))
    )


def parse_decimals(width: int) -> Callable[[str], Decimal]:
    """Return a function from a text to a decimal number."""
    return lambda stored_text: Decimal(decimal_notation(stored_text, width))
