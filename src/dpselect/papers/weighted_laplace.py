"""Weighted counts with Laplace noise: a user of t items gives each 1/t."""

from __future__ import annotations

from dpselect._ground.dataclass import dataclass
from dpselect.mechanisms.port import promise, set_fields
from dpselect.mechanisms.set_union.port import UNIT, SetUnion, parse
from dpselect.mechanisms.set_union.release_laws import laplace_tail
from dpselect.mechanisms.set_union.weighted import Shares


@dataclass(frozen=True, kw_only=True)
class WeightedLaplace(SetUnion):
    """Release the items whose weight plus Laplace noise is above a threshold; a user of t items gives 1/t to each.

    As published; dpselect takes RenyiShaped instead, because it finds more: five to eight times as many words.

    Guarantee: (epsilon, delta)-DP.
    Neighbors: add-remove.
    Sensitivity: a user keeps a random `max_items_per_user` of their items and contributes at most 1 in all.
    Exactness: weights are integer multiples of 2^-30, 1/t rounded down, and each item is one exact Bernoulli draw of
        P(weight + noise > threshold); the threshold is proved, rounded up.
    Cost: one pass over the pairs, one draw an item.
    Source: Gopi et al. 2020, Weighted Laplace; its threshold is proved for every t.
    Example:
        >>> from dpselect.aggregates.user_sets import UserSets
        >>> union = WeightedLaplace(epsilon=1, delta="1e-9", max_items_per_user=9)
        >>> union(UserSets.from_sets(["a"] * 90 + ["b"])).tolist()
        [0]
    """

    max_items_per_user: int

    def __post_init__(self) -> None:
        epsilon, delta = parse(self)
        shares = Shares(even)
        law = laplace_tail(epsilon, delta, self.max_items_per_user, shares.share)
        set_fields(self, weighting=shares, law=law, privacy=promise(epsilon, delta, "weighted, Laplace"))


def even(t: int) -> int:
    """Return 1/t in parts of 2^-30, rounded down."""
    return UNIT // t
