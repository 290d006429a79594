"""Shaped release: no noise and no threshold, but the largest release probability that privacy allows at each weight."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from dpselect.draws import Draws
from dpselect.mechanisms.set_union.laws import Shaped
from dpselect.mechanisms.set_union.ordering import as_they_stand, users_and_items_in_order
from dpselect.mechanisms.set_union.policy import filled
from dpselect.mechanisms.set_union.port import UNIT, Progress, Weighed, parse, promise, released, settle, up, within
from dpselect.mechanisms.set_union.weighted import even, weighted
from dpselect.parameters import Number
from dpselect.privacy import Privacy
from dpselect.user_sets import Int64, UserSets


@dataclass(frozen=True, kw_only=True)
class ShapedWeighted:
    """Release each item with the largest probability that its weight allows; a user of t items gives 1/t to each.

    Guarantee: (epsilon, delta)-DP, without any bound on the items of a user.
    Neighbors: add-remove.
    Sensitivity: a user gives at most 1 in all, over a random `max_items_per_user` of their items where that is given.
    Exactness: the law is exact: weights are whole multiples of 2^-30, 1/t rounded down, and each item is one coin of
        the closed form.
    Cost: one pass over the pairs, one coin an item.
    Source: ours, proved on the page of shaped releases; weights as in seed 001.
    Example:
        >>> ShapedWeighted(epsilon=1, delta="1e-6")(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int | None = None
    threshold: Fraction = field(init=False)
    law: Shaped = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    cutoff: None = field(init=False, default=None, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        law = Shaped(epsilon, delta)
        settle(self, threshold=law.turn(), law=law, privacy=promise(epsilon, delta, "weighted, shaped"))

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
class ShapedPolicy:
    """Release each item with the largest probability that its weight allows; a user raises all their items equally.

    l1-descent as in PolicyLaplace. The cutoff is the weight of probability one half and `alpha` / epsilon, but never
    above the weight of probability 1.

    Guarantee: (epsilon, delta)-DP, without any bound on the items of a user.
    Neighbors: add-remove.
    Sensitivity: a user moves the final weights, all users together, by at most 1: exactly, since 2^30 whole parts are
        poured cell by cell. They keep a random `max_items_per_user` of their items where that is given.
    Exactness: the law is exact: weights are whole multiples of 2^-30, and each item is one coin of the closed form.
    Cost: one sort of the pairs, one loop over users, one coin an item.
    Source: ours, proved on the page of shaped releases; seed 001 (Gopi et al. 2020), Algorithm 3, for the policy.
    Example:
        >>> ShapedPolicy(epsilon=1, delta="1e-6", alpha=40)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    epsilon: Number
    delta: Number
    max_items_per_user: int | None = None
    alpha: Number = 3
    threshold: Fraction = field(init=False)
    cutoff: Fraction = field(init=False)
    law: Shaped = field(init=False, repr=False)
    privacy: Privacy = field(init=False, repr=False)
    slack: Fraction = field(init=False, default=Fraction(0), repr=False)

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        law = Shaped(epsilon, delta)
        height = law.turn()
        cutoff = Fraction(up(min(height + Fraction(self.alpha) / epsilon, 2 * height), UNIT), UNIT)
        privacy = promise(epsilon, delta, "policy, shaped")
        settle(self, threshold=height, cutoff=cutoff, law=law, privacy=privacy)

    def share(self, t: int) -> Fraction:  # noqa: ARG002 - the same for every t
        """All of it, where the user's other items are at the cutoff."""
        return Fraction(1)

    def weigh(self, ordered: UserSets, progress: Progress | None = None) -> Weighed:
        """l1-descent, user after user."""
        return filled("level", within(ordered, self.max_items_per_user), self.cutoff, progress)

    def __call__(self, sets: UserSets, *, draws: Draws | None = None, progress: Progress | None = None) -> Int64:
        """The codes of the released items, ascending."""
        return released(self, sets, self.max_items_per_user, users_and_items_in_order, draws, progress)
