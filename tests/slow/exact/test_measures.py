"""Measures of items that came back: exact laws, privacy over all users who may come, intervals, wrong twins refused.

A mean's grid has four steps here, and a noise few values, so that laws can be followed to their ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from dpselect._ground.privacy import PureDP, Steps
from dpselect.aggregates import measures as of_measures
from dpselect.aggregates.measures import Mean, Measured, Sum
from dpselect.mechanisms.gaps import laplace_width
from dpselect.mechanisms.shared_noise import SharedGaussianNoise, SharedLaplaceNoise
from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures, mean_of
from dpselect.mechanisms.top_k.sharp_counts import SharpCounts
from dpselect.testing import hockey_stick, law
from tests.engines import measured_rows
from tests.exact.test_shared_noise import gaussian, joint, rounded_law
from tests.twins import measures as twins

LEFT_OUT = 1e-9  # noise is followed to 2^-60, and what is as far on the other side weighs e^EACH times as much, or less
EACH = Fraction(16)
BETA = 0.05
SUM, ABOVE, MEAN = Sum("w", -1, 2), Sum("w", 1, 2), Mean("w", 0, 4)
# What one user may have: rows of an item, with values beyond the bounds, none, and several.
USERS: list[twins.User] = [
    [(0, 0.0)], [(0, 1.0)], [(0, 2.0)], [(0, -9.0)], [(0, 99.0)], [(0, 3.0), (0, 1.0)], [(0, 2.0)] * 5,
    [(0, math.nan)], [(0, math.nan), (0, 4.0)], [(1, 2.0)], [(0, 2.0), (1, 2.0)], [(0, 0.0), (1, 4.0), (1, 4.0)],
]  # fmt: skip
GROUPS = [[], [[(0, 2.0)]], [[(0, 0.0)], [(0, 3.0), (1, 1.0)]]]


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_measures, "HALF_OF_MEAN_STEPS", 2)
    monkeypatch.setattr(measured_rows, "HALF_OF_MEAN_STEPS", 2)


def noisy(*of: of_measures.Measure, items: int = 1, most: int | None = None) -> NoisyMeasures:
    return NoisyMeasures(measures=of, k=items, epsilon_per_noise=EACH, max_items_per_user=most)


def worst(mechanism: NoisyMeasures, found: Callable[..., twins.Found], tell: Callable[..., twins.Told]) -> float:
    """The largest delta at the epsilon of the price, over one user more or less; of these some have several items."""
    epsilon, items = mechanism.privacy.epsilon, range(mechanism.k)
    most, deltas = mechanism.max_items_per_user, [0.0]
    for users in GROUPS:
        for one in USERS:
            pair = [
                law(lambda draws, who=who: tell(mechanism, found(who, mechanism.measures, items, most), draws))
                for who in (users, [*users, one])
            ]
            deltas += [float(hockey_stick(*way, epsilon).upper()) for way in (pair, pair[::-1])]
    return max(deltas)


POSITIVE = Sum("w", 0, 2)
TOGETHER = SharpCounts(k=2, noise=SharedLaplaceNoise(items=2, max_items_per_user=2, epsilon=2 * EACH))


def together(*of: of_measures.Measure) -> NoisyMeasures:
    """With noise that both items share, of which each sum of one sign has its own."""
    return NoisyMeasures(measures=of, k=2, epsilon_per_noise=EACH, sums=TOGETHER)


RIGHT = [
    noisy(SUM), noisy(ABOVE), noisy(MEAN), noisy(SUM, Sum("v", 0, 1)), noisy(SUM, items=2), noisy(SUM, items=2, most=1),
]  # fmt: skip


@pytest.mark.parametrize(
    "mechanism", RIGHT, ids=lambda one: f"{[*map(str, one.measures)]} {one.k} {one.max_items_per_user}"
)
def test_privacy_over_all_users_who_may_come(mechanism: NoisyMeasures) -> None:
    assert worst(mechanism, twins.measured, twins.told) < LEFT_OUT


@pytest.mark.parametrize(("measure", "one"), [(SUM, 9.0), (Sum("w", -3, 2), -9.0), (ABOVE, 9.0)])
def test_a_user_with_the_largest_total_meets_epsilon(measure: Sum, one: float) -> None:
    """So no less noise would do."""
    mechanism = noisy(measure)
    pair = [
        law(lambda draws, who=who: twins.told(mechanism, twins.measured(who, [measure], [0]), draws))
        for who in ([], [[(0, one)]])
    ]
    assert max(float(hockey_stick(*way, EACH).upper()) for way in (pair, pair[::-1])) < LEFT_OUT
    assert max(float(hockey_stick(*way, EACH * 9 / 10).lower()) for way in (pair, pair[::-1])) > 0.1


def test_the_law_of_a_sum_is_discrete_laplace_around_it() -> None:
    rate = float(EACH) / 2
    for answer, p in law(lambda draws: twins.told(noisy(SUM), [[Measured(5, 4)]], draws)[0][0]).items():
        z = abs(float(answer) - 5)
        assert float(p) == pytest.approx(math.tanh(rate / 2) * math.exp(-rate * z), rel=1e-9, abs=1e-16)


# ---- wrong twins ------------------------------------------------------------------------------------------


def test_rows_that_are_cut_one_by_one_are_refused() -> None:
    assert worst(noisy(SUM), twins.cut_by_row, twins.told) > 0.1


def test_noise_for_high_less_low_is_refused() -> None:
    """A user who stays moves the sum by 1, who comes by 2."""
    assert worst(noisy(ABOVE), twins.measured, twins.width_of_the_bounds) > 0.1


def test_a_true_number_of_users_is_refused() -> None:
    assert worst(noisy(MEAN), twins.measured, twins.true_number_of_users) > 0.1


def test_one_noise_for_all_items_is_refused() -> None:
    assert worst(noisy(SUM, items=2), twins.measured, twins.noise_used_twice) > 0.1


def test_a_user_of_more_items_than_the_bound_is_refused() -> None:
    bounded = noisy(SUM, items=2, most=1)
    beyond = [[(0, 9.0), (1, 9.0)]]
    pair = [
        law(lambda draws, who=who: twins.told(bounded, twins.measured(who, [SUM], [0, 1]), draws))
        for who in ([], beyond)
    ]
    assert float(hockey_stick(*pair, bounded.privacy.epsilon).lower()) > 0.1


def test_measures_of_items_that_did_not_come_back_are_refused() -> None:
    """Whoever brings an item of their own would be told by its name."""
    run, mechanism = twins.of_all_items(twins.told), noisy(SUM, items=2)
    pair = [law(lambda draws, who=who: run(mechanism, who, draws)) for who in ([[(0, 1.0)]], [[(0, 1.0)], [(1, 1.0)]])]
    assert float(hockey_stick(*pair, mechanism.privacy.epsilon).lower()) > 0.9


def test_only_sums_of_one_sign_share_noise() -> None:
    """What users of both signs would cost then: tests/exact/test_sharp_counts.py."""
    for measure in (Sum("w", -2, 2), SUM, MEAN):
        assert together(measure).steps_of(2) == noisy(measure, items=2).steps_of(2)
    for measure in (POSITIVE, ABOVE, Sum("w", -2, -1), Sum("w", -2, 0)):
        assert together(measure).steps_of(2) == TOGETHER.steps_of(2)
    two = NoisyMeasures(measures=[POSITIVE, SUM, ABOVE], k=2, epsilon_per_noise=EACH, sums=TOGETHER)
    assert two.steps_of(1) == (Steps(PureDP(EACH), 1), *TOGETHER.steps_of(1, 1))


def test_the_law_of_sums_that_share_noise_is_that_of_the_rounded_sum() -> None:
    """Gaussian noise for a user who moves sums by two units has four times the variances."""
    shared = SharedGaussianNoise(items=2, max_items_per_user=2, rho=Fraction(16))
    mechanism = NoisyMeasures(measures=[POSITIVE], k=2, epsilon_per_noise=EACH, sums=SharpCounts(k=2, noise=shared))
    reach, m = 40, shared.multiple
    base = joint(2, gaussian(4 * float(shared.own)), gaussian(4 * float(shared.shared)), reach)
    expected = rounded_law(base, reach, lambda n: (2 * n + m) // (2 * m))
    found = law(lambda draws: twins.told(mechanism, [[Measured(5, 4)], [Measured(0, 0)]], draws))
    width = mechanism.width(POSITIVE, BETA)
    missed = 0.0
    for (first, second), p in found.items():
        assert float(p) == pytest.approx(
            expected[int(first[0]) - 5 + reach, int(second[0]) + reach], rel=1e-6, abs=1e-12
        )
        assert (first[1], first[2]) == (max(0, first[0] - width), max(0, first[0] + width))
        missed += float(p) * (not first[1] <= 5 <= first[2])
    assert missed <= BETA


# ---- prices -----------------------------------------------------------------------------------------------


def test_each_noisy_number_of_an_item_that_a_user_moves_is_one_step() -> None:
    of = {None: 5 * 3, 2: 2 * 3, 9: 5 * 3}
    for most, times in of.items():
        mechanism = NoisyMeasures(measures=[SUM, MEAN], k=5, epsilon_per_noise=EACH, max_items_per_user=most)
        assert mechanism.privacy.steps == (Steps(PureDP(EACH), times),)
        assert mechanism.privacy.epsilon == EACH * times


# ---- intervals --------------------------------------------------------------------------------------------


def covered(total: int, users: int, narrower: int) -> float:
    """With which probability the interval of a mean holds the true one, with widths divided by so much."""
    each = Fraction(1, 2)
    widths = [laplace_width(rate, BETA, 2) // narrower for rate in (each / 2, each)]
    true = 2 + Fraction(total, users)
    sums, counts = ({z: math.tanh(r / 2) * math.exp(-r * abs(z)) for z in range(-80, 81)} for r in (0.25, 0.5))
    found = 0.0
    for y, q in counts.items():
        if q > 1e-7:
            for z, p in sums.items():
                if p > 1e-7:
                    one = mean_of(MEAN, total + z, users + y, *widths)
                    found += p * q * (one.low <= true <= one.high)
    return found


def test_the_interval_of_a_mean_holds_it() -> None:
    """Of few users the noise is all there is: the interval then is as wide as the bounds, and is right."""
    cases = [(-2, 1), (1, 1), (-5, 3), (0, 3), (40, 40), (-11, 30)]
    assert all(covered(total, users, 1) >= 1 - BETA for total, users in cases)
    assert covered(40, 40, 4) < 1 - BETA


def test_a_mean_lies_in_its_bounds_and_in_its_interval() -> None:
    for total in range(-9, 10):
        for users in range(-4, 9):
            one = mean_of(MEAN, total, users, 3, 2)
            assert 0 <= one.low <= one.value <= one.high <= 4
    nobody = mean_of(MEAN, 0, -5, 7, 4)
    assert (nobody.low, nobody.value, nobody.high) == (0, 2, 4)


def test_the_interval_of_a_sum_holds_it_and_half_of_it_does_not() -> None:
    mechanism = NoisyMeasures(measures=[SUM], k=1, epsilon_per_noise=Fraction(1, 2))
    width, rate = mechanism.width(SUM, BETA), 0.25
    assert width is not None
    outside = [
        sum(math.tanh(rate / 2) * math.exp(-rate * abs(z)) for z in range(-500, 501) if abs(z) > w)
        for w in (width, width - 1, width // 2)
    ]
    assert outside[0] <= BETA < outside[1] < outside[2]
