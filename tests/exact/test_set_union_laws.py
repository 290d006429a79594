"""What set unions are made of: golden thresholds, certified noise, release laws against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, ctx

from dpselect._ground.reals import Exp, enclose
from dpselect.errors import ParameterError
from dpselect.mechanisms import (
    SIPS,
    CountGaussian,
    CountLaplace,
    GreedyGeometric,
    GreedyLaplace,
    PolicyGaussian,
    PolicyLaplace,
    ShapedPolicy,
    ShapedWeighted,
    TruncatedGeometric,
    WeightedGaussian,
    WeightedLaplace,
)
from dpselect.mechanisms.set_union.greedy import certain
from dpselect.mechanisms.set_union.policy import even_up
from dpselect.mechanisms.set_union.release_laws import (
    GaussianTail,
    LaplaceTail,
    Shaped,
    gaussian_delta,
    geometric,
    refused,
    root_up,
    smallest_deviation,
    threshold,
)
from tests.exact.laws import BITS

DELTA = Fraction(math.exp(-10))
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


@pytest.mark.parametrize(("epsilon", "expected"), [("0.1", 94.0685), ("0.5", 19.6137), ("1", 10.30685), ("3", 4.10228)])
def test_golden_thresholds_of_greedy_updates(epsilon, expected):
    assert float(GreedyLaplace(epsilon=epsilon, delta=DELTA).threshold) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(("epsilon", "expected"), [("0.5", 17.748), ("1", 9.848), ("3", 4.085)])
def test_golden_turns_of_shaped_releases(epsilon, expected):
    assert float(ShapedWeighted(epsilon=epsilon, delta=DELTA).threshold) == pytest.approx(expected, abs=5e-4)
    assert (
        ShapedPolicy(epsilon=epsilon, delta=DELTA).threshold == ShapedWeighted(epsilon=epsilon, delta=DELTA).threshold
    )


@pytest.mark.parametrize("most", [1, 7, 100])
def test_count_thresholds_are_the_formulas(most):
    terms = {"epsilon": "1/2", "delta": DELTA, "max_items_per_user": most}
    q = -math.expm1(math.log1p(-float(DELTA)) / most)
    assert float(CountLaplace(**terms).threshold) == pytest.approx(1 + 2 * most * math.log(1 / (2 * q)), rel=1e-10)
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
    found = threshold(tail, delta, most, even_up)
    for t in range(1, most + 1, max(most // 200, 1)):
        q = -math.expm1(math.log1p(-float(delta)) / t)
        assert float(tail(found).at(even_up(t)).ball(64).mid()) <= q * (1 + 1e-9)
    assert refused(tail(found), delta, most, even_up) is None
    lower = found - (abs(found) + 1) / 10**9
    worse = refused(tail(lower), delta, most, even_up)
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


# ---- shaped -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("1/2", "0.4"), ("3", "1e-9"), ("2", "0.9")])
def test_shaped_probabilities_obey_the_inequalities_of_the_proof(epsilon, delta):
    """p(w + x) <= e^(epsilon x) p(w) + q(x), the same for 1 - p downwards, and q(x) <= delta x for x <= 1."""
    epsilon, delta = Fraction(epsilon), Fraction(delta)
    law = Shaped(epsilon, delta)
    top = 2 * ShapedWeighted(epsilon=epsilon, delta=delta).threshold
    grid = [top * i / 40 for i in range(45)]
    with ctx.workprec(BITS):
        for x in (Fraction(1, 1000), Fraction(1, 3), Fraction(1)):
            factor, q = Exp(epsilon * x).ball(BITS), law.low(enclose(x))
            assert q <= enclose(delta * x) + 1e-40
            for w in grid:
                low, high = law.at(w).ball(BITS), law.at(w + x).ball(BITS)
                assert high <= factor * low + q + 1e-40
                assert 1 - low <= factor * (1 - high) + q + 1e-40
                assert high >= low - 1e-40


def test_shaped_probabilities_are_one_half_at_the_turn_and_end_at_one():
    law = Shaped(Fraction(1), Fraction(1, 10))
    turn = ShapedWeighted(epsilon=1, delta="0.1").threshold
    assert float(law.at(turn).ball(128).mid()) == pytest.approx(0.5, abs=1e-15)
    assert law.at(2 * turn).ball(64) == 1
    assert law.at(Fraction(10**6)).ball(64) == 1
    assert law.at(turn * 2 - Fraction(1, 100)).ball(64) < 1


def test_near_the_turn_a_ball_holds_the_number_at_every_precision():
    law = Shaped(Fraction(1), Fraction(1, 10))
    exact = law.at(turn := ShapedWeighted(epsilon=1, delta="0.1").threshold).ball(400)
    for bits in (2, 10, 30, 64, 100):
        assert law.at(turn).ball(bits).overlaps(exact)


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
        (lambda: SIPS(epsilon=1, delta="0.1", max_items_per_user=1, rounds=0), "rounds"),
        (lambda: SIPS(epsilon=1, delta="0.1", max_items_per_user=1, rounds=10**6), "rounds"),
        (lambda: SIPS(epsilon=1, delta="0.1", max_items_per_user=1, split=2), "split"),
        (lambda: GreedyGeometric(epsilon=1, delta="0.1", alpha="many"), "alpha"),
    ],
)
def test_parameters_are_refused_by_name(build, parameter):
    with pytest.raises(ParameterError) as caught:
        build()
    assert caught.value.parameter == parameter


@pytest.mark.parametrize("split", ["1/4", "0.3", 1])
def test_sips_spends_all_of_its_budget_and_no_more(split):
    sips = SIPS(epsilon=1, delta="1e-4", max_items_per_user=10, rounds=4, split=split)
    assert sum(sips.parts) == 1
    sigma = smallest_deviation(Fraction(1), Fraction("0.5e-4"))
    precision = sum(1 / law.deviation**2 for law in sips.laws)
    assert (1 - Fraction(1, 10**9)) / sigma**2 < precision <= 1 / sigma**2
    misses = [1 - (1 - float(law.at(sips.share(10)).ball(64).mid())) ** 10 for law in sips.laws]
    assert sum(misses) <= 0.5e-4 * (1 + 1e-9)
