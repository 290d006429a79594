"""Numbers in balls, which are certain to hold them, and what is said of them."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import cast

from flint import arb, ctx, fmpq

BITS = 256
_DIGITS = 4  # of a number in a sentence
DIGITS = Context(prec=800)


def ball(number: Fraction | int) -> arb:
    """A ball that holds the number, at the current precision."""
    return arb(fmpq(number.numerator, number.denominator))


def precision() -> AbstractContextManager[object]:
    """The precision of everything here, as a context."""
    return cast("AbstractContextManager[object]", ctx.workprec(BITS))


def float_up(number: arb) -> float:
    """A float that is not below the number."""
    return math.nextafter(float(number.upper()), math.inf)


def at_most(number: arb, limit: Fraction) -> bool:
    """Is it certain?"""
    return bool(number <= ball(limit))


def told(number: Fraction | arb | float) -> str:
    """Four digits of a number, never below it."""
    try:
        value = float(number.upper()) if isinstance(number, arb) else float(number)
    except OverflowError:
        return "more than 1e308"
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    exact = Decimal(value)  # a float near the number itself is read as it is written: 0.1 is one tenth
    written = Decimal(repr(value))
    step = Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1)
    return f"{float(written.quantize(step, ROUND_CEILING, DIGITS)):g}"
