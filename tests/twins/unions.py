"""Negative controls for set unions: mechanisms that are wrong on purpose. The tests must refuse every one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from dpselect.accounting.gaussian_curve import smallest_deviation
from dpselect.aggregates.user_sets import UserSets
from dpselect.mechanisms import CountLaplace, GreedyGeometric, WeightedGaussian
from dpselect.mechanisms.set_union.count import UserCounts
from dpselect.mechanisms.set_union.port import UNIT
from dpselect.mechanisms.set_union.release_laws import (
    DiscreteLaplaceTail,
    GaussianTail,
    LaplaceTail,
    ReleaseLaw,
    certified_threshold,
    discrete_laplace_tail,
    laplace_tail,
)
from dpselect.mechanisms.set_union.weighted import rooted, weighted
from dpselect.papers import PolicyLaplace
from dpselect.papers.weighted_laplace import even
from dpselect.queries.union.bound import BoundChoice


@dataclass(frozen=True, kw_only=True)
class ThresholdForOne:
    """Weighted or count Laplace with the threshold for one new item, though a user may bring many."""

    epsilon: Fraction
    delta: Fraction
    counts: bool = False
    max_items_per_user: int = 3

    @property
    def law(self) -> ReleaseLaw:
        if self.counts:
            return discrete_laplace_tail(self.epsilon / self.max_items_per_user, self.delta, 1)
        rate = self.epsilon
        return LaplaceTail(
            certified_threshold(lambda at: LaplaceTail(at, rate), self.delta, 1, lambda _: Fraction(1)), rate
        )

    def weigh(self, ordered: UserSets) -> Any:
        return UserCounts().weigh(ordered, None) if self.counts else (weighted(ordered, even), UNIT)


@dataclass(frozen=True, kw_only=True)
class CountedAsWeighted:
    """Counts with the noise of weighted counts: as if a user gave 1 in all."""

    epsilon: Fraction
    delta: Fraction
    max_items_per_user: int = 3

    @property
    def law(self) -> DiscreteLaplaceTail:
        right = CountLaplace(epsilon=self.epsilon, delta=self.delta, max_items_per_user=3)
        return DiscreteLaplaceTail(right.threshold, self.epsilon)

    def weigh(self, ordered: UserSets) -> Any:
        return UserCounts().weigh(ordered, None)


def of_longest_user(right: BoundChoice) -> Callable[[Sequence[int]], BoundChoice]:
    """From how many items each user has to a choice whose largest bound is what some user needs."""

    def choice(lengths: Sequence[int]) -> BoundChoice:
        most = max(lengths)
        return replace(right, bounds=tuple(bound for bound in right.bounds if bound <= most))

    return choice


def one_lower(law: DiscreteLaplaceTail) -> DiscreteLaplaceTail:
    """Counts that come back one below the threshold."""
    return DiscreteLaplaceTail(law.threshold - 1, law.rate)


def without_root(law: DiscreteLaplaceTail, delta: Fraction) -> DiscreteLaplaceTail:
    """Each new item appears with probability delta, however many a user may bring."""
    return discrete_laplace_tail(law.rate, delta, 1)


def noise_for_one(epsilon: Fraction, delta: Fraction, most: int) -> DiscreteLaplaceTail:
    """Noise for one count, of which a user moves several, and the right threshold for it."""
    return discrete_laplace_tail(epsilon, delta, most)


@dataclass(frozen=True, kw_only=True)
class DeltaNotHalved:
    """Weighted Gaussian where noise and new items may each fail with all of delta."""

    epsilon: Fraction
    delta: Fraction
    max_items_per_user: int = 3

    @property
    def law(self) -> GaussianTail:
        s = smallest_deviation(self.epsilon, self.delta)
        share = WeightedGaussian(epsilon=self.epsilon, delta=self.delta, max_items_per_user=3).share
        return GaussianTail(certified_threshold(lambda at: GaussianTail(at, s), self.delta, 3, share), s)

    def weigh(self, ordered: UserSets) -> Any:
        return weighted(ordered, rooted), UNIT


@dataclass(frozen=True, kw_only=True)
class NoisyGreedy:
    """Greedy updates to a whole cutoff, released by Laplace noise: right, and beside the two that are not."""

    epsilon: Fraction
    delta: Fraction

    @property
    def law(self) -> ReleaseLaw:
        return laplace_tail(self.epsilon, self.delta, 1, lambda _: Fraction(1))

    def weigh(self, ordered: UserSets) -> Any:
        return GreedyGeometric(epsilon=self.epsilon, delta=self.delta).weigh(ordered)


@dataclass(frozen=True, kw_only=True)
class FractionalGreedy:
    """Greedy updates with a cutoff that is no integer: contractive, but one user can make many items new."""

    epsilon: Fraction
    delta: Fraction
    cutoff: Fraction

    @property
    def law(self) -> ReleaseLaw:
        return NoisyGreedy(epsilon=self.epsilon, delta=self.delta).law

    def weigh(self, ordered: UserSets) -> Any:
        weights = [0] * ordered.size
        cutoff = int(self.cutoff * UNIT)
        for v in range(ordered.users):
            rest = UNIT
            for code in ordered.codes[ordered.offsets[v] : ordered.offsets[v + 1]].tolist():
                part = min(rest, cutoff - weights[code])
                weights[code], rest = weights[code] + part, rest - part
        return np.array(weights), UNIT


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """The example of Gopi et al. 2020: every user gives 1 to that of their items which is closest to the cutoff."""

    cutoff: int

    def weigh(self, ordered: UserSets) -> Any:
        weights = [0] * ordered.size
        for v in range(ordered.users):
            items = ordered.codes[ordered.offsets[v] : ordered.offsets[v + 1]].tolist()
            below = [i for i in items if weights[i] < self.cutoff]
            if below:
                weights[max(below, key=lambda i: weights[i])] += 1
        return np.array(weights), 1


@dataclass(frozen=True, kw_only=True)
class MaxSum:
    """Trap (a): l1-shaped descent under Gaussian noise: a user raises items equally, until 1 is reached in l2."""

    cutoff: float

    def weigh(self, ordered: UserSets) -> Any:
        weights = [0.0] * ordered.size
        for v in range(ordered.users):
            items = ordered.codes[ordered.offsets[v] : ordered.offsets[v + 1]].tolist()
            gaps = sorted(self.cutoff - weights[i] for i in items)
            water, used = 0.0, 0.0
            for place, gap in enumerate(gaps):
                left = len(gaps) - place
                if used + left * gap * gap >= 1:
                    water = math.sqrt((1 - used) / left)
                    break
                water, used = gap, used + gap * gap
            for i in items:
                weights[i] += min(water, self.cutoff - weights[i])
        return np.array(weights), 1


@dataclass(frozen=True, kw_only=True)
class NoisedZeros:
    """Trap (b): an item that was looked at is noised though nobody gave it anything."""

    epsilon: Fraction
    delta: Fraction
    inner: NoisyGreedy = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner", NoisyGreedy(epsilon=self.epsilon, delta=self.delta))

    @property
    def law(self) -> ReleaseLaw:
        return self.inner.law

    def weigh(self, ordered: UserSets) -> Any:
        weights, unit = self.inner.weigh(ordered)
        touched = np.zeros(ordered.size, dtype=np.int64)
        touched[ordered.codes] = 1
        tiny = 2**60  # a weight as good as 0 for the law, but one that exists
        return np.maximum([int(w) * tiny for w in weights], touched), unit * tiny


@dataclass(frozen=True, kw_only=True)
class FixedShuffle:
    """Trap (c): users shuffled by their places with a fixed seed, so that one more user moves all others."""

    inner: PolicyLaplace

    def weigh(self, ordered: UserSets) -> Any:
        places = list(range(ordered.users))
        Random(0).shuffle(places)
        blocks = np.split(ordered.codes, ordered.offsets[1:-1])
        moved = [blocks[p] for p in places]
        offsets = np.cumsum([0, *(len(b) for b in moved)])
        return self.inner.weigh(replace(ordered, offsets=offsets, codes=np.concatenate([*moved, ordered.codes[:0]])))


@dataclass(frozen=True, kw_only=True)
class DataOrder:
    """Trap (e): a user's items updated in the order in which the data first shows them."""

    inner: GreedyGeometric

    def weigh(self, ordered: UserSets) -> Any:
        _, first = np.unique(ordered.codes, return_index=True)
        rank = dict(zip(ordered.codes[np.sort(first)].tolist(), range(len(first)), strict=True))
        blocks = [sorted(b.tolist(), key=rank.__getitem__) for b in np.split(ordered.codes, ordered.offsets[1:-1])]
        return self.inner.weigh(replace(ordered, codes=np.array([i for b in blocks for i in b], dtype=np.int64)))
