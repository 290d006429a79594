"""Weighted counts: every user gives the same to each of their items, the less the more they have."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpselect.draws import Draws
from dpselect.mechanisms.set_union.laws import GaussianTail, LaplaceTail
from dpselect.mechanisms.set_union.ordering import as_they_stand
from dpselect.mechanisms.set_union.port import UNIT, Progress, Weighed, parse, promise, released, settle, within
from dpselect.mechanisms.set_union.thresholds import smallest_deviation, threshold
from dpselect.parameters import Number
from dpselect.privacy import Privacy
from dpselect.user_sets import Int64, UserSets


@dataclass(frozen=True, kw_only=True)
class WeightedLaplace:
    """Release the items whose weight plus Laplace noise is above a threshold; a user of t items gives 1/t to each.

    Guarantee: (epsilon, delta)-DP.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and gives at most 1 in all.
    Exactness: the law is exact: weights are whole multiples of 2^-30, 1/t rounded down, and each item is one coin of
        P(weight + noise > threshold); the threshold is proved, rounded up.
    Cost: one pass over the pairs, one coin an item.
    Source: seed 001 (Gopi et al. 2020), Weighted Laplace; its threshold is proved for every t.
    Example:
        >>> WeightedLaplace(epsilon=1, delta="1e-6", max_items_per_user=9)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int
    threshold: Fraction = field(init=False)
    law: LaplaceTail = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    cutoff: None = field(init=False, default=None, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        height = threshold(lambda at: LaplaceTail(at, epsilon), delta, self.max_items_per_user, self.share)
        privacy = promise(epsilon, delta, "weighted, Laplace")
        settle(self, threshold=height, law=LaplaceTail(height, epsilon), privacy=privacy)

    def share(self, t: int) -> Fraction:
        """1/t, rounded down."""
        return Fraction(even(t), UNIT)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:  # noqa: ARG002 - quick
        """What all give, added up."""
        return weighted(within(ordered, self.max_items_per_user), even), UNIT

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, as_they_stand, draws, progress)


@dataclass(frozen=True, kw_only=True)
class WeightedGaussian:
    """Release the items whose weight plus Gaussian noise is above a threshold; a user of t items gives each 1/sqrt(t).

    Guarantee: (epsilon, delta)-DP; half of delta for the noise, half for items that only one data set has.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves the weights by at most 1 in the
        l2 norm.
    Exactness: the law is exact: weights are whole multiples of 2^-30, 1/sqrt(t) rounded down, and each item is one
        coin of P(weight + noise > threshold); noise and threshold are proved, rounded up.
    Cost: one pass over the pairs, one coin an item.
    Source: seed 001 (Gopi et al. 2020), Weighted Gaussian; Balle and Wang 2018, Theorem 8, for the noise.
    Example:
        >>> WeightedGaussian(epsilon=1, delta="1e-6", max_items_per_user=9)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int
    deviation: Fraction = field(init=False, repr=False)
    threshold: Fraction = field(init=False)
    law: GaussianTail = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    cutoff: None = field(init=False, default=None, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        deviation = smallest_deviation(epsilon, delta / 2)
        height = threshold(lambda at: GaussianTail(at, deviation), delta / 2, self.max_items_per_user, self.share)
        law = GaussianTail(height, deviation)
        privacy = promise(epsilon, delta, "weighted, Gaussian")
        settle(self, deviation=deviation, threshold=height, law=law, privacy=privacy)

    def share(self, t: int) -> Fraction:
        """1/sqrt(t), rounded down."""
        return Fraction(rooted(t), UNIT)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:  # noqa: ARG002 - quick
        """What all give, added up."""
        return weighted(within(ordered, self.max_items_per_user), rooted), UNIT

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, as_they_stand, draws, progress)


def even(t: int) -> int:
    """1/t in parts of 2^-30, rounded down."""
    return UNIT // t


def rooted(t: int) -> int:
    """1/sqrt(t) in parts of 2^-30, rounded down: isqrt(floor(2^60 / t)) is the floor of the root."""
    return math.isqrt(UNIT * UNIT // t)


def weighted(sets: UserSets, give: Callable[[int], int]) -> Int64:
    """The weights when a user of t items gives each give(t) parts: whole numbers, exact in any order."""
    lengths = np.diff(sets.offsets)
    sizes, which = np.unique(lengths, return_inverse=True)
    gifts = np.array([give(int(t)) if t else 0 for t in sizes], dtype=np.int64)
    weights = np.zeros(sets.size, dtype=np.int64)
    np.add.at(weights, sets.codes, np.repeat(gifts[which], lengths))
    return weights
