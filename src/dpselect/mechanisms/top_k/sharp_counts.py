"""Noisy counts of items that were selected, with noise for all of them together: docs/mechanisms/shared-noise.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import ConcentratedUnlessItFails, NoiseSteps, PureDP, SpentSteps, Steps
from dpselect.accounting.calibration import largest_rho_beside
from dpselect.accounting.composition import basic, compose, zcdp_to_epsilon
from dpselect.draws import Draws
from dpselect.mechanisms.gaps import gaussian_width
from dpselect.mechanisms.shared_noise import SharedGaussianNoise, SharedLaplaceNoise
from dpselect.mechanisms.top_k.noisy_counts import CountNoise, NoisyCounts

CHANCE = 0.05  # of an interval, where noises of the same zCDP are compared
APART = Fraction(1, 2**20)  # of the delta of composition: what Gaussian noise may fail by where epsilons add up


@dataclass(frozen=True, kw_only=True)
class GaussianNoise:
    """Discrete Gaussian noise of each count by itself, so that all counts together are rho-zCDP.

    Source: Canonne, Kamath and Steinke 2020, Theorem 14.
    """

    max_items_per_user: int
    rho: Fraction

    multiple = 1

    @property
    def own(self) -> Fraction:
        """The variance of each count's noise."""
        return self.max_items_per_user / (2 * self.rho)

    variance = own

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the noise, as a statement has them."""
        return {"variance": self.own}

    def noises(self, draws: Draws, *sizes: int) -> list[int]:
        """Draw the noise of so many counts."""
        return draws.gaussians(self.own, sum(sizes))

    def width(self, beta: float, times: int = 1) -> int:
        """Return the error that one count, or any of so many, exceeds with probability at most beta."""
        return gaussian_width(self.own, beta, times)

    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""
        from dpselect.mechanisms.leads import gaussian_lead

        return gaussian_lead(self.own, beta, times)

    def rho_of(self, counts: int) -> Fraction:
        """Return the zCDP of so many counts with this noise."""
        return min(counts, self.max_items_per_user) / (2 * self.own)


@dataclass(frozen=True, kw_only=True)
class SharpCounts(CountNoise):
    """Release the counts of at most k selected items with noise that is priced for all of them together.

    Guarantee: given the items, rho-zCDP (Gaussian noise), or a sum of pure steps (Laplace noise).
    Neighbors: add-remove.
    Sensitivity: one user changes each count by 0 to `sensitivity`, all in one direction, and at most
        `max_items_per_user` of the k counts if that is given. The noise is made for a change of 1 and its price is
        that of `sensitivity` such changes.
    Exactness: all noises are exactly discrete Gaussian or discrete Laplace; their parameters are rational.
    Cost: about 20 random decisions per count, each for all counts at once.
    Source: docs/mechanisms/shared-noise.md; Lebeda 2025 for noise that all counts share.
    """

    noise: GaussianNoise | SharedGaussianNoise | SharedLaplaceNoise
    apart: Fraction = Fraction(0)

    def noises(self, draws: Draws, *sizes: int) -> list[int]:
        """Draw the noise of so many counts, of each of several groups by itself."""
        return self.noise.noises(draws, *sizes)

    def width(self, beta: float, times: int = 1) -> int:
        """Return the error that one count, or any of so many, exceeds with probability at most beta."""
        return self.noise.width(beta, times)

    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""
        return self.noise.lead(beta, times)

    def steps_of(self, *items: int) -> tuple[SpentSteps, ...]:
        """Return the steps of the counts of so many winners, in each of the groups of one user.

        A user who moves sums by more is as many users one after another.
        """
        sizes, multiple = Counter(size for size in items if size), self.sensitivity
        if not sizes:
            return ()
        if isinstance(self.noise, SharedLaplaceNoise):
            all_steps = [(steps, times) for size, times in sizes.items() for steps in self.noise.steps_of(size)]
            return tuple(
                Steps(PureDP(steps.value.epsilon * multiple), steps.times * times) for steps, times in all_steps
            )
        rho = sum((self.noise.rho_of(size) * times for size, times in sizes.items()), Fraction(0)) * multiple**2
        return (NoiseSteps(ConcentratedUnlessItFails(rho, _added(rho, self.apart)), 1),)

    def of_sums(self, by: int) -> SharpCounts:
        """Return the noise for sums to which a user gives 0 to `by` units, at the price of these counts."""
        if isinstance(self.noise, SharedLaplaceNoise):
            return replace(self, noise=replace(self.noise, epsilon=self.noise.epsilon / by))
        return replace(self, noise=replace(self.noise, rho=self.noise.rho / by**2))

    @property
    def shape(self) -> str:
        """The name of the law."""
        return "Laplace" if isinstance(self.noise, SharedLaplaceNoise) else "Gaussian"

    @property
    def is_shared(self) -> bool:
        """One part of the noise is the same for all counts."""
        return not isinstance(self.noise, GaussianNoise)

    @property
    def failure(self) -> Fraction:
        """The probability that Gaussian noise may fail by where epsilons add up."""
        return self.apart

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the noise, as a statement has them."""
        return self.noise.parameters


