"""Coins by group: a binomial number of a uniform subset is the product of the items' own coins; twins are not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpselect._ground.reals import Exp
from dpselect.aggregates.user_sets import UserSets
from dpselect.aggregates.weight_groups import WeightGroups
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms import (
    CountGaussian,
    CountLaplace,
    GreedyGeometric,
    RenyiShaped,
    TruncatedGeometric,
    WeightedGaussian,
)
from dpselect.mechanisms.joint.ranked import subset
from dpselect.mechanisms.set_union.by_weight import release_elsewhere, released_ranks, rounds_of
from dpselect.mechanisms.set_union.renyi_shaped import weigh_by_steps
from dpselect.testing import law
from tests.exact.laws import same
from tests.exact.union_laws import coins, of_coins, sets_of


@dataclass(frozen=True)
class Ramp:
    """A chance of weight / 7."""

    def at(self, weight: Fraction) -> Exp:
        return Exp(Fraction(0), weight / 7)


def as_number(places) -> int:
    return sum(1 << int(place) for place in places)


def product_of_coins(groups: WeightGroups):
    weights = np.repeat(groups.weights, groups.sizes).tolist()
    return of_coins(coins(Ramp(), [Fraction(w, 2) for w in weights]))


def grouped(*pairs: tuple[int, int]) -> WeightGroups:
    weights, sizes = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return WeightGroups(weights=weights, sizes=sizes)


SHAPES = {
    "one item": [(5, 1)],
    "one group": [(5, 4)],
    "three groups": [(9, 1), (4, 3), (1, 2)],
    "a sure one": [(14, 2), (3, 2)],
    "none": [],
}


@pytest.mark.parametrize("few", [0, 1, 2, 64])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
def test_the_law_is_the_product_of_coins(shape, few):
    groups = grouped(*shape)
    assert same(law(lambda draws: as_number(released_ranks(groups, 2, Ramp(), draws, few))), product_of_coins(groups))


def test_an_item_without_weight_is_never_released():
    groups = grouped((0, 3))
    assert set(law(lambda draws: as_number(released_ranks(groups, 2, Ramp(), draws, 0)))) == {0}


# ---- twins that must be refused ---------------------------------------------------------------------------


def one_too_few(groups: WeightGroups, draws: Draws) -> int:
    """Binomial with n - 1."""
    found, start = [], 0
    for w, n in zip(groups.weights.tolist(), groups.sizes.tolist(), strict=True):
        heads = draws.binomial(n - 1, Ramp().at(Fraction(w, 2)))
        found += [start + r for r in subset(draws, n, heads)]
        start += n
    return as_number(found)


def the_first(groups: WeightGroups, draws: Draws) -> int:
    """The right number, but always the first items of a group."""
    found, start = [], 0
    for w, n in zip(groups.weights.tolist(), groups.sizes.tolist(), strict=True):
        found += range(start, start + draws.binomial(n, Ramp().at(Fraction(w, 2))))
        start += n
    return as_number(found)


def coins_reused(groups: WeightGroups, draws: Draws) -> int:
    """One number decides for every group of equal size."""
    found, start, known = [], 0, {}
    for w, n in zip(groups.weights.tolist(), groups.sizes.tolist(), strict=True):
        if n not in known:
            known[n] = draws.binomial(n, Ramp().at(Fraction(w, 2)))
        found += [start + r for r in subset(draws, n, known[n])]
        start += n
    return as_number(found)


@pytest.mark.parametrize("twin", [one_too_few, the_first, coins_reused])
def test_twins_have_another_law(twin):
    groups = grouped((5, 2), (4, 2))
    assert not same(law(lambda draws: twin(groups, draws)), product_of_coins(groups))


# ---- mechanisms as rounds -----------------------------------------------------------------------------------

TERMS = {"epsilon": 1, "delta": "0.1", "max_items_per_user": 3}
DATABASE = ((0, 1, 2), (0, 1), (0,), (2, 0))


class Kept:
    """Pairs in memory, where nobody has more items than the bound: the plain form of what an engine does."""

    def __init__(self, database, size):
        self.sets, self.size, self.found = database, size, []

    def weigh(self, shares, _key):
        left = [[i for i in items if i not in self.found] for items in self.sets]
        totals = {}
        for items in left:
            for i in items:
                totals[i] = totals.get(i, 0) + shares[..., len(items) - 1]
        self.order = sorted(totals, key=lambda i: ((-totals[i]).tolist(), i))
        found = np.array(list(totals.values()), dtype=np.int64).reshape(-1, *shares.shape[:-1])
        weights, sizes = np.unique(found, axis=0, return_counts=True)
        return WeightGroups(weights=weights[::-1], sizes=sizes[::-1].astype(np.int64))

    def release(self, places):
        self.found += [self.order[place] for place in places]

    def names(self):
        return sorted(self.found)

    def released_item_counts(self, most, _key):
        counted = [[i for i in sorted(items) if i in self.found][:most] for items in self.sets]
        return np.array([sum(name in items for items in counted) for name in self.names()], dtype=np.int64)


def law_elsewhere(mechanism):
    def run(draws: Draws) -> int:
        pairs = Kept(DATABASE, 3)
        release_elsewhere(mechanism, pairs, draws=draws)
        return as_number(pairs.found)

    return law(run)


@pytest.mark.parametrize(
    "mechanism",
    [
        *(kind(**TERMS) for kind in (CountLaplace, CountGaussian, WeightedGaussian)),
        RenyiShaped(**TERMS, rounds=2),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_law_is_that_of_the_call(mechanism):
    sets = sets_of(DATABASE, 3)
    assert same(law_elsewhere(mechanism), law(lambda draws: as_number(mechanism(sets, draws=draws))))


def test_truncated_geometric_gives_one_to_one_item():
    (one,) = rounds_of(TruncatedGeometric(epsilon=1, delta="0.1"))
    assert (one.shares.tolist(), one.unit) == ([1], 1)


@pytest.mark.parametrize("most", [1, 2, 9, 40])
def test_shares_are_those_of_the_mechanism(most):
    """A table of shares, whole parts, says the same as what the mechanism gives in memory."""
    renyi = RenyiShaped(epsilon=1, delta="1e-6", max_items_per_user=most)
    users = UserSets.from_sets([[(t, i) for i in range(t)] for t in range(1, most + 1)])
    for one, of_round in zip(rounds_of(renyi), renyi.shares, strict=True):
        for shares, (terms, _) in zip(one.shares, of_round, strict=True):
            assert (
                weigh_by_steps(users, [terms.steps])[0].tolist() == np.repeat(shares, np.arange(1, most + 1)).tolist()
            )
    rooted = WeightedGaussian(epsilon=1, delta="1e-6", max_items_per_user=most)
    (one,) = rounds_of(rooted)
    assert [Fraction(int(s), one.unit) for s in one.shares] == [rooted.share(t) for t in range(1, most + 1)]


def test_policies_and_endless_tables_are_refused():
    with pytest.raises(ParameterError, match="look at others"):
        rounds_of(GreedyGeometric(epsilon=1, delta="1e-6", max_items_per_user=3))
    with pytest.raises(ParameterError, match="at most 1000000"):
        rounds_of(WeightedGaussian(epsilon=1, delta="1e-6", max_items_per_user=10**6 + 1))
