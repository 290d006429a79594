"""Leads: by which difference of two noisy counts the larger is certain to be of more users. Proof: docs/accuracy.md.

Of `times` items all pairs are judged at once. The item whose noisy count is larger by the lead, or more, has more
users, and larger by n it has at least n + 1 - lead more, unless the largest rounded noise exceeds the smallest by the
lead or more, which has probability at most beta. Noise that all counts share is in no difference, but for rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpselect.mechanisms.gaps import gaussian_width, laplace_width
from dpselect.mechanisms.noise_laws import Law, gaussian_law, laplace_law

CELLS = 2**16  # of a law that are added up; of more, neighbours are taken together
ROUNDING = 1 + 1e-9  # far more than the rounding of a sum over so many cells


def laplace_lead(rate: Fraction, beta: float, times: int) -> int:
    """Return the lead of counts with discrete Laplace noise: z is as likely as e^(-rate |z|) says."""
    law = laplace_law(rate)
    return 1 + 2 * laplace_width(rate, beta, times) if law is None else lead_of(law, beta, times)


def gaussian_lead(variance: Fraction, beta: float, times: int) -> int:
    """Return the lead of counts with discrete Gaussian noise: z is as likely as e^(-z^2 / (2 variance)) says."""
    law = gaussian_law(variance)
    return 1 + 2 * gaussian_width(variance, beta, times) if law is None else lead_of(law, beta, times)


def lead_of(own_law: Law, beta: float, times: int, *, multiple: int = 1, shared: Law | None = None) -> int:
    """Return the lead of counts (multiple h + own + shared) / multiple, rounded with halves up.

    Given the shared noise z, rounded noises are independent, and the next multiple of z moves all of them by 1: only
    its remainder matters. Of a wide law only so much is used as its cells tell: noises in cells V apart differ by less
    than (V + 1) cells.
    """
    size = -(-len(own_law) // CELLS)
    if size > 1:
        differing_cells = _least_range([(1.0, _gathered(own_law, size, 0))], beta, times)
        return 1 - (-(size * (differing_cells + 1) - 1) // multiple)
    remainders = _remainders(shared, multiple)
    middle = len(own_law) // 2
    rounded = [(part, _gathered(own_law, multiple, z + multiple // 2 - middle)) for z, part in remainders]
    return 1 + _least_range(rounded, beta, times)


def _remainders(shared: Law | None, multiple: int) -> list[tuple[int, float]]:
    """Return the remainders of the shared noise by `multiple`, each with its probability."""
    if shared is None or multiple == 1:
        return [(0, 1.0)]
    points = np.arange(len(shared)) - len(shared) // 2
    return list(enumerate(np.bincount(points % multiple, shared, multiple).tolist()))


def _gathered(law: Law, size: int, first: int) -> Law:
    """Return the law of (position + first) // size, from its first cell on."""
    padding = first % size
    padded = np.concatenate([np.zeros(padding), law, np.zeros(-(padding + len(law)) % size)])
    return np.asarray(padded.reshape(-1, size).sum(1), dtype=np.float64)


def _least_range(laws: Sequence[tuple[float, Law]], beta: float, times: int) -> int:
    """Return the least L such that the largest of so many is over L above the smallest with chance at most beta.

    `laws` are those of one of them, of which one is taken with its probability.
    """
    sides = [(part, law, *_sides(law)) for part, law in laws]

    def is_enough(width: int) -> bool:
        inside = sum(part * _within(law, below, above, width, times) for part, law, below, above in sides)
        return 1 - inside <= beta / ROUNDING

    low, high = -1, max(len(law) for _, law in laws)
    while high - low > 1:
        half = (low + high) // 2
        low, high = (low, half) if is_enough(half) else (half, high)
    return high


def _sides(law: Law) -> tuple[Law, Law]:
    """Return the probability below each cell, and that of each cell and what is above, with 0 beyond the last."""
    return np.concatenate([[0.0], np.cumsum(law)[:-1]]), np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]])


def _within(law: Law, below: Law, from_here: Law, width: int, times: int) -> float:
    """Return P(largest - smallest <= most): all are in z..z + most, but not all in z + 1..z + most, summed over z."""
    beyond = np.minimum(np.arange(len(law)) + width + 1, len(law))
    outside = below + from_here[beyond]
    with np.errstate(divide="ignore"):
        all_inside = np.exp(times * np.log1p(-np.minimum(outside, 1.0)))
        all_above_smallest = np.exp(times * np.log1p(-np.minimum(outside + law, 1.0)))
    return float((all_inside - all_above_smallest).sum())
