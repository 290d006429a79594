"""Forecast of a set union: sums of release probabilities, over imagined users or from counts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpselect._ground import methods
from dpselect._ground.dataclass import dataclass
from dpselect._ground.methods import NeedsBound, WeightRule
from dpselect.aggregates.user_sets import UserSets
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.forecast.crowds import Crowd, Floats, expected_counts, release_probabilities, smallest_likely
from dpselect.forecast.forecast import ForecastRow
from dpselect.mechanisms import CountLaplace, SetUnion, TruncatedGeometric
from dpselect.mechanisms.set_union.renyi_shaped import LEAST_DELTA, has_curve
from dpselect.mechanisms.set_union.rounds import bounded, users_and_items_in_order
from dpselect.queries.facts import Facts
from dpselect.queries.union.bounded_union import BoundedUnion
from dpselect.queries.union.method import COUNTS_OF_BUDGET
from dpselect.queries.union.plan import UnionPlan
from dpselect.questions.parts import Payment
from dpselect.questions.questions import Union

UNIONS_DRAWN = 5  # of mechanisms with rounds, whose release probabilities have no formula
ORDERS_DRAWN = 3  # of users and items, for policies, whose weights depend on the order


def _methods_by_rule(rule: WeightRule) -> tuple[str, ...]:
    """Return the methods with this rule of weights."""
    return tuple(method.name for method in methods.methods("union") if method.weights is rule)


SUM_METHODS = _methods_by_rule(WeightRule.SUM)
POLICY_METHODS = _methods_by_rule(WeightRule.POLICY)
ROUND_METHODS = _methods_by_rule(WeightRule.ROUNDS)


@dataclass(frozen=True, kw_only=True)
class UnionForecastTerms:
    """The parameters of a forecast of a set union."""

    delta: Fraction
    max_items_per_user: int | None
    threshold: int | None = None
    counts: bool = False

    def bound_arguments(self, method: str) -> dict[str, Any]:
        """Return the bound on the items of a user as keyword arguments, for a method that takes one."""
        max_items = self.max_items_per_user
        has_no_bound = max_items is None or methods.method_row("union", method).bound is NeedsBound.NONE
        return {} if has_no_bound else {"max_items_per_user": max_items}

    def make(self, method: str, epsilon: Fraction) -> Any:
        """Return the mechanism."""
        if not self.counts:
            return methods.method_row("union", method).make(
                epsilon=epsilon, delta=self.delta, **self.bound_arguments(method)
            )
        return self.make_bounded_union(method, epsilon).mechanisms[0]

    def make_bounded_union(self, method: str, epsilon: Fraction) -> BoundedUnion:
        """Return the union with the part of the price that its counts leave, and the noise of the counts."""
        plan = self._plan(method, Payment(epsilon=epsilon, delta=self.delta))
        return BoundedUnion.with_bound(plan, plan.max_items_per_user)

    def half_width(self, method: str, epsilon: Fraction) -> int:
        """Return the half width of the 95 % interval of its counts."""
        half_width: Any = self.make_bounded_union(method, epsilon).accuracy().numbers["width_of_counts"]
        return int(half_width)

    def price_for_threshold(self, method: str) -> Fraction:
        """Return the epsilon that follows from `threshold`."""
        return self._plan(method, Payment(threshold=self.threshold, delta=self.delta)).epsilon

    def _plan(self, method: str, payment: Payment) -> UnionPlan:
        facts = {"max_items_per_user": self.max_items_per_user} if self.counts else self.bound_arguments(method)
        facts = {} if methods.method_row("union", method).bound is NeedsBound.NONE else facts
        return UnionPlan(question=Union(method=method, counts=self.counts), payment=payment, facts=Facts(**facts))


def applicable_methods(max_items: int | None, *, users: bool) -> list[str]:
    """Return the methods that work with this bound on the items of a user.

    `users` says whether users are known one by one.
    """
    candidates = methods.names("union") if users else SUM_METHODS
    return [name for name in candidates if max_items is not None or not _needs_bound(name)]


def _is_quick(method: str, epsilon: Fraction, terms: UnionForecastTerms) -> bool:
    """Return whether this epsilon is large enough for a mechanism that is made within a second or two."""
    max_items = terms.max_items_per_user
    if method != "renyi-shaped" or max_items is None or terms.delta < LEAST_DELTA:  # the mechanism refuses such a delta
        return True
    counts_share = COUNTS_OF_BUDGET if terms.counts else Fraction(0)
    return has_curve(epsilon, terms.delta, max_items, counts_share)


def _needs_bound(method: str) -> bool:
    """Return whether max_items_per_user is required."""
    return methods.method_row("union", method).bound is NeedsBound.REQUIRED


@dataclass(frozen=True, eq=False)
class Sample:
    """Imagined users, one by one. All mechanisms see them in the same few orders, with the same items kept."""

    sets: UserSets
    draws: Draws
    bounded_sets: dict[tuple[int | None, int], UserSets] = field(default_factory=dict)

    def order_sets(self, max_items: int | None, order: int = 0) -> UserSets:
        """Return users and items in random order, with each user bounded; another order for each `order`."""
        key = max_items, order
        if key not in self.bounded_sets:
            self.bounded_sets[key] = users_and_items_in_order(bounded(self.sets, max_items, self.draws), self.draws)
        return self.bounded_sets[key]

    @cached_property
    def users_per_item(self) -> Floats:
        """The number of users of each item, before any bound."""
        return np.bincount(self.sets.codes, minlength=self.sets.size).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Averages:
    """Expected weights of a crowd. For sums they do not depend on epsilon, and are cached by method."""

    crowd: Crowd
    weights_by_method: dict[str, Floats] = field(default_factory=dict)

    @cached_property
    def users_per_item(self) -> Floats:
        """The expected number of users of each item, before any bound."""
        return expected_counts(self.crowd, None)

    def weights(self, method: str, mechanism: SetUnion, max_items: int | None) -> Floats:
        """Return the expected weights."""
        if method not in self.weights_by_method:
            weights = self.crowd.expected_weights(max_items, mechanism.share)
            # These laws are of whole numbers, and would round an average down.
            self.weights_by_method[method] = (
                np.rint(weights) if isinstance(mechanism, CountLaplace | TruncatedGeometric) else weights
            )
        return self.weights_by_method[method]


def union_rows(
    terms: UnionForecastTerms,
    crowd_data: Sample | Averages,
    method_names: Sequence[str],
    epsilons: Sequence[Fraction | None],
    report_progress: Callable[[float], None],
    refused: dict[str, list[Fraction]],
    sentences: list[str],
) -> Iterator[ForecastRow]:
    """Yield a row for each method and epsilon; an epsilon of None follows from `threshold`.

    Epsilons that are too small for a method are added to `refused`; sentences about methods that cannot promise
    `threshold`, or have another parameter that does not fit, are appended to `sentences`. Where no method fits, the
    ParameterError is raised.
    """
    total = len(method_names) * len(epsilons)
    wrong_parameter: ParameterError | None = None
    has_row = False
    for method_index, method in enumerate(method_names):
        for epsilon_index, requested_epsilon in enumerate(epsilons):
            report_progress((method_index * len(epsilons) + epsilon_index) / total)
            mechanism = None
            try:
                epsilon = requested_epsilon or terms.price_for_threshold(method)
            except ParameterError as error:
                if error.parameter != "threshold" or len(method_names) == 1:
                    raise
                sentences.append(f"{method} is left out: threshold must {error.must}.")
                continue
            try:
                mechanism = terms.make(method, epsilon) if _is_quick(method, epsilon, terms) else None
            except ParameterError as error:
                if error.parameter != "epsilon":
                    if len(method_names) == 1:
                        raise
                    wrong_parameter = error
                    sentence = f"{method} is left out: {error.parameter} must {error.must}."
                    sentences += [] if sentence in sentences else [sentence]
                    continue
            if mechanism is None:
                refused.setdefault(method, []).append(epsilon)
                continue
            if isinstance(crowd_data, Averages):
                row = forecast_by_formula(method, epsilon, mechanism, crowd_data)
            else:
                row = (_forecast_by_runs if method in ROUND_METHODS else forecast_by_users)(
                    method, epsilon, mechanism, crowd_data
                )
            has_row = True
            yield replace(row, width=terms.half_width(method, epsilon)) if terms.counts else row
    if wrong_parameter is not None and not has_row:
        raise wrong_parameter


def forecast_by_formula(method: str, epsilon: Fraction, mechanism: SetUnion, averages: Averages) -> ForecastRow:
    """Return a row from expected weights and their release probabilities."""
    max_items: int | None = mechanism.max_items_per_user
    probabilities = release_probabilities(mechanism.law, averages.weights(method, mechanism, max_items))
    if averages.crowd.has_equal_users:
        smallest_count: int | None = _users_needed(mechanism, max_items, averages.crowd.typical_items)
    else:
        smallest_count = smallest_likely(averages.users_per_item, probabilities)
    return _summarize(method, epsilon, [probabilities], averages.users_per_item, smallest_count, mechanism.threshold)


def forecast_by_users(method: str, epsilon: Fraction, mechanism: SetUnion, sample: Sample) -> ForecastRow:
    """Return a row from the weights of imagined users; for policies, in several orders."""
    max_items: int | None = mechanism.max_items_per_user
    probabilities = []
    for order in range(ORDERS_DRAWN if method in POLICY_METHODS else 1):
        weights, unit = mechanism.weigh(sample.order_sets(max_items, order))
        probabilities.append(release_probabilities(mechanism.law, weights, unit))
    smallest_count = smallest_likely(sample.users_per_item, np.mean(probabilities, axis=0))
    return _summarize(method, epsilon, probabilities, sample.users_per_item, smallest_count, mechanism.threshold)


def _summarize(
    method: str,
    epsilon: Fraction,
    probabilities: Sequence[Floats],
    users: Floats,
    smallest: int | None,
    threshold: Fraction,
) -> ForecastRow:
    """Return a row from release probabilities, one array for each order; in each, items are released independently."""
    items, items_spread = _mean_and_spread(probabilities, np.ones(len(users)))
    kept_share, error_spread = _mean_and_spread(probabilities, users / (float(users.sum()) or 1.0))
    return ForecastRow(
        method=method,
        epsilon=epsilon,
        items=items,
        items_spread=items_spread,
        smallest_count=smallest,
        error=1 - kept_share,
        error_spread=error_spread,
        threshold=float(threshold),
    )


def _mean_and_spread(probabilities: Sequence[Floats], values: Floats) -> tuple[float, float]:
    """Return the mean and the standard deviation of the sum of the values of released items.

    The variance is that of the releases, averaged over orders, and that of the means of the orders.
    """
    means = [float(order_probabilities @ values) for order_probabilities in probabilities]
    release_variance = float(
        np.mean(
            [
                float((order_probabilities * (1 - order_probabilities)) @ values**2)
                for order_probabilities in probabilities
            ]
        )
    )
    order_variance = float(np.var(means, ddof=1)) if len(means) > 1 else 0.0
    return float(np.mean(means)), math.sqrt(release_variance + order_variance)


def _forecast_by_runs(method: str, epsilon: Fraction, mechanism: Any, sample: Sample) -> ForecastRow:
    """Return the mean and the spread of some answers."""
    users = sample.users_per_item
    numbers_of_items: list[int] = []
    lost_shares: list[float] = []
    release_frequencies = np.zeros(len(users))
    for _ in range(UNIONS_DRAWN):
        codes = mechanism(sample.sets, draws=sample.draws)
        release_frequencies[codes] += 1 / UNIONS_DRAWN
        numbers_of_items.append(len(codes))
        lost_shares.append(1 - float(users[codes].sum()) / (float(users.sum()) or 1.0))
    return ForecastRow(
        method=method,
        epsilon=epsilon,
        items=float(np.mean(numbers_of_items)),
        items_spread=float(np.std(numbers_of_items, ddof=1)),
        smallest_count=smallest_likely(users, release_frequencies),
        error=float(np.mean(lost_shares)),
        error_spread=float(np.std(lost_shares, ddof=1)),
    )


def _users_needed(mechanism: SetUnion, max_items: int | None, typical: int) -> int:
    """Return how many users, with `typical` items each, release an item with probability one half.

    A user keeps an item with probability kept / typical, and then gives it share(kept).
    """
    kept_items = typical if max_items is None else min(typical, max_items)
    return math.ceil(mechanism.threshold / mechanism.share(kept_items) * Fraction(typical, kept_items))
