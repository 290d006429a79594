"""Noise of which one part is shared by all counts: proofs on docs/mechanisms/shared-noise.md.

A user with many items raises many counts together. Noise that all counts share hides that part of the change at the
price of one count, so that the noise of each count by itself can be smaller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field, replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import PureDP, Steps
from dpselect.draws import Draws
from dpselect.mechanisms.gaps import OUTWARD, gaussian_width, laplace_width
from dpselect.mechanisms.leads import lead_of
from dpselect.mechanisms.noise_laws import STEEP, Law, gaussian_law, laplace_law
from dpselect.mechanisms.port import set_fields

FINE = 64  # steps of a user's count in which the shared noise is shifted, where a bound is given
ROOT_DIGITS = 10**6
CELLS = 2**14  # of a law that are told apart
WIDE = 100  # variances from which on a sum of Gaussian noises has the law of one, but for a part of 1e-400
POINTS = 2**17  # of a law of Laplace noise that stands for a wider one


@dataclass(frozen=True, kw_only=True)
class SharedNoise(ABC):
    """Whole noise for `items` counts of which a user moves at most `max_items_per_user`, each by 1 and all one way.

    What is private is y = multiple h + own + shared; the noisy count is y / multiple, rounded with halves up.
    """

    items: int
    max_items_per_user: int
    multiple: int = field(init=False, default=1)

    @abstractmethod
    def own_noises(self, draws: Draws, n: int) -> list[int]:
        """Draw the noise of each count by itself."""

    @abstractmethod
    def shared_noises(self, draws: Draws, n: int) -> list[int]:
        """Draw the noise that all counts of each group share, for n groups."""

    @abstractmethod
    def laws(self) -> tuple[Law, Law] | None:
        """Return the laws of own and of shared noise; None where they are too wide to be added up."""

    @abstractmethod
    def bound(self, beta: float, times: int) -> int:
        """Return a number that |own + shared| of one count, or of any of so many, exceeds at most with chance beta."""

    @property
    @abstractmethod
    def variance(self) -> Fraction:
        """A bound on the variance of one count's noise, in users."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """The parameters of both noises, as a statement has them."""

    def noises(self, draws: Draws, *sizes: int) -> list[int]:
        """Draw the noise of so many counts, in users; of several groups each has shared noise of its own.

        Halves are rounded up, so that h + the rounded noise is the rounded sum (multiple h + noise) / multiple. Noise
        that is rounded to even numbers by itself shows the parity of the count.
        """
        of_groups = self.shared_noises(draws, len(sizes))
        shared = [noise for size, noise in zip(sizes, of_groups, strict=True) for _ in range(size)]
        noises = zip(self.own_noises(draws, len(shared)), shared, strict=True)
        return [
            (2 * (own_noise + shared_noise) + self.multiple) // (2 * self.multiple)
            for own_noise, shared_noise in noises
        ]

    @lru_cache(maxsize=256)  # noqa: B019 - a value, of which a plan asks several times
    def width(self, beta: float, times: int = 1) -> int:
        """Return the least w that the error of one count, or any of so many, exceeds with chance at most beta.

        The error is at most w where -e <= own + shared < e, e = multiple (w + 1/2). Given the shared noise z the others
        are independent, so all of them are there with probability sum_z P(shared = z) P(-e <= own + z < e)^times. Wide
        laws are added up in cells of several points each, and the width is a little larger.
        """
        laws = self.laws()
        if laws is None:
            return self._users(self.bound(beta, times))
        size = max(1, max(map(len, laws)) // CELLS)
        own, shared = (_cells(law, size) for law in laws)
        middle, cumulative = len(own) // 2, np.concatenate([[0.0], np.cumsum(own)])
        points = np.arange(len(shared)) - len(shared) // 2

        def is_enough(users: int) -> bool:
            doubled = self.multiple * (2 * users + 1)
            first, end = -(doubled // 2), -(-doubled // 2)
            first, end = -(-first // size), (end + 1 - 2 * size) // size + 1  # where all of two cells is inside
            high = np.clip(middle + end - points, 0, len(own))
            low = np.clip(middle + first - points, 0, len(own))
            inside = np.clip(cumulative[high] - cumulative[low], 0.0, 1.0) ** times
            return bool(1 - float(shared @ inside) <= beta / OUTWARD)

        low, high = -1, 1
        while not is_enough(high):
            low, high = high, 2 * high
        while high - low > 1:
            half = (low + high) // 2
            low, high = (low, half) if is_enough(half) else (half, high)
        return high

    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""
        laws = self.laws()
        if laws is None:  # rounded noises differ by no more than twice the width of one
            return 1 + 2 * self._users(self.bound(beta, times))
        own_law, shared_law = laws
        return lead_of(own_law, beta, times, multiple=self.multiple, shared=shared_law)

    def _users(self, inside: int) -> int:
        """Return the error in users of noise that is at most `inside`."""
        return (2 * inside + self.multiple) // (2 * self.multiple)


@dataclass(frozen=True, kw_only=True)
class SharedGaussianNoise(SharedNoise):
    """Discrete Gaussian noises whose variances are chosen so that all counts together are rho-zCDP.

    Guarantee: rho-zCDP for all counts together, add-remove neighbours. `wider` is added to both variances, for the
        exact curve of Gaussian noise; `rho` then is that of the noises as they are.
    Source: shared noise of Lebeda 2025; the price for any bound and the parameters for it are on the proof page.
    """

    rho: Fraction
    wider: Fraction = Fraction(0)
    own: Fraction = field(init=False)
    shared: Fraction = field(init=False)

    def __post_init__(self) -> None:
        items = parameters.whole_number("items", self.items, minimum=2)
        max_items = min(items, parameters.whole_number("max_items_per_user", self.max_items_per_user, minimum=2))
        set_fields(self, items=items, max_items_per_user=max_items, rho=Fraction(self.rho))
        multiple, ratio = min(_ratios(items, max_items), key=lambda shape: _variance(items, max_items, *shape))
        shared_variance = zcdp(items, max_items, multiple, own_variance=ratio, shared_variance=Fraction(1)) / self.rho
        own_variance, shared_variance = ratio * shared_variance + self.wider, shared_variance + self.wider
        rho = (
            zcdp(items, max_items, multiple, own_variance=own_variance, shared_variance=shared_variance)
            if self.wider
            else self.rho
        )
        set_fields(self, multiple=multiple, own=own_variance, shared=shared_variance, rho=rho)

    def own_noises(self, draws: Draws, n: int) -> list[int]:
        """Draw the noise of each count by itself."""
        return draws.gaussians(self.own, n)

    def shared_noises(self, draws: Draws, n: int) -> list[int]:
        """Draw the noise that all counts of each group share."""
        return draws.gaussians(self.shared, n)

    def laws(self) -> tuple[Law, Law] | None:
        """Return the laws of own and of shared noise; None where they are too wide to be added up."""
        own_law, shared_law = gaussian_law(self.own), gaussian_law(self.shared)
        return None if own_law is None or shared_law is None else (own_law, shared_law)

    def bound(self, beta: float, times: int) -> int:
        """Return a number that |own + shared| of one count, or of any of so many, exceeds at most with chance beta."""
        of_each = gaussian_width(self.own, beta / 2, times) + gaussian_width(self.shared, beta / 2)
        if min(self.own, self.shared) < WIDE:
            return of_each
        return min(of_each, gaussian_width(self.own + self.shared, beta / times))  # their sum is as good as such noise

    def rho_of(self, counts: int) -> Fraction:
        """Return the zCDP of so many counts with this noise: of fewer than `items` no more."""
        max_items = min(counts, self.max_items_per_user)
        return zcdp(counts, max_items, self.multiple, own_variance=self.own, shared_variance=self.shared)

    @property
    def variance(self) -> Fraction:
        """A bound on the variance of one count's noise, in users: a discrete Gaussian's is below its parameter."""
        return (self.own + self.shared) / self.multiple**2

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of both noises, as a statement has them."""
        return {"multiple": self.multiple, "own_variance": self.own, "shared_variance": self.shared}


@dataclass(frozen=True, kw_only=True)
class SharedLaplaceNoise(SharedNoise):
    """Discrete Laplace noises on doubled counts: all own ones and the shared one move by 1, whatever items a user has.

    Guarantee: epsilon-DP for all counts together, add-remove neighbours; and no more zCDP than `max_items_per_user`
        steps of epsilon / max_items_per_user each, so that it costs no account more than noise without sharing.
    Source: the proof page.
    """

    epsilon: Fraction
    own: Fraction = field(init=False)
    shared: Fraction = field(init=False)

    def __post_init__(self) -> None:
        items = parameters.whole_number("items", self.items, minimum=2)
        max_items = min(items, parameters.whole_number("max_items_per_user", self.max_items_per_user, minimum=1))
        epsilon = parameters.epsilon("epsilon", self.epsilon)
        ratio = _root(_root(Fraction(items)))
        own_rate = epsilon / max(items + ratio, _root(max_items * (items + ratio**2)) + Fraction(1, ROOT_DIGITS))
        set_fields(self, items=items, max_items_per_user=max_items, epsilon=epsilon, multiple=2)
        set_fields(self, own=own_rate, shared=ratio * own_rate)

    def own_noises(self, draws: Draws, n: int) -> list[int]:
        """Draw the noise of each count by itself."""
        return draws.laplaces(self.own, n)

    def shared_noises(self, draws: Draws, n: int) -> list[int]:
        """Draw the noise that all counts of each group share."""
        return draws.laplaces(self.shared, n)

    def laws(self) -> tuple[Law, Law] | None:
        """Return the laws of own and of shared noise; None where they are too wide to be added up."""
        own_law, shared_law = laplace_law(self.own), laplace_law(self.shared)
        return None if own_law is None or shared_law is None else (own_law, shared_law)

    def bound(self, beta: float, times: int) -> int:
        """Return a number that |own + shared| of one count, or of any of so many, exceeds at most with chance beta."""
        coarser = (STEEP / (min(self.own, self.shared) * POINTS)).__ceil__()
        if coarser == 1:
            return laplace_width(self.own, beta / 2, times) + laplace_width(self.shared, beta / 2)
        fewer = replace(self, epsilon=self.epsilon * coarser)  # whole noise is real noise, but for less than 1
        return coarser * (2 * fewer.width(beta, times) + 3) + 2

    def steps_of(self, counts: int) -> tuple[Steps, ...]:
        """Return the pure steps of so many counts: shared and own noises move by 1, or some own ones by 2."""
        moved = min(counts, self.max_items_per_user)
        if 2 * moved * self.own <= self.shared + counts * self.own:
            return (Steps(PureDP(2 * self.own), moved),)
        return (Steps(PureDP(self.shared), 1), Steps(PureDP(self.own), counts))

    @property
    def variance(self) -> Fraction:
        """A bound on the variance of one count's noise, in users."""
        return (2 / self.own**2 + 2 / self.shared**2) / 4

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of both noises, as a statement has them."""
        return {"multiple": self.multiple, "own_rate": self.own, "shared_rate": self.shared}


# ---- parameters -----------------------------------------------------------------------------------------------


def zcdp(items: int, max_items: int, multiple: int, *, own_variance: Fraction, shared_variance: Fraction) -> Fraction:
    """Return the rho of the theorem: of the worst number m of a user's items, at the best shift b of the shared noise.

    For a fixed b the bracket is linear in m, so its minimum over b is concave in m, and a binary search over its
    differences finds the largest.
    """

    def price(m: int) -> Fraction:
        best = (m * multiple * shared_variance / (own_variance + items * shared_variance)).__floor__()
        return min(_bracket(items, m, multiple, shift, own_variance, shared_variance) for shift in (best, best + 1))

    low, high = 1, max_items
    while low < high:
        half = (low + high) // 2
        low, high = (half + 1, high) if price(half + 1) > price(half) else (low, half)
    return price(low) / 2


def _bracket(
    items: int, m: int, multiple: int, shift: int, own_variance: Fraction, shared_variance: Fraction
) -> Fraction:
    return shift**2 / shared_variance + (m * (multiple - shift) ** 2 + (items - m) * shift**2) / own_variance


def _ratios(items: int, max_items: int) -> list[tuple[int, Fraction]]:
    """Return shapes to choose from: a multiple, and how many times the shared variance the own one is."""
    shapes = [(2, _root(Fraction(items)))]
    if items == 2:
        shapes.append((3, Fraction(1)))
    if (2 * max_items - items) ** 2 < items or 2 * max_items < items:
        part = Fraction(max_items, items) * (1 - _root(Fraction(items - max_items, max_items * (items - 1))))
        shift = round(FINE * part)
        if shift:
            shift_share = Fraction(shift, FINE)
            shapes.append(
                (FINE, _root(max_items * (1 - shift_share) ** 2 + (items - max_items) * shift_share**2) / shift_share)
            )
    return shapes


def _variance(items: int, max_items: int, multiple: int, ratio: Fraction) -> Fraction:
    """Return the variance of a count, up to a factor that all shapes of one rho have."""
    return zcdp(items, max_items, multiple, own_variance=ratio, shared_variance=Fraction(1)) * (ratio + 1) / multiple**2


def _root(number: Fraction) -> Fraction:
    """Return a root, cut to so many digits: any number near it gives a price that holds."""
    return Fraction(isqrt((number * ROOT_DIGITS**2).__floor__()), ROOT_DIGITS)


# ---- laws -----------------------------------------------------------------------------------------------------


def _cells(law: Law, size: int) -> Law:
    """Return the probabilities of cells -n..n, cell j of the points from size j to size (j + 1) - 1."""
    if size == 1:
        return law
    reach = len(law) // 2
    cells = -(-(reach + 1) // size)
    padded = np.pad(law, (cells * size - reach, (cells + 1) * size - reach - 1))
    return np.asarray(padded.reshape(2 * cells + 1, size).sum(axis=1), dtype=np.float64)
