"""Planning a set union: every parameter checked, and the price of each part of it fixed, before data is touched."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpselect import parameters
from dpselect.errors import ParameterError, came
from dpselect.mechanisms import (
    SIPS,
    CountGaussian,
    CountLaplace,
    GreedyPouring,
    PolicyGaussian,
    PolicyLaplace,
    RenyiShaped,
    ShapedPolicy,
    ShapedPouring,
    ShapedWeighted,
    TruncatedGeometric,
    WeightedGaussian,
    WeightedLaplace,
)
from dpselect.mechanisms.noisy_threshold import largest_rho
from dpselect.mechanisms.quantile import Quantile
from dpselect.mechanisms.set_union.renyi_shaped import has_curve, least_epsilon
from dpselect.parameters import Number, rounded_up
from dpselect.privacy import Neighbors, Privacy, PureDP, Steps
from dpselect.release import Release

AUTO = "auto"
METHODS: dict[str, Callable[..., Any]] = {
    "count-laplace": CountLaplace,
    "count-gaussian": CountGaussian,
    "weighted-laplace": WeightedLaplace,
    "weighted-gaussian": WeightedGaussian,
    "policy-laplace": PolicyLaplace,
    "policy-gaussian": PolicyGaussian,
    "greedy-pouring": GreedyPouring,
    "sips": SIPS,
    "truncated-geometric": TruncatedGeometric,
    "shaped-weighted": ShapedWeighted,
    "shaped-policy": ShapedPolicy,
    "shaped-pouring": ShapedPouring,
    "renyi-shaped": RenyiShaped,
}
SHARING = ("sips", "renyi-shaped")  # calls whose parts of one budget add up, which is less than adding (epsilon, delta)
ONE_ITEM = "truncated-geometric"
WITH_POPULAR = "shaped-pouring"
BOUND_SHARE = Fraction(1, 20)  # of epsilon, for choosing max_items_per_user
COUNT_SHARE = Fraction(1, 4)  # of epsilon and of delta, for counts
# What max_items_per_user is chosen from. Few points and wide steps: of many far ones, some would often win by luck.
BOUNDS = (
    *(1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80),
    *(100, 125, 160, 200, 250, 315, 400, 500, 630, 800, 1000),
)
MOST_ITEMS = BOUNDS[-1]
MANY = Fraction(9, 10)  # of the users shall have no more items than the bound that is chosen
# Outside of these a set union says nothing that anybody wants to know, and thresholds leave what floats can search.
LEAST_EPSILON, LARGEST_EPSILON = Fraction(1, 10**6), Fraction(10**6)
LEAST_DELTA = Fraction(1, 10**100)


@dataclass(frozen=True, kw_only=True)
class UnionTerms:
    """What a set union may spend on what. `most` is max_items_per_user, None where nothing needs it or it is `chosen`.

    `shares` are the parts of the levels of a text, one for items; those before the place `first` only say which
    candidates there are, and are not counted.
    """

    epsilon: Fraction
    delta: Fraction
    method: str
    most: int | None
    chosen: bool
    counted: bool
    shares: tuple[Fraction, ...]
    popular: tuple[Any, ...] = ()
    first: int = 0

    @property
    def privacy(self) -> Privacy:
        """The price of all of it, by adding up: choosing the bound, the levels, their counts."""
        return Privacy(
            epsilon=self.epsilon,
            delta=self.delta,
            neighbors=Neighbors.ADD_REMOVE,
            steps=(Steps(PureDP(self.epsilon), 1),),
            failure=self.delta,
            bound="basic",
        )

    @property
    def asked(self) -> dict[str, object]:
        """What a ledger knows the question by."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "most": self.most,
            "chosen": self.chosen,
            "counts": self.counted,
            "method": self.method,
            "shares": self.shares,
            "popular": _digest(self.popular) if self.popular else None,
        }

    @property
    def for_bound(self) -> Fraction:
        """The epsilon for choosing max_items_per_user."""
        return self.epsilon * BOUND_SHARE if self.chosen else Fraction(0)

    @property
    def for_counts(self) -> tuple[Fraction, Fraction]:
        """The (epsilon, delta) for counting what was released."""
        return (self.epsilon * COUNT_SHARE, self.delta * COUNT_SHARE) if self.counted else (Fraction(0), Fraction(0))

    @property
    def for_union(self) -> tuple[Fraction, Fraction]:
        """The (epsilon, delta) for the items, all levels together."""
        epsilon, delta = self.for_counts
        return self.epsilon - self.for_bound - epsilon, self.delta - delta

    @property
    def chooser(self) -> Quantile:
        """What chooses max_items_per_user: a private quantile of one place in BOUNDS per user."""
        return bound_chooser(self.for_bound)

    def mechanisms(self, most: int | None) -> tuple[Any, ...]:
        """The set union of each level, for users of at most `most` items."""
        return _mechanisms(self, most)

    def noise(self, place: int, most: int) -> Fraction:
        """The variance of the noise on the counts of a level: a user moves at most `most` of them by 1 each."""
        epsilon, delta = self.for_counts
        part = self.shares[place] / sum(self.shares[self.first :])
        return Fraction(most) / (2 * largest_rho(epsilon, delta) * part)


def bound_chooser(epsilon: Fraction) -> Quantile:
    """A private quantile of one place in BOUNDS per user: the least that leaves a user all they have."""
    return Quantile(q=MANY, bounds=(0, len(BOUNDS) - 1), step=1, epsilon=epsilon)


