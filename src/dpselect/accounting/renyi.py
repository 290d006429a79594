"""Rényi curves: the largest E'[(P / P')^a] that the guarantee of a step allows, for all orders a > 1.

Logarithms of moments add up over adaptive steps (Mironov 2017, Proposition 1), and a total epsilon follows from
any one order (Canonne, Kamath and Steinke 2020). The order is searched in floats, and the bound at it is certified.

**Bounded range.** The ratio P / P' lies in [x s, x] with s = e^-epsilon and some x in [1, 1/s], and has mean 1
under P'. Its a-th power is convex, so at a given x the moment is largest for two points, where it is

    x^(a-1) ((1 - s^a) - x (s - s^a)) / (1 - s).

As a function of x this rises and then falls, and it is 1 at both ends, so its maximum, at
x = (a - 1)(1 - s^a) / (a (s - s^a)), lies inside (docs/accounting.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb, ctx

from dpselect._ground.privacy import ZCDP, AnySteps, AnyValue, BoundedRange, PureDP, total_rho
from dpselect._ground.reals import enclose, lower, upper
from dpselect.errors import ParameterError

PRECISION = 192
SMALL = Fraction(1, 10**8)  # below this epsilon a step counts by its zCDP: the curve is the same, and would cancel
LARGE = 10**6  # above this epsilon its divergences of all orders count as epsilon, which they hardly differ from
SMALLEST, LARGEST = Fraction(1, 10**250), Fraction(10**250)


def renyi_epsilon(steps: Sequence[AnySteps], delta: Fraction) -> Fraction:
    """Return the least total epsilon over all orders of the sum of the steps' curves; at most what zCDP gives.

    It holds for adaptive steps, and at one order fixed beforehand also as a privacy filter (Feldman and Zrnic 2021).
    """
    steps = [AnySteps(_large_or_concentrated(s.value), s.times) for s in steps if s.times]
    rho = total_rho(steps)
    if rho == 0 or delta >= 1:
        return Fraction(0)
    terms = [(_moment(s.value), s.times) for s in steps]
    log_delta = math.log(delta)
    centre = (math.log(max(-log_delta, 0.01)) - math.log(_roughly(rho))) / 2  # the best order of zCDP

    def bound(t: float) -> float:
        over = math.exp(t)
        moments = sum(times * moment(over) for moment, times in terms)
        return (moments - math.log1p(over) - log_delta) / over - math.log1p(1 / over)

    order_less_one = Fraction(math.exp(_least(bound, centre - 8, centre + 24, 60)))
    with ctx.workprec(PRECISION):
        b = enclose(order_less_one)
        moments = sum((s.times * log_moment(s.value, b) for s in steps), arb(0))
        return max(Fraction(0), upper((moments - (1 + b).log() - enclose(delta).log()) / b - (1 / b).log1p()))


def log_moment(value: AnyValue, b: arb) -> arb:
    """Return the ball of ln of the largest E'[(P / P')^(1 + b)] of a step."""
    a = 1 + b
    if isinstance(value, ZCDP):
        return enclose(value.rho) * a * b
    e = enclose(value.epsilon)
    if value.epsilon > LARGE:
        return b * e
    if isinstance(value, PureDP):  # randomised response
        return b * e + (-(a + b) * e).exp().log1p() - (-e).exp().log1p()
    if isinstance(value, BoundedRange):
        top = -(-a * e).expm1()  # 1 - s^a
        return b * ((b / a).log() + e + top.log() - (-(-b * e).expm1()).log()) + (top / (a * -(-e).expm1())).log()
    raise ParameterError("steps", "promise a Renyi curve", "steps that may fail")


def _moment(value: AnyValue) -> Callable[[float], float]:
    """`log_moment` in floats, as a function of b."""
    if isinstance(value, ZCDP):
        rho = _roughly(value.rho)
        return lambda b: rho * b * (1 + b)
    e = _roughly(value.epsilon)
    if e > LARGE:
        return lambda b: b * e
    if isinstance(value, PureDP):
        fixed = math.log1p(math.exp(-e))
        return lambda b: b * e + math.log1p(math.exp(-(1 + 2 * b) * e)) - fixed
    below = math.log(-math.expm1(-e))

    def moment(b: float) -> float:
        top = math.log(-math.expm1(-(1 + b) * e))
        rise = e + top - math.log(-math.expm1(-b * e)) - math.log1p(1 / b)
        return b * rise + top - below - math.log1p(b)

    return moment


def _large_or_concentrated(value: AnyValue) -> AnyValue:
    return ZCDP(value.rho) if isinstance(value, PureDP | BoundedRange) and value.epsilon < SMALL else value


def _roughly(number: Fraction) -> float:
    """Return a float for a search, clamped to the range in which floats can be squared and divided by."""
    return float(min(max(number, SMALLEST), LARGEST))


def _least(function: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Golden-section search for a minimum; its result affects how tight a bound is, never whether it holds."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = function(right)
    return (low + high) / 2


BITS = 128
GRID = 1 << 60  # budgets are rounded down to multiples of 1 / GRID


def renyi_budget(order: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the divergence c of this order that gives, in both directions, (epsilon, delta)-DP; c <= 0 if none does.

    c = epsilon - ln(1 - 1/a) + (ln delta + ln a) / (a - 1) (Canonne, Kamath and Steinke 2020, Proposition 12).
    """
    with ctx.workprec(BITS):
        a = arb(order)
        c = enclose(epsilon) - (1 - 1 / a).log() + (enclose(delta).log() + a.log()) / (a - 1)
        return Fraction((lower(c) * GRID).__floor__(), GRID)


def best_order(score: Callable[[int], float], start: int) -> int:
    """Return the order of 2, 3, ... with the least score, if unimodal: local search from `start` with halved steps."""
    best, step = start, max(1, start // 4)
    while step:
        better_orders = [order for order in (best - step, best + step) if order >= 2 and score(order) < score(best)]
        if better_orders:
            best = min(better_orders, key=score)
        else:
            step //= 2
    return best


def first_order(epsilon: Fraction, delta: Fraction) -> int:
    """Return a start for the search: near the best order for typical parameters, with a budget above 0."""
    order = round(2.5 + 2.7 * math.sqrt(-math.log(float(delta))) / float(epsilon))  # measured; any order is private
    while renyi_budget(order, epsilon, delta) <= 0:  # it tends to epsilon as orders grow
        order *= 2
    return order
