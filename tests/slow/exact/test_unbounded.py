"""Quantiles without bounds: the points, the law of the real call on few of them, privacy, and twins refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpselect as dps
from dpselect.aggregates import unbounded
from dpselect.aggregates.unbounded import Unbounded, points_of
from dpselect.aggregates.value_counts import Grid
from dpselect.mechanisms import Quantile, QuantileByGroup, RecursiveQuantiles
from dpselect.testing import SeededDraws
from tests.by_names import drawn, plan_of
from tests.exact.laws import at_most, equals, log_range, private, pure, same
from tests.slow.exact.test_quantile import EPSILON, direct, laws_of, neighbours
from tests.twins import unbounded as broken

STEPS = [None, 1, "0.5", 3, "1e-30", "1e14"]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One digit up to 20, so that all points can be visited: 0, 1, ..., 10, 20 and minus."""
    monkeypatch.setattr(unbounded, "DENSE_POINTS", 10)
    monkeypatch.setattr(unbounded, "POINTS_PER_TENFOLD", 9)
    monkeypatch.setattr(unbounded, "MIN_LARGEST_POINT", 100)
    return [-x for x in range(100, 10, -10)] + [*range(-10, 11)] + [*range(20, 101, 10)]


# ---- the points -------------------------------------------------------------------------------------------


def test_few_points_are_the_ones_that_are_meant(few: list[int]) -> None:
    points = Unbounded.parse(1)
    assert [points.value(place) for place in range(points.points)] == few
    assert points.nearest_indices(np.array(few, dtype=np.float64)).tolist() == [*range(len(few))]


@pytest.mark.parametrize("step", STEPS)
def test_points_ascend_and_are_six_digits_apart(step: Any) -> None:
    points = Unbounded.parse(step)
    exact = points.step
    for times in range(points.tenfolds + 1):
        start = (
            points.points_above_zero + unbounded.DENSE_POINTS + (times - 1) * unbounded.POINTS_PER_TENFOLD
            if times
            else points.points_above_zero
        )
        for place in (start, start + 1, start + 12_345):
            size, here = exact * 10**times, Fraction(points.value(place))
            wanted = (Fraction(10**5) * size if times else 0) + (place - start) * size
            assert here == pytest.approx(wanted, rel=1e-15)
            assert points.value(2 * points.points_above_zero - place) == -points.value(place)
    assert points.value(points.points - 1) >= 10**20
    assert points.value(points.points_above_zero) == 0


