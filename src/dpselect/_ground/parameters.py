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

DEFAULT_DELTA = Fraction(1, 10**6)
"""The delta of a question that needs one and was given none."""

MAX_DECIMAL_EXPONENT = 300  # decimal: inside of what floats hold
MAX_SHOWN_NAME = 60  # characters of a name in a hint
MAX_DIGITS = 1000  # characters of a number
MAX_BITS = 2**12  # of a numerator or denominator: more than any float has, and a product of three can be written
MIN_EPSILON, MAX_EPSILON, MAX_SENSITIVITY = Fraction(1, 10**100), Fraction(10**6), Fraction(10**100)
MAX_INTEGER = 2**53  # the largest whole number that floats hold with all before it
MAX_LISTED_SIZE = 10**7  # things in an answer
_LOOSE_UNDERSCORE = re.compile(r"(?<!\d)_|_(?!\d)")  # an underscore that separates no digits


def rational(name: str, value: object, requirement: str) -> Fraction:
    """Return the exact rational that `value` is written as: 0.1 and "0.1" are one tenth, and "1/3" is a third.

    A float is taken at its shortest decimal, which is what was written and what Python shows; so are the floats of
    NumPy, each at its own width. The size of what is not 0 lies between 1e-300 and 1e300.
    """
    hint = None
    try:
        number = _parse_exact(value)
    except (ValueError, OverflowError, ZeroDivisionError, TypeError):
        if isinstance(value, str) and "," in value:
            hint = "write the decimal point as a point, for example 0.5"
        raise ParameterError(name, requirement, came(value), hint) from None
    if number is None or _is_extreme(number):
        limit = MAX_DECIMAL_EXPONENT
        hint = f"its size must be between 1e-{limit} and 1e{limit}, its digits at most {MAX_DIGITS}"
        raise ParameterError(name, requirement, came(value), hint)
    return number


def _parse_exact(value: object) -> Fraction | None:
    """Return the rational, or None if it is beyond the limits; raise another error if it is no number.

    No power of ten is made before its exponent has been looked at: 1e999999999 would take minutes.
    """
    if isinstance(value, (bool, complex)):
        raise TypeError
    if isinstance(value, str):
        return _parse_text(str.__str__(value))
    if isinstance(value, Decimal):
        return _parse_decimal(value)
    if isinstance(value, numbers.Rational):
        numerator, denominator = int(value.numerator), int(value.denominator)
        is_too_long = max(numerator.bit_length(), denominator.bit_length()) > MAX_BITS
        return None if is_too_long else Fraction(numerator, denominator)
    if isinstance(value, numbers.Real):
        other_width = type(value).__module__ == "numpy" and not isinstance(value, float)
        return _parse_decimal(Decimal(str(value) if other_width else float.__repr__(float(value))))
    raise TypeError


def _parse_text(text: str) -> Fraction | None:
    """Parse a decimal number, or a fraction of two whole ones."""
    if len(text) > MAX_DIGITS:
        return None
    if "/" in text:
        return Fraction(text)  # of two whole numbers: it knows no exponent here
    try:
        number = Decimal(text)
    except InvalidOperation:  # no number at all, or of an exponent that no Decimal has
        raise ValueError from None
    if _LOOSE_UNDERSCORE.search(text):
        raise ValueError
    return _parse_decimal(number)


def _parse_decimal(value: Decimal) -> Fraction | None:
    if not value.is_finite():
        raise ValueError
    if not value:
        return Fraction(0)  # which may have been written with any exponent
    is_short = len(value.as_tuple().digits) <= MAX_DIGITS
    return Fraction(value) if is_short and abs(value.adjusted()) <= MAX_DECIMAL_EXPONENT else None


def _is_extreme(number: Fraction) -> bool:
    """Return whether the number has a size that floats do not hold."""
    return number != 0 and not Fraction(10) ** -MAX_DECIMAL_EXPONENT <= abs(number) < Fraction(10) ** (
        MAX_DECIMAL_EXPONENT + 1
    )


def positive(name: str, value: object, requirement: str = "be a positive, finite number") -> Fraction:
    """Return a rational above 0."""
    number = rational(name, value, requirement)
    if number <= 0:
        raise ParameterError(name, requirement, came(value))
    return number


def epsilon(name: str, value: object) -> Fraction:
    """Return an epsilon that means something, and whose exponentials stay within what is computed."""
    return _between(name, positive(name, value), value, MIN_EPSILON, MAX_EPSILON)


def sensitivity(name: str, value: object) -> Fraction:
    """Return a sensitivity: with any epsilon, a rate that draws can be made at."""
    return _between(name, positive(name, value), value, MIN_EPSILON, MAX_SENSITIVITY)


