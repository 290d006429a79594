"""The optimal bounds and Renyi curves against independent computations, at random points that never change."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.privacy import ZCDP, AnySteps, BoundedRange, PureDP, Steps
from dpselect._ground.reals import enclose, lower
from dpselect.accounting.composition import compose, every_bound, zcdp
from dpselect.accounting.renyi import log_moment, renyi_epsilon
from dpselect.errors import ParameterError
from dpselect.papers.composition import LARGEST_EPSILON, nonadaptive_delta, nonadaptive_epsilon, optimal_pure

BITS = 320  # of the independent side
DELTA = Fraction(1, 10**6)


def log_uniform(draw: random.Random, low: float, high: float) -> Fraction:
    return Fraction(math.exp(draw.uniform(math.log(low), math.log(high))))


# ---- pure steps -------------------------------------------------------------------------------------------


def pure_delta(steps, total):
    """The hockey-stick divergence of randomised responses, every number of lies written out."""
    least, delta = enclose(total).exp(), arb(0)
    grown = [enclose(s.value.epsilon).exp() for s in steps]
    sides = [(g / (1 + g), 1 / (1 + g)) for g in grown]
    for lies in product(*(range(s.times + 1) for s in steps)):
        p, q = arb(1), arb(1)
        for s, lie, (truth, swapped) in zip(steps, lies, sides, strict=True):
            ways = math.comb(s.times, lie)
            p *= ways * truth ** (s.times - lie) * swapped**lie
            q *= ways * swapped ** (s.times - lie) * truth**lie
        if sum(s.value.epsilon * (s.times - 2 * lie) for s, lie in zip(steps, lies, strict=True)) > total:
            delta += p - least * q
    return delta


def pure_points(number) -> Iterator[tuple[list[Steps], Fraction]]:
    draw = random.Random(1)
    for _ in range(number):
        most = (60, 6, 3)[draw.randint(0, 2)]
        groups = {60: 1, 6: 2, 3: 3}[most]
        steps = [Steps(PureDP(log_uniform(draw, 0.001, 5)), draw.randint(1, most)) for _ in range(groups)]
        yield steps, log_uniform(draw, 1e-15, 0.9)


def exact_root(steps, delta, found) -> bool:
    """Is delta kept at `found`, and broken at anything smaller by more than rounding?"""
    with ctx.workprec(BITS):
        kept = pure_delta(steps, found) <= enclose(delta)
        return kept and (found == 0 or pure_delta(steps, found - Fraction(1, 2**140) * (1 + found)) > enclose(delta))


def test_the_pure_optimum_is_the_exact_root_at_600_points():
    for steps, delta in pure_points(600):
        assert exact_root(steps, delta, optimal_pure(steps, delta))


def rounded_inward(steps, delta):
    """A twin: the right number, rounded the wrong way."""
    return optimal_pure(steps, delta) * (1 - Fraction(1, 2**100))


def a_lattice_point_too_low(steps, delta):
    """A twin: the closed form of Kairouz, Oh and Viswanath with delta_i >= delta in the place of <=."""
    (s,) = steps
    totals = [(s.times - 2 * i) * s.value.epsilon for i in range(s.times // 2 + 1)]
    return next(t for t in totals if not pure_delta(steps, t) < enclose(delta))


@pytest.mark.parametrize("twin", [rounded_inward, a_lattice_point_too_low])
def test_a_broken_pure_optimum_is_refused(twin):
    steps = [Steps(PureDP(Fraction(1, 10)), 50)]
    assert exact_root(steps, DELTA, optimal_pure(steps, DELTA))
    assert not exact_root(steps, DELTA, twin(steps, DELTA))


def test_the_pure_optimum_meets_the_lattice_of_kairouz_oh_and_viswanath():
    """Durfee and Rogers 2019, Lemma 4.5: delta_i at (k - 2i) epsilon."""
    k, e = 12, Fraction(1, 3)
    with ctx.workprec(BITS):
        x = enclose(e).exp()
        for i in range(1, k // 2 + 1):
            terms = (math.comb(k, n) * (x ** (k - n) - x ** (k - 2 * i + n)) for n in range(i))
            delta = lower(sum(terms, arb(0)) / (1 + x) ** k)
            found = optimal_pure([Steps(BoundedRange(e), k)], delta)
            assert 0 <= found - (k - 2 * i) * e < Fraction(1, 2**140)


def test_edges_of_the_pure_optimum():
    one = [Steps(PureDP(Fraction(1, 2)), 1)]
    assert optimal_pure([], DELTA) == 0
    assert optimal_pure(one, Fraction(0)) == Fraction(1, 2)
    assert optimal_pure(one, Fraction(1)) == 0
    assert optimal_pure(one, Fraction(1, 4)) == 0  # tanh(1/4) < 1/4
    split = [Steps(PureDP(Fraction(1, 2)), 3), Steps(BoundedRange(Fraction(1, 2)), 4)]
    assert optimal_pure(split, DELTA) == optimal_pure([Steps(PureDP(Fraction(1, 2)), 7)], DELTA)


# ---- bounded-range steps that are all chosen beforehand ----------------------------------------------------


@cache
def binomials(times):
    return [math.comb(times, i) for i in range(times + 1)]


def two_point_delta(times, epsilon, total, t):
    """k copies of the two points at t, every term written out."""
    e, least = enclose(epsilon), enclose(total).exp()
    p = ((-enclose(t)).exp() - (-e).exp()) / (1 - (-e).exp())
    terms = []
    for i, ways in enumerate(binomials(times)):
        if times * t - i * epsilon > total:
            mass = ways * p ** (times - i) * (1 - p) ** i
            terms.append(mass * (enclose(times * t - i * epsilon).exp() - least))
    return sum(terms, arb(0))


def direct_delta(times, epsilon, total):
    """The largest over the places of Dong, Durfee and Rogers, as a ball."""
    places = [min(epsilon, (total + (i + 1) * epsilon) / (times + 1)) for i in range(times + 1)]
    return max((two_point_delta(times, epsilon, total, t) for t in places), key=lambda d: float(d.mid()))


def test_the_non_adaptive_optimum_equals_a_direct_computation():
    draw = random.Random(2)
    for _ in range(60):
        times, epsilon = draw.randint(1, 12), log_uniform(draw, 0.01, 4)
        total = Fraction(draw.uniform(0, 0.95)) * times * epsilon
        with ctx.workprec(BITS):
            exact, ours = direct_delta(times, epsilon, total), nonadaptive_delta(times, epsilon, total)
            assert enclose(ours) >= exact
            assert enclose(ours) <= exact * (1 + enclose(Fraction(1, 2**90)))
    for _ in range(40):
        times, epsilon, delta = draw.randint(1, 12), log_uniform(draw, 0.01, 4), log_uniform(draw, 1e-9, 0.3)
        found = nonadaptive_epsilon(times, epsilon, delta)
        with ctx.workprec(BITS):
            assert direct_delta(times, epsilon, found) <= enclose(delta)
            below = found - times * epsilon / 2**59
            assert found == 0 or direct_delta(times, epsilon, max(Fraction(0), below)) > enclose(delta)


@pytest.mark.parametrize(("k", "epsilon", "total"), [(1, "1", "0.3"), (5, "0.5", "1"), (20, "0.1", "0.4")])
def test_no_other_t_is_worse(k, epsilon, total):
    epsilon, total = Fraction(epsilon), Fraction(total)
    worst = nonadaptive_delta(k, epsilon, total)
    with ctx.workprec(BITS):
        assert not any(two_point_delta(k, epsilon, total, epsilon * i / 500) > enclose(worst) for i in range(501))


# ---- Renyi curves and zCDP ---------------------------------------------------------------------------------


def test_the_moment_of_bounded_range_is_the_largest_of_all_two_points():
    """mpmath at 50 digits, the largest over t found by golden sections."""
    draw = random.Random(3)
    ratio = (mpmath.sqrt(5) - 1) / 2
    with mpmath.workdps(50):
        for _ in range(25):
            epsilon, b = log_uniform(draw, 0.01, 6), log_uniform(draw, 0.05, 50)
            e, a = real(epsilon), 1 + real(b)

            def moment(t, e=e, a=a):
                p = (mpmath.exp(-t) - mpmath.exp(-e)) / (1 - mpmath.exp(-e))
                return p * mpmath.exp(a * t) + (1 - p) * mpmath.exp(a * (t - e))

            low, high = mpmath.mpf(0), e
            for _ in range(120):
                left, right = high - ratio * (high - low), low + ratio * (high - low)
                low, high = (low, right) if moment(left) > moment(right) else (left, high)
            with ctx.workprec(192):
                ball = log_moment(BoundedRange(epsilon), enclose(b))
            assert float(abs(mpmath.mpf(str(ball.mid().str(50, radius=False))) - mpmath.log(moment(low)))) < 1e-38


def test_the_moment_of_pure_steps_is_that_of_randomised_response():
    with mpmath.workdps(50), ctx.workprec(192):
        for epsilon, b in product((Fraction(1, 100), Fraction(1), Fraction(5)), (Fraction(1, 9), Fraction(7, 2))):
            p, a = 1 / (1 + mpmath.exp(-real(epsilon))), 1 + real(b)
            expected = mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a))
            ball = log_moment(PureDP(epsilon), enclose(b))
            assert abs(mpmath.mpf(ball.mid().str(50, radius=False)) - expected) < mpmath.mpf("1e-40")


def best_over_orders(log_moments, delta):
    """The conversion at the best of all orders, in long doubles, for all points at once."""
    low, high = np.full(delta.shape, -30, np.longdouble), np.full(delta.shape, 30, np.longdouble)

    def bound(t):
        b = np.exp(t)
        return (log_moments(b) - np.log1p(b) - np.log(delta)) / b - np.log1p(1 / b)

    for _ in range(160):
        third = (high - low) / 3
        left, right = low + third, high - third
        worse = bound(left) > bound(right)
        low, high = np.where(worse, left, low), np.where(worse, high, right)
    return bound((low + high) / 2)


def test_zcdp_and_renyi_are_at_the_best_order_at_1000_points():
    """Above the least by less than one part in 10^9, below it by no more than what long doubles lose."""
    draw, number = random.Random(4), 1000
    e = np.array([math.exp(draw.uniform(math.log(0.005), math.log(4))) for _ in range(number)])
    times = np.array([draw.choice((1, 3, 10, 100, 1000)) for _ in range(number)])
    delta = np.array([math.exp(draw.uniform(math.log(1e-14), math.log(0.3))) for _ in range(number)])
    kind = np.arange(number) % 4
    x = e.astype(np.longdouble)

    def log_moments(b):
        top = -np.expm1(-(1 + b) * x)
        ranged = b * (np.log(b / (1 + b)) + x + np.log(top) - np.log(-np.expm1(-b * x)))
        ranged = ranged + np.log(top / ((1 + b) * -np.expm1(-x)))
        response = np.logaddexp((1 + b) * x, -b * x) - np.logaddexp(x, 0 * x)
        concentrated = x**2 / 8 * b * (1 + b)
        return times * np.choose(np.minimum(kind, 2), [ranged, response, concentrated])

    expected = best_over_orders(log_moments, delta.astype(np.longdouble))
    for i in range(number):
        epsilon = Fraction(float(e[i]))
        value = (BoundedRange(epsilon), PureDP(epsilon), ZCDP(epsilon**2 / 8), BoundedRange(epsilon))[kind[i]]
        ours = (zcdp if kind[i] == 3 else renyi_epsilon)([AnySteps(value, int(times[i]))], Fraction(float(delta[i])))
        least = max(0.0, float(expected[i]))
        assert least * (1 - 1e-9) - 1e-9 <= float(ours) <= least * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-30", "1e-9", "1e-8", "700", "1e6", "1e300"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-6", "0.999999"])
def test_extreme_epsilons_and_deltas_have_totals(epsilon, delta):
    for value, times in product((BoundedRange, PureDP), (1, 7)):
        steps = [Steps(value(Fraction(epsilon)), times)]
        assert all(t.epsilon >= 0 for t in every_bound(steps, Fraction(delta)))
        assert 0 <= optimal_pure(steps, Fraction(delta)) <= times * Fraction(epsilon)
        if Fraction(epsilon) > LARGEST_EPSILON:
            with pytest.raises(ParameterError, match="epsilon must be at most"):
                nonadaptive_epsilon(times, Fraction(epsilon), Fraction(delta))
        else:
            assert 0 <= nonadaptive_epsilon(times, Fraction(epsilon), Fraction(delta)) <= times * Fraction(epsilon)
        assert compose(steps, Fraction(delta)).epsilon <= times * Fraction(epsilon)
    assert renyi_epsilon([AnySteps(ZCDP(Fraction(epsilon)), 1)], Fraction(delta)) >= 0


def real(number):
    return mpmath.mpf(number.numerator) / number.denominator