@lru_cache(maxsize=4)
def _mechanisms(terms: UnionTerms, most: int | None) -> tuple[Any, ...]:
    """Kept, since some take seconds to make, and they are made once to check them and once to run them."""
    epsilon, delta = terms.for_union
    name = best_method(epsilon, delta, most) if terms.method == AUTO else terms.method
    make = METHODS[name]
    more = {"max_items_per_user": most, "popular": terms.popular or None}
    given = {key: value for key, value in more.items() if value is not None and key in fields(name)}
    if name in SHARING:
        return tuple(make(epsilon=epsilon, delta=delta, part=part, **given) for part in terms.shares)
    return tuple(make(epsilon=epsilon * part, delta=delta * part, **given) for part in terms.shares)


def plan_union(
    *,
    epsilon: Number,
    delta: Number,
    max_items_per_user: int | str | None,
    method: str,
    counts: bool,
    shares: Sequence[Fraction] = (Fraction(1),),
    popular: Sequence[object] | Release | None = None,
    first: int = 0,
) -> UnionTerms:
    """Check every parameter. What can be refused without data is refused here."""
    epsilon = parameters.epsilon("epsilon", epsilon)
    if not LEAST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError("epsilon", "be between 1e-6 and 1e6 for a union", came(epsilon))
    delta = parameters.probability("delta", delta)
    if delta < LEAST_DELTA:
        raise ParameterError("delta", "be at least 1e-100 for a union", "less")
    counted = parameters.flag("counts", counts)
    method = parameters.one_of("method", method, (AUTO, *METHODS), hint=near_method(method))
    listed = _popular(popular)
    if listed and method == AUTO:
        method = WITH_POPULAR
    if listed and "popular" not in fields(method):
        raise ParameterError("method", "be greedy-pouring or shaped-pouring where popular is given", came(method))
    most, chosen = _bound(method, max_items_per_user, counted)
    terms = UnionTerms(
        epsilon=epsilon,
        delta=delta,
        method=method,
        most=most,
        chosen=chosen,
        counted=counted,
        shares=tuple(shares),
        popular=listed,
        first=first,
    )
    _refuse_what_cannot_be_made(terms)
    return terms


def _digest(popular: tuple[Any, ...]) -> str:
    """What tells one public list from another: its items, their types, and their order."""
    names = [f"{type(item).__name__} {item!r}" for item in popular]
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def _popular(popular: object) -> tuple[Any, ...]:
    """A public list of items, best first, or an earlier release."""
    if popular is None:
        return ()
    if isinstance(popular, Release):
        return tuple(popular.labels)
    if isinstance(popular, (str, bytes)) or not isinstance(popular, Sequence):
        raise ParameterError("popular", "be a list of items, best first, or a release", type(popular).__name__)
    try:
        return tuple(dict.fromkeys(popular))
    except TypeError:
        raise ParameterError("popular", "hold items that can be looked up", "others") from None


def _refuse_what_cannot_be_made(terms: UnionTerms) -> None:
    """Now, and not when the bound is known: by then the ceiling is reserved."""
    if not terms.chosen:
        terms.mechanisms(terms.most)
    elif terms.method == "renyi-shaped":
        epsilon, delta = terms.for_union
        if not has_curve(epsilon, delta, MOST_ITEMS):
            hint = "give max_items_per_user, or take sips"
            raise without_curve(terms.epsilon, epsilon, delta, None, "renyi-shaped", hint)
    elif terms.method != AUTO:
        terms.mechanisms(1)
        terms.mechanisms(MOST_ITEMS)


def without_curve(
    asked: Fraction, epsilon: Fraction, delta: Fraction, most: int | None, method: str, hint: str
) -> ParameterError:
    """The refusal where `epsilon`, the union's part of the price asked, is too small for a Renyi-shaped curve."""
    items = "max_items_per_user chosen privately" if most is None else f"{most} items per user"
    if delta < LEAST_DELTA:
        return ParameterError("delta", f"be at least {rounded_up(LEAST_DELTA)} for {method}", rounded_up(delta), hint)
    least = rounded_up(least_epsilon(delta, MOST_ITEMS if most is None else most) * asked / epsilon)
    return ParameterError("epsilon", f"be at least {least} for {method} with {items}", rounded_up(asked), hint)


def _bound(method: str, given: int | str | None, counted: bool) -> tuple[int | None, bool]:
    """max_items_per_user, and whether it is to be chosen privately."""
    auto = isinstance(given, str) and given == AUTO
    must = "be a whole number of at least 1, or 'auto'"
    if isinstance(given, str) and not auto:
        raise ParameterError("max_items_per_user", must, came(given))
    number = None if given is None or auto else parameters.whole("max_items_per_user", given, least=1)
    if method == ONE_ITEM and number not in (None, 1):
        raise ParameterError("max_items_per_user", f"be 1 for {ONE_ITEM}", came(given))
    if method == ONE_ITEM or number is not None:
        return number or 1, False
    needed = method == AUTO or fields(method).get("max_items_per_user") is inspect.Parameter.empty
    chosen = needed or counted or auto
    return None, chosen


def fields(method: str) -> dict[str, object]:
    """The parameters of a method, with their defaults."""
    return {name: one.default for name, one in inspect.signature(METHODS[method]).parameters.items()}


def near_method(method: object) -> str | None:
    """A hint with the nearest names."""
    return parameters.near(method, METHODS) if isinstance(method, str) else None


def best_method(epsilon: Fraction, delta: Fraction, most: int | None) -> str:
    """By epsilon, delta and the bound alone; measured in docs/set-union.md."""
    if most == 1:
        return ONE_ITEM
    return "renyi-shaped" if has_curve(epsilon, delta, most or MOST_ITEMS) else "sips"
