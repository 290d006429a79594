"""Monotone probabilities that tests of Bernoulli draws use."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from dpselect._ground.reals import enclose


@dataclass(frozen=True)
class Tail:
    """P(Z > -z) of a standard normal Z."""

    z: Fraction

    def ball(self, bits: int) -> arb:
        with ctx.workprec(bits):
            return (-enclose(self.z) / arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True)
class Normal:
    """P(weight + normal noise > threshold)."""

    threshold: Fraction
    sigma: Fraction = Fraction(1)

    def at(self, weight: Fraction) -> Tail:
        return Tail((weight - self.threshold) / self.sigma)
