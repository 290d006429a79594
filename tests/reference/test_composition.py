"""Composition and calibration against published numbers, an independent computation, and each other."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.accounting.calibration import largest_epsilon, split_delta
from dpselect.accounting.composition import advanced, basic, bounded_range, compose, zcdp, zcdp_to_epsilon
from dpselect.mechanisms.price import plan_of
from dpselect.privacy import BoundedRange, PureDP, Steps

DELTA = Fraction(1, 10**6)


def picks(k, epsilon):
    return (Steps(BoundedRange(Fraction(epsilon)), k),)


# k, epsilon of a step: basic, seed 003 (smallest of its three terms), tight zCDP, all at delta = 1e-6
PUBLISHED = [
    (10, "0.1", 1.0, 0.8811, 0.7002),
    (10, "0.5", 5.0, 5.0, 4.010),
    (50, "0.1", 5.0, 2.108, 1.660),
    (100, "0.1", 10.0, 3.128, 2.419),
    (1000, "0.02", 20.0, 1.862, 1.472),
]


@pytest.mark.parametrize(("k", "epsilon", "added", "seed", "tight"), PUBLISHED)
def test_published_totals(k, epsilon, added, seed, tight):
    steps = picks(k, epsilon)
    assert float(basic(steps)) == added
    three = min(basic(steps), advanced(steps, DELTA), bounded_range(steps, DELTA))
    assert float(three) == pytest.approx(seed, rel=3e-4)
    assert float(zcdp(steps, DELTA)) == pytest.approx(tight, rel=3e-4)
    assert compose(steps, DELTA).epsilon == min(three, zcdp(steps, DELTA))


def test_adding_gaussian_like_rho_twice_is_not_forgotten():
    """A peer's development version ignores how often a step is taken: 100 x 0.1 would be 0.106."""
    assert float(zcdp(picks(100, "0.1"), DELTA)) > 2


@pytest.mark.parametrize(("k", "pick"), [(5, 0.2), (10, 0.1396), (50, 0.0624), (100, 0.0441), (200, 0.0312)])
def test_published_epsilon_per_pick_at_total_one(k, pick):
    found = largest_epsilon(plan_of(k), Fraction(1), DELTA)
    assert float(found) == pytest.approx(pick, rel=2e-3)
    assert compose(picks(k, found), DELTA).epsilon <= 1
    assert compose(picks(k, found * Fraction(1001, 1000)), DELTA).epsilon > 1


steps_strategy = st.lists(
    st.builds(
        Steps,
        st.one_of(
            st.builds(BoundedRange, st.fractions(Fraction(1, 1000), 3)),
            st.builds(PureDP, st.fractions(Fraction(1, 1000), 3)),
        ),
        st.integers(1, 50),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=300)
@given(steps_strategy, st.floats(1e-12, 0.4))
def test_bounds_equal_an_independent_high_precision_computation(steps, delta):
    """mpmath at 50 digits; ours may be larger only by its outward rounding, never smaller."""
    with mpmath.workdps(50):
        each = [(_real(s.value.epsilon), s.value, s.times) for s in steps]
        log = mpmath.log(1 / mpmath.mpf(delta))
        squares = mpmath.fsum(e**2 * n for e, _, n in each)
        drift = mpmath.fsum(e * mpmath.tanh(e / 2) * n for e, _, n in each)
        near(advanced(steps, Fraction(delta)), drift + mpmath.sqrt(2 * squares * log))
        ranges = mpmath.fsum((e * (1 if isinstance(v, BoundedRange) else 2)) ** 2 * n for e, v, n in each)
        near(bounded_range(steps, Fraction(delta)), ranges / 2 + mpmath.sqrt(ranges * log / 2))


@settings(max_examples=100, deadline=None)
@given(st.fractions(Fraction(1, 10**6), 4), st.floats(1e-12, 0.4))
def test_the_tight_conversion_solves_its_equation(rho, delta):
    """exp((a-1)(a rho - eps)) / (a-1) (1 - 1/a)^a = delta at the best order a, found here by another search."""
    found = zcdp_to_epsilon(rho, Fraction(delta))
    with mpmath.workdps(40):
        r = _real(rho)

        def delta_at(order):
            exponent = (order - 1) * (order * r - _real(found))
            return mpmath.exp(exponent) / (order - 1) * (1 - 1 / order) ** order

        orders = [1 + mpmath.exp(mpmath.mpf(t) / 50) for t in range(-1200, 1200)]
        least = min(delta_at(a) for a in orders)
        if found == 0:
            assert min(delta_at(a) for a in orders) <= delta * (1 + 1e-3)
        else:
            assert least >= delta * (1 - mpmath.mpf("1e-9"))  # no order on the grid does better than promised
            assert least <= delta * (1 + mpmath.mpf("1e-2"))  # and the promise is about the best there is
    bun_steinke = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))
    assert float(found) <= bun_steinke * (1 + 1e-12)


def _real(number):
    return mpmath.mpf(number.numerator) / number.denominator


def near(ours, exact):
    assert _real(ours) >= exact
    assert _real(ours) <= exact * (1 + mpmath.mpf(2) ** -100)


def test_a_bound_for_bounded_range_is_not_used_for_pure_steps():
    pure = (Steps(PureDP(Fraction(1, 10)), 100),)
    assert compose(pure, DELTA).epsilon >= compose(picks(100, "0.1"), DELTA).epsilon
    assert compose(pure, DELTA).bound in ("advanced", "zCDP")


@pytest.mark.parametrize("k", [1, 3, 10, 100])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
def test_the_split_of_delta_is_no_worse_than_a_grid_of_splits(k, epsilon):
    epsilon, swaps, plan = Fraction(epsilon), 100, plan_of(k)

    def height(threshold, pick):
        return math.log(swaps / threshold) / float(pick)

    found = split_delta(plan, epsilon, DELTA, swaps)
    assert found.threshold + found.composition == DELTA
    ours = height(found.threshold, found.epsilon_per_pick)
    for share in (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)):
        other = largest_epsilon(plan, epsilon, DELTA * (1 - share))
        assert ours <= height(DELTA * share, other) * 1.01


def test_without_delta_epsilons_add_up():
    assert compose(picks(7, "0.5"), Fraction(0)).epsilon == Fraction(7, 2)
    assert compose(picks(7, "0.5"), Fraction(0)).bound == "basic"
    assert largest_epsilon(plan_of(7), Fraction(1), Fraction(0)) == Fraction(1, 7)
