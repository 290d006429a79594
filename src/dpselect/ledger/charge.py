"""Charges: amounts in both currencies of an account, on a fixed decimal grid, so that sums are exact.

Also the parsing and formatting of amounts.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, not_negative, probability
from dpselect.accounting.prices import Price, Spent
from dpselect.errors import ParameterError

_DECIMAL_PLACES = 30
_CHARGE_STEPS = 10**_DECIMAL_PLACES
_CHARGE_TEXT = re.compile(rf"(0|[1-9][0-9]*)\.[0-9]{{{_DECIMAL_PLACES}}}", re.ASCII)


_AS_EPSILON = Fraction(-1)  # the default divergence: replaced by epsilon


@dataclass(frozen=True)
class Charge:
    """Amounts of epsilon, delta and Rényi divergence: multiples of 10^-30, never negative. Charges add up.

    `renyi` has the order of the account that is charged. By default it is epsilon, which bounds the divergence of every
    order.
    """

    epsilon: Fraction
    delta: Fraction
    renyi: Fraction = _AS_EPSILON

    def __post_init__(self) -> None:
        if self.renyi is _AS_EPSILON:
            object.__setattr__(self, "renyi", self.epsilon)
        for part in (self.epsilon, self.delta, self.renyi):
            if part.numerator < 0 or _CHARGE_STEPS % part.denominator:
                raise ValueError("a charge is never negative and lies on the grid of 10^-30: use Charge.round_up")

    @staticmethod
    def round_up(epsilon: Fraction, delta: Fraction, renyi: Fraction | None = None) -> Charge:
        """Return the smallest charge on the grid that is at least these amounts."""
        return Charge(_round_up(epsilon), _round_up(delta), _round_up(epsilon if renyi is None else renyi))

    @staticmethod
    def from_spent(spent: Spent) -> Charge:
        """Return the smallest charge on the grid that is at least what an account composed."""
        return Charge.round_up(spent.epsilon, spent.failure, spent.renyi)

    @property
    def as_spent(self) -> Spent:
        """The amounts as an account composes them."""
        return Spent(self.epsilon, self.renyi, self.delta)

    def __add__(self, other: Charge) -> Charge:
        """Return the sum; sums of multiples of the grid need no check."""
        total = object.__new__(Charge)
        for part in ("epsilon", "delta", "renyi"):
            object.__setattr__(total, part, getattr(self, part) + getattr(other, part))
        return total

    def __sub__(self, other: Charge) -> Charge:
        """Return what is left after `other`; ValueError if `other` is larger in any part."""
        return Charge(self.epsilon - other.epsilon, self.delta - other.delta, self.renyi - other.renyi)

    def fits(self, other: Charge) -> bool:
        """Return whether each part is at most that of `other`."""
        return self.epsilon <= other.epsilon and self.delta <= other.delta and self.renyi <= other.renyi

    def __str__(self) -> str:
        return f"epsilon {format_amount(self.epsilon)} and delta {format_amount(self.delta)}"


ZERO = Charge(Fraction(0), Fraction(0))


@dataclass(frozen=True)
class Ceiling:
    """The two prices that a call may be held and settled at (docs/composing.md); they are equal if there is one."""

    whole: Charge
    without_composition: Charge

    @staticmethod
    def from_price(price: Price | Charge) -> Ceiling:
        """Return a price on the grid. A charge is both prices."""
        if isinstance(price, Charge):
            return Ceiling(price, price)
        return Ceiling(Charge.from_spent(price.whole), Charge.from_spent(price.without_composition))

    def charge_for_hold(self, hold: Charge) -> Charge:
        """Return the charge that corresponds to a hold.

        The two prices differ in the delta that may fail, which never depends on the answer.
        """
        return self.whole if hold.delta == self.whole.delta else self.without_composition

    @property
    def price(self) -> Price:
        """The two prices as an account composes them."""
        composed, uncomposed = self.whole, self.without_composition
        return Price(
            composed.epsilon, composed.renyi, uncomposed.delta, composed.delta - uncomposed.delta, uncomposed.epsilon
        )


def _round_up(number: Fraction) -> Fraction:
    """Return the smallest multiple of 10^-30 that is at least the number."""
    return Fraction(-(-number.numerator * _CHARGE_STEPS // number.denominator), _CHARGE_STEPS)


def format_decimal(number: Fraction) -> str:
    """Format a number with 30 digits after the point, as it is stored."""
    integer_part, fraction_part = divmod(number.numerator * (_CHARGE_STEPS // number.denominator), _CHARGE_STEPS)
    return f"{integer_part}.{fraction_part:0{_DECIMAL_PLACES}d}"


@lru_cache(maxsize=1024)  # most amounts are read many times
def parse_decimal(text: str) -> Fraction:
    """Parse a number that was stored; ValueError for any other text."""
    if not _CHARGE_TEXT.fullmatch(text):
        raise ValueError("no amount")
    return Fraction(int(text.replace(".", "")), _CHARGE_STEPS)


def format_amount(number: Fraction) -> str:
    """Format a number exactly, without trailing zeros."""
    return format_decimal(number).rstrip("0").rstrip(".")


def parse_grant(epsilon: Number, delta: Number) -> Charge:
    """Parse the amounts of a grant, rounded as charges are, so that a question may cost all of it."""
    amount = Charge.round_up(not_negative("epsilon", epsilon), probability("delta", delta, zero=True))
    if amount == ZERO:
        raise ParameterError("epsilon", "be above 0 if delta is 0", repr(epsilon))
    return amount


def check_text(parameter: str, text: object) -> None:
    """Refuse a text that not every store can keep."""
    must = "be a text without NUL characters and lone surrogates"
    if not isinstance(text, str) or "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ParameterError(parameter, must, type(text).__name__)
