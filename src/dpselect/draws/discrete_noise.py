"""Exact discrete Gaussian noise: rejection from discrete Laplace noise (Canonne, Kamath and Steinke 2020, Algorithm 3).

With t = floor(sigma) + 1 and y of discrete Laplace law of rate 1/t, accepting with probability
exp(-(|y| - sigma^2 / t)^2 / (2 sigma^2)) leaves exp(-y^2 / (2 sigma^2)) times a constant.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from dpselect.reals import Exp

if TYPE_CHECKING:
    from dpselect.draws.certified import CertifiedDraws


def gaussian(draws: CertifiedDraws, variance: Fraction) -> int:
    """z with probability in proportion to exp(-z^2 / (2 variance))."""
    t = isqrt(variance.__floor__()) + 1
    while True:
        y = draws.laplace(Fraction(1, t))
        if draws.bernoulli(Exp(-((abs(y) - variance / t) ** 2) / (2 * variance))):
            return y
