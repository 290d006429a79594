"""Parameters are parsed once, here at the border: numbers become exact rationals or plain integers."""

from __future__ import annotations

import decimal
import math
import numbers
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from fractions import Fraction

from dpselect.errors import ParameterError

Number = Fraction | int | float | str | Decimal
"""What a caller may write for a real parameter; the mechanism keeps it as a Fraction."""

DELTA = Fraction(1, 10**6)
"""The delta of a question that needs one and was given none."""

EXPONENT = 300  # decimal: inside of what floats hold


def rational(name: str, value: object, must: str) -> Fraction:
    """The exact rational that `value` is: the string "0.1" is one tenth, the float 0.1 its binary value."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, str, Decimal)):
        raise ParameterError(name, must, repr(value))
    if isinstance(value, str) and "," in value:
        raise ParameterError(name, must, repr(value), "write the decimal point as a point, for example 0.5")
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational):
        value = float(value)
    if isinstance(value, (str, Decimal)) and _extreme(value):
        raise ParameterError(name, must, repr(value), f"its exponent must be between -{EXPONENT} and {EXPONENT}")
    try:
        return Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        raise ParameterError(name, must, repr(value)) from None


def _extreme(value: str | Decimal) -> bool:
    """Is it beyond what a float can hold? Making "1e999999999" exact would also take minutes."""
    try:
        number = Decimal(value)
    except InvalidOperation:
        return False  # not a decimal, such as 1/3: it has no exponent
    return bool(number.is_finite() and number and abs(number.adjusted()) > EXPONENT)


def positive(name: str, value: object, must: str = "be a positive, finite number") -> Fraction:
    """A rational above 0."""
    number = rational(name, value, must)
    if number <= 0:
        raise ParameterError(name, must, repr(value))
    return number


def probability(name: str, value: object, *, zero: bool = False) -> Fraction:
    """A rational strictly between 0 and 1 (0 itself too where `zero` says so)."""
    must = "be at least 0 and less than 1" if zero else "be between 0 and 1, both excluded"
    number = rational(name, value, must)
    if number >= 1 or number < 0 or (number == 0 and not zero):
        raise ParameterError(name, must, repr(value), "1e-6 is a common choice, well below 1 / number of users")
    return number


def delta_or_default(value: object, *, needed: bool) -> Fraction:
    """The delta that was given; where none was, `DELTA` if the question needs one, else 0."""
    if value is None:
        return DELTA if needed else Fraction(0)
    return probability("delta", value, zero=not needed)


def whole(name: str, value: object, *, least: int) -> int:
    """An integer of at least `least`; integers of NumPy are taken, booleans and floats are not."""
    must = f"be a whole number of at least {least}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(name, must, repr(value))
    number = int(value)
    if number < least:
        raise ParameterError(name, must, repr(value))
    return number


def flag(name: str, value: object) -> bool:
    """A real bool: a privacy-critical switch is never guessed from something truthy."""
    if not isinstance(value, bool):
        raise ParameterError(name, "be True or False", repr(value))
    return value


def near(name: str, known: Iterable[str]) -> str:
    """A hint with the known names nearest to `name`."""
    names = list(known)
    close = get_close_matches(name.lower(), [n.lower() for n in names], n=3, cutoff=0.5)
    found = [n for n in names if n.lower() in close]
    return f"did you mean {' or '.join(found)}?" if found else f"there is {', '.join(names[:20]) or 'nothing'}"


def shown(number: Fraction) -> float:
    """The float that is printed for an upper bound: its shortest decimal, 1e-06, is never below the exact value."""
    value = float(number)
    return value if Fraction(repr(value)) >= number else math.nextafter(value, math.inf)


def rounded_up(value: Fraction) -> str:
    """Four digits for a person, for what was spent: never less than it is."""
    return _rounded(value, decimal.ROUND_CEILING)


def rounded_down(value: Fraction) -> str:
    """Four digits for a person, for what is left: never more than it is."""
    return _rounded(value, decimal.ROUND_FLOOR)


def _rounded(value: Fraction, how: str) -> str:
    digits = decimal.Context(prec=4, rounding=how)
    found = digits.divide(Decimal(value.numerator), Decimal(value.denominator))
    return repr(float(found)).removesuffix(".0")
