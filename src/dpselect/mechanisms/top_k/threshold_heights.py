"""How far bottom must be above the last count, so that noise rarely lifts an item over it. All rounded outward.

With the same noise on both, an item at most one above h_(k_bar + 1) exceeds bottom, at h_(k_bar + 1) + 1 + T, with
probability at most P(W > T), where W is the difference of two noises. `swaps` items can do so at once.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx

from dpselect.accounting.composition import zcdp_to_epsilon
from dpselect.errors import ParameterError
from dpselect.reals import enclose, upper

PRECISION = 128
HIGHEST = 2**62  # heights and counts stay in 64 bits
SAID = 2**200  # heights that are only reported may be larger
FINEST = Fraction(1, 2**40)  # rho is a multiple of this part of its power of two


def laplace_tail(rate: Fraction, t: int) -> Fraction:
    """An upper bound, tight to many digits, on P(W > t), t >= 0, for two discrete Laplace noises.

    With q = e^-rate, P(W = w) = ((1 - q) / (1 + q))^2 q^w (w + (1 + q^2) / (1 - q^2)) for w >= 0, summed from
    n = t + 1 on.
    """
    with ctx.workprec(PRECISION):
        a, n = enclose(rate), t + 1
        q, p = (-a).exp(), -(-a).expm1()
        inner = n + q / p + (1 + q**2) / -(-2 * a).expm1()
        return upper(p / (1 + q) ** 2 * (-a * n).exp() * inner)


def gaussian_tail(variance: Fraction, t: int) -> Fraction:
    """An upper bound on P(W > t), t >= 0, for two discrete Gaussian noises: (erfc(t / (2 s)) / 2) (1 + 2x / (1 - x)).

    s^2 is the variance and x = e^(-pi^2 s^2); proof on the page of limited domain with Laplace noise.
    """
    with ctx.workprec(PRECISION):
        v = enclose(variance)
        x = (-(arb.pi() ** 2) * v).exp()
        return upper((t / (2 * v.sqrt())).erfc() / 2 * (1 + 2 * x / (1 - x)))


def laplace_height(rate: Fraction, swaps: int, delta: Fraction, highest: int = HIGHEST) -> int:
    """The least T >= 0 with swaps P(W > T) <= delta."""
    return _least(lambda t: swaps * laplace_tail(rate, t) <= delta, "epsilon", highest)


def gaussian_height(variance: Fraction, swaps: int, delta: Fraction, highest: int = HIGHEST) -> int:
    """The least T >= 0 for which the upper bound certifies swaps P(W > T) <= delta."""
    return _least(lambda t: swaps * gaussian_tail(variance, t) <= delta, "epsilon", highest)


def _least(holds: Callable[[int], bool], parameter: str, highest: int) -> int:
    high = 1
    while not holds(high):
        high *= 2
        if high > highest:
            raise ParameterError(parameter, "be large enough for a threshold below 2^62", "a smaller value")
    low = -1 if high == 1 else high // 2  # the least is above low, at most high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho, to twelve digits, for which rho-zCDP implies (epsilon, delta)-DP."""
    high = Fraction(1)
    while zcdp_to_epsilon(high, delta) <= epsilon:
        high *= 2
    low = high / 2
    while zcdp_to_epsilon(low, delta) > epsilon:
        high, low = low, low / 2
    step = low * FINEST
    while high - low > step:
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_to_epsilon(middle, delta) <= epsilon else (low, middle)
    return low
