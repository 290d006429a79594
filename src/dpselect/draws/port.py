"""Draws: the one door for randomness. Every random decision in the project is one of these questions."""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpselect.draws.flip import Coins
from dpselect.draws.staircase import Masses
from dpselect.draws.weights import Weights
from dpselect.reals import Real


class Noise(StrEnum):
    """The noise laws that `noisy_max` compares, in units where the rate is 1."""

    LAPLACE = "laplace"  # density exp(-|t|) / 2
    EXPONENTIAL = "exponential"  # density exp(-t) for t >= 0


class Rising(Protocol):
    """A probability that never falls as a weight rises."""

    def at(self, weight: Fraction) -> Real:
        """The probability at this weight, in [0, 1]."""
        ...


class Draws(Protocol):
    """Answers with an exactly stated law each; independent of one another.

    `secure` is True only where the answers come from the operating system's randomness.
    """

    secure: bool

    def below(self, n: int) -> int:
        """Uniform on 0, 1, ..., n - 1."""
        ...

    def bernoulli(self, probability: Real) -> bool:
        """True with exactly this probability, which must lie in [0, 1]."""
        ...

    def peel(self, weights: Weights, k: int) -> list[tuple[int, int]]:
        """k candidates without replacement, one after another, each in proportion to its weight.

        Candidate (g, r) is the r-th of the sizes[g] candidates of group g; all of a group weigh the same. At
        each step every remaining candidate is taken with probability its weight / the weight remaining. k
        is at most the number of candidates.
        """
        ...

    def categorical(self, weights: Weights) -> tuple[int, int]:
        """One candidate in proportion to its weight: `peel` with k = 1."""
        ...

    def heads(self, weights: Weights) -> list[tuple[int, int]]:
        """(group, how many heads) for the groups with any, one coin a candidate.

        A candidate's coin falls heads with probability its weight / the largest weight (no factors).
        """
        ...

    def noisy_max(self, weights: Weights, noise: Noise) -> tuple[int, int]:
        """The candidate with the largest rate x score + noise, independent noise of this law for each (no factors)."""
        ...

    def among(self, masses: Masses) -> tuple[int, int]:
        """(family, x) with probability in proportion to its mass fall(family, x) x rise(family, x)."""
        ...

    def flip(self, coins: Coins) -> tuple[int, int]:
        """(family, x) of a layer such that a uniform answer of it has the law of permute-and-flip over all answers.

        Each answer's coin falls heads with its probability, and a uniform one of the heads is taken.
        """
        ...

    def noisy_top(self, weights: Weights, k: int) -> list[tuple[int, int]]:
        """The k candidates with the largest score + Laplace noise of scale 1 / rate, best first.

        Scores are whole numbers (no factors); the noise is continuous, independent for each candidate.
        """
        ...

    def binomial(self, n: int, probability: Real) -> int:
        """How many of n independent coins of this probability fall heads."""
        ...

    def geometric(self, rate: Fraction) -> int:
        """x = 0, 1, 2, ... with probability (1 - e^-rate) e^(-rate x)."""
        ...

    def laplace(self, rate: Fraction) -> int:
        """z = ..., -1, 0, 1, ... with probability in proportion to e^(-rate |z|)."""
        ...

    def gaussian(self, variance: Fraction) -> int:
        """z = ..., -1, 0, 1, ... with probability in proportion to e^(-z^2 / (2 variance))."""
        ...

    def order(self, n: int) -> npt.NDArray[np.int64]:
        """0 .. n - 1 in a uniformly random order."""
        ...

    def sample(self, offsets: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
        """Places to keep: of each block offsets[v] .. offsets[v + 1] a uniformly random `most`, or all if fewer.

        The places come ascending; blocks are independent of each other.
        """
        ...

    def bits(
        self, weights: npt.NDArray[np.int64] | npt.NDArray[np.float64], unit: int, probability: Rising
    ) -> npt.NDArray[np.bool_]:
        """For each weight w / unit > 0 an independent coin that falls heads with exactly this probability.

        A weight of 0 is never heads.
        """
        ...
