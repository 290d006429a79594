"""The probability that an item of a weight is released, as exact reals that rise with the weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

from flint import arb, ctx

from dpselect.draws import MonotoneProbability
from dpselect.reals import Real, enclose, upper

MORE = 32  # bits of work beyond those asked for


class ReleaseLaw(MonotoneProbability, Protocol):
    """The probability of release at each weight."""

    @property
    def threshold(self) -> Fraction:
        """The weight that is released with probability one half, rounded up."""
        ...


@dataclass(frozen=True)
class Formula:
    """A real by the formula that encloses it at the current precision."""

    formula: Callable[[], arb]

    def ball(self, bits: int) -> arb:
        """The number's ball."""
        with ctx.workprec(bits + MORE):
            return self.formula()


@dataclass(frozen=True)
class LaplaceTail:
    """P(weight + Z > threshold), Z of density (rate / 2) e^(-rate |z|)."""

    threshold: Fraction
    rate: Fraction

    def at(self, weight: Fraction) -> Real:
        """e^(-rate gap) / 2 for a gap of threshold - weight >= 0, and 1 - e^(rate gap) / 2 for one below."""
        return Formula(lambda: self.of_gap(self.threshold - weight))

    def of_gap(self, gap: Fraction) -> arb:
        """The ball at the current precision."""
        half = (-enclose(self.rate * abs(gap))).exp() / 2
        return half if gap >= 0 else 1 - half


@dataclass(frozen=True)
class GaussianTail:
    """P(weight + Z > threshold), Z Gaussian of this deviation."""

    threshold: Fraction
    deviation: Fraction

    def at(self, weight: Fraction) -> Real:
        """erfc((threshold - weight) / (sqrt(2) deviation)) / 2."""
        return Formula(lambda: self.of_gap(self.threshold - weight))

    def of_gap(self, gap: Fraction) -> arb:
        """The ball at the current precision."""
        return (enclose(gap / self.deviation) / arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True)
class Shaped:
    """p(0) = 0, p' = min(epsilon p + d, epsilon (1 - p) + d); d = delta epsilon / (e^epsilon - 1).

    p(w) = delta (e^(epsilon w) - 1) / (e^epsilon - 1) up to `half`, where it is 1/2; p(2 half - w) = 1 - p(w).
    """

    epsilon: Fraction
    delta: Fraction

    def half(self) -> arb:
        """ln(1 + (e^epsilon - 1) / (2 delta)) / epsilon."""
        return ((enclose(self.epsilon).expm1() / enclose(2 * self.delta)).log1p()) / enclose(self.epsilon)

    @cached_property
    def threshold(self) -> Fraction:
        """The weight of probability one half, rounded up."""
        with ctx.workprec(MORE + 32):
            return upper(self.half())

    def at(self, weight: Fraction) -> Real:
        """Convex below `half`, its mirror image above, 1 from 2 half on."""
        return Formula(lambda: self._at(weight))

    def _at(self, weight: Fraction) -> arb:
        turn, w = self.half(), enclose(weight)
        if w <= turn:
            return self.low(w)
        mirrored = 1 - self.low((2 * turn - w).max(arb(0)))
        # Near the turn both branches are within the ball's reach of 1/2, so either may be the true one: enclose both.
        return mirrored if w > turn else mirrored.union(self.low(w))

    def low(self, w: arb) -> arb:
        """The convex part."""
        return enclose(self.delta) * (enclose(self.epsilon) * w).expm1() / enclose(self.epsilon).expm1()


@dataclass(frozen=True)
class Geometric:
    """The largest p on integers with p(0) = 0 that is (epsilon, delta)-DP from one number to the next.

    p(n) = min(e^epsilon p(n - 1) + delta, 1 - e^-epsilon (1 - p(n - 1) - delta), 1): the first up to
    `turn`, as `Shaped`, after which 1 - p falls towards -delta / (e^epsilon - 1) and stops at 0.
    """

    epsilon: Fraction
    delta: Fraction
    turn: int

    @cached_property
    def threshold(self) -> Fraction:
        """The least integer that is released with probability one half or more."""
        n = max(self.turn - 1, 1)
        while not self.at(Fraction(n)).ball(128) >= 0.5:
            n += 1
        return Fraction(n)

    def at(self, weight: Fraction) -> Real:
        """The probability at the integer part of a weight."""
        return Formula(lambda: self._at(int(weight)))

    def _at(self, n: int) -> arb:
        if n <= self.turn:
            return self.low(n)
        fall = (-enclose(self.epsilon * (n - self.turn))).exp()
        rest = fall * (1 - self.low(self.turn)) - enclose(self.delta) * (1 - fall) / enclose(self.epsilon).expm1()
        return 1 - rest.max(arb(0))

    def low(self, n: int) -> arb:
        """delta (e^(n epsilon) - 1) / (e^epsilon - 1)."""
        return enclose(self.delta) * enclose(self.epsilon * n).expm1() / enclose(self.epsilon).expm1()


def geometric(epsilon: Fraction, delta: Fraction) -> Geometric:
    """Truncated geometric selection, its turn found as Desfontaines, Voss and Gipson give it.

    turn = floor(ln((e^epsilon + 2 delta - 1) / ((e^epsilon + 1) delta)) / epsilon) + 1. The number under the floor is
    never an integer: that would be an algebraic equation for e^epsilon that is no identity (delta < 1).
    """
    bits = 64
    while True:
        with ctx.workprec(bits):
            e, d = enclose(epsilon).exp(), enclose(delta)
            whole = (((e + 2 * d - 1) / ((e + 1) * d)).log() / enclose(epsilon)).floor().unique_fmpz()
        if whole is not None:
            return Geometric(epsilon, delta, int(whole) + 1)
        bits *= 2
