"""Exact reals: numbers known to any precision, as balls that are certain to hold them.

A `Real` is asked for a ball (an interval with a proved error, from `python-flint`'s `arb`) at a precision in
bits. More bits give a smaller ball; the number itself never changes. A comparison of balls that answers
true is proved; one that answers false says only "not certain yet", so callers ask again with more bits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from flint import arb, ctx, fmpq

from dpselect._ground.dataclass import dataclass


class Real(Protocol):
    """A number that can be enclosed as tightly as asked."""

    def ball(self, bits: int) -> arb:
        """Return an interval that contains the number, computed with `bits` bits of working precision."""
        ...


def enclose(number: Fraction | int) -> arb:
    """Return the ball of a rational at the current precision."""
    return arb(fmpq(number.numerator, number.denominator))


@dataclass(frozen=True)
class Exp:
    """The number factor x exp(exponent), both rational. A plain rational is Exp(Fraction(0), factor)."""

    exponent: Fraction
    factor: Fraction = Fraction(1)

    def ball(self, bits: int) -> arb:
        """Return the number's ball."""
        with ctx.workprec(bits):
            return enclose(self.factor) * enclose(self.exponent).exp()


@dataclass(frozen=True)
class Logistic:
    """The number 1 / (1 + exp(exponent)), exponent rational."""

    exponent: Fraction

    def ball(self, bits: int) -> arb:
        """Return the number's ball."""
        with ctx.workprec(bits):
            return 1 / (1 + enclose(self.exponent).exp())


def dyadic(ball: arb) -> Fraction:
    """Return the exact value of a ball of radius 0 (an endpoint)."""
    mantissa, exponent = map(int, ball.man_exp())
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def upper(ball: arb) -> Fraction:
    """Return a rational that the ball's number is certain not to exceed."""
    return dyadic(ball.upper())


def lower(ball: arb) -> Fraction:
    """Return a rational that the ball's number is certain not to be below."""
    return dyadic(ball.lower())
