"""Wrong prices and wrong ways of noise that all counts share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def bound_in_place_of_items(_items: int, most: int, own: Fraction, shared: Fraction) -> Fraction:
    """Half a step of a count, charged for the items of a user: the counts that the user does not move shift, too."""
    return (most / own + 1 / shared) / 2


def shared_for_nothing(items: int, _most: int, own: Fraction, _shared: Fraction) -> Fraction:
    """The shared noise is not charged."""
    return items / own / 2


def half_shifts_of_whole_noise(items: int, _most: int, own: Fraction, shared: Fraction) -> Fraction:
    """Counts are not doubled, and yet the noises are taken to shift by a half."""
    return (items / (4 * own) + 1 / (4 * shared)) / 2


def half_even(noise: npt.NDArray[np.int64], multiple: int) -> npt.NDArray[np.int64]:
    """Noise is rounded by itself, halves to even numbers: what is shown has the parity of the count."""
    return np.rint(noise / multiple).astype(np.int64)
