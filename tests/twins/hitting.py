"""Wrong ways to choose items that together reach most users, and wrong prices of it. Tests must refuse each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpselect.accounting.hitting_set import hitting_delta, hitting_divergence
from dpselect.aggregates.user_sets import Int64, UserSets
from dpselect.draws import Draws
from dpselect.mechanisms.top_k.discover import best, users_of
from dpselect.mechanisms.top_k.hitting_set import chosen_together


def nobody_is_ever_reached(k: int, sets: UserSets, among: Int64, each: Fraction, draws: Draws) -> Int64:
    """Users go on counting after an item of theirs was picked: k picks of the best."""
    return best(k, among, users_of(sets, among), each, draws)


def the_reached_weigh_twice_in_the_next_pick(
    k: int, sets: UserSets, among: Int64, each: Fraction, draws: Draws
) -> Int64:
    """The first pick is right, and whom it reaches counts twice for the second in place of not at all."""
    first = chosen_together(1, sets, among, each, draws)
    members = [sets.codes[sets.offsets[v] : sets.offsets[v + 1]] for v in range(sets.users)]
    again = [*members, *(one for one in members if first[0] in one)]
    left = np.setdiff1d(among, first)
    more = UserSets(
        offsets=np.append(0, np.cumsum([len(one) for one in again])).astype(np.int64),
        codes=np.concatenate(again).astype(np.int64) if again else sets.codes,
        size=sets.size,
        label=sets.label,
    )
    return np.append(first, best(k - 1, left, users_of(more, left), each, draws))


def of_one_pick_less(picks: int, each: Fraction, total: Fraction) -> Fraction:
    """The delta, as if the last pick were free."""
    return hitting_delta(picks - 1, each, total)


def of_half_the_epsilon(picks: int, each: Fraction, total: Fraction) -> Fraction:
    """The delta, as if a user moved a score by one half."""
    return hitting_delta(picks, each / 2, total)


def divergence_of_one_pick_less(picks: int, each: Fraction, order: int) -> Fraction:
    """The Rényi divergence, as if the last pick were free."""
    return hitting_divergence(picks - 1, each, order)
