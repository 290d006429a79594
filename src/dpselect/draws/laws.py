"""Arguments of draws: what a caller hands to `Draws` to state the distribution it wants."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

from flint import arb

from dpselect.reals import Real


class Noise(StrEnum):
    """The noise distributions of `noisy_max`, in units where the rate is 1."""

    LAPLACE = "laplace"  # density exp(-|t|) / 2
    EXPONENTIAL = "exponential"  # density exp(-t) for t >= 0


class MonotoneProbability(Protocol):
    """A probability that never falls as a weight rises."""

    def at(self, weight: Fraction) -> Real:
        """Return the probability at this weight, in [0, 1]."""
        ...


class Masses(Protocol):
    """Family f has candidates x = 0 .. sizes[f] - 1, of mass fall(f, x) * rise(f, x) each.

    Both factors are positive; along x the first never rises and the second never falls. A larger `bits` gives a
    smaller ball.
    """

    @property
    def sizes(self) -> Sequence[int]:
        """Say how many candidates each family has."""
        ...

    def fall(self, family: int, x: int, bits: int) -> arb:
        """Return the factor that never rises with x."""
        ...

    def rise(self, family: int, x: int, bits: int) -> arb:
        """Return the factor that never falls with x."""
        ...


class Layers(Masses, Protocol):
    """Masses whose candidates are layers: rise(f, x) answers, between two losses L < L' (None: no end).

    With p(L) = e^(-rate L), permute-and-flip accepts an answer with probability the sum of p(L) - p(L') over the
    layers that hold it, which follow one another. The fall of a layer is p(L) - p(L') times one constant; at least
    one answer has loss 0.
    """

    @property
    def rate(self) -> Fraction:
        """The loss is multiplied by this in the exponent."""
        ...

    def layer(self, family: int, x: int) -> tuple[int, int | None]:
        """Return L and L'."""
        ...
