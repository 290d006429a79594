"""Who contributes first, and to what; and rounds: how they divide a budget, and what is left for the next one.

Orders and samples do not depend on the data. Sensitivity is proved for neighbours whose common users are visited, and
whose common items stand, in the same order and keep the same sample. A fresh uniform order of all of them, restricted
to the common ones, is a uniform order of those, so the two runs can be coupled so (docs/mechanisms/set-union.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Blocks, Int64, S, Sets, UserSets, offsets_of
from dpselect.draws import Draws, MonotoneProbability, secure
from dpselect.errors import ParameterError, came
from dpselect.mechanisms.port import set_fields

if TYPE_CHECKING:
    import numpy.typing as npt

MOST_USERS = 2**31
MOST_ITEMS = 2**32


def bounded(sets: S, max_items: int | None, draws: Draws) -> S:
    """Sample a uniformly random `max_items` of the items of every user, all where they have no more."""
    return sets if max_items is None else sets.mapped(partial(_sample, max_items=max_items, draws=draws))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Passing:
    """Bounded sets, drawn as they are read, block after block, and kept nowhere: to be read once."""

    sets: Sets
    most: int
    draws: Draws

    @property
    def size(self) -> int:
        """The number of items, whose codes are 0 .. size - 1."""
        return self.sets.size

    def blocks(self) -> Iterator[UserSets]:
        """Yield all users in their order, some at a time, each with a fresh sample."""
        return (_sample(block, self.most, self.draws) for block in self.sets.blocks())


def _sample(sets: UserSets, max_items: int, draws: Draws) -> UserSets:
    sampled = draws.sample(sets.offsets, max_items)
    lengths = np.minimum(np.diff(sets.offsets), max_items)
    return replace(sets, offsets=offsets_of(lengths), codes=sets.codes[sampled])


def users_and_items_in_order(sets: S, draws: Draws) -> S:
    """Order users at random, and the items of each by one random order of all items."""
    return by_rank(sets, draws.order(sets.users), draws.order(sets.size))


def by_rank(sets: S, users: Int64, items: Int64) -> S:
    """Put users in this order, and the items of each in this order of all items: one sort of (position, rank) pairs."""
    if sets.users >= MOST_USERS or sets.size >= MOST_ITEMS:
        raise ParameterError("sets", "have fewer than 2^31 users and 2^32 items", "more")
    return sets.arranged(users, items)


MOST_ROUNDS = 20
LEAST_SHARE = Fraction(1, 10**6)  # of a budget, for one call
LEAST_PART = Fraction(1, 1000)  # of the call's budget, for one round


def parts_of(mechanism: Any) -> tuple[Fraction, ...]:
    """Return each round's part of the budget, in proportion to split^(rounds - r); `part` in all. Parses the three."""
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
    requirement = "be above 0 and at most 1"
    number = parameters.positive(name, value, requirement)
    if number > 1:
        raise ParameterError(name, requirement, came(value))
    return number


def in_rounds(
    sets: Sets,
    max_items: int,
    rounds: Sequence[tuple[Callable[[Blocks], Int64], MonotoneProbability]],
    draws: Draws | None,
    progress: Progress | None,
) -> Int64:
    """Return the codes of the released items, ascending, by rounds of (weights of bounded users, probabilities).

    What is released leaves every user's set; in each round they keep a new random `max_items` of what is left.
    """
    draws = secure(draws)
    is_released = np.zeros(sets.size, dtype=np.bool_)
    for r, (weigh, law) in enumerate(rounds):
        if progress:
            progress(r / len(rounds))
        sets = without(sets, is_released) if r else sets
        is_released |= draws.bernoullis(weigh(Passing(sets=sets, most=max_items, draws=draws)), 1, law)
    return np.flatnonzero(is_released).astype(np.int64)


def without(sets: S, is_removed: npt.NDArray[np.bool_]) -> S:
    """Return the users without these items, which all of them lose."""
    return sets.mapped(partial(_without, is_removed=is_removed))


def _without(sets: UserSets, is_removed: npt.NDArray[np.bool_]) -> UserSets:
    stays = ~is_removed[sets.codes]
    offsets = np.zeros(len(stays) + 1, dtype=np.int64)
    np.cumsum(stays, out=offsets[1:])
    return replace(sets, offsets=offsets[sets.offsets], codes=np.compress(stays, sets.codes))
