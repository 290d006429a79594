"""Rényi budgets: the largest Rényi divergence of one order that gives (epsilon, delta)-DP."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx

from dpselect.reals import enclose, lower

BITS = 128
GRID = 1 << 60  # budgets are rounded down to multiples of 1 / GRID


def renyi_budget(order: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The Rényi divergence c of this order that, in both directions, gives (epsilon, delta)-DP; c <= 0 if none does.

    c = epsilon - ln(1 - 1/a) + (ln delta + ln a) / (a - 1) (Canonne, Kamath and Steinke 2020, Proposition 12).
    """
    with ctx.workprec(BITS):
        a = arb(order)
        c = enclose(epsilon) - (1 - 1 / a).log() + (enclose(delta).log() + a.log()) / (a - 1)
        return Fraction((lower(c) * GRID).__floor__(), GRID)


def best_order(score: Callable[[int], float], start: int) -> int:
    """The order of 2, 3, ... with the least score, if unimodal: local search from `start` with a halving step."""
    best, step = start, max(1, start // 4)
    while step:
        near = [order for order in (best - step, best + step) if order >= 2 and score(order) < score(best)]
        if near:
            best = min(near, key=score)
        else:
            step //= 2
    return best


def first_order(epsilon: Fraction, delta: Fraction) -> int:
    """A start for the search: near the best order for typical parameters, with a budget above 0."""
    order = round(2.5 + 2.7 * math.sqrt(-math.log(float(delta))) / float(epsilon))  # measured; any order is private
    while renyi_budget(order, epsilon, delta) <= 0:  # it tends to epsilon as orders grow
        order *= 2
    return order
