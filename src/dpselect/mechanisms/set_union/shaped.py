"""Shaped release: no noise and no threshold, but the largest release probability that privacy allows at each weight."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect._ground.parameters import Number
from dpselect.mechanisms.port import promise, settle
from dpselect.mechanisms.set_union.policy import L1Descent
from dpselect.mechanisms.set_union.port import UNIT, SetUnion, parse, up
from dpselect.mechanisms.set_union.release_laws import Shaped
from dpselect.mechanisms.set_union.weighted import Shares, even


@dataclass(frozen=True, kw_only=True)
class ShapedWeighted(SetUnion):
    """Release each item with the largest probability that its weight allows; users give each of t items 1/t.

    Guarantee: (epsilon, delta)-DP, without any bound on the items of a user.
    Neighbors: add-remove.
    Sensitivity: a user contributes at most 1 in all, over a random `max_items_per_user` of their items where that is
        given.
    Exactness: weights are integer multiples of 2^-30, 1/t rounded down, and each item is one exact Bernoulli draw of
        the closed form.
    Cost: one pass over the pairs, one draw an item.
    Source: ours, proved on the page of shaped releases; weights as in Gopi et al. 2020.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> ShapedWeighted(epsilon=1, delta="1e-9")(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    max_items_per_user: int | None = None

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        privacy = promise(epsilon, delta, "weighted, shaped")
        settle(self, weighting=Shares(even), law=Shaped(epsilon, delta), privacy=privacy)


@dataclass(frozen=True, kw_only=True)
class ShapedPolicy(SetUnion):
    """Release each item with the largest probability that its weight allows; a user raises all their items equally.

    l1-descent as in PolicyLaplace. The cutoff is the weight of probability one half and `alpha` / epsilon, but never
    above the weight of probability 1.

    Guarantee: (epsilon, delta)-DP, without any bound on the items of a user.
    Neighbors: add-remove.
    Sensitivity: a user moves the final weights, all users together, by at most 1: exactly, since 2^30 integer parts
        are contributed one by one. They keep a random `max_items_per_user` of their items where that is given.
    Exactness: weights are integer multiples of 2^-30, and each item is one exact Bernoulli draw of the closed form.
    Cost: one sort of the pairs, one loop over users, one draw an item.
    Source: ours, proved on the page of shaped releases; Gopi et al. 2020, Algorithm 3, for the policy.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> ShapedPolicy(epsilon=1, delta="1e-9", alpha=40)(UserSets.of(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    max_items_per_user: int | None = None
    alpha: Number = 3

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        law = Shaped(epsilon, delta)
        cutoff = up(min(law.threshold + Fraction(self.alpha) / epsilon, 2 * law.threshold), UNIT)
        settle(self, weighting=L1Descent(cutoff), law=law, privacy=promise(epsilon, delta, "policy, shaped"))
