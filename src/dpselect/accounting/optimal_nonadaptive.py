"""The optimum for non-adaptive bounded-range steps, all chosen beforehand (Dong, Durfee and Rogers 2020).

The worst such step has two outcomes with ratios P / P' of e^t and e^(t - e), where P' of the first is
p = (e^-t - e^-e) / (1 - e^-e). With i of k steps at the second point the loss is k t - i e; the worst t, the same in
all steps, is one of k + 1 values. **It does not hold for peeling**, where a pick depends on earlier ones: adaptive
steps reach a larger delta (`tests/slow/exact/test_composition.py` shows one), so `compose` uses it only on request
(docs/accounting.md).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx

from dpselect._ground.reals import enclose, upper

PRECISION = 128
HALVINGS = 60  # the answer is found to one part in 2^60 of k e, rounded up
NEGLIGIBLE = 2.0**-PRECISION


def nonadaptive_delta(times: int, epsilon: Fraction, total: Fraction) -> Fraction:
    """The least delta of `times` fixed epsilon-bounded-range steps at a total epsilon of at least 0, rounded up."""
    with ctx.workprec(PRECISION):
        return max(upper(_delta(times, epsilon, total, place)) for place in range(times + 1))


def nonadaptive_epsilon(times: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least total epsilon of `times` fixed epsilon-bounded-range steps at a delta, rounded up.

    The search evaluates only the place of t that seems worst. If evaluating all places then finds a larger delta, it
    repeats the search with all of them.
    """
    found = _search(times, epsilon, delta, _likely_delta)
    if nonadaptive_delta(times, epsilon, found) > delta:
        found = _search(times, epsilon, delta, nonadaptive_delta)
    return found


def _search(times: int, epsilon: Fraction, delta: Fraction, delta_at: Callable[..., Fraction]) -> Fraction:
    low, high = Fraction(0), times * epsilon
    if delta_at(times, epsilon, low) <= delta:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(times, epsilon, middle) <= delta else (middle, high)
    return high


def _likely_delta(times: int, epsilon: Fraction, total: Fraction) -> Fraction:
    """`nonadaptive_delta`, provided that delta rises and then falls with the place."""
    low, high = 0, times
    with ctx.workprec(PRECISION):
        while low < high:
            middle = (low + high) // 2
            here, after = (_delta(times, epsilon, total, place) for place in (middle, middle + 1))
            low, high = (middle + 1, high) if after > here else (low, middle)
        return upper(_delta(times, epsilon, total, low))


def _delta(times: int, epsilon: Fraction, total: Fraction, place: int) -> arb:
    """delta at the worst t for the losses with i <= place: the sum of P - e^total P' over losses above `total`."""
    t = max(Fraction(0), min(epsilon, (total + (place + 1) * epsilon) / (times + 1)))
    most = min(times, -((total - times * t) // epsilon) - 1)  # the largest i with k t - i e > total
    if most < 0 or t in (0, epsilon):
        return arb(0)  # at both ends of t, P = P'
    e, least = enclose(epsilon), enclose(total).exp()
    second = (-enclose(t)).expm1() / (-e).expm1()  # 1 - p
    first = (-enclose(t)).exp() * enclose(t - epsilon).expm1() / (-e).expm1()  # p
    mass = arb.bin_uiui(times, most) * first ** (times - most) * second**most
    ratio, grown, odds = enclose(times * t - most * epsilon).exp(), e.exp(), first / second
    delta = arb(0)
    for i in range(most, -1, -1):
        delta += mass * (ratio - least)
        change = i * odds / (times - i + 1)
        mass, ratio = mass * change, ratio * grown
        rest = mass * ratio * i  # the terms of P that are left fall ever faster
        if change * grown < 1 and rest < NEGLIGIBLE * delta:
            return delta + rest.union(arb(0))
    return delta
