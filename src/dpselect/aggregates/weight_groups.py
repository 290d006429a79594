"""Weights of items that an engine has added up: how many items have which weight. No item needs to be here."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect.aggregates.user_sets import Int64


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class WeightGroups:
    """`sizes[g]` items have the weight `weights[g]`, which no other group has; of several, that row.

    An item is known by its rank: group after group, and in each group by the order of items, which depends on the
    items alone. The repr shows nothing: all of this is private.
    """

    weights: Int64
    sizes: Int64

    def __repr__(self) -> str:
        return "WeightGroups(private)"


def numbered(name: str, shares: Int64) -> list[str]:
    """Return the names of columns of which there is one for each list of shares: w, w1, w2, ..."""
    return [name, *(f"{name}{i}" for i in range(1, len(np.atleast_2d(shares))))]


def as_columns(shares: Int64) -> dict[str, Int64]:
    """Return a table of what users of t items give."""
    share_columns = dict(zip(numbered("share", shares), np.atleast_2d(shares), strict=True))
    return {"t": np.arange(1, shares.shape[-1] + 1), **share_columns}


class PairsElsewhere(Protocol):
    """Users' items, kept by somebody who can add up weights. What was released leaves everybody."""

    def weigh(self, shares: Int64, key: bytes) -> WeightGroups:
        """Weights when every user keeps as many as there are shares of the items they have left.

        Who keeps t gives shares[t - 1] to each. Of several lists of shares, the rows of an array, an item has a weight
        by each. Which items a user keeps is decided by a hash with this key, of that user's own rows only.
        """
        ...

    def release(self, ranks: Int64) -> None:
        """Release the items of these ranks by the last weights: no user has them any more."""
        ...

    def names(self) -> list[object]:
        """Return the released items, in their own order."""
        ...

    def released_item_counts(self, max_items: int, key: bytes) -> Int64:
        """Count the users of each of `names`, in its order.

        Every user counts for `max_items` of them, by a hash with this key.
        """
        ...

    def user_set_sizes(self, largest: int) -> tuple[Int64, Int64]:
        """Count the users by number of items, released or not, where more than `largest` is `largest`."""
        ...
