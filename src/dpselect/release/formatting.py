"""Forms of a value: what JSON, a data frame, a terminal and a notebook can show."""

from __future__ import annotations

import datetime
import importlib
import math
from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any

from dpselect._ground.columns import has_one_type
from dpselect._ground.domain import UNSEEN
from dpselect._ground.keys import printable
from dpselect._ground.parameters import float_rounded_up, rounded_up
from dpselect.errors import install_hint

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

MAX_LISTED_VALUES = 5  # values that a sentence lists
MAX_ITEM_LENGTH = 40  # characters of an item in a sentence
MAX_PRINTED_LENGTH = 1_000  # characters of a value that a print shows
MAX_WHOLE_FLOAT = 10**15  # up to here a whole float has all its digits
MAX_SAFE_INTEGER = (
    2**53 - 1
)  # the largest integer that JavaScript, and whoever reads JSON numbers as floats, tells from its neighbours
MAX_PRICE_LENGTH = 10  # characters of a number that somebody chose


# ---- one value --------------------------------------------------------------------------------------------


def plain(value: object) -> Json:
    """Return the JSON form: dates as ISO text, Decimal and what JSON has no type for as text, bytes as hex.

    Integers that a reader of floats would take for others are text, too.
    """
    value = scalar(value)
    if is_unsafe(value):
        return str(value)
    if value is None or (isinstance(value, (bool, int, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Fraction):
        return float_rounded_up(value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return str(value)


def is_unsafe(value: object) -> bool:
    """Return whether a value is an integer that a float does not hold together with its neighbours."""
    return isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER


def scalar(value: object) -> object:
    """Return a NumPy scalar as Python's own value, and the constant of an unseen item as None."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(value, "ndim", None) == 0:
        # Nanoseconds have no type in Python, so .item() would give a bare integer; the text is ISO already.
        return str(value) if dtype.kind in "mM" else value.item()  # type: ignore[attr-defined]
    return None if value is UNSEEN else value


def column(values: Sequence[object]) -> list[object]:
    """Return values for one column of a frame or a file: as they are if one type holds all exactly, else as text.

    Different values stay different: if two have the same text, each is written as Python writes it.
    """
    cells = [scalar(value) for value in values]
    if has_one_type(cells):
        return cells
    texts = [None if cell is None else text(cell) for cell in cells]
    alike = len(set(texts)) < len(set(map(repr, cells)))
    return [None if cell is None else repr(cell) for cell in cells] if alike else [*texts]


def text(value: object) -> str:
    """Format a value in one line for a person. Characters that steer a terminal are escaped."""
    form = str(UNSEEN) if value is UNSEEN else plain(value)
    if not isinstance(form, str):
        import json

        form = json.dumps(form, ensure_ascii=False)
    return printable(form)


def brief(value: object) -> str:
    """Format a value for a sentence, cut if it is very long."""
    return cut(text(value), MAX_ITEM_LENGTH)


def printed(value: object) -> str:
    """Format a value for a print, whole unless it would fill the screen."""
    return cut(text(value), MAX_PRINTED_LENGTH)


def cut(full_text: str, length: int) -> str:
    """Return a text, cut if it is longer."""
    return full_text if len(full_text) <= length else f"{full_text[: length - 1]}…"


def number(value: Fraction | float) -> str:
    """Format a short decimal that never understates: 1, 0.1, 1e-06."""
    return repr(float_rounded_up(Fraction(value))).removesuffix(".0")


def price(value: Fraction) -> str:
    """Format a `number`, or four digits of it if it has very many; it never understates either."""
    exact = number(value)
    return exact if len(exact) <= MAX_PRICE_LENGTH else rounded_up(value)


def format_count(number: object) -> str:
    """Format a number with separators of thousands, and anything else as text."""
    is_number = isinstance(number, (int, float)) and not isinstance(number, bool)
    return f"{number:,}" if is_number else text(number)


def round_digits(number: float, digits: int) -> str:
    """Format a size in few digits, as a decimal with separators of thousands; very small and very large ones as 1e-06.

    >>> round_digits(52_843.21, 4), round_digits(144.66, 4), round_digits(0.00001, 3)
    ('52,840', '144.7', '1e-05')
    """
    rounded = float(f"{number:.{digits}g}")
    return f"{int(rounded):,}" if rounded.is_integer() and abs(rounded) < MAX_WHOLE_FLOAT else f"{rounded:,}"


def short(value: Fraction) -> str:
    """Format the nearest float for a sentence, whole numbers without a point, thousands apart; not for prices."""
    return f"{float(value):,}".removesuffix(".0")


def of_column(value: Fraction) -> str:
    """Format a value of a column for a sentence without separators, since it may be a year."""
    return repr(float(value)).removesuffix(".0")


def quantiles(shares: Sequence[float], values: Sequence[object], *, is_rounded: bool = False) -> str:
    """Format quantiles in a sentence; of very many only the first and the last."""
    prefix = "about " if is_rounded else ""
    if len(shares) == 1:
        return f"The {'median' if shares[0] == 0.5 else f'{shares[0]:g} quantile'} is {prefix}{text(values[0])}."
    if len(shares) > MAX_LISTED_VALUES:
        ends = [f"{prefix}{text(values[index])} ({shares[index]:g})" for index in (0, -1)]
        return f"{len(shares):,} quantiles, from {ends[0]} to {ends[1]}."
    names, texts = _join_words([f"{q:g}" for q in shares]), _join_words([text(value) for value in values])
    return f"The {names} quantiles are {prefix}{texts}."


def _join_words(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


# ---- packages that not everybody has ----------------------------------------------------------------------


def optional(package: str, extra: str) -> Any:
    """Import a module of an optional package.

    Raises: ImportError with the command that installs the package.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        top = package.partition(".")[0]
        raise ImportError(f"this needs {top}, which is not installed\nhint: {install_hint(extra)}") from None
