"""Parameters are parsed once, here at the border: numbers become exact rationals or plain integers."""

from __future__ import annotations

import decimal
import math
import numbers
import re
from collections.abc import Callable, Collection, Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import wraps
from inspect import CO_VARKEYWORDS, unwrap
from types import FunctionType
from typing import TypeVar, cast

from dpselect.errors import ParameterError, came

Public = TypeVar("Public", bound=Callable[..., object])
Reader = TypeVar("Reader", bound=Callable[..., object])

Number = Fraction | int | float | str | Decimal
"""What a caller may write for a real parameter; the mechanism keeps it as a Fraction."""

Progress = Callable[[float | None], None]
"""Called about five times a second while a query runs: the part that is done in twentieths, None where unknown.

Nothing finer: an exact share, or a call for so many users, would tell how many there are.
"""

DELTA = Fraction(1, 10**6)
"""The delta of a question that needs one and was given none."""

EXPONENT = 300  # decimal: inside of what floats hold
LONGEST_NAME = 60  # characters of a name in a hint
LONGEST_TEXT = 1000  # characters of a number
MOST_BITS = 2**12  # of a numerator or denominator: more than any float has, and a product of three can be written
LEAST, LARGEST_EPSILON, LARGEST_SENSITIVITY = Fraction(1, 10**100), Fraction(10**6), Fraction(10**100)
MOST = 2**53  # the largest whole number that floats hold with all before it
MOST_LISTED = 10**7  # things in an answer
_LOOSE = re.compile(r"(?<!\d)_|_(?!\d)")  # an underscore that separates no digits


def rational(name: str, value: object, must: str) -> Fraction:
    """The exact rational that `value` is written as: 0.1 and "0.1" are one tenth, and "1/3" is a third.

    A float is taken at its shortest decimal, which is what was written and what Python shows; so are the floats of
    NumPy, each at its own width. The size of what is not 0 lies between 1e-300 and 1e300.
    """
    hint = None
    try:
        number = _exact(value)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        if isinstance(value, str) and "," in value:
            hint = "write the decimal point as a point, for example 0.5"
        raise ParameterError(name, must, came(value), hint) from None
    if number is None or _extreme(number):
        hint = f"its size must be between 1e-{EXPONENT} and 1e{EXPONENT}, its digits at most {LONGEST_TEXT}"
        raise ParameterError(name, must, came(value), hint)
    return number


def _exact(value: object) -> Fraction | None:
    """The rational, None where it is beyond the limits; another error where it is no number.

    No power of ten is made before its exponent has been looked at: 1e999999999 would take minutes.
    """
    if isinstance(value, (bool, complex)):
        raise TypeError
    if isinstance(value, str):
        return _written(str.__str__(value))
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, numbers.Rational):
        return _ratio(int(value.numerator), int(value.denominator))
    if isinstance(value, numbers.Real):
        other_width = type(value).__module__ == "numpy" and not isinstance(value, float)
        return _decimal(Decimal(str(value) if other_width else float.__repr__(float(value))))
    raise TypeError


def _written(text: str) -> Fraction | None:
    """A decimal number, or a fraction of two whole ones."""
    if len(text) > LONGEST_TEXT:
        return None
    if "/" in text:
        return Fraction(text)  # of two whole numbers: it knows no exponent here
    try:
        number = Decimal(text)
    except InvalidOperation:  # no number at all, or of an exponent that no Decimal has
        raise ValueError from None
    if _LOOSE.search(text):
        raise ValueError
    return _decimal(number)


def _ratio(above: int, below: int) -> Fraction | None:
    return None if max(above.bit_length(), below.bit_length()) > MOST_BITS else Fraction(above, below)


def _decimal(value: Decimal) -> Fraction | None:
    if not value.is_finite():
        raise ValueError
    if not value:
        return Fraction(0)  # which may have been written with any exponent
    few = len(value.as_tuple().digits) <= LONGEST_TEXT
    return Fraction(value) if few and abs(value.adjusted()) <= EXPONENT else None


def _extreme(number: Fraction) -> bool:
    """Has it a size that floats do not hold?"""
    return number != 0 and not Fraction(10) ** -EXPONENT <= abs(number) < Fraction(10) ** (EXPONENT + 1)


