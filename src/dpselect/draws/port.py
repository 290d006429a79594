"""Draws: the one door for randomness. Every random decision in the project is made by one of these methods.

Before it stand the arguments with which a caller states the distribution it wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from flint import arb

from dpselect._ground.reals import Real

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpselect._ground.reals import Real
    from dpselect.draws.weights import Weights


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


class Draws(Protocol):
    """Draws from exactly stated distributions, independent of one another.

    `secure` is True only where they come from the operating system's randomness.
    """

    secure: bool

    def below(self, n: int) -> int:
        """Draw uniformly from 0, 1, ..., n - 1."""
        ...

    def bernoulli(self, probability: Real) -> bool:
        """Return True with exactly this probability, which must lie in [0, 1]."""
        ...

    def peel(self, weights: Weights, k: int, *, until: int | None = None) -> list[tuple[int, int]]:
        """Draw k candidates without replacement, one after another, each in proportion to its weight.

        Candidate (g, r) is the r-th of the sizes[g] candidates of group g, which all have the same weight. At
        each step every remaining candidate is taken with probability its weight / the weight remaining. k
        is at most the number of candidates. The first pick of group `until`, or of one after it, is the last.
        """
        ...

    def categorical(self, weights: Weights) -> tuple[int, int]:
        """Draw one candidate in proportion to its weight: `peel` with k = 1."""
        ...

    def group_bernoullis(self, weights: Weights) -> list[tuple[int, int]]:
        """Count for each group how many of its candidates' independent Bernoulli trials succeed.

        A candidate's trial succeeds with probability its weight / the largest weight (no factors). The result is a list
        of (group, count); groups with none are omitted.
        """
        ...

    def sample_product(self, masses: Masses) -> tuple[int, int]:
        """Sample (family, x) with probability proportional to fall(family, x) * rise(family, x)."""
        ...

    def binomial(self, n: int, probability: Real) -> int:
        """Count how many of n independent Bernoulli trials of this probability succeed."""
        ...

    def geometric(self, rate: Fraction) -> int:
        """Draw x = 0, 1, 2, ... with probability (1 - e^-rate) e^(-rate x)."""
        ...

    def laplace(self, rate: Fraction) -> int:
        """Draw z = ..., -1, 0, 1, ... with probability proportional to e^(-rate |z|)."""
        ...

    def gaussian(self, variance: Fraction) -> int:
        """Draw z = ..., -1, 0, 1, ... with probability proportional to e^(-z^2 / (2 variance))."""
        ...

    def laplaces(self, rate: Fraction, n: int) -> list[int]:
        """Draw n numbers as `laplace` does, independent of each other."""
        ...

    def gaussians(self, variance: Fraction, n: int) -> list[int]:
        """Draw n numbers as `gaussian` does, independent of each other."""
        ...

    def gaussians_above(
        self, deviation: Fraction, threshold: Fraction, weights: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Draw for each whole weight w, given w + Z > threshold, the whole part of w + Z - threshold.

        Z is Gaussian noise of this deviation, continuous, independent for each weight.
        """
        ...

    def laplaces_above(self, rate: Fraction, threshold: int, weights: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Draw for each whole weight w, given w + Z >= threshold, the number w + Z - threshold.

        Z is noise as of `laplace`, independent for each weight.
        """
        ...

    def order(self, n: int) -> npt.NDArray[np.int64]:
        """Return 0 .. n - 1 in a uniformly random order."""
        ...

    def sample(self, offsets: npt.NDArray[np.int64], max_per_block: int) -> npt.NDArray[np.int64]:
        """Draw a uniformly random subset of `max_per_block` positions of each block, or all where it has fewer.

        Block v is offsets[v] .. offsets[v + 1]. The positions are in ascending order; blocks are independent.
        """
        ...

    def bernoullis(
        self, weights: npt.NDArray[np.int64] | npt.NDArray[np.float64], unit: int, probability: MonotoneProbability
    ) -> npt.NDArray[np.bool_]:
        """Draw an independent Bernoulli of probability.at(w / unit) for each weight w; a weight of 0 gives False."""
        ...
