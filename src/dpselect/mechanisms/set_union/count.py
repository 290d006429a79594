"""Counts with noise and a threshold: every user gives 1 to each of their items."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from dpselect.draws import Draws
from dpselect.mechanisms.set_union.laws import GaussianTail, LaplaceTail
from dpselect.mechanisms.set_union.ordering import as_they_stand
from dpselect.mechanisms.set_union.port import Progress, Weighed, parse, promise, released, settle, within
from dpselect.mechanisms.set_union.thresholds import root_up, smallest_deviation, threshold
from dpselect.parameters import Number
from dpselect.privacy import Privacy
from dpselect.user_sets import Int64, UserSets


@dataclass(frozen=True, kw_only=True)
class CountLaplace:
    """Release the items whose number of users plus Laplace noise is above a threshold.

    Guarantee: (epsilon, delta)-DP.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves each count by 1.
    Exactness: the law is exact: each item is one coin of P(count + noise > threshold); the threshold is proved,
        rounded up.
    Cost: one pass over the pairs, one coin an item.
    Source: Korolova, Kenthapadi, Mishra and Ntoulas 2009, extended to many items as in seed 001; threshold as on the
        page of set unions.
    Example:
        >>> CountLaplace(epsilon=1, delta="1e-6", max_items_per_user=1)(UserSets.of([["a"]] * 90 + [["b"]])).tolist()
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
        rate = epsilon / self.max_items_per_user
        height = threshold(lambda at: LaplaceTail(at, rate), delta, self.max_items_per_user, self.share)
        settle(self, threshold=height, law=LaplaceTail(height, rate), privacy=promise(epsilon, delta, "count, Laplace"))

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """One to each."""
        return Fraction(1)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:  # noqa: ARG002 - quick
        """How many users each item has."""
        return counted(within(ordered, self.max_items_per_user)), 1

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, as_they_stand, draws, progress)


@dataclass(frozen=True, kw_only=True)
class CountGaussian:
    """Release the items whose number of users plus Gaussian noise is above a threshold.

    Guarantee: (epsilon, delta)-DP; half of delta for the noise, half for items that only one data set has.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and moves each count by 1: its square root
        in the l2 norm.
    Exactness: the law is exact: each item is one coin of P(count + noise > threshold); noise and threshold are proved,
        rounded up.
    Cost: one pass over the pairs, one coin an item.
    Source: Wilson et al. 2020 with Gaussian noise, as in seed 001; Balle and Wang 2018, Theorem 8, for the noise.
    Example:
        >>> CountGaussian(epsilon=1, delta="1e-6", max_items_per_user=1)(UserSets.of([["a"]] * 90 + [["b"]])).tolist()
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
        most = self.max_items_per_user
        deviation = smallest_deviation(epsilon, delta / 2) * (1 if most == 1 else root_up(Fraction(most)))
        height = threshold(lambda at: GaussianTail(at, deviation), delta / 2, most, self.share)
        law = GaussianTail(height, deviation)
        privacy = promise(epsilon, delta, "count, Gaussian")
        settle(self, deviation=deviation, threshold=height, law=law, privacy=privacy)

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """One to each."""
        return Fraction(1)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:  # noqa: ARG002 - quick
        """How many users each item has."""
        return counted(within(ordered, self.max_items_per_user)), 1

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, as_they_stand, draws, progress)


def counted(sets: UserSets) -> Int64:
    """The number of users of each item."""
    return np.bincount(sets.codes, minlength=sets.size).astype(np.int64)
