"""Rényi prices against a direct search for the worst law of a step, one-sided: never below, hardly above."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from dpselect._ground.privacy import ZCDP, AnySteps, ApproxDP, BoundedRange, PureDP
from dpselect.accounting.prices import divergence, divergences
from dpselect.accounting.renyi import SMALL

DIGITS = 50
ORDERS = (2, 3, 9, 23, 120, 5000)
EPSILONS = ("1e-7", "0.001", "0.1", "0.5", "1", "3", "30")


def of_law(left, right, order):
    """The divergence of a law, from its definition."""
    moment = mpmath.fsum(p**order * q ** (1 - order) for p, q in zip(left, right, strict=True))
    return mpmath.log(moment) / (order - 1)


def two_points(e, t):
    """The law with losses t and t - e: P, Q."""
    q = mpmath.expm1(t - e) / mpmath.expm1(-e) * mpmath.exp(-t)
    return [q * mpmath.exp(t), (1 - q) * mpmath.exp(t - e)], [q, 1 - q]


def worst_two_points(e, order):
    """The largest over t in (0, e), by golden section: at its top the moment is flat, so t needs few digits."""
    ratio = (mpmath.sqrt(5) - 1) / 2
    low, high = mpmath.mpf(0), e
    while high - low > e * mpmath.mpf(10) ** -12:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if of_law(*two_points(e, left), order) < of_law(*two_points(e, right), order):
            low = left
        else:
            high = right
    return of_law(*two_points(e, (low + high) / 2), order)


def response(e):
    """Randomised response: the true answer, and the other."""
    return 1 / (1 + mpmath.exp(-e)), 1 / (1 + mpmath.exp(e))


def exact(number):
    return mpmath.mpf(number.numerator) / number.denominator


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_pick_costs_the_worst_of_its_two_point_laws(epsilon, order):
    with mpmath.workdps(DIGITS):
        price, worst = (
            exact(divergence(BoundedRange(Fraction(epsilon)), order)),
            worst_two_points(mpmath.mpf(epsilon), order),
        )
        assert worst <= price <= worst * (1 + mpmath.mpf(10) ** -15) + mpmath.mpf(10) ** -29


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_pure_step_costs_randomised_response(epsilon, order):
    with mpmath.workdps(DIGITS):
        e = mpmath.mpf(epsilon)
        true, false = response(e)
        price = exact(divergence(PureDP(Fraction(epsilon)), order))
        worst = of_law([true, false], [false, true], order)
        assert worst <= price <= worst * (1 + mpmath.mpf(10) ** -25) + mpmath.mpf(10) ** -29


@pytest.mark.parametrize("value", [BoundedRange, PureDP])
@pytest.mark.parametrize("order", [2, 23, 5000])
def test_laws_of_three_outcomes_cost_no_more(value, order):
    """Every law of three outcomes with losses a, b and c that the guarantee allows, on a grid."""
    with mpmath.workdps(30):
        e = Fraction(1, 2)
        price = exact(divergence(value(e), order))
        width = exact(e)
        tops = [width * i / 6 for i in range(1, 6)] if value is BoundedRange else [width]
        bottoms = [t - width for t in tops] if value is BoundedRange else [-width]
        seen = 0
        for top, bottom in zip(tops, bottoms, strict=True):
            for middle in (bottom + (top - bottom) * i / 4 for i in range(1, 4)):
                for share in (mpmath.mpf(i) / 10 for i in range(1, 10)):  # of Q on the middle one
                    if share * mpmath.exp(middle) >= 1:
                        continue
                    # Q of the two ends, so that both laws sum to 1.
                    total, mean = 1 - share, 1 - share * mpmath.exp(middle)
                    high = (mean - total * mpmath.exp(bottom)) / (mpmath.exp(top) - mpmath.exp(bottom))
                    right = [high, share, total - high]
                    if min(right[0], right[2]) <= 0:
                        continue
                    left = [q * mpmath.exp(loss) for q, loss in zip(right, (top, middle, bottom), strict=True)]
                    assert of_law(left, right, order) <= price
                    assert of_law(right, left, order) <= price
                    seen += 1
        assert seen > 20


def test_a_step_that_may_fail_costs_its_pure_part_and_zcdp_its_line():
    assert divergence(ApproxDP(Fraction(1), Fraction(1, 10)), 7) == divergence(PureDP(Fraction(1)), 7)
    assert divergence(ZCDP(Fraction(1, 8)), 7) == Fraction(7, 8)


@pytest.mark.parametrize("value", [BoundedRange, PureDP])
def test_no_price_is_above_epsilon_and_all_grow_with_the_order(value):
    for epsilon in (*EPSILONS, "1e-9", "1e-60", "1e6", "1e7"):
        prices = [divergence(value(Fraction(epsilon)), order) for order in (2, 3, 30, 2**20)]
        assert prices == sorted(prices)
        assert 0 < prices[0] <= prices[-1] <= Fraction(epsilon)
    assert divergence(value(Fraction(0)), 2) == 0


@pytest.mark.parametrize("value", [BoundedRange, PureDP])
def test_tiny_steps_cost_their_zcdp_which_is_no_less(value):
    tiny, order = SMALL / 2, 23
    with mpmath.workdps(DIGITS):
        e = exact(tiny)
        true, false = response(e)
        pick = value is BoundedRange
        worst = worst_two_points(e, order) if pick else of_law([true, false], [false, true], order)
        assert worst <= exact(divergence(value(tiny), order)) <= worst * (1 + mpmath.mpf(10) ** -12)


def test_divergences_add_up():
    pick, count = BoundedRange(Fraction(1, 5)), PureDP(Fraction(1, 10))
    total = divergences([AnySteps(pick, 3), AnySteps(count, 2)], 9)
    assert total == 3 * divergence(pick, 9) + 2 * divergence(count, 9)