def _between(name: str, number: Fraction, value: object, minimum: Fraction, maximum: Fraction) -> Fraction:
    if not minimum <= number <= maximum:
        raise ParameterError(name, f"be between {float(minimum):g} and {float(maximum):g}", came(value))
    return number


def not_negative(name: str, value: object) -> Fraction:
    """Return a rational of at least 0."""
    requirement = "be a finite number of at least 0"
    number = rational(name, value, requirement)
    if number < 0:
        raise ParameterError(name, requirement, came(value))
    return number


SMALL_DELTA_HINT = "1e-6 is a common choice, well below 1 / number of users"


def probability(name: str, value: object, *, zero: bool = False, hint: str = SMALL_DELTA_HINT) -> Fraction:
    """Return a rational strictly between 0 and 1 (or 0 itself, if `zero`)."""
    requirement = "be at least 0 and less than 1" if zero else "be between 0 and 1, both excluded"
    number = rational(name, value, requirement)
    if number >= 1 or number < 0 or (number == 0 and not zero):
        raise ParameterError(name, requirement, came(value), hint)
    return number


def delta_or_default(value: object, *, needed: bool) -> Fraction:
    """Return the delta that was given; if none was, `DEFAULT_DELTA` for a question that needs one, else 0."""
    if value is None:
        return DEFAULT_DELTA if needed else Fraction(0)
    return probability("delta", value, zero=not needed)


def share(name: str, value: object) -> Fraction:
    """Parse a share: "1%", 0.01 or "1/100". All of it is "100%" and never 1, which somebody may take for 1 %.

    >>> share("share", "0.5 %")
    Fraction(1, 200)
    """
    requirement = 'be a share above 0, such as "1%", 0.01 or "1/100"; all of it is "100%"'
    number = part(name, value, requirement)
    in_percent = isinstance(value, str) and value.strip().endswith("%")
    if number <= 0 or number > 1 or (number == 1 and not in_percent):
        raise ParameterError(name, requirement, came(value))
    return number


def part(name: str, value: object, requirement: str) -> Fraction:
    """Return a rational that may be written as a percentage.

    >>> part("keep", "20%", "be a share")
    Fraction(1, 5)
    """
    text = value.strip() if isinstance(value, str) else ""
    try:
        return (
            rational(name, text[:-1], requirement) / 100 if text.endswith("%") else rational(name, value, requirement)
        )
    except ParameterError:
        raise ParameterError(name, requirement, came(value)) from None


def whole_number(name: str, value: object, *, minimum: int, maximum: int = MAX_INTEGER) -> int:
    """Return an integer from `minimum` to `maximum`. Integers of NumPy are taken, booleans and floats are not."""
    requirement = f"be a whole number of at least {minimum}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ParameterError(name, requirement, came(value))
    number = int(value)
    if number < minimum:
        raise ParameterError(name, requirement, came(value))
    if number > maximum:
        raise ParameterError(name, f"be a whole number from {minimum} to {maximum}", came(value))
    return number


def listed_size(name: str, value: object) -> int:
    """Return how many things shall be listed: at least one, and no more than a machine can hold."""
    return whole_number(name, value, minimum=1, maximum=MAX_LISTED_SIZE)


def as_list(name: str, value: object, requirement: str) -> list[object]:
    """Return the values of a list, an array or another iterable; a single value as a list of it."""
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        return [value]
    try:
        return list(value)
    except TypeError:  # an array of no dimension
        raise ParameterError(name, requirement, came(value)) from None


def hide_elements(name: str, requirement: str) -> Callable[[Reader], Reader]:
    """Return a decorator of a function that reads a list or another iterable, its first argument.

    A message may repeat an element of a list. A column of the data in the wrong place is told by its type alone.
    """

    def decorate(read: Reader) -> Reader:
        @wraps(read)
        def hiding(value: object, *arguments: object) -> object:
            try:
                return read(value, *arguments)
            except ParameterError as error:
                if not isinstance(value, Iterable) or isinstance(value, (str, bytes, list, tuple)):
                    raise
                hint = error.hint
            raise ParameterError(name, requirement, came(value), hint)  # out here, so that it has no context either

        return cast(Reader, hiding)

    return decorate


def flag(name: str, value: object) -> bool:
    """Return a real bool: a privacy-critical switch is never guessed from something truthy."""
    if not isinstance(value, bool):
        raise ParameterError(name, "be True or False", came(value))
    return value


