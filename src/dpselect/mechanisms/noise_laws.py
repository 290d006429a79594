"""Laws of noise as arrays, where they are narrow enough to be added up."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

FAR = 12  # standard deviations of a Gaussian law that are added up: beyond lies less than 1e-32
STEEP = 42  # e^-42 < 1e-18 of a Laplace law lies beyond what is added up
MOST_ADDED = 2 * 10**6  # points of a law that are added up; of a wider one a bound is used

Law: TypeAlias = "npt.NDArray[np.float64]"
"""Probabilities of -n..n."""


def gaussian_law(variance: Fraction) -> Law | None:
    """Return the law of discrete Gaussian noise; None where it is too wide to be added up."""
    reach = FAR * (isqrt(variance.__ceil__()) + 1)
    if reach > MOST_ADDED:
        return None
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * float(variance)))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def laplace_law(rate: Fraction) -> Law | None:
    """Return the law of discrete Laplace noise; None where it is too wide to be added up."""
    if STEEP / rate > MOST_ADDED:
        return None
    reach = (STEEP / rate).__ceil__() + 1
    weights = np.exp(-float(rate) * np.abs(np.arange(-reach, reach + 1)))
    return np.asarray(weights / weights.sum(), dtype=np.float64)
