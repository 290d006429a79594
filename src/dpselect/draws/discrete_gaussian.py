"""Exact discrete Gaussian noise: rejection from discrete Laplace noise (Canonne, Kamath and Steinke 2020, Algorithm 3).

With t = floor(sigma) + 1 and y from the discrete Laplace distribution of rate 1/t, accepting with probability
exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)) leaves exp(-y^2 / (2 sigma^2)) times a constant.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dpselect.draws.core import Core
from dpselect.reals import Exp


def gaussian(core: Core, variance: Fraction) -> int:
    """Draw z with probability proportional to exp(-z^2 / (2 variance))."""
    t = isqrt(variance.__floor__()) + 1
    while True:
        y = core.laplace(Fraction(1, t))
        if core.bernoulli(Exp(-((abs(y) - variance / t) ** 2) / (2 * variance))):
            return y
