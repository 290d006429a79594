"""All counts of a known domain at once, with Laplace or Gaussian noise, of which one part may be shared by all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import ZCDP, Neighbors, Privacy, PureDP, Steps
from dpselect.accounting.gaussian_curve import calibrations
from dpselect.draws import Draws, secure
from dpselect.errors import ParameterError
from dpselect.mechanisms.gaps import gaussian_width, laplace_width
from dpselect.mechanisms.leads import gaussian_lead, laplace_lead
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.shared_noise import (
    SharedGaussianNoise,
    SharedLaplaceNoise,
    SharedNoise,
)
from dpselect.mechanisms.top_k.top_rows import whole_counts

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class HistogramNoise(ABC):
    """Every count with fresh noise. The port of both: each is final, and says its noise."""

    epsilon: Number
    max_items_per_user: int
    privacy: Privacy = field(init=False, repr=False)

    @abstractmethod
    def noises(self, draws: Draws, n: int) -> list[int]:
        """Draw the noise of n counts."""

    @abstractmethod
    def width(self, beta: float, times: int = 1) -> int:
        """Return the error in users that one count, or any of so many, exceeds with probability at most beta."""

    @abstractmethod
    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""

    def __call__(self, counts: npt.ArrayLike, *, draws: Draws | None = None) -> list[int]:
        """Return the noisy counts, in the order given; the noise can make a small count negative."""
        true = whole_counts(counts).tolist()
        return [count + noise for count, noise in zip(true, self.noises(secure(draws), len(true)), strict=True)]


@dataclass(frozen=True, kw_only=True)
class HistogramLaplace(HistogramNoise):
    """Release all counts with exact discrete Laplace noise of scale max_items_per_user / epsilon.

    Guarantee: epsilon-DP for all counts together: `max_items_per_user` steps of epsilon / max_items_per_user each.
    Neighbors: add-remove.
    Sensitivity: one user moves at most `max_items_per_user` counts, each by 1; the data must have been bounded so, or
        have no more items.
    Exactness: P(noise = z) is exactly proportional to exp(-epsilon |z| / max_items_per_user) over all integers z.
    Cost: about 20 random decisions per count.
    Source: Dwork, McSherry, Nissim and Smith 2006 for noise by the l1 sensitivity; Ghosh, Roughgarden and Sundararajan
        2009 for whole noise.
    Example:
        >>> abs(HistogramLaplace(epsilon=5, max_items_per_user=1)([900, 0])[0] - 900) < 50
        True
    """

    def __post_init__(self) -> None:
        epsilon = parameters.epsilon("epsilon", self.epsilon)
        max_items = parameters.whole_number("max_items_per_user", self.max_items_per_user, minimum=1)
        steps = (Steps(PureDP(epsilon / max_items), max_items),)
        privacy = Privacy(epsilon=epsilon, delta=Fraction(0), neighbors=Neighbors.ADD_REMOVE, steps=steps)
        set_fields(self, epsilon=epsilon, max_items_per_user=max_items, privacy=privacy)

    @property
    def rate(self) -> Fraction:
        """The rate of the noise: z has probability in proportion to e^(-rate |z|)."""
        return Fraction(self.epsilon) / self.max_items_per_user

    def noises(self, draws: Draws, n: int) -> list[int]:
        """Draw discrete Laplace noise of this rate."""
        return draws.laplaces(self.rate, n)

    def width(self, beta: float, times: int = 1) -> int:
        """Return the error in users that one count, or any of so many, exceeds with probability at most beta."""
        return laplace_width(self.rate, beta, times)

    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""
        return laplace_lead(self.rate, beta, times)


@dataclass(frozen=True, kw_only=True)
class HistogramGaussian(HistogramNoise):
    """Release all counts with exact discrete Gaussian noise, which grows with the root of the items a user has.

    Guarantee: (epsilon, delta)-DP for all counts together, by the exact curve of Gaussian noise or by zCDP; and
        rho-zCDP, rho = max_items_per_user / (2 variance).
    Neighbors: add-remove.
    Sensitivity: one user moves at most `max_items_per_user` counts, each by 1, so all of them by its root in the l2
        norm; the data must have been bounded so, or have no more items.
    Exactness: P(noise = z) is exactly proportional to exp(-z^2 / (2 variance)) over all integers z; the variance is the
        least that a certified search finds.
    Cost: about 20 random decisions per count.
    Source: docs/mechanisms/histogram.md, after Balle and Wang 2018, Theorem 8; Canonne, Kamath and Steinke 2020,
        Theorem 14 for the zCDP of several counts, Corollary 13 for its delta.
    Example:
        >>> abs(HistogramGaussian(epsilon=5, delta="1e-6", max_items_per_user=9)([900, 0])[0] - 900) < 90
        True
    """

    delta: Number
    variance: Fraction = field(init=False)

    def __post_init__(self) -> None:
        epsilon = parameters.epsilon("epsilon", self.epsilon)
        delta = parameters.probability("delta", self.delta)
        max_items = parameters.whole_number("max_items_per_user", self.max_items_per_user, minimum=1)
        variance = min(
            max_items / (2 * calibration.rho) + calibration.wider
            for calibration in calibrations(epsilon, delta, max_items)
        )
        set_fields(self, epsilon=epsilon, delta=delta, max_items_per_user=max_items, variance=variance)
        set_fields(self, privacy=promise(epsilon, delta, "histogram, Gaussian"))

    @property
    def rho(self) -> ZCDP:
        """The promise of all counts together in zCDP, with no failure beside it."""
        return ZCDP(self.max_items_per_user / (2 * self.variance))

    def noises(self, draws: Draws, n: int) -> list[int]:
        """Draw discrete Gaussian noise of this variance."""
        return draws.gaussians(self.variance, n)

    def width(self, beta: float, times: int = 1) -> int:
        """Return the error in users that one count, or any of so many, exceeds with probability at most beta."""
        return gaussian_width(self.variance, beta, times)

    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""
        return gaussian_lead(self.variance, beta, times)


@dataclass(frozen=True, kw_only=True)
class HistogramShared(HistogramNoise):
    """Every count with noise of its own and noise that all share. The port of both: each is final, and prices its own.

    `items` is the public number of all counts, or a bound on it: each gets noise, also those without users.
    """

    items: int
    noise: SharedNoise = field(init=False, repr=False)

    def noises(self, draws: Draws, n: int) -> list[int]:
        """Draw the noise of all counts."""
        if n > self.items:  # of fewer the price is less
            raise ParameterError("counts", f"be at most {self.items:,}, as the domain has items", f"{n:,} of them")
        return self.noise.noises(draws, n)

    def width(self, beta: float, times: int = 1) -> int:
        """Return the error in users that one count, or any of so many, exceeds with probability at most beta."""
        return self.noise.width(beta, times)

    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""
        return self.noise.lead(beta, times)


@dataclass(frozen=True, kw_only=True)
class HistogramSharedLaplace(HistogramShared):
    """Release all counts with discrete Laplace noise on doubled counts, of which one part is the same for all of them.

    Guarantee: epsilon-DP for all counts together, whatever items a user has; in an account that composes they cost no
        more than `max_items_per_user` steps of epsilon / max_items_per_user each.
    Neighbors: add-remove.
    Sensitivity: one user moves at most `max_items_per_user` counts, each by 1 and all in one direction.
    Exactness: both noises are exactly discrete Laplace; their rates are rational.
    Cost: about 20 random decisions per count.
    Source: docs/mechanisms/shared-noise.md, Theorem 2; Ghosh, Roughgarden and Sundararajan 2009 for whole noise.
    Example:
        >>> abs(HistogramSharedLaplace(epsilon=9, items=3, max_items_per_user=3)([900, 0, 5])[0] - 900) < 50
        True
    """

    def __post_init__(self) -> None:
        epsilon = parameters.epsilon("epsilon", self.epsilon)
        noise = SharedLaplaceNoise(items=self.items, max_items_per_user=self.max_items_per_user, epsilon=epsilon)
        steps = noise.steps_of(noise.items)
        privacy = Privacy(epsilon=epsilon, delta=Fraction(0), neighbors=Neighbors.ADD_REMOVE, steps=steps)
        set_fields(self, epsilon=epsilon, max_items_per_user=noise.max_items_per_user, noise=noise, privacy=privacy)


@dataclass(frozen=True, kw_only=True)
class HistogramSharedGaussian(HistogramShared):
    """Release all counts with discrete Gaussian noise, of which one part is the same for all of them.

    Guarantee: (epsilon, delta)-DP for all counts together, by the exact curve of Gaussian noise or by zCDP; and
        rho-zCDP.
    Neighbors: add-remove.
    Sensitivity: one user moves at most `max_items_per_user` counts, each by 1 and all in one direction; the data must
        have been bounded so, or have no more items.
    Exactness: both noises are exactly discrete Gaussian; their variances are rational, and rho is computed from them.
    Cost: about 20 random decisions per count.
    Source: docs/mechanisms/shared-noise.md, Theorem 1; Lebeda 2025 for noise shared by all counts; for delta as
        HistogramGaussian.
    Example:
        >>> noise = HistogramSharedGaussian(epsilon=5, delta="1e-6", items=2, max_items_per_user=2)
        >>> abs(noise([900, 0])[0] - 900) < 90
        True
    """

    delta: Number

    def __post_init__(self) -> None:
        epsilon = parameters.epsilon("epsilon", self.epsilon)
        delta = parameters.probability("delta", self.delta)
        moved = parameters.whole_number("items", self.items, minimum=2) + 1  # with the shared noise
        noise = min(
            (
                SharedGaussianNoise(
                    items=self.items,
                    max_items_per_user=self.max_items_per_user,
                    rho=calibration.rho,
                    wider=calibration.wider,
                )
                for calibration in calibrations(epsilon, delta, moved)
            ),
            key=lambda noise: noise.variance,
        )
        set_fields(self, epsilon=epsilon, delta=delta, max_items_per_user=noise.max_items_per_user, noise=noise)
        set_fields(self, privacy=promise(epsilon, delta, "histogram, shared Gaussian"))

    @property
    def rho(self) -> ZCDP:
        """The promise of all counts together in zCDP, with no failure beside it."""
        assert isinstance(self.noise, SharedGaussianNoise)
        return ZCDP(self.noise.rho)


def nearest(
    epsilon: Fraction, delta: Fraction, max_items: int, items: int, beta: float, *, domain_size: int | None = None
) -> HistogramNoise:
    """Return the noise whose interval for so many items at once is narrowest; without a delta of Laplace noises.

    Of equals that whose interval for one item is narrower is taken, and then the simpler one. Noise is shared only
    where the number of all counts is known: `domain_size`.
    """
    candidates: list[HistogramNoise] = [HistogramLaplace(epsilon=epsilon, max_items_per_user=max_items)]
    if delta:
        candidates.append(HistogramGaussian(epsilon=epsilon, delta=delta, max_items_per_user=max_items))
    if domain_size is not None and min(max_items, domain_size) > 1:
        size = domain_size
        candidates.append(HistogramSharedLaplace(epsilon=epsilon, items=size, max_items_per_user=max_items))
        if delta:
            shared = HistogramSharedGaussian(epsilon=epsilon, delta=delta, items=size, max_items_per_user=max_items)
            candidates.append(shared)
    return min(candidates, key=lambda noise: (noise.width(beta, items), noise.width(beta)))
