"""How large noise and threshold must be. Floats guess, balls certify: what is returned is proved, rounded up.

An item that only the added user has must be released with so small a probability that t of them together fail with at
most delta: each with at most q(t) = 1 - (1 - delta)^(1/t). Docs: set-union.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from flint import arb, ctx

from dpselect.errors import ParameterError
from dpselect.mechanisms.set_union.release_laws import GaussianTail, LaplaceTail
from dpselect.reals import enclose

PRECISION = 128
FINEST = Fraction(1, 2**42)  # what a guess is raised by, as a part of itself
GUESSES = 512  # numbers of items at which floats look for the largest threshold
HIGHEST = 2**60

Share = Callable[[int], Fraction]
Tail = LaplaceTail | GaussianTail


def smallest_deviation(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least s, to twelve digits, for which Gaussian noise of deviation s on a shift of 1 is (epsilon, delta)-DP.

    Phi(1 / (2s) - epsilon s) - e^epsilon Phi(-1 / (2s) - epsilon s) <= delta (Balle and Wang 2018, Theorem 8).
    """
    return _smallest_deviation(epsilon, delta)


@lru_cache(maxsize=256)
def _smallest_deviation(epsilon: Fraction, delta: Fraction) -> Fraction:
    high = Fraction(1)
    while not _hides(high, epsilon, delta):
        high *= 2
        if high > HIGHEST:
            raise ParameterError("epsilon", "be large enough for noise below 2^60", "a smaller value")
    low = high / 2
    while low > Fraction(1, HIGHEST) and _hides(low, epsilon, delta):
        high, low = low, low / 2
    step = low * FINEST
    while high - low > step:
        middle = (low + high) / 2
        low, high = (low, middle) if _hides(middle, epsilon, delta) else (middle, high)
    return high


def _hides(s: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Is it certain that noise of deviation s on a shift of 1 is (epsilon, delta)-DP?"""
    with ctx.workprec(PRECISION):
        return bool(gaussian_delta(s, epsilon) <= enclose(delta))


def gaussian_delta(s: Fraction, epsilon: Fraction) -> arb:
    """The least delta of Gaussian noise of deviation s on a shift of 1, a ball at the current precision."""
    here, there, root = 1 / (2 * s), epsilon * s, arb(2).sqrt()
    first = (enclose(there - here) / root).erfc() / 2
    return first - enclose(epsilon).exp() * (enclose(there + here) / root).erfc() / 2


def root_up(square: Fraction) -> Fraction:
    """A rational just above the square root, to eighteen digits or more."""
    scale = 2**128
    return Fraction(math.isqrt(math.ceil(square * scale)) + 1, 2**64)


def threshold(tail: Callable[[Fraction], Tail], delta: Fraction, most: int, share: Share) -> Fraction:
    """The least weight, to twelve digits, above which t new items of share(t) each, t = 1 .. most, are rarely released.

    `share` must not rise with t. `tail(threshold)` is the probability of release.
    """
    guess = max(_guess(tail, delta, t, share(t)) for t in _some(most))
    raised = (abs(guess) + 1) * FINEST
    found = guess + raised
    while (worse := refused(tail(found), delta, most, share)) is not None:
        raised *= 2
        found = max(found, _guess(tail, delta, worse, share(worse))) + raised
    return found


def laplace_tail(rate: Fraction, delta: Fraction, most: int, share: Share) -> LaplaceTail:
    """Laplace noise of this rate, above the least threshold for new items."""
    return LaplaceTail(threshold(lambda at: LaplaceTail(at, rate), delta, most, share), rate)


def gaussian_tail(deviation: Fraction, delta: Fraction, most: int, share: Share) -> GaussianTail:
    """Gaussian noise of this deviation, above the least threshold for new items."""
    return GaussianTail(threshold(lambda at: GaussianTail(at, deviation), delta, most, share), deviation)


def refused(tail: Tail, delta: Fraction, most: int, share: Share) -> int | None:
    """A number of items t <= most for which the tail is not certain to be small enough, or None: proved for all.

    Over a .. b the tail at share(a) is the largest and q(b) the smallest, so one comparison may decide them all.
    """
    todo = [(1, most)]
    while todo:
        a, b = todo.pop()
        with ctx.workprec(PRECISION):
            if tail.of_gap(tail.threshold - share(a)) <= one_of(delta, b):
                continue
        if a == b:
            return a
        middle = (a + b) // 2
        todo += [(a, middle), (middle + 1, b)]
    return None


def one_of(delta: Fraction, t: int) -> arb:
    """q(t) = 1 - (1 - delta)^(1/t), a ball at the current precision."""
    return -((-enclose(delta)).log1p() / t).expm1()


def _some(most: int) -> list[int]:
    """1 .. most, or so many of them spread evenly in their logarithms."""
    if most <= GUESSES:
        return list(range(1, most + 1))
    return sorted({round(math.exp(math.log(most) * i / (GUESSES - 1))) for i in range(GUESSES)} | {most})


def _guess(tail: Callable[[Fraction], Tail], delta: Fraction, t: int, share: Fraction) -> Fraction:
    """Near the threshold that t new items of this share ask for."""
    q = -math.expm1(math.log1p(-float(delta)) / t)
    noise = tail(Fraction(0))
    if isinstance(noise, GaussianTail):
        gap = -float(noise.deviation) * NormalDist().inv_cdf(q)
    elif q <= 0.5:
        gap = -math.log(2 * q) / float(noise.rate)
    else:
        gap = (math.log(2) + math.log1p(-float(delta)) / t) / float(noise.rate)  # the tail is above one half
    return share + Fraction(gap)
