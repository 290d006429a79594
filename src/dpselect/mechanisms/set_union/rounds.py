"""Who contributes first, and to what; and rounds: how they divide a budget, and what is left for the next one.

Orders and samples do not depend on the data. Sensitivity is proved for neighbours whose common users are visited, and
whose common items stand, in the same order and keep the same sample. A fresh uniform order of all of them, restricted
to the common ones, is a uniform order of those, so the two runs can be coupled so (docs/mechanisms/set-union.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpselect._ground import parameters
from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Blocks, Int64, S, Sets, UserSets, offsets_of
from dpselect.draws import Draws, MonotoneProbability, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields

MOST_USERS = 2**31
MOST_ITEMS = 2**32


def bounded(sets: S, most: int | None, draws: Draws) -> S:
    """Every user keeps a uniformly random `most` of their items, all where they have no more."""
    return sets if most is None else sets.mapped(partial(_sample, most=most, draws=draws))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Passing:
    """The same, drawn as they are read, block after block, and kept nowhere: to be read once."""

    sets: Sets
    most: int
    draws: Draws

    @property
    def size(self) -> int:
        """Codes of items are 0 .. size - 1."""
        return self.sets.size

    def blocks(self) -> Iterator[UserSets]:
        """All users in their order, some at a time, each with a fresh sample."""
        return (_sample(block, self.most, self.draws) for block in self.sets.blocks())


def _sample(sets: UserSets, most: int, draws: Draws) -> UserSets:
    kept = draws.sample(sets.offsets, most)
    lengths = np.minimum(np.diff(sets.offsets), most)
    return replace(sets, offsets=offsets_of(lengths), codes=sets.codes[kept])


def users_and_items_in_order(sets: S, draws: Draws) -> S:
    """Users in random order, and the items of each by one random order of all items."""
    return by_rank(sets, draws.order(sets.users), draws.order(sets.size))


def by_rank(sets: S, users: Int64, items: Int64) -> S:
    """Users in this order, and the items of each in this order of all items: one sort of (place, rank) pairs."""
    if sets.users >= MOST_USERS or sets.size >= MOST_ITEMS:
        raise ParameterError("sets", "have fewer than 2^31 users and 2^32 items", "more")
    return sets.arranged(users, items)


MOST_ROUNDS = 20
LEAST_SHARE = Fraction(1, 10**6)  # of a budget, for one call
LEAST_PART = Fraction(1, 1000)  # of the call's budget, for one round


def parts_of(mechanism: Any) -> tuple[Fraction, ...]:
    """What each round gets of the budget, in proportion to split^(rounds - r); `part` in all. Settles the three."""
    rounds = parameters.whole_number("rounds", mechanism.rounds, minimum=1)
    if rounds > MOST_ROUNDS:
        raise ParameterError("rounds", f"be at most {MOST_ROUNDS}", rounds)
    split, part = (_at_most_1(name, getattr(mechanism, name)) for name in ("split", "part"))
    if part < LEAST_SHARE:
        raise ParameterError("part", f"be at least {float(LEAST_SHARE):g}", came(mechanism.part))
    set_fields(mechanism, rounds=rounds, split=split, part=part)
    powers = [split ** (rounds - r) for r in range(1, rounds + 1)]
    if powers[0] < LEAST_PART * sum(powers):
        hint = "take fewer rounds, or a split nearer to 1"
        raise ParameterError("rounds", f"leave at least {LEAST_PART} of the budget to the first", rounds, hint)
    return tuple(part * power / sum(powers) for power in powers)


def _at_most_1(name: str, value: object) -> Fraction:
    must = "be above 0 and at most 1"
    number = parameters.positive(name, value, must)
    if number > 1:
        raise ParameterError(name, must, came(value))
    return number


def in_rounds(
    sets: Sets,
    most: int,
    rounds: Sequence[tuple[Callable[[Blocks], Int64], MonotoneProbability]],
    draws: Draws | None,
    progress: Progress | None,
) -> Int64:
    """The codes of the released items, ascending, by rounds of (weights of bounded users, probabilities).

    What is released leaves every user's set; in each round they keep a new random `most` of what is left.
    """
    draws = secure(draws)
    found = np.zeros(sets.size, dtype=np.bool_)
    for r, (weigh, law) in enumerate(rounds):
        if progress:
            progress(r / len(rounds))
        sets = without(sets, found) if r else sets
        found |= draws.bernoullis(weigh(Passing(sets=sets, most=most, draws=draws)), 1, law)
    return np.flatnonzero(found).astype(np.int64)


def without(sets: S, gone: npt.NDArray[np.bool_]) -> S:
    """The users without these items, which all of them lose."""
    return sets.mapped(partial(_without, gone=gone))


def _without(sets: UserSets, gone: npt.NDArray[np.bool_]) -> UserSets:
    stays = ~gone[sets.codes]
    before = np.zeros(len(stays) + 1, dtype=np.int64)
    np.cumsum(stays, out=before[1:])
    return replace(sets, offsets=before[sets.offsets], codes=np.compress(stays, sets.codes))
