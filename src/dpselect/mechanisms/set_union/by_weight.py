"""Set unions of weights that were added up elsewhere: how many items have which weight, and which are released.

Items of one weight are released with one probability, so the number released among them is binomial, and given it
every subset of that size is equally likely (docs/mechanisms/set-union.md). No item needs to be here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Progress
from dpselect.aggregates.user_sets import Int64
from dpselect.aggregates.weight_groups import PairsElsewhere, WeightGroups
from dpselect.draws import Draws, MonotoneProbability, fresh_key, secure
from dpselect.errors import ParameterError
from dpselect.mechanisms.joint.ranked import subset
from dpselect.mechanisms.set_union.count import TruncatedGeometric
from dpselect.mechanisms.set_union.count_gaussian import CountGaussian
from dpselect.mechanisms.set_union.count_laplace import CountLaplace
from dpselect.mechanisms.set_union.renyi_shaped import (
    RenyiShaped,
    Shares,
    curve_indices,
    largest,
    share_of_each,
)
from dpselect.mechanisms.set_union.weighted import WeightedGaussian

FEW = 64  # up to here a Bernoulli draw for each item is cheaper than a binomial draw
MOST_SHARES = 10**6  # a table of more is refused
ONE_ROUND = (CountLaplace, CountGaussian, WeightedGaussian, TruncatedGeometric)
GROUPED = (*ONE_ROUND, RenyiShaped)
"""The mechanisms whose users contribute whatever others contributed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Round:
    """The contribution of a user of t = 1, 2, ... items to each, in parts of 1 / unit; the probability at each weight.

    Of several lists of shares, the rows of an array, an item has several weights, and `weight_of` makes one of them.
    """

    shares: Int64
    unit: int
    law: MonotoneProbability
    weight_of: Callable[[Int64], Int64] | None = None

    def weights(self, groups: WeightGroups) -> WeightGroups:
        """Return the groups with the one weight that decides, which several of them may have."""
        return groups if self.weight_of is None else replace(groups, weights=self.weight_of(groups.weights))


def rounds_of(mechanism: Any) -> tuple[Round, ...]:
    """Return a mechanism as weights that are added up, and probabilities of release."""
    if not isinstance(mechanism, GROUPED):
        hint = f"take one of {', '.join(mechanism_type.__name__ for mechanism_type in GROUPED)}"
        raise ParameterError(
            "method", "be one whose users do not look at others' contributions", type(mechanism).__name__, hint
        )
    max_items = mechanism.max_items_per_user
    if max_items > MOST_SHARES:
        raise ParameterError("max_items_per_user", f"be at most {MOST_SHARES} in the engine", max_items)
    if isinstance(mechanism, RenyiShaped):
        return tuple(_of_shares(of_round, max_items) for of_round in mechanism.shares)
    shares = [mechanism.share(t) for t in range(1, max_items + 1)]
    unit = max(share.denominator for share in shares)  # all of them divide UNIT, a power of 2
    parts = np.array([int(share * unit) for share in shares], dtype=np.int64)
    return (Round(shares=parts, unit=unit, law=mechanism.law),)


def _of_shares(of_round: Sequence[Shares], max_items: int) -> Round:
    sizes = np.arange(1, max_items + 1)
    shares = np.stack([share_of_each(sizes, conditions.steps) for conditions, _ in of_round])
    return Round(
        shares=shares, unit=1, law=largest(of_round), weight_of=lambda weights: curve_indices(weights.T, of_round)
    )


def release_elsewhere(
    mechanism: Any, pairs: PairsElsewhere, *, draws: Draws | None = None, progress: Progress | None = None
) -> None:
    """Run a set union where its pairs are: each round weighs there, and decides here which ranks are released."""
    draws, rounds = secure(draws), rounds_of(mechanism)
    for r, union_round in enumerate(rounds):
        if progress:
            progress(r / len(rounds))
        groups = union_round.weights(pairs.weigh(union_round.shares, fresh_key()))
        pairs.release(released_ranks(groups, union_round.unit, union_round.law, draws))


def released_ranks(groups: WeightGroups, unit: int, law: MonotoneProbability, draws: Draws, few: int = FEW) -> Int64:
    """Draw the ranks of the released items, ascending, when each is released with the probability of its weight."""
    starts = np.cumsum(groups.sizes) - groups.sizes
    small = groups.sizes <= few
    sizes = groups.sizes[small]
    sizes_before = np.cumsum(sizes) - sizes
    small_ranks = np.repeat(starts[small] - sizes_before, sizes) + np.arange(sizes.sum(), dtype=np.int64)
    released = [small_ranks[draws.bernoullis(np.repeat(groups.weights[small], sizes), unit, law)]]
    for g in np.flatnonzero(~small & (groups.weights > 0)):
        size = int(groups.sizes[g])
        heads = draws.binomial(size, law.at(Fraction(int(groups.weights[g]), unit)))
        released.append(starts[g] + np.array(subset(draws, size, heads), dtype=np.int64))
    return np.sort(np.concatenate(released))
