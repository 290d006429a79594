"""A charge: an amount in both currencies of an account, on a fixed decimal grid, so that sums are exact.

And what a caller may give for an amount, and how it is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpselect._ground.parameters import Number, probability, rational
from dpselect.accounting.prices import Price, Spent
from dpselect.errors import ParameterError

DECIMAL_PLACES = 30
GRID = 10**DECIMAL_PLACES
_DECIMAL = re.compile(rf"(0|[1-9][0-9]*)\.[0-9]{{{DECIMAL_PLACES}}}", re.ASCII)


_AS_EPSILON = Fraction(-1)  # in the place of a divergence


@dataclass(frozen=True)
class Charge:
    """An amount of epsilon, of delta and of divergence: multiples of 10^-30 and never negative. Charges add up.

    `renyi` is of the order of the account that is charged. Where it is left out it is epsilon, which bounds that of
    every order, and is what a call costs of which nothing else is known.
    """

    epsilon: Fraction
    delta: Fraction
    renyi: Fraction = _AS_EPSILON

    def __post_init__(self) -> None:
        if self.renyi is _AS_EPSILON:
            object.__setattr__(self, "renyi", self.epsilon)
        for part in (self.epsilon, self.delta, self.renyi):
            if part.numerator < 0 or GRID % part.denominator:
                raise ValueError("a charge is never negative and lies on the grid of 10^-30: use Charge.up")

    @staticmethod
    def round_up(epsilon: Fraction, delta: Fraction, renyi: Fraction | None = None) -> Charge:
        """The least charge on the grid that is not below the amounts."""
        return Charge(_up(epsilon), _up(delta), _up(epsilon if renyi is None else renyi))

    @staticmethod
    def from_spent(spent: Spent) -> Charge:
        """The same for what an account composes."""
        return Charge.round_up(spent.epsilon, spent.failure, spent.renyi)

    @property
    def as_spent(self) -> Spent:
        """As an account composes it."""
        return Spent(self.epsilon, self.renyi, self.delta)

    def __add__(self, other: Charge) -> Charge:
        """Sums of what lies on the grid lie on it, and are not looked at again."""
        total = object.__new__(Charge)
        for part in ("epsilon", "delta", "renyi"):
            object.__setattr__(total, part, getattr(self, part) + getattr(other, part))
        return total

    def __sub__(self, other: Charge) -> Charge:
        """What is left of this after `other`; ValueError where `other` does not fit."""
        return Charge(self.epsilon - other.epsilon, self.delta - other.delta, self.renyi - other.renyi)

    def fits(self, other: Charge) -> bool:
        """Is each part at most that of `other`?"""
        return self.epsilon <= other.epsilon and self.delta <= other.delta and self.renyi <= other.renyi

    def __str__(self) -> str:
        return f"epsilon {format_amount(self.epsilon)} and delta {format_amount(self.delta)}"


ZERO = Charge(Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Ceiling:
    """The two prices that a call may be held and settled at (docs/composing.md); the same two where there is one."""

    whole: Charge
    without_composition: Charge

    @staticmethod
    def from_price(price: Price | Charge) -> Ceiling:
        """On the grid. An amount by itself is both."""
        if isinstance(price, Charge):
            return Ceiling(price, price)
        return Ceiling(Charge.from_spent(price.whole), Charge.from_spent(price.without_composition))

    def charge_for_hold(self, held: Charge) -> Charge:
        """The one that goes with what was held; how much may fail never depends on the answer."""
        return self.whole if held.delta == self.whole.delta else self.without_composition

    @property
    def price(self) -> Price:
        """As an account composes it."""
        whole, less = self.whole, self.without_composition
        return Price(whole.epsilon, whole.renyi, less.delta, whole.delta - less.delta, less.epsilon)


def _up(number: Fraction) -> Fraction:
    """The least multiple of 10^-30 that is not below the number."""
    return Fraction(-(-number.numerator * GRID // number.denominator), GRID)


def format_decimal(number: Fraction) -> str:
    """The number as text with 30 digits after the point: how it is stored."""
    whole, part = divmod(number.numerator * (GRID // number.denominator), GRID)
    return f"{whole}.{part:0{DECIMAL_PLACES}d}"


@lru_cache(maxsize=1024)  # most amounts are read many times
def parse_decimal(text: str) -> Fraction:
    """The number that was stored; ValueError for any other text."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError("no amount")
    return Fraction(int(text.replace(".", "")), GRID)


def format_amount(number: Fraction) -> str:
    """The exact number as a person writes it."""
    return format_decimal(number).rstrip("0").rstrip(".")


def parse_grant(epsilon: Number, delta: Number) -> Charge:
    """The amount of a grant. It is rounded as charges are, so that a question may cost all of it."""
    least = "be a finite number of at least 0"
    number = rational("epsilon", epsilon, least)
    if number < 0:
        raise ParameterError("epsilon", least, repr(epsilon))
    amount = Charge.round_up(number, probability("delta", delta, zero=True))
    if amount == ZERO:
        raise ParameterError("epsilon", "be above 0 if delta is 0", repr(epsilon))
    return amount


def check_text(parameter: str, text: object) -> None:
    """Text that every store can keep."""
    must = "be a text without NUL characters and lone surrogates"
    if not isinstance(text, str) or "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise ParameterError(parameter, must, type(text).__name__)