@lru_cache(maxsize=256)
def _added(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the epsilon that rho-zCDP counts as where epsilons add up."""
    return zcdp_to_epsilon(rho, delta)


def sharpest_of_rho(plain: NoisyCounts) -> SharpCounts:
    """Return the noise of the narrowest interval among Gaussian ones of the same zCDP."""
    k, moved = plain.k, plain.moved
    rho = PureDP(Fraction(plain.epsilon_per_count)).rho * moved
    noises = [SharpCounts(k=k, noise=GaussianNoise(max_items_per_user=moved, rho=rho))]
    if moved > 1:
        noises.append(SharpCounts(k=k, noise=SharedGaussianNoise(items=k, max_items_per_user=moved, rho=rho)))
    return min(noises, key=lambda noise: noise.width(CHANCE))


def sharpest(
    plain: NoisyCounts,
    steps_before: Sequence[SpentSteps],
    epsilon: Fraction,
    delta: Fraction,
    beta: float,
    groups: int = 1,
    *,
    paid: int | None = None,
) -> CountNoise:
    """Return the noise of the narrowest interval that fits into (epsilon, delta) after these steps.

    As `plain` noise does on all k counts, or on so many as are `paid`: it takes no more zCDP, or no more epsilon, than
    that, and noise is narrower where a user moves few of them. Of equals the simpler one is taken. One user has counts
    in so many groups, each of which has noise of its own.
    """
    k, moved, epsilon_per_count = plain.k, plain.moved, Fraction(plain.epsilon_per_count)
    paid = k if paid is None else paid
    if moved < paid:
        larger = replace(plain, epsilon_per_count=epsilon_per_count * Fraction(isqrt(paid * 10**12 // moved), 10**6))
        if compose([*steps_before, *larger.steps_of(*[k] * groups)], delta).epsilon <= epsilon:
            plain = larger

    def sharp(noise: GaussianNoise | SharedGaussianNoise | SharedLaplaceNoise, reserved_delta: Fraction) -> SharpCounts:
        bound, times = plain.max_items_per_user, plain.sensitivity
        return SharpCounts(k=k, max_items_per_user=bound, sensitivity=times, noise=noise, apart=reserved_delta)

    noises: list[CountNoise] = [plain]
    remaining = min((epsilon - basic(steps_before)) / groups, epsilon_per_count * paid) / plain.sensitivity
    if moved > 1 and remaining > 0:
        pure = SharedLaplaceNoise(items=k, max_items_per_user=moved, epsilon=remaining)
        if moved < paid and pure.steps_of(k)[0].times == 1:  # shared noise moves: the zCDP of all k counts
            pure = SharedLaplaceNoise(items=k, max_items_per_user=k, epsilon=remaining)
        noises.append(sharp(pure, Fraction(0)))
    reserved_delta = delta * APART
    largest = PureDP(epsilon_per_count).rho * paid * groups
    rho = largest_rho_beside(tuple(steps_before), epsilon, delta - reserved_delta, largest) if delta else Fraction(0)
    if rho:
        rho /= groups * plain.sensitivity**2
        noises.append(sharp(GaussianNoise(max_items_per_user=moved, rho=rho), reserved_delta))
        if moved > 1:
            noises.append(sharp(SharedGaussianNoise(items=k, max_items_per_user=moved, rho=rho), reserved_delta))
    return min(noises, key=lambda noise: noise.width(beta))
