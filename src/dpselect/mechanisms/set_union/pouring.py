"""Greedy pouring: a user gives all to the first of their items, in an order of all items, that is not full yet."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import ctx

from dpselect.draws import Draws
from dpselect.errors import ParameterError, came
from dpselect.kernels import compiled
from dpselect.mechanisms.set_union.laws import Geometric, LaplaceTail, Shaped, geometric
from dpselect.mechanisms.set_union.ordering import by_rank
from dpselect.mechanisms.set_union.port import Progress, Weighed, parse, promise, released, settle, up, within
from dpselect.mechanisms.set_union.thresholds import threshold
from dpselect.parameters import Number
from dpselect.privacy import Privacy
from dpselect.reals import enclose, upper
from dpselect.user_sets import Int64, UserSets


@dataclass(frozen=True, kw_only=True)
class GreedyPouring:
    """Release the items whose weight plus Laplace noise is above a threshold; a user gives 1 to one single item.

    That is the first of their items, in a random order of all items, whose weight is below the cutoff: the whole number
    nearest to the threshold and `alpha` scales of the noise, or one or two more where an item at it would be released
    with a probability below 0.9. Items of `popular`, a public list, best first, come before all others.

    Guarantee: (epsilon, delta)-DP, without any bound on the items of a user.
    Neighbors: add-remove. `popular` must not come from the data.
    Sensitivity: one user moves one final weight, all users together, by 1 (its page). With a cutoff that is not whole
        this would be false, and many items could be new at once.
    Exactness: the law is exact: weights are whole numbers, and each item is one coin of P(weight + noise > threshold);
        the threshold is proved, rounded up.
    Cost: one sort of the pairs, one loop over users, one coin an item; `popular` asks for every item's label.
    Source: Carvalho, Wang and Gondara 2022 (greedy updates without sampling). Ours: the whole cutoff and the proof.
    Example:
        >>> GreedyPouring(epsilon=1, delta="1e-6", alpha=40)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int | None = None
    alpha: Number = 3
    popular: tuple[Hashable, ...] = field(default=(), repr=False)
    threshold: Fraction = field(init=False)
    cutoff: Fraction = field(init=False)
    law: LaplaceTail = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        height = threshold(lambda at: LaplaceTail(at, epsilon), delta, 1, self.share)
        law, privacy = LaplaceTail(height, epsilon), promise(epsilon, delta, "pouring, Laplace")
        cutoff = likely(law, nearest(height + Fraction(self.alpha) / epsilon))
        settle(self, threshold=height, cutoff=cutoff, law=law, privacy=privacy, popular=_listed(self.popular))

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """All of it, to one of the items."""
        return Fraction(1)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:
        """Whole pouring, user after user."""
        return poured(within(ordered, self.max_items_per_user), self.cutoff, progress)

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, popular_first(self.popular), draws, progress)


@dataclass(frozen=True, kw_only=True)
class ShapedPouring:
    """Release each item with the largest probability that pouring allows; a user gives 1 to one single item.

    As GreedyPouring, and since one user moves one count by 1, truncated geometric selection is the best release there
    is: no noise, no threshold, an item of one user comes back with probability delta.

    Guarantee: (epsilon, delta)-DP, without any bound on the items of a user.
    Neighbors: add-remove. `popular` must not come from the data.
    Sensitivity: one user moves one final weight, all users together, by 1 (its page).
    Exactness: the law is exact: weights are whole numbers, and each item is one coin of the closed form.
    Cost: one sort of the pairs, one loop over users, one coin an item; `popular` asks for every item's label.
    Source: Carvalho, Wang and Gondara 2022 for pouring, Desfontaines, Voss and Gipson 2022 for the release. Ours:
        the two together, the whole cutoff and the proof.
    Example:
        >>> ShapedPouring(epsilon=1, delta="1e-6", alpha=40)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int | None = None
    alpha: Number = 3
    popular: tuple[Hashable, ...] = field(default=(), repr=False)
    threshold: Fraction = field(init=False)
    cutoff: Fraction = field(init=False)
    law: Geometric = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        law = geometric(epsilon, delta)
        height = half_way(law)
        cutoff = nearest(Shaped(epsilon, delta).turn() + Fraction(self.alpha) / epsilon)
        cutoff = min(likely(law, cutoff), certain(law))
        privacy = promise(epsilon, delta, "pouring, truncated geometric")
        settle(self, threshold=height, cutoff=cutoff, law=law, privacy=privacy, popular=_listed(self.popular))

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """All of it, to one of the items."""
        return Fraction(1)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:
        """Whole pouring, user after user."""
        return poured(within(ordered, self.max_items_per_user), self.cutoff, progress)

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, popular_first(self.popular), draws, progress)


def poured(ordered: UserSets, cutoff: Fraction, progress: Progress | None) -> Weighed:
    """The weights after pouring whole units: 1 to the first item below the cutoff."""
    given = (ordered.offsets, ordered.codes, ordered.size, int(cutoff), 1)
    return compiled.run("pour", *given, progress=progress), 1


def nearest(weight: Fraction) -> Fraction:
    """A cutoff: the nearest whole number, at least 1."""
    return Fraction(up(Fraction(math.floor(weight + Fraction(1, 2))), 1))


def likely(law: LaplaceTail | Geometric, cutoff: Fraction) -> Fraction:
    """The same cutoff, or one a little above where rounding has left items there unlikely (at a large epsilon)."""
    highest = cutoff + 2
    while cutoff < highest and not law.at(cutoff).ball(64) >= 0.9:
        cutoff += 1
    return cutoff


def half_way(law: Geometric) -> Fraction:
    """The least whole number that is released with probability one half or more."""
    n = max(law.turn - 1, 1)
    while not law.at(Fraction(n)).ball(128) >= 0.5:
        n += 1
    return Fraction(n)


def certain(law: Geometric) -> Fraction:
    """A number of users that is released with probability 1, where 1 - p has reached 0: see `Geometric`."""
    with ctx.workprec(128):
        e = enclose(law.epsilon)
        steps = ((1 - law.low(law.turn)) * e.expm1() / enclose(law.delta)).log1p() / e
        return Fraction(law.turn + max(math.ceil(upper(steps)), 1))


def popular_first(popular: tuple[Hashable, ...]) -> Callable[[UserSets, Draws], UserSets]:
    """Users in random order; items in random order, but those of a public list before all others."""
    place_of = {label: place for place, label in enumerate(popular)}

    def order(sets: UserSets, draws: Draws) -> UserSets:
        users, items = draws.order(sets.users), draws.order(sets.size)
        if place_of:
            labels = sets.labels(items)
            found = (place_of.get(label, place_of.get(str(label), len(place_of))) for label in labels)
            places = np.fromiter(found, dtype=np.int64, count=len(labels))
            items = items[np.argsort(places, kind="stable")]
        return by_rank(sets, users, items)

    return order


def _listed(popular: object) -> tuple[object, ...]:
    """A public list of items, which may be empty."""
    if isinstance(popular, (str, bytes)) or not isinstance(popular, Iterable):
        raise ParameterError("popular", "be a list of items", came(popular))
    return tuple(popular)
