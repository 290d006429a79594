"""Rényi prices: the largest Rényi divergence of one order that the guarantee of a step allows, rounded up.

D_a(P || P') = ln E'[(P / P')^a] / (a - 1). Steps that are chosen adaptively add it up, and it is the second currency of
an account that composes (docs/composing.md). Each kind of step is worst at two outcomes:

- BoundedRange(e): losses t and t - e; the exact maximum over t (accounting/renyi.py has the closed form).
- PureDP(e): randomised response.
- ApproxDP(e, d): a tell with probability d, which the failures of the account pay for, else randomised response
  (Kairouz, Oh and Viswanath 2015, Theorem 3.4).
- ZCDP(rho): a rho.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from flint import ctx

from dpselect._ground.privacy import ZCDP, AnySteps, AnyValue, ApproxDP
from dpselect._ground.reals import enclose, upper
from dpselect.accounting.renyi import SMALL, log_moment

GRID = 1 << 100  # prices are rounded up to multiples of 1 / GRID, so that their sums stay short
GUARD = 192  # bits beyond those that a step of epsilon SMALL and the order cancel


@lru_cache(maxsize=4096)
def divergence(value: AnyValue, order: int) -> Fraction:
    """The largest divergence of this order, in both directions; at most the step's epsilon, where it has one.

    >>> from dpselect._ground.privacy import PureDP
    >>> divergence(PureDP(Fraction(40)), 2) <= 40
    True
    """
    step = value.unless_it_fails if isinstance(value, ApproxDP) else value
    if isinstance(step, ZCDP):
        return up(step.rho * order)
    if step.epsilon == 0:
        return Fraction(0)
    if step.epsilon < SMALL:  # the curve of its zCDP is the same, and does not cancel
        return min(step.epsilon, up(step.rho * order))
    with ctx.workprec(GUARD + 2 * order.bit_length()):
        return min(step.epsilon, up(upper(log_moment(step, enclose(order - 1)) / (order - 1))))


def divergences(steps: Iterable[AnySteps], order: int) -> Fraction:
    """Their sum: divergences of one order add up over adaptive steps (Mironov 2017; Feldman and Zrnic 2021)."""
    return sum((divergence(s.value, order) * s.times for s in steps), Fraction(0))


def up(number: Fraction) -> Fraction:
    """No less, in few digits."""
    return Fraction((number * GRID).__ceil__(), GRID)