def positive(name: str, value: object, must: str = "be a positive, finite number") -> Fraction:
    """A rational above 0."""
    number = rational(name, value, must)
    if number <= 0:
        raise ParameterError(name, must, came(value))
    return number


def epsilon(name: str, value: object) -> Fraction:
    """An epsilon that says something, and whose exponentials stay within what is computed."""
    return _between(name, positive(name, value), value, LEAST, LARGEST_EPSILON)


def sensitivity(name: str, value: object) -> Fraction:
    """A sensitivity: with an epsilon beside it, a rate that draws can be made at."""
    return _between(name, positive(name, value), value, LEAST, LARGEST_SENSITIVITY)


def _between(name: str, number: Fraction, value: object, least: Fraction, most: Fraction) -> Fraction:
    if not least <= number <= most:
        raise ParameterError(name, f"be between {float(least):g} and {float(most):g}", came(value))
    return number


def not_negative(name: str, value: object, must: str = "be a finite number of at least 0") -> Fraction:
    """A rational of at least 0."""
    number = rational(name, value, must)
    if number < 0:
        raise ParameterError(name, must, came(value))
    return number


SMALL = "1e-6 is a common choice, well below 1 / number of users"


def probability(name: str, value: object, *, zero: bool = False, hint: str = SMALL) -> Fraction:
    """A rational strictly between 0 and 1 (0 itself too where `zero` says so)."""
    must = "be at least 0 and less than 1" if zero else "be between 0 and 1, both excluded"
    number = rational(name, value, must)
    if number >= 1 or number < 0 or (number == 0 and not zero):
        raise ParameterError(name, must, came(value), hint)
    return number


def delta_or_default(value: object, *, needed: bool) -> Fraction:
    """The delta that was given; where none was, `DELTA` if the question needs one, else 0."""
    if value is None:
        return DELTA if needed else Fraction(0)
    return probability("delta", value, zero=not needed)


def share(name: str, value: object) -> Fraction:
    """A share of something: "1%", 0.01 or "1/100". All of it is "100%" and never 1, which somebody may take for 1 %.

    >>> share("share", "0.5 %")
    Fraction(1, 200)
    """
    must = 'be a share above 0, such as "1%", 0.01 or "1/100"; all of it is "100%"'
    number = part(name, value, must)
    in_percent = isinstance(value, str) and value.strip().endswith("%")
    if number <= 0 or number > 1 or (number == 1 and not in_percent):
        raise ParameterError(name, must, came(value))
    return number


def part(name: str, value: object, must: str) -> Fraction:
    """A rational, or so many percent.

    >>> part("keep", "20%", "be a share")
    Fraction(1, 5)
    """
    text = value.strip() if isinstance(value, str) else ""
    try:
        return rational(name, text[:-1], must) / 100 if text.endswith("%") else rational(name, value, must)
    except ParameterError:
        raise ParameterError(name, must, came(value)) from None


def whole(name: str, value: object, *, least: int, most: int = MOST) -> int:
    """An integer from `least` to `most`, as Python's own; integers of NumPy are taken, booleans and floats are not."""
    must = f"be a whole number of at least {least}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(name, must, came(value))
    number = int(value)
    if number < least:
        raise ParameterError(name, must, came(value))
    if number > most:
        raise ParameterError(name, f"be a whole number from {least} to {most}", came(value))
    return number


def listed(name: str, value: object) -> int:
    """How many things shall be listed: at least one, and no more than a machine can hold."""
    return whole(name, value, least=1, most=MOST_LISTED)


def several(name: str, value: object, must: str) -> list[object]:
    """The values of a list, an array or another iterable; one value that is none stands alone."""
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        return [value]
    try:
        return list(value)
    except TypeError:  # an array of no dimension
        raise ParameterError(name, must, came(value)) from None


