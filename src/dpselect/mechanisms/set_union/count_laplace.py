"""Counts with Laplace noise and a threshold; the noise that decided may be shown, for nothing more."""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from typing import ClassVar

from dpselect._ground.dataclass import dataclass
from dpselect._ground.privacy import PureDP
from dpselect.accounting.prices import divergence
from dpselect.aggregates.user_sets import Int64
from dpselect.draws import Draws
from dpselect.mechanisms.gaps import laplace_width
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.count import UserCounts
from dpselect.mechanisms.set_union.port import SetUnion, parse
from dpselect.mechanisms.set_union.release_laws import DiscreteLaplaceTail, discrete_laplace_tail, interval_of_users

CERTAIN = 40  # times 1 / rate, beyond which an interval does not search


@dataclass(frozen=True, kw_only=True)
class CountLaplace(SetUnion):
    """Release the items whose number of users plus whole Laplace noise reaches a threshold, and that sum if wanted.

    Guarantee: (epsilon, delta)-DP, also for the noisy counts of the released items.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves each count by 1.
    Exactness: each item is one exact Bernoulli draw of P(count + noise >= threshold), and a noisy count is drawn from
        the law that it has then; the threshold is the least whole number that is proved to be enough.
    Cost: one pass over the pairs, one draw an item.
    Source: Korolova, Kenthapadi, Mishra and Ntoulas 2009, extended to many items as in Gopi et al. 2020; Wilson et al.
        2020 show the counts. Ours: whole noise, and the exact threshold for it, proof on the page of set unions.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> sets = UserSets.from_sets([["a"]] * 90 + [["b"]])
        >>> CountLaplace(epsilon=1, delta="1e-9", max_items_per_user=1)(sets).tolist()
        [0]
    """

    max_items_per_user: int
    noise: ClassVar[str] = "Laplace"
    law: DiscreteLaplaceTail = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        law = discrete_laplace_tail(epsilon / self.max_items_per_user, delta, self.max_items_per_user)
        set_fields(self, weighting=UserCounts(), law=law, privacy=promise(epsilon, delta, "count, Laplace"))

    @property
    def rate(self) -> Fraction:
        """The rate of the noise: z has probability proportional to e^(-rate |z|)."""
        return self.law.rate

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(2) * math.exp(-self.rate / 2) / -math.expm1(-self.rate)

    @property
    def least(self) -> int:
        """The least noisy count."""
        return int(self.threshold)

    def noisy(self, counts: Int64, draws: Draws) -> list[int]:
        """Draw the noisy counts of released items: what decided that they are released."""
        steps = draws.laplaces_above(self.rate, self.least, counts)
        return [self.least + int(step) for step in steps]

    def interval(self, noisy: int, beta: float) -> tuple[int, int]:
        """Return between which numbers of users an item lies whose noisy count came to this."""
        return interval_of_users(noisy, self._tail_if_released, math.ceil(CERTAIN / self.rate), beta)

    def width(self, beta: float) -> int:
        """Return how near a noisy count is that lies far above the threshold."""
        return laplace_width(self.rate, beta)

    def divergence(self, order: int) -> Fraction:
        """Return the Rényi divergence of any order, but for new items: of as many steps as one user moves counts."""
        return self.max_items_per_user * divergence(PureDP(self.rate), order)

    def _tail_if_released(self, noisy: int, users: int) -> float:
        """Return P(the noisy count is at least this), given that it reaches the threshold."""
        if users <= self.least:  # its noise is above 0, where the tail has no memory
            return math.exp(-self.rate * (noisy - self.least))
        return self._tail(noisy - users) / self._tail(self.least - users)

    def _tail(self, z: int) -> float:
        """Return P(Z >= z)."""
        q = math.exp(-self.rate)
        return math.exp(-self.rate * z) / (1 + q) if z >= 1 else 1 - math.exp(-self.rate * (1 - z)) / (1 + q)
