"""Weights of items that an engine has added up: how many items have which weight. No item needs to be here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from dpselect.aggregates.user_sets import Int64


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WeightGroups:
    """`sizes[g]` items have the weight `weights[g]`, which no other group has.

    An item is known by its place: group after group, and in each group by the order of items, which depends on the
    items alone. The repr shows nothing: all of this is private.
    """

    weights: Int64
    sizes: Int64

    def __repr__(self) -> str:
        return "WeightGroups(private)"


class PairsElsewhere(Protocol):
    """Users' items, kept by somebody who can add up weights. What was released leaves everybody."""

    def weigh(self, shares: Int64, key: bytes) -> WeightGroups:
        """Weights when every user keeps len(shares) of the items they have left and gives shares[t - 1] to each of t.

        Which items a user keeps is decided by a hash with this key, of that user's own rows only.
        """
        ...

    def release(self, places: Int64) -> None:
        """The items at these places of the last weights are released: nobody has them any more."""
        ...

    def names(self) -> list[object]:
        """The released items, in their own order."""
        ...

    def users(self, most: int, key: bytes) -> Int64:
        """How many users each of the names has, when every user counts for `most` of them, by a hash with this key."""
        ...

    def lengths(self, most: int) -> tuple[Int64, Int64]:
        """Numbers of items, those above `most` as `most`, and how many users have so many, released items or not."""
        ...
