"""Forecast of a set union: sums of release probabilities, over invented users or from counts alone."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpselect._ground import methods
from dpselect._ground.methods import NeedsBound, WeightRule
from dpselect.aggregates.user_sets import UserSets
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.forecast.crowds import Crowd, Floats, chances, expected_counts, smallest_likely
from dpselect.forecast.forecast import ForecastRow
from dpselect.mechanisms import CountLaplace, SetUnion, TruncatedGeometric
from dpselect.mechanisms.set_union.renyi_shaped import has_curve
from dpselect.mechanisms.set_union.rounds import bounded, users_and_items_in_order
from dpselect.queries.facts import Facts
from dpselect.queries.union.bounded_union import BoundedUnion
from dpselect.queries.union.plan import UnionPlan
from dpselect.queries.union.terms import COUNTS_OF_BUDGET
from dpselect.questions.payment import Payment
from dpselect.questions.questions import Union

RUNS = 5  # of mechanisms with rounds, whose chances have no formula
ORDERS = 3  # of users and items, for policies, whose weights depend on them


def by_weights(kind: WeightRule) -> tuple[str, ...]:
    """The methods whose users give in this way."""
    return tuple(one.name for one in methods.methods("union") if one.weights is kind)


SUMS, POLICIES, ROUNDS = (by_weights(kind) for kind in WeightRule)


@dataclass(frozen=True, kw_only=True)
class UnionForecast:
    """What a caller wants to know about a set union."""

    delta: Fraction
    max_items_per_user: int | None
    threshold: int | None = None
    counts: bool = False

    def bound(self, method: str) -> dict[str, Any]:
        """The bound on the items of a user, for a method that takes one."""
        most = self.max_items_per_user
        needless = most is None or methods.method_row("union", method).bound is NeedsBound.NONE
        return {} if needless else {"max_items_per_user": most}

    def make(self, method: str, epsilon: Fraction) -> Any:
        """The mechanism, as a caller would make it."""
        if not self.counts:
            return methods.method_row("union", method).make(epsilon=epsilon, delta=self.delta, **self.bound(method))
        return self.counted(method, epsilon).mechanisms[0]

    def counted(self, method: str, epsilon: Fraction) -> BoundedUnion:
        """The union with the part of the price that its counts leave, and their noise."""
        plan = self._plan(method, Payment(epsilon=epsilon, delta=self.delta))
        return BoundedUnion.of(plan, plan.most)

    def width(self, method: str, epsilon: Fraction) -> int:
        """How near its counts are."""
        near: Any = self.counted(method, epsilon).accuracy().numbers["width_of_counts"]
        return int(near)

    def price(self, method: str) -> Fraction:
        """The epsilon that follows from `threshold`."""
        return self._plan(method, Payment(threshold=self.threshold, delta=self.delta)).epsilon

    def _plan(self, method: str, payment: Payment) -> UnionPlan:
        facts = {"max_items_per_user": self.max_items_per_user} if self.counts else self.bound(method)
        facts = {} if methods.method_row("union", method).bound is NeedsBound.NONE else facts
        return UnionPlan(question=Union(method=method, counts=self.counts), payment=payment, facts=Facts(**facts))


def applying(most: int | None, *, users: bool) -> list[str]:
    """The methods that can do with this bound on the items of a user, and without knowing users one by one."""
    known = methods.names("union") if users else SUMS
    return [name for name in known if most is not None or not needs_bound(name)]


def quick(method: str, epsilon: Fraction, terms: UnionForecast) -> bool:
    """Is the mechanism made in a second or two?"""
    most = terms.max_items_per_user
    share = COUNTS_OF_BUDGET if terms.counts else Fraction(0)
    return method != "renyi-shaped" or (most is not None and has_curve(epsilon, terms.delta, most, share))


def needs_bound(method: str) -> bool:
    """Must max_items_per_user be given?"""
    return methods.method_row("union", method).bound is NeedsBound.REQUIRED


@dataclass(frozen=True, eq=False)
class Sample:
    """Invented users, one by one. All mechanisms see them in the same few orders, keeping the same items."""

    sets: UserSets
    draws: Draws
    kept: dict[tuple[int | None, int], UserSets] = field(default_factory=dict)

    def ordered(self, most: int | None, time: int = 0) -> UserSets:
        """Users and items in random order, each user bounded; another order each time."""
        key = most, time
        if key not in self.kept:
            self.kept[key] = users_and_items_in_order(bounded(self.sets, most, self.draws), self.draws)
        return self.kept[key]

    @cached_property
    def users(self) -> Floats:
        """How many users each item has, before any bound."""
        return np.bincount(self.sets.codes, minlength=self.sets.size).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Averages:
    """What a crowd gives on average. For sums it does not depend on epsilon, and is found once a method."""

    crowd: Crowd
    found: dict[str, Floats] = field(default_factory=dict)

    @cached_property
    def users(self) -> Floats:
        """How many users each item has, before any bound."""
        return expected_counts(self.crowd, None)

    def weights(self, method: str, mechanism: SetUnion, most: int | None) -> Floats:
        """The expected weights."""
        if method not in self.found:
            weights = self.crowd.given(most, mechanism.share)
            # These laws know whole numbers only, and would round an average down.
            self.found[method] = (
                np.rint(weights) if isinstance(mechanism, CountLaplace | TruncatedGeometric) else weights
            )
        return self.found[method]


def union_rows(
    terms: UnionForecast,
    world: Sample | Averages,
    chosen: Sequence[str],
    epsilons: Sequence[Fraction | None],
    tell: Callable[[float], None],
    refused: dict[str, list[Fraction]],
    said: list[str],
) -> Iterator[ForecastRow]:
    """A row for each method and epsilon, None for what follows from `threshold`.

    A method that cannot be had at some epsilon is noted in `refused`, one that cannot promise `threshold` is `said`.
    """
    total = len(chosen) * len(epsilons)
    for place, method in enumerate(chosen):
        for step, given in enumerate(epsilons):
            tell((place * len(epsilons) + step) / total)
            mechanism = None
            try:
                epsilon = given or terms.price(method)
            except ParameterError as error:
                if error.parameter != "threshold" or len(chosen) == 1:
                    raise
                said.append(f"{method} is left out: threshold must {error.must}.")
                continue
            with contextlib.suppress(ParameterError):
                mechanism = terms.make(method, epsilon) if quick(method, epsilon, terms) else None
            if mechanism is None:
                refused.setdefault(method, []).append(epsilon)
                continue
            if isinstance(world, Averages):
                row = by_formula(method, epsilon, mechanism, world)
            else:
                row = (by_runs if method in ROUNDS else by_users)(method, epsilon, mechanism, world)
            yield replace(row, width=terms.width(method, epsilon)) if terms.counts else row


def by_formula(method: str, epsilon: Fraction, mechanism: SetUnion, world: Averages) -> ForecastRow:
    """Expected weights, and the chances at them."""
    most: int | None = mechanism.max_items_per_user
    likely = chances(mechanism.law, world.weights(method, mechanism, most))
    if world.crowd.alike:
        needed: int | None = users_needed(mechanism, most, world.crowd.typical)
    else:
        needed = smallest_likely(world.users, likely)
    return summed(method, epsilon, [likely], world.users, needed, mechanism.threshold)


def by_users(method: str, epsilon: Fraction, mechanism: SetUnion, sample: Sample) -> ForecastRow:
    """The weights that the invented users give, and the chances at them; for policies in some orders."""
    most: int | None = mechanism.max_items_per_user
    likely = []
    for time in range(ORDERS if method in POLICIES else 1):
        weights, unit = mechanism.weigh(sample.ordered(most, time))
        likely.append(chances(mechanism.law, weights, unit))
    needed = smallest_likely(sample.users, np.mean(likely, axis=0))
    return summed(method, epsilon, likely, sample.users, needed, mechanism.threshold)


def summed(
    method: str, epsilon: Fraction, likely: Sequence[Floats], users: Floats, smallest: int | None, threshold: Fraction
) -> ForecastRow:
    """In each order items come back independently of each other, each with its chance."""
    items, items_spread = mean_and_spread(likely, np.ones(len(users)))
    found, error_spread = mean_and_spread(likely, users / (float(users.sum()) or 1.0))
    return ForecastRow(
        method=method,
        epsilon=epsilon,
        items=items,
        items_spread=items_spread,
        smallest_count=smallest,
        error=1 - found,
        error_spread=error_spread,
        threshold=float(threshold),
    )


def mean_and_spread(likely: Sequence[Floats], values: Floats) -> tuple[float, float]:
    """Of the values of released items added up: the variance of the coins, and that between orders."""
    means = [float(chance @ values) for chance in likely]
    coins = float(np.mean([float((chance * (1 - chance)) @ values**2) for chance in likely]))
    orders = float(np.var(means, ddof=1)) if len(means) > 1 else 0.0
    return float(np.mean(means)), math.sqrt(coins + orders)


def by_runs(method: str, epsilon: Fraction, mechanism: Any, sample: Sample) -> ForecastRow:
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
    return ForecastRow(
        method=method,
        epsilon=epsilon,
        items=float(np.mean(found)),
        items_spread=float(np.std(found, ddof=1)),
        smallest_count=smallest_likely(users, seen),
        error=float(np.mean(lost)),
        error_spread=float(np.std(lost, ddof=1)),
    )


def users_needed(mechanism: SetUnion, most: int | None, typical: int) -> int:
    """Of users with so many items each, how many make half a chance: those who keep the item give it their share."""
    kept = typical if most is None else min(typical, most)
    return math.ceil(mechanism.threshold / mechanism.share(kept) * Fraction(typical, kept))
