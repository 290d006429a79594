"""Composition: the total epsilon of adaptive steps at a given delta, rounded outward.

Every bound here holds for adaptively chosen steps, which peeling needs. The numbers are computed with balls
(`reals`), and the upper end is what is returned, so no rounding ever makes a promise smaller than it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from dpselect.privacy import BoundedRange, Steps, rho_of
from dpselect.reals import enclose, upper

PRECISION = 128


@dataclass(frozen=True)
class Total:
    """A total epsilon and the name of the bound that gave it."""

    epsilon: Fraction
    bound: str


def basic(steps: Sequence[Steps]) -> Fraction:
    """Epsilons add up; delta is not needed."""
    return sum((s.value.epsilon * s.times for s in steps), Fraction(0))


def advanced(steps: Sequence[Steps], delta: Fraction) -> Fraction:
    """Seed 003, Theorem 3: sum e tanh(e/2) + sqrt(2 sum e^2 ln(1/delta)); any pure steps."""
    with ctx.workprec(PRECISION):
        drift = sum((_drift(s.value.epsilon) * s.times for s in steps), arb(0))
        squares = enclose(sum((s.value.epsilon**2 * s.times for s in steps), Fraction(0)))
        return upper(drift + (2 * squares * -enclose(delta).log()).sqrt())


def _drift(epsilon: Fraction) -> arb:
    return enclose(epsilon) * (enclose(epsilon) / 2).tanh()


def bounded_range(steps: Sequence[Steps], delta: Fraction) -> Fraction:
    """Seed 003, Lemma 4.4, third term: sum r^2/2 + sqrt(sum r^2 ln(1/delta) / 2), r the bounded range of a step.

    The lemma writes the drift of an r-bounded-range step as r^2/2; a pure e-step has r = 2e.
    """
    squares = sum((s.value.range**2 * s.times for s in steps), Fraction(0))
    with ctx.workprec(PRECISION):
        return upper(enclose(squares) / 2 + (enclose(squares) * -enclose(delta).log() / 2).sqrt())


def zcdp(steps: Sequence[Steps], delta: Fraction) -> Fraction:
    """zCDP of the steps (e^2/8 for bounded range), turned into epsilon by `zcdp_to_epsilon`."""
    return zcdp_to_epsilon(rho_of(steps), delta)


def zcdp_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Canonne, Kamath and Steinke 2020, Corollary 13: the least epsilon over the orders a > 1 of

        a rho + ln(1 / (a delta)) / (a - 1) + ln(1 - 1/a).

    Every a > 1 gives a valid bound, so a is searched in floats and the bound at it is certified.
    """
    if rho == 0:
        return Fraction(0)
    order = Fraction(1 + math.exp(_least(lambda t: _order_bound(t, float(rho), math.log(delta)), -40.0, 40.0)))
    with ctx.workprec(PRECISION):
        a = enclose(order)
        bound = a * enclose(rho) - (a * enclose(delta)).log() / (a - 1) + (1 - 1 / a).log()
        return max(Fraction(0), upper(bound))


def _order_bound(t: float, rho: float, log_delta: float) -> float:
    order = 1 + math.exp(t)
    return order * rho - (math.log(order) + log_delta) / (order - 1) + math.log1p(-1 / order)


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search for a low point; where it ends decides how tight a bound is, never whether it holds."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(80):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if function(left) <= function(right) else (left, high)
    return (low + high) / 2


def compose(steps: Sequence[Steps], delta: Fraction) -> Total:
    """The smallest of the bounds that apply to these steps at this delta."""
    totals = [Total(basic(steps), "basic")]
    if delta > 0:
        totals.append(Total(advanced(steps, delta), "advanced"))
        totals.append(Total(zcdp(steps, delta), "zCDP"))
        if all(isinstance(s.value, BoundedRange) for s in steps):
            totals.append(Total(bounded_range(steps, delta), "bounded range"))
    return min(totals, key=lambda total: total.epsilon)
