"""The exact optima of composition in two easier cases, for comparison with what `dpselect.accounting` proves.

**Pure steps** (Kairouz, Oh and Viswanath 2015). Every epsilon-DP pair of distributions is a post-processing of
randomised response, which tells the truth with probability e^epsilon / (1 + e^epsilon). So the product of these is the
worst sequence of steps, adaptive or not, as long as the epsilons are fixed beforehand (Murtagh and Vadhan 2016). With
l_i lies in n_i steps of epsilon e_i the loss is sum (n_i - 2 l_i) e_i, and the least delta at a total x is the sum of
P - e^x P' over all larger losses.

**Non-adaptive bounded-range steps**, all chosen beforehand (Dong, Durfee and Rogers 2020). The worst such step has two
outcomes with ratios P / P' of e^t and e^(t - e), where P' of the first is p = (e^-t - e^-e) / (1 - e^-e). With i of k
steps at the second point the loss is k t - i e; the worst t, the same in all steps, is one of k + 1 values. **It does
not hold for peeling**, where a pick depends on earlier ones: adaptive steps reach a larger delta
(`tests/slow/exact/test_composition.py` shows one).

docs/accounting.md says where each is the smallest bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate, product

from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import Steps
from dpselect._ground.reals import enclose, upper
from dpselect.errors import ParameterError

_PURE_PRECISION = 160
_PURE_HALVINGS = 30
PRECISION = 128
HALVINGS = 60  # the answer is found to one part in 2^60 of k e, rounded up
NEGLIGIBLE = 2.0**-PRECISION
LARGEST_EPSILON = 10**6  # of one non-adaptive step; far below what overflows


# ---- pure steps -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Answers:
    """The probabilities of l = 0 .. n lies in n answers under P and P'; `unit` is their epsilon as an integer."""

    unit: int
    times: int
    true: list[arb]
    swapped: list[arb]


def _answers(epsilon: Fraction, unit: int, times: int) -> _Answers:
    grown, shrunk = enclose(epsilon).exp(), (-enclose(epsilon)).exp()
    true, swapped = [(1 / (1 + shrunk)) ** times], [(shrunk / (1 + shrunk)) ** times]
    for lie in range(times):
        true.append(true[-1] * (times - lie) * shrunk / (lie + 1))
        swapped.append(swapped[-1] * (times - lie) * grown / (lie + 1))
    return _Answers(unit, times, true, swapped)


