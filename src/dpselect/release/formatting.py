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

FEW = 5  # values that a sentence lists
LONGEST = 40  # characters of an item in a sentence
WHOLE = 10**15  # up to here a whole float has all its digits
SAFE = (
    2**53 - 1
)  # the largest integer that JavaScript, and whoever reads JSON numbers as floats, tells from its neighbours
LONG = 10  # characters of a number that somebody chose


# ---- one value --------------------------------------------------------------------------------------------


def plain(value: object) -> Json:
    """The JSON form: dates as ISO text, Decimal and what JSON has no type for as text, bytes as hex.

    So are integers that a reader of floats would take for others.
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
    return isinstance(value, int) and abs(value) > SAFE


def scalar(value: object) -> object:
    """A NumPy scalar as Python's own value; the constant that stands for an unseen item as None."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(value, "ndim", None) == 0:
        # Nanoseconds have no type in Python, so .item() would give a bare integer; the text is ISO already.
        return str(value) if dtype.kind in "mM" else value.item()  # type: ignore[attr-defined]
    return None if value is UNSEEN else value


def column(values: Sequence[object]) -> list[object]:
    """Values for one column of a frame or a file: as they are where one type holds them all exactly, else as text.

    Different values stay different: where two have one text, each is written as Python writes it.
    """
    cells = [scalar(value) for value in values]
    if has_one_type(cells):
        return cells
    texts = [None if cell is None else text(cell) for cell in cells]
    alike = len(set(texts)) < len(set(map(repr, cells)))
    return [None if cell is None else repr(cell) for cell in cells] if alike else [*texts]


def text(value: object) -> str:
    """One line for a person. Characters that steer a terminal are shown as escapes, never sent to it."""
    form = str(UNSEEN) if value is UNSEEN else plain(value)
    if not isinstance(form, str):
        import json

        form = json.dumps(form, ensure_ascii=False)
    return printable(form)


def brief(value: object) -> str:
    """The same for a sentence, where a very long one is cut."""
    said = text(value)
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def number(value: Fraction | float) -> str:
    """A short decimal that never understates: 1, 0.1, 1e-06."""
    return repr(float_rounded_up(Fraction(value))).removesuffix(".0")


def price(value: Fraction) -> str:
    """`number`, or four digits of it where it has very many; it never understates either."""
    exact = number(value)
    return exact if len(exact) <= LONG else rounded_up(value)


def format_count(number: object) -> str:
    """What was counted, with separators of thousands."""
    whole = isinstance(number, (int, float)) and not isinstance(number, bool)
    return f"{number:,}" if whole else text(number)


def round_digits(number: float, digits: int) -> str:
    """A size in few digits, as a decimal with separators of thousands; very small and very large ones as 1e-06.

    >>> few(52_843.21, 4), few(144.66, 4), few(0.00001, 3)
    ('52,840', '144.7', '1e-05')
    """
    rounded = float(f"{number:.{digits}g}")
    return f"{int(rounded):,}" if rounded.is_integer() and abs(rounded) < WHOLE else f"{rounded:,}"


def short(value: Fraction) -> str:
    """The nearest float for a sentence, whole numbers without a point, thousands apart; for what is no price."""
    return f"{float(value):,}".removesuffix(".0")


def of_column(value: Fraction) -> str:
    """A value of a column for a sentence, which may be a year: nothing separates its digits."""
    return repr(float(value)).removesuffix(".0")


def quantiles(asked: Sequence[float], values: Sequence[object], *, about: bool = False) -> str:
    """Quantiles in a sentence; of very many, between which they are. `about` where they were rounded."""
    near = "about " if about else ""
    if len(asked) == 1:
        return f"The {'median' if asked[0] == 0.5 else f'{asked[0]:g} quantile'} is {near}{text(values[0])}."
    if len(asked) > FEW:
        ends = [f"{near}{text(values[place])} ({asked[place]:g})" for place in (0, -1)]
        return f"{len(asked):,} quantiles, from {ends[0]} to {ends[1]}."
    return f"The {_listed([f'{q:g}' for q in asked])} quantiles are {near}{_listed([text(value) for value in values])}."


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


# ---- packages that not everybody has ----------------------------------------------------------------------


def optional(package: str, extra: str) -> Any:
    """A module of an optional package, or the command that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        top = package.partition(".")[0]
        raise ImportError(f"this needs {top}, which is not installed\nhint: {install_hint(extra)}") from None
