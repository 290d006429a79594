"""Noisy counts of items that were selected, each with noise of its own; and what all such noise has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import Neighbors, Privacy, PureDP, SpentSteps, Steps, parse_neighbors
from dpselect.accounting.composition import frugal
from dpselect.draws import Draws, secure
from dpselect.mechanisms.gaps import laplace_width
from dpselect.mechanisms.port import set_fields
from dpselect.mechanisms.top_k.top_rows import whole_counts

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class CountNoise(ABC):
    """Noise for the counts of at most k winners, fixed before they are known. Each kind is final, and has its price."""

    k: int
    max_items_per_user: int | None = None
    sensitivity: int = 1

    @abstractmethod
    def noises(self, draws: Draws, *sizes: int) -> list[int]:
        """Draw the noise of so many counts, of each of several groups by itself."""

    @abstractmethod
    def width(self, beta: float, times: int = 1) -> int:
        """Return the error that one count, or any of so many, exceeds with probability at most beta."""

    @abstractmethod
    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""

    @abstractmethod
    def steps_of(self, *items: int) -> tuple[SpentSteps, ...]:
        """Return the steps of the counts of so many winners, in each of the groups of one user."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, object]:
        """The parameters of the noise, as a statement has them."""

    @property
    def failure(self) -> Fraction:
        """The probability that noise may fail by where epsilons add up."""
        return Fraction(0)

    @property
    def moved(self) -> int:
        """The largest number of the k counts that one user moves."""
        return self.k if self.max_items_per_user is None else min(self.k, self.max_items_per_user)

    def __call__(
        self, counts: npt.ArrayLike, *, draws: Draws | None = None, sizes: Sequence[int] | None = None
    ) -> list[int]:
        """Return the noisy counts, in the order given, of groups of these sizes.

        Noise can make a small one negative.
        """
        true_counts = whole_counts(counts).tolist()
        noises = self.noises(secure(draws), *([len(true_counts)] if sizes is None else sizes))
        return [count + noise for count, noise in zip(true_counts, noises, strict=True)]


@dataclass(frozen=True, kw_only=True)
class NoisyCounts(CountNoise):
    """Release the counts of k selected items with discrete Laplace noise of scale sensitivity / epsilon_per_count.

    Guarantee: (epsilon, delta)-DP for all k counts together: each is one epsilon_per_count-DP step.
    Neighbors: add-remove, or replace-one (a count still changes by at most `sensitivity`).
    Sensitivity: one user changes each count by at most `sensitivity`, and at most `max_items_per_user` of the k counts
        if that is given.
    Exactness: P(noise = z) is exactly proportional to exp(-epsilon_per_count |z| / sensitivity) over all integers z.
    Cost: about 20 random decisions per count, each for all counts at once.
    Source: Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke 2020, Section 5; Durfee and
        Rogers 2021 for counts after a selection (their scale 2 sqrt(k) / epsilon' is 2 / epsilon_per_pick).
    Example:
        >>> abs(NoisyCounts(k=2, epsilon_per_count=5)([900, 600])[0] - 900) < 50
        True
    """

    epsilon_per_count: Number
    delta: Number = 0
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = parameters.listed_size("k", self.k)
        epsilon_per_count = parameters.epsilon("epsilon_per_count", self.epsilon_per_count)
        delta = parameters.probability("delta", self.delta, zero=True)
        related = parse_neighbors(self.neighbors)
        bound = self.max_items_per_user
        moved = k if bound is None else min(k, parameters.whole_number("max_items_per_user", bound, minimum=1))
        if related is Neighbors.REPLACE_ONE:
            moved = min(k, 2 * moved)
        steps = (Steps(PureDP(epsilon_per_count), moved),)
        total = frugal(steps, delta)
        privacy = Privacy(epsilon=total.epsilon, delta=total.delta, neighbors=related, steps=steps, bound=total.bound)
        set_fields(self, k=k, epsilon_per_count=epsilon_per_count, delta=delta, neighbors=related, privacy=privacy)
        set_fields(self, sensitivity=parameters.whole_number("sensitivity", self.sensitivity, minimum=1))

    @property
    def rate(self) -> Fraction:
        """The rate of the noise: z weighs exp(-rate |z|)."""
        return Fraction(self.epsilon_per_count) / self.sensitivity

    def noises(self, draws: Draws, *sizes: int) -> list[int]:
        """Draw the noise of so many counts."""
        return draws.laplaces(self.rate, sum(sizes))

    def width(self, beta: float, times: int = 1) -> int:
        """Return the error that one count, or any of so many, exceeds with probability at most beta."""
        return laplace_width(self.rate, beta, times)

    def lead(self, beta: float, times: int) -> int:
        """Return the least lead of one count over another that is certain, of so many, for all pairs at once."""
        from dpselect.mechanisms.leads import laplace_lead

        return laplace_lead(self.rate, beta, times)

    def steps_of(self, *items: int) -> tuple[SpentSteps, ...]:
        """Return one step for each of the counts that a user moves."""
        return (Steps(PureDP(Fraction(self.epsilon_per_count)), sum(min(size, self.moved) for size in items)),)

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters of the noise, as a statement has them."""
        return {"epsilon_per_count": self.epsilon_per_count}
