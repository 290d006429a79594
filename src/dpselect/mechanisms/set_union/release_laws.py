"""The probability that an item of a weight is released, as exact reals that rise with the weight, and its threshold.

How large noise and threshold must be is guessed in floats and certified by balls: what is returned is proved, rounded
up. An item that only the added user has must be released with so small a probability that t of them together fail with
at most delta: each with at most q(t) = 1 - (1 - delta)^(1/t). Proof:
docs/mechanisms/set-union.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Protocol

from flint import arb, ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.reals import Real, enclose, upper
from dpselect.draws import MonotoneProbability
from dpselect.errors import ParameterError
from dpselect.mechanisms.gaps import OUTWARD

GUARD_BITS = 32  # bits of work beyond those asked for


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
        """Return the ball of the number."""
        with ctx.workprec(bits + GUARD_BITS):
            return self.formula()


@dataclass(frozen=True)
class LaplaceTail:
    """P(weight + Z > threshold), Z of density (rate / 2) e^(-rate |z|)."""

    threshold: Fraction
    rate: Fraction

    def at(self, weight: Fraction) -> Real:
        """Return e^(-rate gap) / 2 for a gap of threshold - weight >= 0, and 1 - e^(rate gap) / 2 for one below."""
        return Formula(lambda: self.of_gap(self.threshold - weight))

    def of_gap(self, gap: Fraction) -> arb:
        """Return the ball at the current precision."""
        half = (-enclose(self.rate * abs(gap))).exp() / 2
        return half if gap >= 0 else 1 - half


@dataclass(frozen=True)
class DiscreteLaplaceTail:
    """P(n + Z >= threshold) for whole numbers, Z of probability proportional to e^(-rate |z|)."""

    threshold: Fraction
    rate: Fraction

    def at(self, weight: Fraction) -> Real:
        """Return q^gap / (1 + q), q = e^-rate, for a gap of threshold - weight >= 1.

        Below 1 - q^(1 - gap) / (1 + q).
        """
        return Formula(lambda: self.of_gap(self.threshold - int(weight)))

    def of_gap(self, gap: Fraction) -> arb:
        """Return the ball at the current precision."""
        beyond = (-enclose(self.rate * (gap if gap >= 1 else 1 - gap))).exp() / (1 + (-enclose(self.rate)).exp())
        return beyond if gap >= 1 else 1 - beyond


@dataclass(frozen=True)
class GaussianTail:
    """P(weight + Z > threshold), Z Gaussian of this deviation."""

    threshold: Fraction
    deviation: Fraction

    def at(self, weight: Fraction) -> Real:
        """Return erfc((threshold - weight) / (sqrt(2) deviation)) / 2."""
        return Formula(lambda: self.of_gap(self.threshold - weight))

    def of_gap(self, gap: Fraction) -> arb:
        """Return the ball at the current precision."""
        return (enclose(gap / self.deviation) / arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True)
class Geometric:
    """The largest p on integers with p(0) = 0 that is (epsilon, delta)-DP from one number to the next.

    p(n) = min(e^epsilon p(n - 1) + delta, 1 - e^-epsilon (1 - p(n - 1) - delta), 1): the first up to `turn`, where it
    is delta (e^(n epsilon) - 1) / (e^epsilon - 1); then 1 - p falls towards -delta / (e^epsilon - 1) and stops at 0.
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
        """Return the probability at the integer part of a weight."""
        return Formula(lambda: self._chance(int(weight)))

    def _chance(self, n: int) -> arb:
        if n <= self.turn:
            return self.low(n)
        fall = (-enclose(self.epsilon * (n - self.turn))).exp()
        missed = fall * (1 - self.low(self.turn)) - enclose(self.delta) * (1 - fall) / enclose(self.epsilon).expm1()
        return 1 - missed.max(arb(0))

    def low(self, n: int) -> arb:
        """Return delta (e^(n epsilon) - 1) / (e^epsilon - 1)."""
        return enclose(self.delta) * enclose(self.epsilon * n).expm1() / enclose(self.epsilon).expm1()


def geometric(epsilon: Fraction, delta: Fraction) -> Geometric:
    """Return truncated geometric selection, its turn found as Desfontaines, Voss and Gipson give it.

    turn = floor(ln((e^epsilon + 2 delta - 1) / ((e^epsilon + 1) delta)) / epsilon) + 1. The number under the floor is
    never an integer: that would be an algebraic equation for e^epsilon that is no identity (delta < 1).
    """
    bits = 64
    while True:
        with ctx.workprec(bits):
            e, d = enclose(epsilon).exp(), enclose(delta)
            turn = (((e + 2 * d - 1) / ((e + 1) * d)).log() / enclose(epsilon)).floor().unique_fmpz()
        if turn is not None:
            return Geometric(epsilon, delta, int(turn) + 1)
        bits *= 2


PRECISION = 128
FINEST = Fraction(1, 2**42)  # what a guess is raised by, as a part of itself
LARGEST_GUESSED_DELTA = 1 - 2.0**-40  # of a larger one the threshold is this one's, which is higher
GUESSES = 512  # numbers of items at which floats look for the largest threshold
WIDEST = 2**50  # noise of a rate below 1 / WIDEST could leave 64 bits

Share = Callable[[int], Fraction]
Tail = LaplaceTail | GaussianTail


def root_up(square: Fraction) -> Fraction:
    """Return a rational above the square root, by at most 2^-63."""
    scale = 2**128
    return Fraction(math.isqrt(math.ceil(square * scale)) + 1, 2**64)


