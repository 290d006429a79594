"""Wrong ways to discover and then peel. Tests must refuse each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpselect.aggregates.user_sets import Int64, UserSets
from dpselect.draws import Draws
from dpselect.mechanisms.top_k.discover import DiscoverThenPeel, picks, rank_best, root_down, users_of


def true_best_are_ranked(m: DiscoverThenPeel, sets: UserSets, draws: Draws) -> Int64:
    """As many as were discovered, but among all items of the data."""
    found = m.union(sets, draws=draws)
    everything = np.arange(sets.size, dtype=np.int64)
    each = m.epsilon_per_pick(picks(m.k, found))
    return rank_best(min(m.k, len(found)), everything, users_of(sets, everything), each, draws) if len(found) else found


def the_data_are_the_domain(m: DiscoverThenPeel, sets: UserSets, draws: Draws) -> Int64:
    """No discovery: whatever anybody has can be picked."""
    everything = np.arange(sets.size, dtype=np.int64)
    return rank_best(m.k, everything, users_of(sets, everything), m.epsilon_per_pick(m.k), draws)


def the_missing_are_filled_in(m: DiscoverThenPeel, sets: UserSets, draws: Draws) -> Int64:
    """Where fewer than k were discovered, the most frequent of the others come after them."""
    found = m(sets, draws=draws)
    users = users_of(sets, np.arange(sets.size, dtype=np.int64))
    others = [code for code in np.argsort(-users, kind="stable") if code not in found]
    return np.concatenate([found, others[: m.k - len(found)]]).astype(np.int64)


def ranked_without_noise(m: DiscoverThenPeel, sets: UserSets, draws: Draws) -> Int64:
    """What was discovered is public, so its true order is told."""
    found = m.union(sets, draws=draws)
    return found[np.argsort(-users_of(sets, found), kind="stable")][: m.k]


def every_part_spends_all(m: DiscoverThenPeel, found: int) -> Fraction:
    """The epsilon of a pick as if the union had spent nothing."""
    whole = m.rest.rho / (1 - Fraction(m.union_share))
    return root_down(8 * whole / min(m.k, found - 1))


def picks_do_not_add_up(m: DiscoverThenPeel, _found: int) -> Fraction:
    """The epsilon of a pick as if there were only one."""
    return m.epsilon_per_pick(1)