def unquoted(name: str, must: str) -> Callable[[Reader], Reader]:
    """For a function that reads a list or another iterable, its first argument.

    A message may repeat an element of a list. A column of the data in the wrong place is told by its type alone.
    """

    def decorated(read: Reader) -> Reader:
        @wraps(read)
        def reads(value: object, *more: object) -> object:
            try:
                return read(value, *more)
            except ParameterError as error:
                if not isinstance(value, Iterable) or isinstance(value, (str, bytes, list, tuple)):
                    raise
                hint = error.hint
            raise ParameterError(name, must, came(value), hint)  # out here, so that it has no context either

        return cast(Reader, reads)

    return decorated


def flag(name: str, value: object) -> bool:
    """A real bool: a privacy-critical switch is never guessed from something truthy."""
    if not isinstance(value, bool):
        raise ParameterError(name, "be True or False", came(value))
    return value


def one_of(name: str, value: object, known: Iterable[str], where: str = "", hint: str | None = None) -> str:
    """One of the known names; of anything else it says which there are."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        if hint is None and isinstance(value, str):  # the names are in the message
            meant = near(value, names)
            hint = meant if meant.startswith("did you mean") else None
        raise ParameterError(name, f"be one of {', '.join(names)}{where}", came(value), hint)
    return value


def called(name: str, value: object) -> None:
    """Refuse what cannot be called, where something that can may be given."""
    if value is not None and not callable(value):
        raise ParameterError(name, "be a function, or left out", came(value))


def near(name: object, known: Iterable[str]) -> str:
    """A hint with the known names nearest to `name`."""
    from difflib import get_close_matches

    from dpselect._ground.keywords import choices_meant

    names = [one if len(one) <= LONGEST_NAME else one[:LONGEST_NAME] + "..." for one in known]
    names = [name if name == name.strip() else repr(name) for name in names]  # a blank at its end
    meant = name.lower() if isinstance(name, str) else ""
    close = get_close_matches(meant, [n.lower() for n in names], n=3, cutoff=0.5)
    found = choices_meant(meant, names) or [n for n in names if n.lower() in close]
    return f"did you mean {' or '.join(found)}?" if found else f"there is {', '.join(names[:20]) or 'nothing'}"


def near_column(name: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest columns; for what looks like an expression, where such a column is made."""
    hint = near(name, known)
    if re.search(r"[()*/+<>]|\bCASE\b", name, re.IGNORECASE):
        made = f"SELECT *, {name[:LONGEST_NAME]} AS made FROM rows"
        hint += f'; an expression is a column of a view or frame: duckdb.sql("{made}")'
    return hint


def names_checked(public: Public) -> Public:
    """The decorator of what callers call: a keyword that is no parameter is told which was meant, and how to write it.

    Of a class this holds for making one and for its public methods. Signatures, types and help stay as they are.
    """
    if not isinstance(public, type):
        return cast(Public, _checked(cast(FunctionType, public), public.__name__))
    for name, one in list(vars(public).items()):
        kind = type(one) if isinstance(one, (classmethod, staticmethod)) else None
        function = one.__func__ if kind else one
        if not isinstance(function, FunctionType) or (name.startswith("_") and name != "__init__"):
            continue
        checked = _checked(function, public.__name__ if name == "__init__" else name)
        setattr(public, name, kind(checked) if kind else checked)
    return public


def _checked(function: FunctionType, called: str) -> Callable[..., object]:
    code = unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = frozenset(names)
    if code.co_flags & CO_VARKEYWORDS:
        return function

    @wraps(function)
    def checked(*given: object, **named: object) -> object:
        if not named.keys() <= known:
            from dpselect._ground.keywords import unknown_keyword

            raise unknown_keyword(called, [one for one in names if one != "self"], named)
        return function(*given, **named)

    return checked


def refuse_others(given: Iterable[str], known: Collection[str], must: str) -> None:
    """Refuse a name that nothing here has."""
    for name in given:
        if name not in known:
            raise ParameterError(name, must, "another", near_parameter(name, known))


def near_parameter(name: str, known: Collection[str]) -> str:
    """A hint with the parameters that other tools call so, or else with those whose names are nearest."""
    from dpselect._ground.keywords import also_called

    meant = [one for one in also_called(name) if one in known]
    return f"did you mean {' or '.join(meant)}?" if meant else near(name, known)


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