def certified_threshold(tail: Callable[[Fraction], Tail], delta: Fraction, max_items: int, share: Share) -> Fraction:
    """Return the least weight, to twelve digits, above which t new items of share(t) each are rarely released.

    `share` must not rise with t. `tail(threshold)` is the probability of release.
    """
    guess = max(_guess(tail, delta, t, share(t)) for t in sample_sizes(max_items))
    raised = (abs(guess) + 1) * FINEST
    guessed = guess + raised
    while (refused_number := first_refused(tail(guessed), delta, max_items, share)) is not None:
        raised *= 2
        guessed = max(guessed, _guess(tail, delta, refused_number, share(refused_number))) + raised
    return guessed


def laplace_tail(rate: Fraction, delta: Fraction, max_items: int, share: Share) -> LaplaceTail:
    """Return Laplace noise of this rate, above the least threshold for new items."""
    return LaplaceTail(
        certified_threshold(lambda threshold_value: LaplaceTail(threshold_value, rate), delta, max_items, share), rate
    )


def discrete_laplace_tail(rate: Fraction, delta: Fraction, max_items: int) -> DiscreteLaplaceTail:
    """Return whole Laplace noise of this rate, and the least threshold of 2 or more for that many new items of 1 each.

    It is near 1 + ln(1 / ((1 + q) b)) / rate, with q = e^-rate and b the `new_item_bound` of `max_items`.
    """
    if rate < Fraction(1, WIDEST):
        raise ParameterError("epsilon", "be large enough for noise of a rate above 2^-50", "a smaller value")
    with ctx.workprec(PRECISION):
        allowed = new_item_bound(delta, max_items)
        bound = -(allowed * (1 + (-enclose(rate)).exp())).log() / enclose(rate)
        least = max(Fraction(2), Fraction(1 + upper(bound).__ceil__()))

        def holds(threshold: Fraction) -> bool:
            return bool(DiscreteLaplaceTail(threshold, rate).of_gap(threshold - 1) <= allowed)

        while not holds(least):
            least += 1
        while least > 2 and holds(least - 1):
            least -= 1
    return DiscreteLaplaceTail(least, rate)


def gaussian_tail(deviation: Fraction, delta: Fraction, max_items: int, share: Share) -> GaussianTail:
    """Return Gaussian noise of this deviation, above the least threshold for new items."""
    return GaussianTail(
        certified_threshold(lambda threshold_value: GaussianTail(threshold_value, deviation), delta, max_items, share),
        deviation,
    )


def first_refused(tail: Tail, delta: Fraction, max_items: int, share: Share) -> int | None:
    """Return a number of items t for which the tail is not certain to be small enough, or None: proved for all.

    Over a .. b the tail at share(a) is the largest and allowed(b) the smallest, so one comparison may decide them all.
    """
    todo = [(1, max_items)]
    while todo:
        a, b = todo.pop()
        with ctx.workprec(PRECISION):
            if tail.of_gap(tail.threshold - share(a)) <= new_item_bound(delta, b):
                continue
        if a == b:
            return a
        middle = (a + b) // 2
        todo += [(a, middle), (middle + 1, b)]
    return None


def new_item_bound(delta: Fraction, t: int) -> arb:
    """Return allowed(t) = 1 - (1 - delta)^(1/t), a ball at the current precision."""
    # A delta near 1 may round to 1, of whose complement there is no logarithm.
    log_of_rest = (-enclose(delta)).log1p() if 2 * delta <= 1 else enclose(1 - delta).log()
    return -(log_of_rest / t).expm1()


def interval_of_users(
    noisy: int, tail_if_released: Callable[[int, int], float], reach: int, beta: float
) -> tuple[int, int]:
    """Return between which numbers of users an item lies that was released with this noisy count.

    `tail_if_released(m, users)` is P(noisy count >= m, given that it was released). A number is left out if counts so
    high, or so low, are rarer than beta / 2 among the released items that have it: so the true one is left out with
    probability at most beta, however near the threshold it is. Just above the threshold that can leave out every
    number; none is left out above, up to the noisy one. Numbers further than `reach` from the noisy count are left out
    without a look.
    """
    half = beta / 2 / OUTWARD

    def first(holds: Callable[[int], bool]) -> int:
        """Return the least number of users, from 1 on, from which it holds."""
        low, high = max(0, noisy - reach), noisy + reach
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return high

    low = first(lambda users: tail_if_released(noisy, users) > half)
    high = first(lambda users: 1 - tail_if_released(noisy + 1, users) <= half) - 1
    return low, max(low, high, noisy)


def sample_sizes(largest: int) -> list[int]:
    """Return 1 .. largest, or so many of them spread evenly in their logarithms."""
    if largest <= GUESSES:
        return list(range(1, largest + 1))
    return sorted({round(math.exp(math.log(largest) * i / (GUESSES - 1))) for i in range(GUESSES)} | {largest})


def _guess(tail: Callable[[Fraction], Tail], delta: Fraction, t: int, share: Fraction) -> Fraction:
    """Return a number near the threshold that t new items of this share ask for."""
    log_of_rest = math.log1p(-min(float(delta), LARGEST_GUESSED_DELTA))
    q = -math.expm1(log_of_rest / t)
    noise = tail(Fraction(0))
    if isinstance(noise, GaussianTail):
        gap = -float(noise.deviation) * NormalDist().inv_cdf(q)
    elif q <= 0.5:
        gap = -math.log(2 * q) / float(noise.rate)
    else:
        gap = (math.log(2) + log_of_rest / t) / float(noise.rate)  # the tail is above one half
    return share + Fraction(gap)
