"""Set unions of weights that were added up elsewhere: how many items have which weight, and which are released.

Items of one weight have coins of one chance, so the number of heads among them is binomial, and given that number
every subset of that size is equally likely (docs/mechanisms/union-in-the-engine.md). No item needs to be here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dpselect.draws import Draws, Rising, fresh_key
from dpselect.errors import ParameterError
from dpselect.mechanisms.port import secure
from dpselect.mechanisms.ranked import subset
from dpselect.mechanisms.set_union.count import CountGaussian, CountLaplace
from dpselect.mechanisms.set_union.port import Progress
from dpselect.mechanisms.set_union.renyi_shaped import RenyiShaped
from dpselect.mechanisms.set_union.sips import SIPS
from dpselect.mechanisms.set_union.truncated_geometric import TruncatedGeometric
from dpselect.mechanisms.set_union.weighted import WeightedGaussian, WeightedLaplace
from dpselect.user_sets import Int64

FEW = 64  # up to here a coin for each item is cheaper than a binomial number
MOST_SHARES = 10**6  # a table of more is refused
ONE_ROUND = (CountLaplace, CountGaussian, WeightedLaplace, WeightedGaussian, TruncatedGeometric)
GROUPED = (*ONE_ROUND, SIPS, RenyiShaped)
"""The mechanisms whose users give without looking at what others gave."""


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Round:
    """What a user of t = 1, 2, ... items gives to each, in this many parts of 1, and the chance at each weight."""

    shares: Int64
    unit: int
    law: Rising


def rounds_of(mechanism: Any) -> tuple[Round, ...]:
    """A mechanism as weights that are added up, and coins."""
    if not isinstance(mechanism, GROUPED):
        hint = f"take one of {', '.join(one.__name__ for one in GROUPED)}"
        raise ParameterError(
            "method", "be one whose users do not look at others' gifts", type(mechanism).__name__, hint
        )
    most = mechanism.max_items_per_user
    if most > MOST_SHARES:
        raise ParameterError("max_items_per_user", f"be at most {MOST_SHARES} in the engine", most)
    if isinstance(mechanism, RenyiShaped):
        return tuple(
            Round(shares=_of_steps(one.steps, most), unit=1, law=curve)
            for one, curve in zip(mechanism.conditions, mechanism.curves, strict=True)
        )
    shares = [mechanism.share(t) for t in range(1, most + 1)]
    unit = max(share.denominator for share in shares)  # all of them divide UNIT, a power of 2
    parts = np.array([int(share * unit) for share in shares], dtype=np.int64)
    laws = mechanism.laws if isinstance(mechanism, SIPS) else (mechanism.law,)
    return tuple(Round(shares=parts, unit=unit, law=law) for law in laws)


def _of_steps(steps: tuple[tuple[int, int], ...], most: int) -> Int64:
    """The share of every t: that of the first step which reaches it."""
    ends, shares = np.array(steps, dtype=np.int64).T
    return np.asarray(shares[np.searchsorted(ends, np.arange(1, most + 1))], dtype=np.int64)


def release_elsewhere(
    mechanism: Any, pairs: PairsElsewhere, *, draws: Draws | None = None, progress: Progress | None = None
) -> None:
    """Run a set union where its pairs are: each round weighs there, decides here, and tells which places."""
    draws, rounds = secure(draws), rounds_of(mechanism)
    for r, one in enumerate(rounds):
        if progress:
            progress(r / len(rounds))
        groups = pairs.weigh(one.shares, fresh_key())
        pairs.release(released_places(groups, one.unit, one.law, draws))


def released_places(groups: WeightGroups, unit: int, law: Rising, draws: Draws, few: int = FEW) -> Int64:
    """The places of the heads, ascending, when every item's coin has the chance of its weight."""
    starts = np.cumsum(groups.sizes) - groups.sizes
    small = groups.sizes <= few
    sizes = groups.sizes[small]
    before = np.cumsum(sizes) - sizes
    places = np.repeat(starts[small] - before, sizes) + np.arange(sizes.sum(), dtype=np.int64)
    found = [places[draws.bits(np.repeat(groups.weights[small], sizes), unit, law)]]
    for g in np.flatnonzero(~small & (groups.weights > 0)):
        size = int(groups.sizes[g])
        heads = draws.binomial(size, law.at(Fraction(int(groups.weights[g]), unit)))
        found.append(starts[g] + np.array(subset(draws, size, heads), dtype=np.int64))
    return np.sort(np.concatenate(found))
