"""All counts of a known domain: the law of the real code, privacy over all neighbours, and wrong twins refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, reduce

import numpy as np
import pytest

from dpselect.accounting import zcdp_to_epsilon
from dpselect.accounting.calibration import largest_rho
from dpselect.accounting.gaussian_curve import by_curve, smallest_deviation
from dpselect.errors import ParameterError
from dpselect.mechanisms import HistogramGaussian, HistogramLaplace
from dpselect.mechanisms.histogram import nearest
from dpselect.testing import ExactDraws, hockey_stick, law
from tests.exact.grids import pairs
from tests.papers.noisy_domain import gaussian, laplace
from tests.twins import histograms as twins

LEFT_OUT = Fraction(1, 10**16)  # unbounded draws are followed to 2^-60
WIDTH = 60


def real(mechanism: twins.Noisy, counts: tuple[int, ...], draws: ExactDraws) -> tuple[int, ...]:
    """The code that is used."""
    return tuple(mechanism(counts, draws=draws))


def laws(run: Callable[..., tuple[int, ...]], mechanism: twins.Noisy):
    return cache(lambda counts: law(lambda draws: run(mechanism, counts, draws)))


def least_delta(run: Callable[..., tuple[int, ...]], mechanism: twins.Noisy, items: int, touched: int):
    """Over all neighbours, in both directions, at the epsilon that is promised."""
    told, epsilon = laws(run, mechanism), Fraction(mechanism.epsilon)
    ways = [way for pair in pairs(items, 1, touched) for way in (pair, pair[::-1])]
    return max(float(hockey_stick(told(a), told(b), epsilon).upper()) for a, b in ways)


LAPLACE = [HistogramLaplace(epsilon=5 * most, max_items_per_user=most) for most in (1, 2)]
GAUSSIAN = [
    HistogramGaussian(epsilon=epsilon, delta=delta, max_items_per_user=most)
    for most, epsilon, delta in ((1, 4, "0.01"), (2, 4, "0.01"), (1, 1, "0.1"), (2, 1, "0.1"))
]  # the first two by zCDP, the others by the exact curve


@pytest.mark.parametrize("mechanism", [LAPLACE[1], GAUSSIAN[1]], ids=["laplace", "gaussian"])
def test_the_law_is_the_product_of_noises(mechanism: twins.Noisy) -> None:
    """Every count has noise of its own, of the stated law."""
    if isinstance(mechanism, HistogramLaplace):
        noise = laplace(float(mechanism.rate))
    else:
        noise = gaussian(float(mechanism.variance))
    for (a, b), p in law(lambda draws: real(mechanism, (3, 0), draws)).items():
        z = noise(np.array([a - 3, b]))
        assert float(p) == pytest.approx(float(z[0] * z[1]), rel=1e-9, abs=1e-16)


@pytest.mark.parametrize("mechanism", [*LAPLACE, *GAUSSIAN], ids=repr)
def test_privacy_over_all_neighbours(mechanism: twins.Noisy) -> None:
    delta = float(mechanism.privacy.delta)
    assert least_delta(real, mechanism, 2, mechanism.max_items_per_user) <= delta + LEFT_OUT


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_price_of_laplace_noise_is_tight(most: int) -> None:
    """Of a user of so many items, some answer is e^epsilon times as likely."""
    mechanism = HistogramLaplace(epsilon=2, max_items_per_user=most)
    noise = laplace(float(mechanism.rate))
    here, there = noise(np.array([-7])), noise(np.array([-8]))  # below both counts
    assert most * math.log(here[0] / there[0]) == pytest.approx(2)
    assert mechanism.privacy.epsilon == sum(s.value.epsilon * s.times for s in mechanism.privacy.steps) == 2
    assert mechanism.privacy.delta == 0


def over_arrays(variance: float, most: int, epsilon: float) -> float:
    """The least delta of a user of so many items: of both directions, over whole laws."""
    noise, z = gaussian(variance), np.arange(-WIDTH, WIDTH + 2)
    here, there = (reduce(np.multiply.outer, [noise(z - shift)] * most) for shift in (0, 1))
    ways = ((here, there), (there, here))
    return max(float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) for one, other in ways)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize(
    ("epsilon", "delta", "least"), [("0.5", "0.01", 0.87), ("1", "0.001", 0.7), ("1", "1e-6", 0.7), ("4", "0.01", 0.3)]
)
def test_gaussian_noise_over_arrays(most: int, epsilon: str, delta: str, least: float) -> None:
    """The delta that is promised, and not much less; the last noise is so small that zCDP needs less of it."""
    mechanism = HistogramGaussian(epsilon=epsilon, delta=delta, max_items_per_user=most)
    found = over_arrays(float(mechanism.variance), most, float(mechanism.epsilon))
    assert least * float(delta) < found <= float(delta)
    if epsilon != "4":
        assert mechanism.variance < most / (2 * largest_rho(Fraction(epsilon), Fraction(delta)))
        assert zcdp_to_epsilon(mechanism.rho.rho, Fraction(delta)) > Fraction(epsilon)


@pytest.mark.parametrize(("most", "epsilon", "delta"), [(1, "1", "0.1"), (2, "3", "1e-5"), (2, "4", "0.01")])
def test_whole_noise_by_the_curve_of_real_noise_is_refused(most: int, epsilon: str, delta: str) -> None:
    """Nothing added for what is whole: 1.10, 1.11 and 1.20 of the delta that is promised."""
    variance = most * smallest_deviation(Fraction(epsilon), Fraction(delta)) ** 2
    assert over_arrays(float(variance), most, float(Fraction(epsilon))) > 1.05 * float(delta)


@pytest.mark.parametrize("noises", [1, 40])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "20"])
def test_whole_noise_is_real_noise_that_was_rounded_at_random(noises: int, epsilon: str) -> None:
    """The lemma of the page; were a quarter added, laws would be further apart than what is set aside for it."""
    found = by_curve(Fraction(epsilon), Fraction(1, 10**6), noises)
    assert found is not None
    lost = min(1.0, float(Fraction(epsilon))) / 2**12
    for variance in (1.5, 3.0):
        assert 2 * noises * apart(variance, float(found.wider)) <= lost
        assert 2 * noises * apart(variance, float(found.wider) / 4) > lost


def apart(variance: float, square: float) -> float:
    """How far whole noise is from real noise that is rounded with whole noise of this square: a logarithm of ratios."""
    x, near, z = np.arange(-14, 14, 1e-3), np.arange(-24, 25)[:, None], np.arange(-4, 5)
    real = np.exp(-(x**2) / (2 * (variance - square))) / math.sqrt(2 * math.pi * (variance - square)) * 1e-3
    rounding = np.exp(-((near - x) ** 2) / (2 * square))
    rounded = (rounding / rounding.sum(axis=0) * real).sum(axis=1)
    return float(np.abs(np.log(gaussian(variance)(z) / rounded[z + 24])).max())


def test_epsilons_that_real_noise_is_too_wide_for_are_answered_by_zcdp() -> None:
    assert by_curve(Fraction(1, 10**10), Fraction(1, 10**6), 1) is None
    mechanism = HistogramGaussian(epsilon="1e-10", delta="1e-6", max_items_per_user=3)
    assert mechanism.rho.rho == largest_rho(Fraction(1, 10**10), Fraction(1, 10**6))


@pytest.mark.parametrize("twin", [
    twins.noise_for_one_item, twins.noise_used_twice, twins.no_noise_where_nobody_is,
])  # fmt: skip
@pytest.mark.parametrize("mechanism", [LAPLACE[1], GAUSSIAN[1]], ids=["laplace", "gaussian"])
def test_wrong_ways_are_refused(twin, mechanism: twins.Noisy) -> None:
    assert least_delta(twin, mechanism, 2, 2) > 1.05 * float(mechanism.privacy.delta) + 1e-4


def test_nearest_is_by_public_numbers_alone() -> None:
    one, small = Fraction(1), Fraction(1, 10**6)
    assert isinstance(nearest(one, Fraction(0), 1000, 1000, 0.05), HistogramLaplace)
    assert isinstance(nearest(one, small, 1, 1000, 0.05), HistogramLaplace)
    assert isinstance(nearest(one, small, 50, 1000, 0.05), HistogramGaussian)
    for most in (1, 2, 3, 4, 5, 8, 13, 20):
        both = [
            HistogramLaplace(epsilon=1, max_items_per_user=most),
            HistogramGaussian(epsilon=1, delta=small, max_items_per_user=most),
        ]
        taken = nearest(one, small, most, 24, 0.05)
        assert taken.width(0.05, 24) == min(mechanism.width(0.05, 24) for mechanism in both)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": 0}, "epsilon must"),
        ({"max_items_per_user": 0}, "max_items_per_user must"),
        ({"max_items_per_user": True}, "max_items_per_user must"),
        ({"delta": 0}, "delta must"),
    ],
)
def test_bad_parameters(given: dict[str, object], message: str) -> None:
    usual = {"epsilon": 1, "delta": "1e-6", "max_items_per_user": 2}
    with pytest.raises(ParameterError, match=message):
        HistogramGaussian(**(usual | given))  # type: ignore[arg-type]


def test_rho_is_the_largest_that_converts():
    millionth = Fraction(1, 10**6)
    rho = largest_rho(Fraction(1), millionth)
    assert zcdp_to_epsilon(rho, millionth) <= 1 < zcdp_to_epsilon(rho * (1 + Fraction(1, 10**9)), millionth)
    assert largest_rho(Fraction(200), Fraction(1, 2)) > 100
