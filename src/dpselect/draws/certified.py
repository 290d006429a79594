"""CertifiedDraws: exact distributions at the speed of floats, by certified filtering of uniform bits.

Floats only *propose*: a proposal is decided at once when a proved error bound allows it, and in ball
arithmetic at doubling precision otherwise. Statement and proofs: docs/exact-draws.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.draws.core import Core
from dpselect.draws.entropy import SystemBits
from dpselect.draws.peeling import peel
from dpselect.draws.port import Draws
from dpselect.errors import ParameterError, came

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dpselect._ground.reals import Real
    from dpselect.draws.port import Masses, MonotoneProbability
    from dpselect.draws.weights import Weights

_FOR_TESTS: ContextVar[Draws | None] = ContextVar("draws for tests", default=None)


class CertifiedDraws(Core):
    """`Draws` over any source of bits: the core, and one line for each sampler."""

    def peel(self, weights: Weights, k: int, *, until: int | None = None) -> list[tuple[int, int]]:
        """Draw k candidates without replacement, each in proportion to its weight."""
        return peel(self, weights, k, until)

    def categorical(self, weights: Weights) -> tuple[int, int]:
        """Draw one candidate in proportion to its weight."""
        return peel(self, weights, 1)[0]

    def group_bernoullis(self, weights: Weights) -> list[tuple[int, int]]:
        """Count by group how many Bernoulli trials succeed."""
        from dpselect.draws.group_bernoullis import group_bernoullis

        return group_bernoullis(self, weights)

    def sample_product(self, masses: Masses) -> tuple[int, int]:
        """Draw (family, x) in proportion to its mass."""
        from dpselect.draws.monotone_categorical import sample_product

        return sample_product(self, masses)

    def binomial(self, n: int, probability: Real) -> int:
        """Count how many of n Bernoulli trials succeed."""
        from dpselect.draws.binomial import binomial

        return binomial(self, n, probability)

    def gaussian(self, variance: Fraction) -> int:
        """Draw discrete Gaussian noise."""
        from dpselect.draws.core import gaussian

        return gaussian(self, variance)

    def laplaces(self, rate: Fraction, n: int) -> list[int]:
        """Draw discrete Laplace noise n times."""
        from dpselect.draws.many_noises import laplaces

        return laplaces(self, rate, n)

    def gaussians(self, variance: Fraction, n: int) -> list[int]:
        """Draw discrete Gaussian noise n times."""
        from dpselect.draws.many_noises import gaussians

        return gaussians(self, variance, n)

    def gaussians_above(
        self, deviation: Fraction, threshold: Fraction, weights: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Draw by how many whole steps noise lifts each weight above a threshold, given that it does."""
        from dpselect.draws.gaussian_tails import gaussians_above

        return gaussians_above(self, deviation, threshold, weights)

    def laplaces_above(self, rate: Fraction, threshold: int, weights: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Draw how far discrete Laplace noise lifts each weight above a threshold, given that it reaches it."""
        from dpselect.draws.many_noises import laplaces_above

        return laplaces_above(self, rate, threshold, weights)

    def order(self, n: int) -> npt.NDArray[np.int64]:
        """Return 0 .. n - 1 in a uniformly random order."""
        from dpselect.draws.permutations import order

        return order(self.source, n)

    def sample(self, offsets: npt.NDArray[np.int64], max_per_block: int) -> npt.NDArray[np.int64]:
        """Draw the positions of at most `max_per_block` of each block."""
        from dpselect.draws.permutations import sample

        return sample(self.source, offsets, max_per_block)

    def bernoullis(
        self, weights: npt.NDArray[np.int64] | npt.NDArray[np.float64], unit: int, probability: MonotoneProbability
    ) -> npt.NDArray[np.bool_]:
        """Make one Bernoulli draw for each weight."""
        from dpselect.draws.bernoullis import bernoullis

        return bernoullis(self, weights, unit, probability)


class SecureDraws(CertifiedDraws):
    """Exact draws over the operating system's randomness: the default everywhere."""

    def __init__(self) -> None:
        super().__init__(SystemBits(), secure=True)


@contextmanager
def drawing(draws: Draws) -> Iterator[None]:
    """Make everything inside be drawn by these: for tests, whose releases state it.

    Inside is what runs in this context: also a task or a child process that is made here, and no other thread.
    """
    _check(draws)
    token = _FOR_TESTS.set(draws)
    try:
        yield
    finally:
        _FOR_TESTS.reset(token)


def secure(draws: Draws | None = None) -> Draws:
    """Return the draws given, those of a test around it, or new ones over the operating system's randomness."""
    if draws is None:
        return _FOR_TESTS.get() or SecureDraws()
    _check(draws)
    return draws


def _check(draws: object) -> None:
    try:
        sound = isinstance(getattr(draws, "secure", None), bool)
    except Exception:  # an object whose attributes fail
        sound = False
    if not sound:
        raise ParameterError("draws", "be draws such as those of dpselect.testing", came(draws))