def one_of(name: str, value: object, choices: Iterable[str], context: str = "", hint: str | None = None) -> str:
    """Return one of the known names.

    Raises: ParameterError, which lists the names or suggests the nearest.
    """
    names = list(choices)
    if not isinstance(value, str) or value not in names:
        if hint is None and isinstance(value, str):  # the names are in the message
            suggestion = suggest(value, names)
            hint = suggestion if suggestion.startswith("did you mean") else None
        raise ParameterError(name, f"be one of {', '.join(names)}{context}", came(value), hint)
    return value


def check_callable(name: str, value: object) -> None:
    """Refuse a value that cannot be called, for a parameter that takes a function or None."""
    if value is not None and not callable(value):
        raise ParameterError(name, "be a function, or left out", came(value))


def suggest(name: object, choices: Iterable[str]) -> str:
    """Return a hint with the known names nearest to `name`."""
    from difflib import get_close_matches

    from dpselect._ground.keywords import choices_with_alias

    names = [choice if len(choice) <= MAX_SHOWN_NAME else choice[:MAX_SHOWN_NAME] + "..." for choice in choices]
    names = [name if name == name.strip() else repr(name) for name in names]  # a blank at its end
    lowered = name.lower() if isinstance(name, str) else ""
    close = get_close_matches(lowered, [n.lower() for n in names], n=3, cutoff=0.5)
    suggestions = choices_with_alias(lowered, names) or [n for n in names if n.lower() in close]
    return (
        f"did you mean {' or '.join(suggestions)}?" if suggestions else f"there is {', '.join(names[:20]) or 'nothing'}"
    )


def suggest_column(name: str, columns: Iterable[str]) -> str:
    """Return a hint with the nearest columns; for an expression, also where a column of it is made."""
    hint = suggest(name, columns)
    if re.search(r"[()*/+<>]|\bCASE\b", name, re.IGNORECASE):
        query = f"SELECT *, {name[:MAX_SHOWN_NAME]} AS made FROM rows"
        hint += f'; an expression is a column of a view or frame: duckdb.sql("{query}")'
    return hint


def check_keywords(public: Public) -> Public:
    """Decorate what callers call: the error of an unknown keyword suggests the parameter that was meant.

    A class is decorated in its `__init__` and its public methods. Signatures, types and help stay as they are.
    """
    if not isinstance(public, type):
        return cast(Public, _with_checked_keywords(cast(FunctionType, public), public.__name__))
    for name, member in list(vars(public).items()):
        kind = type(member) if isinstance(member, (classmethod, staticmethod)) else None
        function = member.__func__ if kind else member
        if not isinstance(function, FunctionType) or (name.startswith("_") and name != "__init__"):
            continue
        checked = _with_checked_keywords(function, public.__name__ if name == "__init__" else name)
        setattr(public, name, kind(checked) if kind else checked)
    return public


def _with_checked_keywords(function: FunctionType, function_name: str) -> Callable[..., object]:
    code = unwrap(function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known_names = frozenset(names)
    if code.co_flags & CO_VARKEYWORDS:
        return function

    @wraps(function)
    def checked(*arguments: object, **keywords: object) -> object:
        if not keywords.keys() <= known_names:
            from dpselect._ground.keywords import unknown_keyword

            raise unknown_keyword(function_name, [name for name in names if name != "self"], keywords)
        return function(*arguments, **keywords)

    return checked


def refuse_unknown_names(names: Iterable[str], known_names: Collection[str], requirement: str) -> None:
    """Refuse a name that is not among the known ones."""
    for name in names:
        if name not in known_names:
            raise ParameterError(name, requirement, "another", suggest_parameter(name, known_names))


def suggest_parameter(name: str, parameters: Collection[str]) -> str:
    """Return a hint with the parameters that other tools call so, or else with those whose names are nearest."""
    from dpselect._ground.keywords import parameters_with_alias

    aliased = [parameter for parameter in parameters_with_alias(name) if parameter in parameters]
    return f"did you mean {' or '.join(aliased)}?" if aliased else suggest(name, parameters)


def float_rounded_up(number: Fraction) -> float:
    """Return the float to print for an upper bound: its shortest decimal, 1e-06, is never below the exact value."""
    value = float(number)
    return value if Fraction(repr(value)) >= number else math.nextafter(value, math.inf)


def rounded_up(value: Fraction) -> str:
    """Format four digits of what was spent, never less than it is."""
    return _format_rounded(value, decimal.ROUND_CEILING)


def rounded_down(value: Fraction) -> str:
    """Format four digits of what is left, never more than it is."""
    return _format_rounded(value, decimal.ROUND_FLOOR)


def _format_rounded(value: Fraction, rounding: str) -> str:
    digits = decimal.Context(prec=4, rounding=rounding)
    quotient = digits.divide(Decimal(value.numerator), Decimal(value.denominator))
    return repr(float(quotient)).removesuffix(".0")
