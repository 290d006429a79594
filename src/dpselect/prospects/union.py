"""Prospects of a set union: sums of release probabilities, over invented users or from counts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms import (
    SIPS,
    CountGaussian,
    CountLaplace,
    GreedyPouring,
    PolicyGaussian,
    PolicyLaplace,
    SetUnion,
    ShapedPolicy,
    ShapedPouring,
    ShapedWeighted,
    TruncatedGeometric,
    WeightedGaussian,
    WeightedLaplace,
)
from dpselect.mechanisms.set_union.ordering import bounded, users_and_items_in_order
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.prospects.answers import Prospect
from dpselect.prospects.chances import chances, smallest_likely
from dpselect.prospects.crowd import Crowd, Floats, expected_counts, expected_weights
from dpselect.user_sets import UserSets

RUNS = 5  # of mechanisms with rounds, whose chances have no formula
ROUNDS = {"sips": SIPS, "renyi-shaped": RenyiShaped}
SUMS = {  # weights that are sums of what users give, whatever others gave
    "count-laplace": CountLaplace,
    "count-gaussian": CountGaussian,
    "weighted-laplace": WeightedLaplace,
    "weighted-gaussian": WeightedGaussian,
    "truncated-geometric": TruncatedGeometric,
    "shaped-weighted": ShapedWeighted,
}
POLICIES = {
    "policy-laplace": PolicyLaplace,
    "policy-gaussian": PolicyGaussian,
    "greedy-pouring": GreedyPouring,
    "shaped-policy": ShapedPolicy,
    "shaped-pouring": ShapedPouring,
}
METHODS: dict[str, Callable[..., Any]] = {**SUMS, **POLICIES, **ROUNDS}
NEED_USERS = (*POLICIES, *ROUNDS)


@dataclass(frozen=True, kw_only=True)
class UnionTerms:
    """What a caller wants to know about a set union."""

    delta: Fraction
    max_items_per_user: int | None

    def make(self, method: str, epsilon: Fraction) -> Any:
        """The mechanism, as a caller would make it."""
        taken = {one.name for one in fields(METHODS[method]) if one.init}  # type: ignore[arg-type]
        most = self.max_items_per_user
        bound = {"max_items_per_user": most} if most is not None and "max_items_per_user" in taken else {}
        return METHODS[method](epsilon=epsilon, delta=self.delta, **bound)


def applying(most: int | None, *, users: bool) -> list[str]:
    """The methods that can do with this bound on the items of a user, and without knowing users one by one."""
    known = METHODS if users else SUMS
    return [name for name in known if most is not None or not needs_bound(name)]


def needs_bound(method: str) -> bool:
    """Must max_items_per_user be given?"""
    return any(
        one.name == "max_items_per_user" and one.init and one.default is MISSING
        for one in fields(METHODS[method])  # type: ignore[arg-type]
    )


@dataclass(frozen=True, eq=False)
class Sample:
    """Invented users, one by one; what they keep under a bound is chosen once, and is the same for all mechanisms."""

    sets: UserSets
    draws: Draws
    kept: dict[int | None, UserSets] = field(default_factory=dict)

    def ordered(self, most: int | None) -> UserSets:
        """Users and items in random order, each user bounded."""
        if most not in self.kept:
            self.kept[most] = users_and_items_in_order(bounded(self.sets, most, self.draws), self.draws)
        return self.kept[most]

    @cached_property
    def users(self) -> Floats:
        """How many users each item has, before any bound."""
        return np.bincount(self.sets.codes, minlength=self.sets.size).astype(np.float64)


def union_prospects(
    terms: UnionTerms,
    crowd: Crowd,
    sample: Sample | None,
    methods: Sequence[str],
    epsilons: Sequence[Fraction],
    tell: Callable[[float], None],
    refused: dict[str, list[Fraction]],
) -> Iterator[Prospect]:
    """A row for each method and epsilon; a method that cannot be had at some epsilon is noted in `refused`."""
    total = len(methods) * len(epsilons)
    for place, method in enumerate(methods):
        for step, epsilon in enumerate(epsilons):
            tell((place * len(epsilons) + step) / total)
            try:
                mechanism = terms.make(method, epsilon)
            except ParameterError:
                refused.setdefault(method, []).append(epsilon)
                continue
            if sample is None:
                yield by_formula(method, epsilon, mechanism, crowd)
            elif method in ROUNDS:
                yield by_runs(method, epsilon, mechanism, sample)
            else:
                yield by_users(method, epsilon, mechanism, sample)


def by_formula(method: str, epsilon: Fraction, mechanism: SetUnion, crowd: Crowd) -> Prospect:
    """Expected weights, and the chances at them."""
    most: int | None = mechanism.max_items_per_user  # type: ignore[attr-defined]
    users = expected_counts(crowd, None)
    likely = chances(mechanism.law, expected_weights(crowd, most, mechanism.share))
    needed = users_needed(mechanism, most, crowd.typical) if crowd.alike else smallest_likely(users, likely)
    return summed(method, epsilon, likely, users, needed, mechanism.threshold)


def by_users(method: str, epsilon: Fraction, mechanism: SetUnion, sample: Sample) -> Prospect:
    """The weights that the invented users give, and the chances at them."""
    most: int | None = mechanism.max_items_per_user  # type: ignore[attr-defined]
    weights, unit = mechanism.weigh(sample.ordered(most))
    likely = chances(mechanism.law, weights, unit)
    users = sample.users
    return summed(method, epsilon, likely, users, smallest_likely(users, likely), mechanism.threshold)


def summed(
    method: str, epsilon: Fraction, likely: Floats, users: Floats, smallest: int | None, threshold: Fraction
) -> Prospect:
    """Items come back independently of each other, each with its chance."""
    uses, spread = float(users.sum()) or 1.0, likely * (1 - likely)
    return Prospect(
        method=method,
        epsilon=epsilon,
        items=float(likely.sum()),
        items_spread=math.sqrt(float(spread.sum())),
        smallest_count=smallest,
        error=1 - float((likely * users).sum()) / uses,
        error_spread=math.sqrt(float((spread * users**2).sum())) / uses,
        threshold=float(threshold),
    )


def by_runs(method: str, epsilon: Fraction, mechanism: Any, sample: Sample) -> Prospect:
    """Mean and spread of some answers."""
    users = sample.users
    found: list[int] = []
    lost: list[float] = []
    seen = np.zeros(len(users))
    for _ in range(RUNS):
        codes = mechanism(sample.sets, draws=sample.draws)
        seen[codes] += 1 / RUNS
        found.append(len(codes))
        lost.append(1 - float(users[codes].sum()) / (float(users.sum()) or 1.0))
    height = getattr(mechanism, "threshold", None)
    return Prospect(
        method=method,
        epsilon=epsilon,
        items=float(np.mean(found)),
        items_spread=float(np.std(found, ddof=1)),
        smallest_count=smallest_likely(users, seen),
        error=float(np.mean(lost)),
        error_spread=float(np.std(lost, ddof=1)),
        threshold=None if height is None else float(height),
    )


def users_needed(mechanism: SetUnion, most: int | None, typical: int) -> int:
    """Of users with so many items each, how many make half a chance: those who keep the item give it their share."""
    kept = typical if most is None else min(typical, most)
    return math.ceil(mechanism.threshold / mechanism.share(kept) * Fraction(typical, kept))
