"""Weighted counts: every user contributes the same to each of their items, the less the more they have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
from functools import partial

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect.accounting.gaussian_curve import smallest_deviation
from dpselect.aggregates.user_sets import Int64, S, Sets, UserSets, summed
from dpselect.draws import Draws
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.port import UNIT, SetUnion, Weighed, parse
from dpselect.mechanisms.set_union.release_laws import gaussian_tail


@dataclass(frozen=True, kw_only=True)
class WeightedGaussian(SetUnion):
    """Release the items whose weight plus Gaussian noise is above a threshold; a user of t items gives each 1/sqrt(t).

    Guarantee: (epsilon, delta)-DP; half of delta for the noise, half for items that only one data set has.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves the weights by at most 1 in the
        l2 norm.
    Exactness: weights are integer multiples of 2^-30, 1/sqrt(t) rounded down, and each item is one exact Bernoulli
        draw of P(weight + noise > threshold); noise and threshold are proved, rounded up.
    Cost: one pass over the pairs, one draw an item.
    Source: Gopi et al. 2020, Weighted Gaussian; Balle and Wang 2018, Theorem 8, for the noise.
    Example:
        >>> sets = UserSets.from_sets(["a"] * 90 + ["b"])
        >>> WeightedGaussian(epsilon=1, delta="1e-9", max_items_per_user=9)(sets).tolist()
        [0]
    """

    max_items_per_user: int

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        shares = Shares(rooted)
        law = gaussian_tail(smallest_deviation(epsilon, delta / 2), delta / 2, self.max_items_per_user, shares.share)
        set_fields(self, weighting=shares, law=law, privacy=promise(epsilon, delta, "weighted, Gaussian"))


@dataclass(frozen=True)
class Shares:
    """Contributions that are added up: a user of t items contributes parts(t) / 2^30 to each."""

    parts: Callable[[int], int]
    cutoff: None = field(init=False, default=None)

    def share(self, t: int) -> Fraction:
        """Return 1/t or 1/sqrt(t), rounded down."""
        return Fraction(self.parts(t), UNIT)

    def order(self, sets: S, draws: Draws) -> S:  # noqa: ARG002 - a policy draws an order
        """Return the sets as they are: integer sums do not depend on the order of users."""
        return sets

    def weigh(self, ordered: Sets, progress: Progress | None) -> Weighed:  # noqa: ARG002 - quick
        """Add up the contributions, exact in any order."""
        return summed(partial(weighted, parts=self.parts), ordered), UNIT


def rooted(t: int) -> int:
    """Return 1/sqrt(t) in parts of 2^-30, rounded down: isqrt(floor(2^60 / t)) is the floor of the root."""
    return math.isqrt(UNIT * UNIT // t)


def weighted(sets: UserSets, parts: Callable[[int], int]) -> Int64:
    """Return the weights when a user of t items contributes parts(t) to each: integers, exact in any order."""
    lengths = np.diff(sets.offsets)
    sizes, size_of_user = np.unique(lengths, return_inverse=True)
    contributions = np.array([parts(int(t)) if t else 0 for t in sizes], dtype=np.int64)
    weights = np.zeros(sets.size, dtype=np.int64)
    np.add.at(weights, sets.codes, np.repeat(contributions[size_of_user], lengths))
    return weights
