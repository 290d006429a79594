"""What set unions are made of: golden thresholds, certified noise, release laws against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.reals import Exp, enclose
from dpselect.accounting.gaussian_curve import gaussian_delta, smallest_deviation
from dpselect.errors import ParameterError
from dpselect.mechanisms import (
    CountGaussian,
    CountLaplace,
    GreedyGeometric,
    RenyiShaped,
    TruncatedGeometric,
    WeightedGaussian,
)
from dpselect.mechanisms.set_union.count_gaussian import too_much
from dpselect.mechanisms.set_union.greedy import certain, even
from dpselect.mechanisms.set_union.release_laws import (
    GaussianTail,
    LaplaceTail,
    certified_threshold,
    first_refused,
    geometric,
    new_item_bound,
    root_up,
)
from dpselect.mechanisms.set_union.renyi_curve import _moment
from dpselect.papers import PolicyGaussian, PolicyLaplace, WeightedLaplace
from dpselect.papers.policy import even_up
from tests.exact.laws import BITS

DELTA = Fraction(math.exp(-10))
NEAR_ONE = (1 - Fraction(1, 2**60), 1 - Fraction(1, 2**1000))  # floats round them to 1
GOLDEN = """
0.1 10  116.1941748 28.61554452 131.5182689
0.5 10  23.31883496 6.64105924  30.7654309
0.5 100 27.83400106 6.64105924  33.60279215
1   1   10.30685282 3.543138068 15.44936769
1   10  11.70941748 3.543138068 16.56148727
1   100 13.92200053 3.543138068 17.97441039
1   300 15.013946   3.543138068 18.662498
3   10  4.102284273 1.332791329 6.435292556
3   100 4.647333511 1.332791329 6.823660981
"""
ROWS = [line.split() for line in GOLDEN.split("\n") if line]


def near(digits):
    return pytest.approx(float(digits), rel=5e-9)


@pytest.mark.parametrize(("epsilon", "most", "laplace", "sigma", "gauss"), ROWS)
def test_golden_thresholds(epsilon, most, laplace, sigma, gauss):
    terms = {"epsilon": epsilon, "delta": DELTA, "max_items_per_user": int(most)}
    assert float(WeightedLaplace(**terms).threshold) == near(laplace)
    assert float(PolicyLaplace(**terms).threshold) == near(laplace)
    assert float(WeightedGaussian(**terms).law.deviation) == near(sigma)
    assert float(WeightedGaussian(**terms).threshold) == near(gauss)
    few = PolicyGaussian(**terms, most_users=1)
    assert float(few.law.deviation) == near(sigma)
    assert float(few.threshold) == near(gauss)
    many = PolicyGaussian(**terms)
    assert few.threshold < many.threshold < few.threshold * (1 + many.slack) + many.slack
    assert many.slack < Fraction(1, 5000)


@pytest.mark.parametrize(("epsilon", "expected"), [("0.5", 17.748), ("1", 9.848), ("3", 4.085)])
def test_golden_weights_of_an_even_chance(epsilon, expected):
    assert float(even(Fraction(epsilon), DELTA)) == pytest.approx(expected, abs=5e-4)
    assert GreedyGeometric(epsilon=epsilon, delta=DELTA, alpha=9).weighting.cutoff >= expected


@pytest.mark.parametrize("most", [1, 7, 100])
def test_count_thresholds_are_the_formulas(most):
    terms = {"epsilon": "1/2", "delta": DELTA, "max_items_per_user": most}
    q = -math.expm1(math.log1p(-float(DELTA)) / most)
    one_step = math.exp(-1 / (2 * most))
    last_hidden = math.log(q * (1 + one_step)) / math.log(one_step)
    assert CountLaplace(**terms).threshold == 1 + math.ceil(last_hidden)
    gaussian = CountGaussian(**terms)
    noise = gaussian_delta(gaussian.deviation / Fraction(math.sqrt(most)), Fraction(1, 2))
    assert float(noise.mid()) == pytest.approx(float(DELTA), rel=1e-9)
    tail = math.erfc(float((gaussian.threshold - 1) / gaussian.law.deviation) / math.sqrt(2)) / 2
    assert (1 - tail) ** most == pytest.approx(1 - float(DELTA), rel=1e-12)


@pytest.mark.parametrize("epsilon", ["1/1000", "0.1", "1", "20"])
@pytest.mark.parametrize("delta", ["1e-30", "1e-6", "0.3"])
def test_the_deviation_is_enough_and_hardly_more(epsilon, delta):
    s = smallest_deviation(Fraction(epsilon), Fraction(delta))
    with ctx.workprec(BITS):
        assert gaussian_delta(s, Fraction(epsilon)) <= enclose(Fraction(delta))
        assert gaussian_delta(s * (1 - Fraction(1, 10**11)), Fraction(epsilon)) > enclose(Fraction(delta))


def test_the_gaussian_delta_is_the_integral_of_the_excess():
    """The sum of (f(x) - e^epsilon f(x - 1))+ over a fine grid, f the density of deviation s."""
    s, epsilon, step = 1.5, 0.7, 1e-3
    xs = [i * step - 12 for i in range(25000)]
    density = [math.exp(-x * x / (2 * s * s)) / (s * math.sqrt(2 * math.pi)) for x in xs]
    shifted = [math.exp(-((x - 1) ** 2) / (2 * s * s)) / (s * math.sqrt(2 * math.pi)) for x in xs]
    total = sum(max(a - math.exp(epsilon) * b, 0) for a, b in zip(density, shifted, strict=True)) * step
    assert float(gaussian_delta(Fraction(s), Fraction(epsilon)).mid()) == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("most", [1, 2, 9, 3000])
@pytest.mark.parametrize("delta", ["1e-9", "0.1", "0.9"])
@pytest.mark.parametrize("tail", [lambda r: LaplaceTail(r, Fraction(3)), lambda r: GaussianTail(r, Fraction(2))])
def test_a_threshold_holds_for_every_number_of_items_and_no_lower_one_does(most, delta, tail):
    delta = Fraction(delta)
    found = certified_threshold(tail, delta, most, even_up)
    for t in range(1, most + 1, max(most // 200, 1)):
        q = -math.expm1(math.log1p(-float(delta)) / t)
        assert float(tail(found).at(even_up(t)).ball(64).mid()) <= q * (1 + 1e-9)
    assert first_refused(tail(found), delta, most, even_up) is None
    lower = found - (abs(found) + 1) / 10**9
    worse = first_refused(tail(lower), delta, most, even_up)
    assert worse is not None
    q = -math.expm1(math.log1p(-float(delta)) / worse)
    assert float(tail(lower).at(even_up(worse)).ball(64).mid()) > q * (1 - 1e-12)


def test_roots_are_rounded_up():
    for square in (Fraction(1), Fraction(2), Fraction(1, 3), Fraction(10**9)):
        root = root_up(square)
        assert square < root**2 < square * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("gap", [Fraction(-7, 2), Fraction(0), Fraction(1, 3), Fraction(9)])
def test_tails_are_the_textbook_s(gap):
    laplace = LaplaceTail(Fraction(5), Fraction(2)).at(5 - gap).ball(64)
    expected = math.exp(-2 * gap) / 2 if gap >= 0 else 1 - math.exp(2 * gap) / 2
    assert float(laplace.mid()) == pytest.approx(expected, rel=1e-14)
    gaussian = GaussianTail(Fraction(5), Fraction(3)).at(5 - gap).ball(64)
    assert float(gaussian.mid()) == pytest.approx(math.erfc(float(gap) / 3 / math.sqrt(2)) / 2, rel=1e-14)


# ---- truncated geometric ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1", "0.1"), ("1/2", "0.4"), ("3", "1e-9"), ("1/10", "1e-5"), ("1", "1/2"), ("2", "0.9")]
)
def test_truncated_geometric_is_its_recursion(epsilon, delta):
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    law, p, certain_at = geometric(epsilon, delta), arb(0), None
    with ctx.workprec(BITS):
        e, d = Exp(epsilon).ball(BITS), enclose(delta)
        for n in range(1, 400):
            p = (e * p + d).min(1 - (1 - p - d) / e).min(arb(1))
            assert abs(law.at(Fraction(n)).ball(BITS) - p) < 1e-30
            if certain_at is None and 1 - p < 1e-30:
                certain_at = n
    assert certain(law) in (certain_at, certain_at + 1)


def test_truncated_geometric_starts_at_delta():
    first = TruncatedGeometric(epsilon=1, delta="1/7").law.at(Fraction(1)).ball(BITS)
    with ctx.workprec(BITS):
        assert abs(first - enclose(Fraction(1, 7))) < 1e-50


# ---- parameters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda: WeightedLaplace(epsilon=0, delta="0.1", max_items_per_user=1), "epsilon"),
        (lambda: WeightedGaussian(epsilon=1, delta=0, max_items_per_user=1), "delta"),
        (lambda: CountLaplace(epsilon=1, delta=1, max_items_per_user=1), "delta"),
        (lambda: CountGaussian(epsilon=1, delta="0.1", max_items_per_user=0), "max_items_per_user"),
        (lambda: PolicyLaplace(epsilon=1, delta="0.1", max_items_per_user=1.5), "max_items_per_user"),
        (lambda: PolicyLaplace(epsilon=1, delta="0.1", max_items_per_user=2**31), "max_items_per_user"),
        (lambda: WeightedLaplace(epsilon=1, delta="0.1", max_items_per_user=None), "max_items_per_user"),
        (lambda: PolicyLaplace(epsilon="1e-12", delta="0.1", max_items_per_user=1), "epsilon"),
        (lambda: PolicyGaussian(epsilon=1, delta="0.1", max_items_per_user=1, alpha=-1), "alpha"),
        (lambda: PolicyGaussian(epsilon=1, delta="0.1", max_items_per_user=1, most_users=0), "most_users"),
        (lambda: PolicyGaussian(epsilon=1, delta="0.1", max_items_per_user=9, most_users=10**30), "most_users"),
        (lambda: RenyiShaped(epsilon=1, delta="0.1", max_items_per_user=1, rounds=0), "rounds"),
        (lambda: RenyiShaped(epsilon=1, delta="0.1", max_items_per_user=1, rounds=10**6), "rounds"),
        (lambda: RenyiShaped(epsilon=1, delta="0.1", max_items_per_user=1, split=2), "split"),
        (lambda: GreedyGeometric(epsilon=1, delta="0.1", alpha="many"), "alpha"),
    ],
)
def test_parameters_are_refused_by_name(build, parameter):
    with pytest.raises(ParameterError) as caught:
        build()
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(("low", "high"), [(0.125, 0.5), (0.5, 0.875)])
@pytest.mark.parametrize("n", [1, 3, 40])
def test_the_moment_of_two_coins_is_the_larger_of_both_sums(low, high, n):
    p, q = Fraction(low), Fraction(high)
    both = [a * (a / b) ** n + (1 - a) * ((1 - a) / (1 - b)) ** n for a, b in ((p, q), (q, p))]
    assert _moment(np.array([low, high]), 0, 1, n) == pytest.approx(float(max(both)), rel=1e-13)


@pytest.mark.parametrize("delta", NEAR_ONE, ids=["2^-60", "2^-1000"])
@pytest.mark.parametrize("max_items", [1, 3, 1000])
def test_a_delta_that_rounds_to_one_has_a_certified_threshold(delta: Fraction, max_items: int) -> None:
    bounds: Any = {"epsilon": 1, "delta": delta, "max_items_per_user": max_items}
    assert CountLaplace(**bounds).threshold >= 2
    for mechanism in (WeightedLaplace(**bounds), WeightedGaussian(**bounds)):
        assert first_refused(mechanism.law, delta, max_items, mechanism.share) is None
    assert too_much(CountGaussian(**bounds).law, Fraction(1), delta, max_items) is None
    assert 0 < new_item_bound(delta, max_items).mid() <= 1
