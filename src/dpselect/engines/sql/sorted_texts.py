"""Texts that sort as the values do that they were written from: of whole and decimal numbers, and back.

A number is its sign, how many digits stand before its point, and its digits; of a negative one everything but the sign
is turned round, digit by digit, and ends with a character above all digits. So texts compare as the numbers do, digit
by digit, however long they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

DIGITS, TURNED = "0123456789", "9876543210"
_TURN = str.maketrans(TURNED, DIGITS)
_END = "~"


@dataclass(frozen=True)
class SortedText:
    """How the values of a type become such texts: the SQL of the text of {}, and the label from a text."""

    sql: str
    label: Callable[[str], object]


def number_text(plain: str, whole: str, width: int, *, text: str) -> str:
    """The SQL of the text of a number, from its own in decimal notation and the part of that before the point.

    No part has more than 10^width - 1 characters; `text` is the SQL of a number of those as a text.
    """

    def size(of: str) -> str:
        return f"lpad({text.replace('{}', f'length({of})')}, {width}, '0')"

    turned = f"translate(concat({size(whole)}, substr({plain}, 2)), '{DIGITS}', '{TURNED}')"
    above, below = f"concat('1', {size(whole)}, {plain})", f"concat('0', {turned}, '{_END}')"
    return f"CASE WHEN substr({plain}, 1, 1) = '-' THEN {below} ELSE {above} END"


def decimal_notation(text: str, width: int) -> str:
    """The decimal notation that a text was written from."""
    if text.startswith("1"):
        return text[1 + width :]
    return f"-{text[1 + width : -len(_END)].translate(_TURN)}"


def integer_texts(width: int, *, text: str) -> SortedText:
    """Whole numbers of up to 10^width - 1 digits."""
    plain = text
    return SortedText(number_text(plain, plain, width, text=text), lambda found: int(decimal_notation(found, width)))


def parse_decimals(width: int) -> Callable[[str], Decimal]:
    """From a text to a decimal number."""
    return lambda found: Decimal(decimal_notation(found, width))
