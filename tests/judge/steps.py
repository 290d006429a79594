"""Steps: what an answer was made of, and the delta that their composition needs at a total epsilon.

Each bound is computed in the checking direction: steps and total in, delta out, rounded up. docs/accounting.md has the
bounds and their sources.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from flint import arb, ctx

from tests.judge.balls import BITS, ball

MOST_LIES = 10**5  # combinations of lies that the pure optimum sums over
SEARCHES = 90  # of an order: after so many the interval is below 10^-17
ORDERS = 260.0  # e^-260 to e^260, for the order less one


class Kind(Enum):
    """What a step guarantees: docs/accounting.md."""

    PICK = "pick"  # the losses of all outcomes lie in some interval of length epsilon
    PURE = "pure step"  # every loss lies in [-epsilon, epsilon]
    NOISE = "Gaussian noise"  # rho-zCDP: a step has rho in the place of epsilon, and none that adds up


@dataclass(frozen=True)
class Step:
    """So many steps of one kind and epsilon, in the order in which they are taken."""

    kind: Kind
    epsilon: Fraction
    times: int


Steps = Sequence[Step]


def added(steps: Steps) -> Fraction:
    """Basic composition: the epsilons add up, and no delta is needed."""
    return sum((one.epsilon * one.times for one in steps), Fraction(0))


# ---- Renyi ------------------------------------------------------------------------------------------------


def log_moment(step: Step, b: arb) -> arb:
    """ln of the largest E'[r^(1 + b)], r = P / P', of one step."""
    a, e = 1 + b, ball(step.epsilon)
    if step.kind is Kind.NOISE:
        return a * b * e
    if step.kind is Kind.PURE:  # r is e^e with P'-probability 1 / (1 + e^e), and else e^-e
        return ((a * e).exp() + ((1 - a) * e).exp()).log() - (1 + e.exp()).log()
    # r lies in [x s, x], s = e^-e, and has mean 1: at its worst it is x with probability (1 - x s) / (x (1 - s)) and
    # else x s. So E'[r^a] = x^b ((1 - s^a) - x (s - s^a)) / (1 - s), which is largest at x = b top / (a low).
    s = (-e).exp()
    top, low, rest = -(-a * e).expm1(), s * -(-b * e).expm1(), -(-e).expm1()
    return b * (b * top / (a * low)).log() + (top / (a * rest)).log()


def renyi_delta(steps: Steps, total: Fraction) -> arb:
    """The least delta at a total epsilon over all orders a = 1 + b (Canonne, Kamath and Steinke 2020, Prop. 12):

    ln delta = moments - b total - ln a - b ln(1 + 1/b).
    """
    small = max((one.epsilon.denominator.bit_length() - one.epsilon.numerator.bit_length() for one in steps), default=0)
    with ctx.workprec(BITS + 4 * max(0, small)):  # what small epsilons cancel

        def log_delta(t: float) -> arb:
            b = arb(math.exp(t))
            moments = sum((one.times * log_moment(one, b) for one in steps), arb(0))
            return moments - b * ball(total) - (1 + b).log() - b * (1 / b).log1p()

        at = _lowest(lambda t: float(log_delta(t).upper()), -ORDERS, ORDERS)
        return log_delta(at).exp().min(arb(1))


def renyi_divergence(step: Step, order: int) -> arb:
    """The largest divergence of one order of one step."""
    with ctx.workprec(BITS + 2 * order.bit_length()):
        found = log_moment(step, arb(order - 1)) / (order - 1)
        return found if step.kind is Kind.NOISE else found.min(ball(step.epsilon))


def _lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls and then rises is least; where it is not, some other place."""
    part = (math.sqrt(5) - 1) / 2
    left, right = high - part * (high - low), low + part * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(SEARCHES):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - part * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + part * (high - low)
            at_right = function(right)
    return left if at_left <= at_right else right


# ---- randomised response ----------------------------------------------------------------------------------


def pure_delta(steps: Steps, total: Fraction) -> arb | None:
    """The worst of all pure steps, by randomised response (Kairouz, Oh and Viswanath 2015); None for too many.

    Over all numbers of lies, the sum of what P exceeds e^total P' by.
    """
    if math.prod(one.times + 1 for one in steps) > MOST_LIES:
        return None
    with ctx.workprec(BITS):
        cases = [(Fraction(0), arb(1))]  # loss, P
        for one in steps:
            truth = 1 / (1 + (-ball(one.epsilon)).exp())
            told = [
                (one.epsilon * (one.times - 2 * lies), _chance(one.times, lies, truth)) for lies in range(one.times + 1)
            ]
            cases = [(loss + more, p * q) for loss, p in cases for more, q in told]
        return sum((p * -(ball(total - loss)).expm1() for loss, p in cases if loss > total), arb(0))


def _chance(times: int, lies: int, truth: arb) -> arb:
    return arb.bin_uiui(times, lies) * truth ** (times - lies) * (1 - truth) ** lies
