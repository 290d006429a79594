"""Who contributes first, and to what: orders and samples that do not depend on the data.

Sensitivity is proved for neighbours whose common users are visited, and whose common items stand, in the same order
and keep the same sample. A fresh uniform order of all of them, restricted to the common ones, is a uniform order of
those, so the two runs can be coupled so (docs/mechanisms/set-union.md).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpselect.aggregates.user_sets import Int64, UserSets
from dpselect.draws import Draws
from dpselect.errors import ParameterError

MOST_USERS = 2**31
MOST_ITEMS = 2**32


def bounded(sets: UserSets, most: int | None, draws: Draws) -> UserSets:
    """Every user keeps a uniformly random `most` of their items, all where they have no more."""
    if most is None:
        return sets
    kept = draws.sample(sets.offsets, most)
    lengths = np.minimum(np.diff(sets.offsets), most)
    return replace(sets, offsets=_offsets(lengths), codes=sets.codes[kept])


def users_in_order(sets: UserSets, draws: Draws) -> UserSets:
    """Users in random order; the items of each in their given order."""
    users = draws.order(sets.users)
    lengths = np.diff(sets.offsets)[users]
    offsets = _offsets(lengths)
    places = np.repeat(sets.offsets[:-1][users] - offsets[:-1], lengths)
    places += np.arange(len(places), dtype=np.int64)
    return replace(sets, offsets=offsets, codes=sets.codes[places])


def users_and_items_in_order(sets: UserSets, draws: Draws) -> UserSets:
    """Users in random order, and the items of each by one random order of all items."""
    return by_rank(sets, draws.order(sets.users), draws.order(sets.size))


def by_rank(sets: UserSets, users: Int64, items: Int64) -> UserSets:
    """Users in this order, and the items of each in this order of all items: one sort of (place, rank) pairs."""
    if sets.users >= MOST_USERS or sets.size >= MOST_ITEMS:
        raise ParameterError("sets", "have fewer than 2^31 users and 2^32 items", "more")
    lengths = np.diff(sets.offsets)
    pairs = np.repeat(inverse(users) << 32, lengths)
    pairs |= inverse(items)[sets.codes]
    pairs.sort()
    pairs &= MOST_ITEMS - 1
    return replace(sets, offsets=_offsets(lengths[users]), codes=items[pairs])


def inverse(order: Int64) -> Int64:
    """The place of each number in an order."""
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order), dtype=np.int64)
    return places


def _offsets(lengths: Int64) -> Int64:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
