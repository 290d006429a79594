"""The law of limited domain with added noise, from its definition: counts of the k_bar best, a noisy bottom, arrays.

What is told here is the set of released items with their noisy counts, which is all that the mechanism's answer is made
from. Noise further out than `WIDTH` is left out; its mass is below 1e-9 in every use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
import numpy.typing as npt

WIDTH = 60
GRID = np.arange(-WIDTH - 5, WIDTH + 40)

Floats = npt.NDArray[np.float64]
Density = Callable[[npt.NDArray[np.int64]], Floats]
Released = Mapping[tuple[int, ...], Floats]  # items -> probability by noisy count, one axis an item


def laplace(rate: float) -> Density:
    return lambda z: np.where(np.abs(z) <= WIDTH, np.exp(-rate * np.abs(z)), 0.0) * np.tanh(rate / 2)


def gaussian(variance: float) -> Density:
    z = np.arange(-WIDTH, WIDTH + 1)
    total = np.exp(-(z**2) / (2 * variance)).sum()
    return lambda z: np.where(np.abs(z) <= WIDTH, np.exp(-(z**2) / (2 * variance)), 0.0) / total


def none(z: npt.NDArray[np.int64]) -> Floats:
    return np.where(z == 0, 1.0, 0.0)


@dataclass(frozen=True)
class NoisyDomain:
    """h_(k_bar + 1) + height and noise on bottom, noise on the k_bar best."""

    k_bar: int
    height: int
    noise: Density
    on_bottom: Density | None = None

    def released(self, counts: tuple[int, ...]) -> Released:
        ranked = sorted((i for i, c in enumerate(counts) if c), key=lambda i: (-counts[i], i))
        inside, after = ranked[: self.k_bar], sum(counts[i] for i in ranked[self.k_bar : self.k_bar + 1])
        bottom = (self.on_bottom or self.noise)(GRID - after - self.height)
        law: dict[tuple[int, ...], Floats] = {}
        for size in range(len(inside) + 1):
            for told in combinations(sorted(inside), size):
                quiet = bottom.copy()  # bottom is at b and nobody else is above it
                for i in set(inside) - set(told):
                    quiet *= np.cumsum(self.noise(GRID - counts[i]))
                below = np.concatenate([[0.0], np.cumsum(quiet)])[:-1]  # bottom < v
                if not told:
                    law[told] = np.array(quiet.sum())
                    continue
                axes = np.ix_(*(self.noise(GRID - counts[i]) for i in told))
                joint = reduce(np.multiply, axes)
                least = reduce(np.minimum, np.ix_(*(np.arange(len(GRID)),) * size))
                law[told] = joint * below[least]
        return law


def hockey(left: Released, right: Released, epsilon: float) -> float:
    """The least delta of this direction."""
    return sum(
        float(np.maximum(p - np.exp(epsilon) * right.get(told, np.zeros_like(p)), 0).sum()) for told, p in left.items()
    )
