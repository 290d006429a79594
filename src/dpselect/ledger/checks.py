"""What a ledger's caller may give, and how amounts are told."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpselect.errors import ParameterError
from dpselect.ledger.charge import ZERO, Charge, short
from dpselect.parameters import Number, probability, rational


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
