"""HittingSet: part of the budget finds items that enough users share, the rest those that together reach most users."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpselect._ground import parameters
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import BoundedRange, Neighbors, Privacy, PureDP, Steps
from dpselect.accounting.hitting_set import largest_hitting_pick, largest_hitting_pick_at
from dpselect.accounting.renyi_prices import divergence
from dpselect.aggregates.user_sets import Int64, Sets, UserSets, offsets_of
from dpselect.draws import Draws
from dpselect.draws.weights import Weights
from dpselect.errors import ParameterError
from dpselect.mechanisms import gaps
from dpselect.mechanisms.port import secure, settle
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, Rest


@dataclass(frozen=True)
class OfOrder:
    """What the union left of one Rényi budget, spent by the exact Rényi divergence of a greedy hitting set."""

    order: int
    left: Fraction

    def epsilon_per_pick(self, picks: int, counts: int) -> Fraction:  # noqa: ARG002 - there are no counts
        """The largest that fits."""
        return largest_hitting_pick_at(picks, self.order, self.left)

    def divergence(self, order: int) -> Fraction | None:
        """Of orders up to this one it is no more; of others it is not known here."""
        return self.left if order <= self.order else None


@dataclass(frozen=True)
class HittingApart:
    """An (epsilon, delta) of its own, spent by the exact curve of a greedy hitting set."""

    epsilon: Fraction
    delta: Fraction

    def epsilon_per_pick(self, picks: int, counts: int) -> Fraction:  # noqa: ARG002
        """The largest that fits."""
        return largest_hitting_pick(picks, self.epsilon, self.delta)

    def divergence(self, order: int) -> Fraction:
        """What all of it is at an order, but for its delta."""
        return divergence(PureDP(self.epsilon), order)


@dataclass(frozen=True, kw_only=True)
class HittingSet(DiscoverThenPeel):
    """Release a set of items by a set union, then choose k of them, one after the other, that reach most users.

    A pick weighs an item by the users who have it and none of the items that were picked before. In the end the k items
    together reach nearly as many users as any greedy choice of the items that were found.

    Guarantee: (epsilon, delta)-DP for the whole call; three quarters of delta are for composition, at most one quarter
        for items that only one of two neighbours has. For one item per user the two parts add up.
    Neighbors: add-remove.
    Sensitivity: one user changes the scores of a pick by at most 1, all the same way, and of no pick after the first
        that reaches them.
    Exactness: the distribution is exact, for the Bernoulli draws of the union and for every pick.
    Cost: that of the union, two passes over the pairs, and for each pick one over the items that were found.
    Source: Dick, Joseph and Raman 2026, who compose k steps. Ours: RenyiShaped as the union, one Rényi budget, and the
        exact price of a user who counts only up to the first pick that reaches them, for which Gupta, Ligett,
        McSherry, Roth and Talwar 2010 have a bound of the same kind; proof in docs/mechanisms/hitting-set.md.
    Example:
        >>> votes = UserSets.of([*["ab"] * 300, *["a"] * 50, *["c"] * 200])
        >>> HittingSet(k=2, epsilon=4, delta="1e-6", max_items_per_user=2)(votes).tolist()
        [0, 2]
    """

    def _of_order(self, order: int, left: Fraction) -> Rest:
        return OfOrder(order, left)

    def _apart(self, epsilon: Fraction, delta: Fraction) -> Rest:
        return HittingApart(epsilon, delta)

    def best(self, sets: Sets, found: Int64, epsilon_per_pick: Fraction, draws: Draws) -> Int64:
        """At most k of the items that were found, in the order in which they were chosen."""
        return chosen_together(min(self.k, len(found)), sets, found, epsilon_per_pick, draws)


@dataclass(frozen=True, kw_only=True)
class GreedyHittingSet:
    """Choose k of a known domain, one after the other, that together reach most users.

    A pick weighs an item by exp(epsilon_per_pick x the users who have it and none of those picked before).

    Guarantee: (epsilon, delta)-DP for the whole call, by the exact price of k such picks.
    Neighbors: add-remove.
    Sensitivity: one user changes the scores of a pick by at most 1, all the same way, and of no pick after the first
        that reaches them; any number of items.
    Exactness: the distribution of every pick is exact.
    Cost: two passes over the pairs, and for each pick one over the domain.
    Source: as for HittingSet; Gupta, Ligett, McSherry, Roth and Talwar 2010 choose so from a known domain.
    Example:
        >>> votes = UserSets.of([*["ab"] * 300, *["a"] * 50, *["c"] * 200])
        >>> GreedyHittingSet(k=2, epsilon=4)(votes).tolist()
        [0, 2]
    """

    k: int
    epsilon: Number
    delta: Number = 0
    epsilon_per_pick: Fraction = field(init=False)
    privacy: Privacy = field(init=False, repr=False)

    def __post_init__(self) -> None:
        k = parameters.listed("k", self.k)
        epsilon = parameters.epsilon("epsilon", self.epsilon)
        delta = parameters.probability("delta", self.delta, zero=True)
        pick = largest_hitting_pick(k, epsilon, delta)
        privacy = Privacy(
            epsilon=epsilon,
            delta=delta if pick * k > epsilon else Fraction(0),
            neighbors=Neighbors.ADD_REMOVE,
            steps=(Steps(BoundedRange(pick), k),),
            bound="hitting set" if pick * k > epsilon else "basic",
        )
        settle(self, k=k, epsilon=epsilon, delta=delta, epsilon_per_pick=pick, privacy=privacy)

    def __call__(self, sets: Sets, *, draws: Draws | None = None) -> Int64:
        """The codes of k items, in the order in which they were chosen."""
        if self.k > sets.size:
            raise ParameterError("k", "be at most the number of items in the domain", self.k)
        return chosen_together(self.k, sets, np.arange(sets.size), self.epsilon_per_pick, secure(draws))

    def gap(self, beta: float, items: int) -> Fraction:
        """No pick reaches fewer new users than another item would by more, except with probability beta."""
        return gaps.exponential(self.epsilon_per_pick, gaps.others(items), gaps.each(beta, self.k))


def chosen_together(k: int, sets: Sets, among: Int64, epsilon_per_pick: Fraction, draws: Draws) -> Int64:
    """k of these items, each picked by exp(epsilon_per_pick x users it newly reaches); the last left needs no draw."""
    held = Held.of(sets, among)
    scores = np.bincount(held.items, minlength=len(among)).astype(np.int64)
    reached = np.zeros(sets.users, dtype=np.bool_)
    left = np.arange(len(among))
    chosen: list[int] = []
    for _ in range(k):
        place = draws.peel(Weights(scores[left], epsilon_per_pick), 1)[0][0] if len(left) > 1 else 0
        item = int(left[place])
        chosen.append(item)
        left = np.delete(left, place)
        users = held.users_of(item)
        new = users[~reached[users]]
        reached[new] = True
        scores -= np.bincount(held.items_of(new), minlength=len(among))
    return among[chosen].astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Which of some items every user has, by user and by item."""

    offsets: Int64  # of users, into items
    items: npt.NDArray[np.int32]
    starts: Int64  # of items, into users
    users: npt.NDArray[np.int32]

    @classmethod
    def of(cls, sets: Sets, among: Int64) -> Held:
        """Of the items of all users, only these: block by block, so that no other item is held."""
        place = np.full(sets.size, -1, dtype=np.int32)
        place[among] = np.arange(len(among), dtype=np.int32)
        parts = [_kept(block, place) for block in sets.blocks()]
        lengths, items = (np.concatenate(one) for one in zip(*parts, strict=True))
        users = np.repeat(np.arange(sets.users, dtype=np.int32), lengths)
        starts = np.append(0, np.cumsum(np.bincount(items, minlength=len(among))))
        return cls(offsets_of(lengths), items, starts, users[np.argsort(items, kind="stable")])

    def users_of(self, item: int) -> npt.NDArray[np.int32]:
        """Who has it."""
        return self.users[self.starts[item] : self.starts[item + 1]]

    def items_of(self, users: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """What these users have, one after the other."""
        first, sizes = self.offsets[users], self.offsets[users + 1] - self.offsets[users]
        places = np.repeat(first - np.append(0, np.cumsum(sizes))[:-1], sizes) + np.arange(sizes.sum())
        return self.items[places]  # type: ignore[no-any-return] # numpy's types lose it


def _kept(block: UserSets, place: npt.NDArray[np.int32]) -> tuple[Int64, npt.NDArray[np.int32]]:
    """How many items that have a place each user has, and their places."""
    items = place[block.codes]
    kept = items >= 0
    return np.diff(np.append(0, np.cumsum(kept))[block.offsets]), items[kept]
