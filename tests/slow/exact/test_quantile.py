"""Quantiles: the law against the formula, privacy over all neighbours of small grids, wrong twins refused."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from flint import ctx

from dpselect._ground.privacy import BoundedRange, Steps
from dpselect._ground.reals import enclose
from dpselect.aggregates.value_counts import Grid, UsersAt
from dpselect.mechanisms import Quantile
from dpselect.mechanisms.quantile import NearRank, Stretches, enclosing_indices
from dpselect.testing import law
from tests.exact.laws import (
    BITS,
    at_most,
    equals,
    log_range,
    private,
    pure,
    same,
)
from tests.twins import selection as broken

EPSILON = Fraction(3, 2)
POINTS = range(6)  # low 0, high 5, step 1
QS = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(1, 3)]
DATA = [(), (2,), (0, 5), (3, 3, 3), (1, 1, 4, 5, 5), (0, 0, 0, 0, 5), (2, 3, 4, 4)]


def small(q, **more):
    return Quantile(q=q, bounds=(0, 5), step=1, **({"epsilon": EPSILON} | more))


def missed(values, q, x):
    """By how many users a point misses the rank."""
    n = len(values)
    return max(Fraction(0), sum(v < x for v in values) - q * n, sum(v > x for v in values) - (1 - q) * n)


def direct(values, q, epsilon, points=POINTS):
    """The formula on the page, point by point."""
    with ctx.workprec(BITS):
        weights = [enclose(-epsilon * missed(values, q, x) / (2 * max(q, 1 - q))).exp() for x in points]
        return {(x,): w / sum(weights) for x, w in zip(points, weights, strict=True)}


def law_of(mechanism, values):
    return law(lambda draws: tuple(mechanism(values, draws=draws)))


def laws_of(mechanism):
    return cache(lambda values: law_of(mechanism, list(values)))


def neighbours(most=4, points=POINTS):
    """All data sets of up to `most` users on the points, each with every one more user."""
    for n in range(most + 1):
        for values in combinations_with_replacement(points, n):
            for v in points:
                yield values, tuple(sorted((*values, v)))


@pytest.mark.parametrize("q", QS, ids=str)
@pytest.mark.parametrize("values", DATA, ids=str)
def test_the_law_is_the_formula(values, q):
    assert same(law_of(small(q), list(values)), direct(values, q, EPSILON))


def test_values_move_to_the_grid_first():
    moved = law_of(small(QS[0]), [-7, float("-inf"), 1.4, 2.6, 99, float("inf"), float("nan"), None])
    assert same(moved, direct((0, 0, 1, 3, 5, 5), QS[0], EPSILON))


def test_counts_on_the_grid_have_the_law_of_values():
    counted = UsersAt(np.array([1, 4, 5]), np.array([2, 1, 2]))
    assert same(law_of(small(QS[1]), counted), direct((1, 1, 4, 5, 5), QS[1], EPSILON))


@pytest.mark.parametrize("q", QS, ids=str)
def test_privacy_over_all_neighbours_and_the_range_is_met(q):
    mechanism = small(q)
    laws = laws_of(mechanism)
    crowd = ((1,) * 10, (*(1,) * 10, 5)) if q > Fraction(1, 2) else ((4,) * 10, (0, *(4,) * 10))
    assert pure(laws, [*neighbours(), crowd], EPSILON)
    found = [log_range(laws(left), laws(right)) for left, right in [*neighbours(), crowd]]
    assert all(at_most(one, EPSILON) for one in found)
    assert any(equals(one, EPSILON) for one in found)
    assert mechanism.privacy.bounded_range == BoundedRange(EPSILON)
    assert mechanism.privacy.epsilon == EPSILON


def test_pure_epsilon_is_met_in_the_limit():
    """Two users at 1, ten million points above them, a third user at the far end: point 0 loses all of epsilon."""
    mechanism, far = Quantile(bounds=(0, 10**7), step=1, epsilon=1), 10**7

    def log_probability_of_0(places, users):
        found = Stretches.between(UsersAt(np.array(places), np.array(users)), 0, far + 1)
        half = Fraction(1, 2)
        with ctx.workprec(BITS):
            weights = [enclose(-mechanism.rate(half) * Fraction(m, 2)).exp() for m in found.misses(half).tolist()]
            total = sum(size * w for size, w in zip(found.sizes.tolist(), weights, strict=True))
            return (weights[0] / total).log()

    with ctx.workprec(BITS):
        loss = log_probability_of_0([1], [2]) - log_probability_of_0([1, far], [2, 1])
        assert 1 - 1e-5 < loss < 1


@pytest.mark.parametrize("reach", [0, 1, 2])
@pytest.mark.parametrize("q", QS, ids=str)
def test_points_beyond_the_reach_have_the_same_law(q, reach):
    """What is accepted of a proposal has the law of the formula, however few values were put in order."""
    mechanism, partly = small(q), 0
    for values in [*DATA, (0, 0, 1, 1, 1, 2, 4, 4, 5), (5,) * 7 + (1, 0), (0,) * 9 + (4,), (2,) * 12]:

        def propose(draws, values=values):
            near = NearRank.rank(np.array(values, dtype=np.int64), len(POINTS), q, reach)
            return (near.propose(q, mechanism.rate(q) / q.denominator, draws),)

        found = law(propose)
        with ctx.workprec(BITS):
            refused = found.pop((None,), 0)
            assert same({x: p / (1 - refused) for x, p in found.items()}, direct(values, q, EPSILON))
        partly += refused != 0
    assert partly


def test_many_values_take_the_short_way_and_hit_the_rank():
    values = (np.arange(100_001) * 7919) % 100_001
    for q in (Fraction(1, 2), Fraction(1, 100), Fraction(99, 100)):
        mechanism = Quantile(q=q, bounds=(0, 100_000), step=1, epsilon=2)
        near = mechanism.near(mechanism.grid.indices_of(values), q)
        assert len(near.stretches.starts) < 1000
        assert near.stretches.sizes.sum() + near.before + near.behind == 100_001
        assert abs(mechanism(values)[0] - 100_001 * q) < 100


def test_two_quantiles_of_one_price():
    for mechanism in (small((QS[1], QS[0])), small((QS[1], QS[0]), delta=Fraction(1, 100))):
        laws = laws_of(mechanism)
        assert private(laws, neighbours(2), mechanism.privacy.epsilon, mechanism.privacy.delta)
        assert all(answer[0] <= answer[1] for answer in laws((1, 4)))
    assert small((QS[1], QS[0])).epsilon_per_pick == EPSILON / 2
    assert small((QS[1], QS[0])).privacy.steps == (Steps(BoundedRange(EPSILON / 2), 2),)
    more = Quantile(q=[Fraction(i, 20) for i in range(1, 20)], bounds=(0, 5), epsilon=1, delta="1e-6")
    assert more.epsilon_per_pick > Fraction(1, 19)


def test_quantiles_are_independent_and_sorted():
    both, pick = law_of(small((QS[1], QS[2])), [1, 1, 4]), EPSILON / 2
    first, second = (direct((1, 1, 4), q, pick) for q in (QS[1], QS[2]))
    expected = {}
    with ctx.workprec(BITS):
        for (x,), p in first.items():
            for (y,), r in second.items():
                answer = tuple(sorted((x, y)))
                expected[answer] = expected.get(answer, 0) + p * r
    assert same(both, expected)


@pytest.mark.parametrize(
    "twin",
    [
        broken.QuantileRate(small(Fraction(3, 4)), Fraction(2)),
        broken.QuantileRate(small(Fraction(3, 4)), Fraction(3, 2)),
        broken.QuantileOtherScore(small(Fraction(3, 4))),
    ],
    ids=["the 2 forgotten", "sensitivity 1/2 for every q", "#{v < x} - q n with n taken as public"],
)
def test_a_wrong_rate_is_refused(twin):
    laws = laws_of(twin)
    assert not all(at_most(log_range(laws(a), laws(b)), EPSILON) for a, b in neighbours(3))


def test_a_domain_from_the_data_is_refused():
    laws = laws_of(broken.QuantileOfDataBounds(EPSILON))
    assert any(set(laws(a)) != set(laws(b)) for a, b in neighbours(2) if a)


def test_several_values_of_a_user_are_refused():
    """A user who counts three times moves the law three times as far; with one value it stays within epsilon."""
    laws = laws_of(small(Fraction(1, 2)))
    assert at_most(log_range(laws((1, 4)), laws((1, 4, 5))), EPSILON)
    assert not at_most(log_range(laws((1, 4)), laws((1, 4, 5, 5, 5))), EPSILON)


def test_where_values_tie_the_true_median_has_no_miss():
    """30 below, 60 at the point, 10 above: the usual score prefers nothing here; the miss is 0 at the tie alone."""
    stretches = Stretches.between(UsersAt(np.array([0, 3, 5]), np.array([30, 60, 10])), 0, 6)
    misses = dict(zip(stretches.starts.tolist(), (stretches.misses(Fraction(1, 2)) / 2).tolist(), strict=True))
    assert misses[3] == 0
    assert min(m for x, m in misses.items() if x != 3) == 20


def test_stretches_cover_every_point_once():
    for left, _ in neighbours(3):
        found = Stretches.between(broken.at(Grid.parse((0, 5), 1), list(left)), 0, 6)
        ends = found.starts + found.sizes
        assert found.starts[0] == 0
        assert ends[-1] == 6
        assert (ends[:-1] == found.starts[1:]).all()
        for start, below, above in zip(found.starts, found.below, found.above, strict=True):
            assert below == sum(v < start for v in left)
            assert above == sum(v > start for v in left)


ORDERS = {
    "random": np.random.default_rng(1).integers(0, 10**6, 50_000),
    "ascending": np.arange(50_000),
    "the sample is low": np.where(np.arange(50_000) % 5, np.arange(50_000) + 7, 0),
    "ties": np.repeat([3, 1, 2, 9], [40_000, 5_000, 4_000, 1_000]),
    "two": np.tile([5, 6], 25_000),
}


@pytest.mark.parametrize("places", ORDERS.values(), ids=list(ORDERS))
@pytest.mark.parametrize("reach", [0, 30, 4_000])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 100), Fraction(9, 10)], ids=str)
def test_values_near_the_rank_are_found_in_any_order(places, q, reach):
    """The stretches are those of sorted places, between the ones that stand so far from the rank."""
    n, points, given = len(places), 2 * 10**6, places.copy()
    ordered = np.sort(places)
    first, last = max(0, int(q * n) - reach), min(n - 1, int(q * n) + reach)
    under, among = enclosing_indices(places, first, last)
    assert np.sort(among)[[first - under, last - under]].tolist() == ordered[[first, last]].tolist()
    near = NearRank.rank(places, points, q, reach).stretches
    low, high = int(ordered[first]), int(ordered[last])
    inside = ordered[(ordered >= low) & (ordered <= high)]
    below, above = int((ordered < low).sum()), int((ordered > high).sum())
    right = Stretches.between(UsersAt.counted(inside), low if below else 0, high + 1 if above else points, below, above)
    for name in ("starts", "sizes", "below", "above"):
        assert (getattr(near, name) == getattr(right, name)).all()
    assert near.total == right.total == n
    assert (places == given).all()