@pytest.mark.parametrize("step", STEPS)
def test_every_point_is_its_own_place_and_values_go_to_the_nearest(step: Any) -> None:
    points, random = Unbounded.parse(step), np.random.default_rng(7)
    places = np.concatenate([random.integers(0, points.points, 1000), points.points_above_zero + np.arange(-50, 50)])
    edges = [
        points.points_above_zero + unbounded.DENSE_POINTS + times * unbounded.POINTS_PER_TENFOLD
        for times in range(points.tenfolds + 1)
    ]
    places = np.unique(
        [*places, *edges, *(edge - 1 for edge in edges), *(2 * points.points_above_zero - edge for edge in edges)]
    )
    values = [points.value(int(place)) for place in places]
    assert values == sorted(values)
    assert points.nearest_indices(np.array(values, dtype=np.float64)).tolist() == places.tolist()
    inner = places[(places > 0) & (places < points.points - 1)]
    for place in inner[:: len(inner) // 200].tolist():
        low, here, high = (float(points.value(place + by)) for by in (-1, 0, 1))
        near = [here + (low - here) * 0.49, here + (high - here) * 0.49]
        assert points.nearest_indices(np.array(near)).tolist() == [place, place]


def test_what_is_far_out_goes_to_the_last_point_and_what_is_missing_nowhere() -> None:
    for step in (None, 1):
        points = Unbounded.parse(step)
        hostile = [float("inf"), float("-inf"), 10**400, -(10**400), 1e300, float("nan"), None, "7", "x", True, -0.0]
        end, zero = points.points - 1, points.points_above_zero
        assert sorted(points.indices_of(hostile).tolist()) == sorted([end, 0, end, 0, end, zero])


def test_a_step_that_is_too_small_or_too_wide_is_refused() -> None:
    for step in ("1e-31", "1.1e14", 0, -1, "x"):
        with pytest.raises(dps.ParameterError, match="step must be between 1e-30 and 1e14 if there are no bounds"):
            points_of(None, step)
    assert isinstance(points_of((0, 1)), Grid)


# ---- the law and privacy ----------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_the_law_is_the_formula_at_the_moved_values(q: Fraction, few: list[int]) -> None:
    mechanism = Quantile(q=q, step=1, epsilon=EPSILON)
    for values in [(), (3,), (-100, 7, 7, 40), (0, 0, 0, 100), (-20, -20, -5)]:
        assert same(laws_of(mechanism)(values), direct(values, q, EPSILON, few))
    moved = (1e300, -1e300, 43.9, 0.4, float("nan"), -14.9, 1e400)
    assert same(laws_of(mechanism)(moved), direct((100, -100, 40, 0, -10, 100), q, EPSILON, few))


def test_privacy_over_all_neighbours_and_the_range_is_met(few: list[int]) -> None:
    laws = laws_of(Quantile(step=1, epsilon=EPSILON))
    near = [*neighbours(2, [-100, -3, 0, 20]), ((1,) * 10, (*(1,) * 10, 100))]
    ranges = [log_range(laws(left), laws(right)) for left, right in near]
    assert pure(laws, near, EPSILON)
    assert all(at_most(one, EPSILON) for one in ranges)
    assert any(equals(one, EPSILON) for one in ranges)
    assert len(few) == 39


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("twin", [broken.LastPointOfTheData, broken.SidesOfTheData])
def test_points_that_follow_the_data_are_refused(twin: Any) -> None:
    right, laws = laws_of(Quantile(step=1, epsilon=EPSILON)), laws_of(twin(EPSILON))
    near = list(neighbours(1, [-100, -3, 0, 20]))
    assert not private(laws, near, EPSILON, Fraction(0))
    assert pure(right, near, EPSILON)


@pytest.mark.usefixtures("few")
def test_several_quantiles_without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RecursiveQuantiles, "CELLS", 1)
    monkeypatch.setattr(unbounded, "DENSE_POINTS", 2)  # -2, ..., 2
    monkeypatch.setattr(unbounded, "MIN_LARGEST_POINT", 1)
    laws = laws_of(RecursiveQuantiles(q=[0.25, 0.5, 0.75], step=1, epsilon=EPSILON))
    assert pure(laws, neighbours(2, [-7, 0, 2]), EPSILON)


# ---- the verbs --------------------------------------------------------------------------------------------


def test_wherever_the_values_lie_answers_are_near_their_ranks() -> None:
    random = np.random.default_rng(3)
    ranks = [Fraction(i, 10) for i in range(1, 10)]
    gap = plan_of("quantile", q=ranks, epsilon=1).mechanism.gap(0.05)
    for values in (
        random.lognormal(3, 2, 3000),
        1.7e9 + random.normal(0, 3e7, 3000),
        -1e-4 * random.random(3000),
        random.integers(0, 100, 3000).astype(float),
        random.normal(0, 1e15, 3000),
    ):
        release = drawn(SeededDraws(1), lambda values=values: dps.quantile(values, ranks, epsilon=1))
        for q, x in zip(ranks, release.labels, strict=True):
            near = 2e-6 * abs(x)  # values move to six digits first
            assert (values < x - near).sum() - q * 3000 <= gap
            assert (values > x + near).sum() - (1 - q) * 3000 <= gap


def test_every_verb_of_a_mechanism_takes_no_bounds() -> None:
    values = [1234567] * 300 + [7] * 200
    assert dps.quantile(values, epsilon=9, step=1).labels == [1234570]
    assert Quantile(q=0.1, epsilon=9)(values) == [7.0]
    made = QuantileByGroup(q=0.5, max_groups_per_user=1, step=1, epsilon=9)
    found = made({"a": values, "b": values[300:]})
    assert {group: answer.values for group, answer in found.items()} == {"a": [1234570], "b": [7]}
