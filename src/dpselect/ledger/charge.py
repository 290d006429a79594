"""A charge: an amount of (epsilon, delta) on a fixed decimal grid, so that sums and comparisons are exact.

And what a caller may give for an amount, and how it is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpselect.errors import ParameterError
from dpselect.parameters import Number, probability, rational

PLACES = 30
GRID = 10**PLACES
_DECIMAL = re.compile(rf"(0|[1-9][0-9]*)\.[0-9]{{{PLACES}}}", re.ASCII)


@dataclass(frozen=True)
class Charge:
    """An amount of epsilon and delta, both multiples of 10^-30 and never negative. Charges add up."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        for part in (self.epsilon, self.delta):
            if part < 0 or GRID % part.denominator:
                raise ValueError("a charge is never negative and lies on the grid of 10^-30: use Charge.up")

    @staticmethod
    def up(epsilon: Fraction, delta: Fraction) -> Charge:
        """The least charge on the grid that is not below (epsilon, delta)."""
        return Charge(_up(epsilon), _up(delta))

    def __add__(self, other: Charge) -> Charge:
        return Charge(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: Charge) -> Charge:
        """What is left of this after `other`; ValueError where `other` does not fit."""
        return Charge(self.epsilon - other.epsilon, self.delta - other.delta)

    def fits(self, other: Charge) -> bool:
        """Are both parts at most those of `other`?"""
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def __str__(self) -> str:
        return f"epsilon {short(self.epsilon)} and delta {short(self.delta)}"


ZERO = Charge(Fraction(0), Fraction(0))


def _up(number: Fraction) -> Fraction:
    """The least multiple of 10^-30 that is not below the number."""
    return Fraction(-(-number.numerator * GRID // number.denominator), GRID)


def decimal(number: Fraction) -> str:
    """The number as text with 30 digits after the point: how it is stored."""
    whole, part = divmod(number.numerator * (GRID // number.denominator), GRID)
    return f"{whole}.{part:0{PLACES}d}"


def undecimal(text: str) -> Fraction:
    """The number that was stored; ValueError for any other text."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError("no amount")
    return Fraction(int(text.replace(".", "")), GRID)


def short(number: Fraction) -> str:
    """The exact number as a person writes it."""
    return decimal(number).rstrip("0").rstrip(".")


def told(charge: Charge, rounded: Callable[[Fraction], str]) -> str:
    """An amount in a few digits."""
    return f"epsilon {rounded(charge.epsilon)} and delta {rounded(charge.delta)}"


def amount_granted(epsilon: Number, delta: Number) -> Charge:
    """The amount of a grant. It is rounded as charges are, so that a question may cost all of it."""
    least = "be a finite number of at least 0"
    number = rational("epsilon", epsilon, least)
    if number < 0:
        raise ParameterError("epsilon", least, repr(epsilon))
    amount = Charge.up(number, probability("delta", delta, zero=True))
    if amount == ZERO:
        raise ParameterError("epsilon", "be above 0 where delta is 0", repr(epsilon))
    return amount


def check_total(granted: Charge, used: Charge) -> None:
    """A total covers what is spent and reserved, and its delta still promises something."""
    for name, total, least in (("epsilon", granted.epsilon, used.epsilon), ("delta", granted.delta, used.delta)):
        if total < least:
            raise ParameterError(name, f"be at least the {short(least)} that is spent or reserved", short(total))
    if granted.delta >= 1:
        raise ParameterError("delta", "be less than 1 in total", short(granted.delta), "1 would allow everything")


def check_text(parameter: str, text: object) -> None:
    """Text that every store can keep."""
    must = "be a text without NUL characters and lone surrogates"
    if not isinstance(text, str) or "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise ParameterError(parameter, must, type(text).__name__)
