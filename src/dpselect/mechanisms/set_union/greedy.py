"""Greedy updates: a user contributes 1 to the first of their items, in an order of all items, below the cutoff."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import partial

import numpy as np
from flint import ctx

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, Progress
from dpselect._ground.reals import enclose, upper
from dpselect.aggregates.user_sets import S, Sets
from dpselect.draws import Draws
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.port import SetUnion, Weighed, parse, up
from dpselect.mechanisms.set_union.release_laws import Geometric, geometric
from dpselect.mechanisms.set_union.rounds import by_rank
from dpselect.mechanisms.set_union.user_loop import contribute_in_turn


@dataclass(frozen=True, kw_only=True)
class GreedyGeometric(SetUnion):
    """Release each item with the largest probability that greedy updates allow; a user contributes 1 to one item.

    That is the first of their items, in a random order of all items, whose weight is below the cutoff: the integer
    nearest to `alpha` / epsilon above the weight of an even chance, or one or two more where an item at it would be
    released with a probability below 0.9. Items of `popular`, a public list, best first, come before all others. One
    user moves one count by 1, for which truncated geometric selection is the best release there is.

    Guarantee: (epsilon, delta)-DP, without any bound on the items of a user.
    Neighbors: add-remove. `popular` must not come from the data.
    Sensitivity: one user moves one final weight, all users together, by 1 (its page). With a cutoff that is no integer
        this would be false, and many items could be new at once.
    Exactness: weights are integers, and each item is one exact Bernoulli draw of the closed form.
    Cost: one sort of the pairs, one loop over users, one draw an item; `popular` asks for every item's label.
    Source: Carvalho, Wang and Gondara 2022 for the updates, Desfontaines, Voss and Gipson 2022 for the release. Ours:
        the two together, the integer cutoff and the proof.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> GreedyGeometric(epsilon=1, delta="1e-9", alpha=40)(UserSets.from_sets(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    max_items_per_user: int | None = None
    alpha: Number = 3
    popular: tuple[Hashable, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        popular, law = _parse_popular(self.popular), geometric(epsilon, delta)
        cutoff = nearest(even(epsilon, delta) + Fraction(self.alpha) / epsilon)
        weighting = GreedyUpdate(min(likely(law, cutoff), certain(law)), popular)
        privacy = promise(epsilon, delta, "greedy, truncated geometric")
        set_fields(self, popular=popular, weighting=weighting, law=law, privacy=privacy)


@dataclass(frozen=True)
class GreedyUpdate:
    """A user contributes 1 to the first of their items below the cutoff, in an order that a public list may lead."""

    cutoff: Fraction
    popular: tuple[Hashable, ...] = field(default=(), repr=False)

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """Return 1: all goes to one of the items."""
        return Fraction(1)

    def order(self, sets: S, draws: Draws) -> S:
        """Order users at random, and items at random, but those of the public list before all others."""
        users, items = draws.order(sets.users), draws.order(sets.size)
        rank_of_label = {label: index for index, label in enumerate(self.popular)}
        if rank_of_label:
            labels = sets.labels(items)
            public_ranks = (
                rank_of_label.get(label, rank_of_label.get(str(label), len(rank_of_label))) for label in labels
            )
            order = np.fromiter(public_ranks, dtype=np.int64, count=len(labels))
            items = items[np.argsort(order, kind="stable")]
        return by_rank(sets, users, items)

    def weigh(self, ordered: Sets, progress: Progress | None) -> Weighed:
        """Weigh user after user."""
        weights = [0] * ordered.size
        contribute_in_turn(partial(give_one, cutoff=int(self.cutoff)), ordered, weights, progress)
        return np.array(weights, dtype=np.int64), 1


def give_one(offsets: Sequence[int], codes: Sequence[int], weights: list[int], cutoff: int) -> None:
    """Give 1 of each user to the first of their items below the cutoff: a greedy update."""
    for v in range(len(offsets) - 1):
        for j in range(offsets[v], offsets[v + 1]):
            if weights[codes[j]] < cutoff:
                weights[codes[j]] += 1
                break


def even(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the weight of an even chance, ln(1 + (e^epsilon - 1) / (2 delta)) / epsilon, rounded up."""
    with ctx.workprec(64):
        return upper((enclose(epsilon).expm1() / enclose(2 * delta)).log1p() / enclose(epsilon))


def nearest(weight: Fraction) -> Fraction:
    """Return a cutoff: the nearest integer, at least 1."""
    return up(Fraction(math.floor(weight + Fraction(1, 2))), 1)


def likely(law: Geometric, cutoff: Fraction) -> Fraction:
    """Return the same cutoff, or one a little above where rounding has left items there unlikely."""
    highest = cutoff + 2
    while cutoff < highest and not law.at(cutoff).ball(64) >= 0.9:
        cutoff += 1
    return cutoff


def certain(law: Geometric) -> Fraction:
    """Return a number of users that is released with probability 1, where 1 - p has reached 0: see `Geometric`."""
    with ctx.workprec(128):
        e = enclose(law.epsilon)
        steps = ((1 - law.low(law.turn)) * e.expm1() / enclose(law.delta)).log1p() / e
        return Fraction(law.turn + max(math.ceil(upper(steps)), 1))


def _parse_popular(popular: object) -> tuple[Hashable, ...]:
    """Parse a public list of items, each at its first position; it may be empty."""
    if isinstance(popular, (str, bytes)) or not isinstance(popular, Iterable):
        raise ParameterError("popular", "be a list of items", came(popular))
    try:
        return tuple(dict.fromkeys(popular))
    except TypeError:
        raise ParameterError("popular", "hold items that can be looked up", "others") from None