class _Losses:
    """The losses in multiples of 1 / scale; the most frequent steps need only running sums."""

    def __init__(self, times: dict[Fraction, int]) -> None:
        self.scale = math.lcm(*(e.denominator for e in times))
        answers = [_answers(e, int(e * self.scale), n) for e, n in sorted(times.items(), key=lambda item: item[1])]
        *others, self.most_frequent = answers
        self.highest = sum((e * n for e, n in times.items()), Fraction(0))
        self.true = list(accumulate(self.most_frequent.true, initial=arb(0)))
        self.swapped = list(accumulate(self.most_frequent.swapped, initial=arb(0)))
        self.others: list[tuple[int, arb, arb]] = []
        for lies in product(*(range(a.times + 1) for a in others)):
            loss, p, q = 0, arb(1), arb(1)
            for a, lie in zip(others, lies, strict=True):
                loss, p, q = loss + a.unit * (a.times - 2 * lie), p * a.true[lie], q * a.swapped[lie]
            self.others.append((loss, p, q))

    def count_lies_above(self, epsilon: Fraction) -> list[int]:
        """Count the losses above epsilon, exactly: for each case of the others, the lies of the most frequent steps."""
        lowest = math.floor(epsilon * self.scale) - self.most_frequent.unit * self.most_frequent.times
        twice, outcomes = 2 * self.most_frequent.unit, self.most_frequent.times + 1
        return [max(0, min(outcomes, -((lowest - loss) // twice))) for loss, _, _ in self.others]

    def sums(self, lie_counts: list[int]) -> tuple[arb, arb]:
        """Return the probabilities of these losses under P and P'."""
        p, q = arb(0), arb(0)
        for lies, (_, true, swapped) in zip(lie_counts, self.others, strict=True):
            if lies:
                p, q = p + true * self.true[lies], q + swapped * self.swapped[lies]
        return p, q

    def root(self, delta: arb) -> Fraction:
        """Return the least x with delta(x) <= delta, by bisection and then Newton's method, which ends at the root.

        delta(x) is convex and piecewise linear in e^x, so a step from the left of the root never passes the root.
        """
        low, high = Fraction(0), self.highest
        for _ in range(_PURE_HALVINGS):
            if self.count_lies_above(low) == self.count_lies_above(high):
                break
            middle = (low + high) / 2
            p, q = self.sums(self.count_lies_above(middle))
            low, high = (middle, high) if p - enclose(middle).exp() * q > delta else (low, middle)
        while True:
            lies_above_low = self.count_lies_above(low)
            p, q = self.sums(lies_above_low)
            if low == 0 and p - q <= delta:
                return low
            line = ((p - delta) / q).log()
            if not line.is_finite():
                return self.highest  # epsilons so large that lies are not seen at this precision
            following = max(low, upper(line))
            # With no loss between the two, delta(following) = p - e^following q, which is certain to be <= delta.
            if self.count_lies_above(following) == lies_above_low:
                return following
            low = following


def _merge(steps: Sequence[Steps]) -> dict[Fraction, int]:
    times: dict[Fraction, int] = {}
    for s in steps:
        if s.times and s.value.epsilon:
            times[s.value.epsilon] = times.get(s.value.epsilon, 0) + s.times
    return times


def optimal_pure(steps: Sequence[Steps], delta: Fraction) -> Fraction:
    """Return the least x for which all adaptive sequences of epsilon_i-DP steps are (x, delta)-DP, rounded up.

    Bounded-range steps count as pure steps of the same epsilon. Time and memory grow with the product of n_i + 1 over
    the different epsilons. The bound holds for adaptive steps whose epsilons and number are fixed beforehand; it is not
    a privacy filter.
    """
    times = _merge(steps)
    if not times or delta >= 1:
        return Fraction(0)
    if delta == 0:
        return sum((e * n for e, n in times.items()), Fraction(0))
    with ctx.workprec(_PURE_PRECISION):
        return _Losses(times).root(enclose(delta))


# ---- non-adaptive bounded-range steps ---------------------------------------------------------------------


def nonadaptive_delta(times: int, epsilon: Fraction, total: Fraction) -> Fraction:
    """Return the least delta of `times` fixed epsilon-bounded-range steps at a total epsilon >= 0, rounded up."""
    if epsilon > LARGEST_EPSILON:
        raise ParameterError("epsilon", f"be at most {LARGEST_EPSILON:,}", "a larger one")
    with ctx.workprec(PRECISION):
        return max(upper(_delta(times, epsilon, total, point)) for point in range(times + 1))


def nonadaptive_epsilon(times: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least total epsilon of `times` fixed epsilon-bounded-range steps at a delta, rounded up.

    The search evaluates only the position of t that seems worst. If evaluating all positions then finds a larger delta,
    it repeats the search with all of them.
    """
    if epsilon > LARGEST_EPSILON:
        raise ParameterError("epsilon", f"be at most {LARGEST_EPSILON:,}", "a larger one")
    total = _search(times, epsilon, delta, _likely_delta)
    if nonadaptive_delta(times, epsilon, total) > delta:
        total = _search(times, epsilon, delta, nonadaptive_delta)
    return total


def _search(times: int, epsilon: Fraction, delta: Fraction, delta_at: Callable[..., Fraction]) -> Fraction:
    low, high = Fraction(0), times * epsilon
    if delta_at(times, epsilon, low) <= delta:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(times, epsilon, middle) <= delta else (middle, high)
    return high


def _likely_delta(times: int, epsilon: Fraction, total: Fraction) -> Fraction:
    """Return `nonadaptive_delta`, provided that delta rises and then falls with the position."""
    low, high = 0, times
    with ctx.workprec(PRECISION):
        while low < high:
            middle = (low + high) // 2
            delta_here, delta_after = (_delta(times, epsilon, total, point) for point in (middle, middle + 1))
            low, high = (middle + 1, high) if delta_after > delta_here else (low, middle)
        return upper(_delta(times, epsilon, total, low))


def _delta(times: int, epsilon: Fraction, total: Fraction, point: int) -> arb:
    """Return delta at the worst t for losses with i <= point: the sum of P - e^total P' over losses above `total`."""
    t = max(Fraction(0), min(epsilon, (total + (point + 1) * epsilon) / (times + 1)))
    largest_i = min(times, -((total - times * t) // epsilon) - 1)  # the largest i with k t - i e > total
    if largest_i < 0 or t in (0, epsilon):
        return arb(0)  # at both ends of t, P = P'
    e, least = enclose(epsilon), enclose(total).exp()
    second = (-enclose(t)).expm1() / (-e).expm1()  # 1 - p
    first = (-enclose(t)).exp() * enclose(t - epsilon).expm1() / (-e).expm1()  # p
    mass = arb.bin_uiui(times, largest_i) * first ** (times - largest_i) * second**largest_i
    ratio, grown, odds = enclose(times * t - largest_i * epsilon).exp(), e.exp(), first / second
    delta = arb(0)
    for i in range(largest_i, -1, -1):
        delta += mass * (ratio - least)
        change = i * odds / (times - i + 1)
        mass, ratio = mass * change, ratio * grown
        remainder = mass * ratio * i  # the terms of P that are left fall ever faster
        if change * grown < 1 and remainder < NEGLIGIBLE * delta:
            return delta + remainder.union(arb(0))
    return delta
