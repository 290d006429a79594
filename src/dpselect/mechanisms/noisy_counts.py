"""Noisy counts of items that were selected."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpselect import parameters
from dpselect.accounting.composition import frugal
from dpselect.draws import Draws
from dpselect.mechanisms.port import secure
from dpselect.mechanisms.top_rows import whole
from dpselect.mechanisms.widths import laplace_width
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, Privacy, PureDP, Steps, neighbors


@dataclass(frozen=True, kw_only=True)
class NoisyCounts:
    """Release the counts of k selected items with exact discrete Laplace noise of scale 1 / epsilon_per_count.

    Guarantee: (epsilon, delta)-DP for all k counts together: each is one epsilon_per_count-DP step.
    Neighbors: add-remove, or replace-one (a count still moves by at most 1).
    Sensitivity: one user moves each count by at most 1, and at most `max_items_per_user` of the k counts where
        that is given.
    Exactness: P(noise = z) in proportion to exp(-epsilon_per_count |z|) over all integers z, exactly.
    Cost: about 20 random decisions a count.
    Source: Ghosh, Roughgarden and Sundararajan 2009; Canonne, Kamath and Steinke 2020, Section 5; seed 004 for
        counts after a selection (its scale 2 sqrt(k) / epsilon' is 2 / epsilon_per_pick).
    Example:
        >>> abs(NoisyCounts(k=2, epsilon_per_count=5)([900, 600])[0] - 900) < 50
        True
    """

    k: int
    epsilon_per_count: Number
    delta: Number = 0
    max_items_per_user: int | None = None
    neighbors: Neighbors = Neighbors.ADD_REMOVE
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = parameters.listed("k", self.k)
        each = parameters.epsilon("epsilon_per_count", self.epsilon_per_count)
        delta = parameters.probability("delta", self.delta, zero=True)
        related = neighbors(self.neighbors)
        bound = self.max_items_per_user
        moved = k if bound is None else min(k, parameters.whole("max_items_per_user", bound, least=1))
        if related is Neighbors.REPLACE_ONE:
            moved = min(k, 2 * moved)
        steps = (Steps(PureDP(each), moved),)
        total = frugal(steps, delta)
        privacy = Privacy(epsilon=total.epsilon, delta=total.delta, neighbors=related, steps=steps, bound=total.bound)
        settled = {"k": k, "epsilon_per_count": each, "delta": delta, "neighbors": related, "privacy": privacy}
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def width(self, beta: float) -> int:
        """A count lies within so many users of the true one, but with probability beta."""
        return laplace_width(Fraction(self.epsilon_per_count), beta)

    def __call__(self, counts: npt.ArrayLike, *, draws: Draws | None = None) -> list[int]:
        """The noisy counts, in the order given; noise can take a small count below 0."""
        draws, rate = secure(draws), Fraction(self.epsilon_per_count)
        return [int(c) + draws.geometric(rate) - draws.geometric(rate) for c in whole(np.asarray(counts))]
