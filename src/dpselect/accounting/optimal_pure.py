"""The optimal composition of pure steps, by a product of randomised responses (Kairouz, Oh and Viswanath 2015).

Every epsilon-DP pair of distributions is a post-processing of randomised response, which tells the truth with
probability e^epsilon / (1 + e^epsilon). So the product of these is the worst sequence of steps, adaptive or not, as
long as the epsilons are fixed beforehand (Murtagh and Vadhan 2016). With l_i lies in n_i steps of epsilon e_i the loss
is sum (n_i - 2 l_i) e_i, and the least delta at a total x is the sum of P - e^x P' over all larger losses.
docs/accounting.md says where it is the smallest bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, product

from flint import arb, ctx

from dpselect._ground.privacy import Steps
from dpselect._ground.reals import enclose, upper

PRECISION = 160
LARGEST = 20_000  # the most `work` for which composition uses it: about 30 ms
HALVINGS = 30


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
    """All losses in multiples of 1 / scale; the most frequent steps need only running sums."""

    def __init__(self, times: dict[Fraction, int]) -> None:
        self.scale = math.lcm(*(e.denominator for e in times))
        answers = [_answers(e, int(e * self.scale), n) for e, n in sorted(times.items(), key=lambda item: item[1])]
        *others, self.most = answers
        self.highest = sum((e * n for e, n in times.items()), Fraction(0))
        self.true = list(accumulate(self.most.true, initial=arb(0)))
        self.swapped = list(accumulate(self.most.swapped, initial=arb(0)))
        self.others: list[tuple[int, arb, arb]] = []
        for lies in product(*(range(a.times + 1) for a in others)):
            loss, p, q = 0, arb(1), arb(1)
            for a, lie in zip(others, lies, strict=True):
                loss, p, q = loss + a.unit * (a.times - 2 * lie), p * a.true[lie], q * a.swapped[lie]
            self.others.append((loss, p, q))

    def above(self, epsilon: Fraction) -> list[int]:
        """Which losses exceed epsilon, exactly: per case of the others, how many lies of the most frequent steps."""
        place = math.floor(epsilon * self.scale) - self.most.unit * self.most.times
        twice, most = 2 * self.most.unit, self.most.times + 1
        return [max(0, min(most, -((place - loss) // twice))) for loss, _, _ in self.others]

    def sums(self, above: list[int]) -> tuple[arb, arb]:
        """The probabilities of these losses under P and P'."""
        p, q = arb(0), arb(0)
        for lies, (_, true, swapped) in zip(above, self.others, strict=True):
            if lies:
                p, q = p + true * self.true[lies], q + swapped * self.swapped[lies]
        return p, q

    def root(self, delta: arb) -> Fraction:
        """The least x with delta(x) <= delta: rough bisection, then Newton's method, which ends on the right segment.

        delta(x) is convex and piecewise linear in e^x, so a step from the left of the root never passes the root.
        """
        low, high = Fraction(0), self.highest
        for _ in range(HALVINGS):
            if self.above(low) == self.above(high):
                break
            middle = (low + high) / 2
            p, q = self.sums(self.above(middle))
            low, high = (middle, high) if p - enclose(middle).exp() * q > delta else (low, middle)
        while True:
            above = self.above(low)
            p, q = self.sums(above)
            if low == 0 and p - q <= delta:
                return low
            line = ((p - delta) / q).log()
            if not line.is_finite():
                return self.highest  # epsilons so large that lies are not seen at this precision
            following = max(low, upper(line))
            # With no loss between the two, delta(following) = p - e^following q, which is certain to be <= delta.
            if self.above(following) == above:
                return following
            low = following


def _merged(steps: Sequence[Steps]) -> dict[Fraction, int]:
    times: dict[Fraction, int] = {}
    for s in steps:
        if s.times and s.value.epsilon:
            times[s.value.epsilon] = times.get(s.value.epsilon, 0) + s.times
    return times


def work(steps: Sequence[Steps]) -> int:
    """How many combinations of numbers of lies `optimal_pure` evaluates."""
    return math.prod(n + 1 for n in _merged(steps).values())


def optimal_pure(steps: Sequence[Steps], delta: Fraction) -> Fraction:
    """The least x for which all adaptive sequences of epsilon_i-DP steps are (x, delta)-DP, rounded up.

    Bounded-range steps count as pure steps of the same epsilon. Time and memory grow with `work`. The bound holds for
    adaptive steps whose epsilons and number are fixed beforehand; it is not a privacy filter.
    """
    times = _merged(steps)
    if not times or delta >= 1:
        return Fraction(0)
    if delta == 0:
        return sum((e * n for e, n in times.items()), Fraction(0))
    with ctx.workprec(PRECISION):
        return _Losses(times).root(enclose(delta))
