"""The certified optimum for adaptive steps against closed forms, real adversaries, and twins that are wrong."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect._ground.privacy import BoundedRange, PureDP, Steps, total_rho
from dpselect._ground.reals import enclose, upper
from dpselect.accounting import optimal_adaptive
from dpselect.accounting.calibration import plan_of
from dpselect.accounting.composition import basic, zcdp
from dpselect.accounting.optimal_adaptive import (
    MARGIN,
    PRECISION,
    OddsGrid,
    _grid,
    _nontrivial,
    _values,
    adaptive_epsilon,
    default_resolution,
)
from dpselect.accounting.optimal_adaptive import largest_adaptive_pick as largest

DELTA = Fraction(1, 10**6)
mpf = mpmath.mpf


def picks(k, epsilon):
    return (Steps(BoundedRange(Fraction(epsilon)), k),)


def counts(k, epsilon):
    return (Steps(PureDP(Fraction(epsilon)), k),)


def adaptive_delta(steps, epsilon):
    """An upper bound on V(epsilon), the least delta at a total of `epsilon`, by the values of the same grid."""
    steps = _nontrivial(steps)
    if epsilon >= sum((s.value.epsilon * s.times for s in steps), Fraction(0)):
        return Fraction(0)
    grid = _grid(steps, float(epsilon) + 3 * MARGIN * math.sqrt(2 * total_rho(steps)), None)
    if grid is None or epsilon < 0:
        return Fraction(1)
    values = _values(steps, grid)
    node = math.floor(epsilon / grid.step)
    with ctx.workprec(PRECISION):
        part = enclose(epsilon - node * grid.step).expm1() / enclose(grid.step).expm1()
        high, low = enclose(Fraction(float(values[node]))), enclose(Fraction(float(values[node + 1])))
        return min(Fraction(1), upper(high - part * (high - low)))


# ---- published and converged values -----------------------------------------------------------------------

# k, epsilon of a pick: the optimum for adaptive picks, then the smaller one for picks fixed beforehand
CONVERGED = [(10, "0.1", 0.6342, 0.6286), (10, "0.5", 3.580, 3.569), (50, "0.1", 1.539, 1.534)]


@pytest.mark.parametrize(("k", "epsilon", "optimum", "fixed"), CONVERGED)
def test_converged_totals(k, epsilon, optimum, fixed):
    found = float(adaptive_epsilon(picks(k, epsilon), DELTA))
    assert optimum * (1 - 2e-4) <= found <= optimum * 1.001
    assert found >= fixed


@pytest.mark.parametrize(("k", "epsilon", "fixed"), [(100, "0.1", 2.246), (1000, "0.02", 1.367)])
def test_more_steps(k, epsilon, fixed):
    assert fixed <= float(adaptive_epsilon(picks(k, epsilon), DELTA)) <= fixed * 1.005


# ---- one, two and three picks, in closed form and by search ------------------------------------------------


def one_pick(g, e):
    """V_1: the best t is (g + e) / 2."""
    if g >= e:
        return mpf(0)
    return 1 - mpmath.exp(g) if g <= -e else (mpmath.exp(e / 2) - mpmath.exp(g / 2)) ** 2 / mpmath.expm1(e)


def few_picks(k, g, e, points):
    """V_k by search over t: what a real adversary reaches, so never too large."""
    if k == 1 or abs(g) >= k * e:
        return one_pick(g, e) if k == 1 else max(mpf(0), 1 - mpmath.exp(g))

    def at(t):
        p = mpmath.expm1(t - e) / mpmath.expm1(-e)
        return p * few_picks(k - 1, g - t, e, points) + (1 - p) * few_picks(k - 1, g - t + e, e, points)

    best = max((e * i / points for i in range(points + 1)), key=at)
    near = (best + e * i / points**2 for i in range(-points, points + 1))
    return max(at(t) for t in near if 0 <= t <= e) if k < 3 else at(best)


@pytest.mark.parametrize("e", ["0.01", "0.3", "2", "9"])
@pytest.mark.parametrize("part", ["0", "0.2", "0.77"])
def test_one_pick(e, part):
    e, g = Fraction(e), Fraction(e) * Fraction(part)
    with mpmath.workdps(30):
        close(adaptive_delta(picks(1, e), g), one_pick(real(g), real(e)), 1e-3 if e < 5 else 0.02)


@pytest.mark.parametrize(("k", "points", "within"), [(2, 60, 4e-3), (3, 24, 1e-2)])
@pytest.mark.parametrize(("e", "part"), [("0.05", "0.4"), ("0.3", "1.1"), ("1.5", "0.9")])
def test_two_and_three_picks(k, points, within, e, part):
    e, g = Fraction(e), Fraction(e) * Fraction(part)
    with mpmath.workdps(20):
        close(adaptive_delta(picks(k, e), g), few_picks(k, real(g), real(e), points), within)


def real(number):
    return mpf(number.numerator) / number.denominator


def close(ours, exact, within):
    assert real(ours) >= exact * (1 - mpf(10) ** -15)
    assert real(ours) <= exact * (1 + mpf(within))


# ---- pure steps have a closed form -------------------------------------------------------------------------


def randomised_responses(k, e, epsilon):
    """Kairouz, Oh and Viswanath 2015, Theorem 3.3."""
    terms = (
        mpmath.binomial(k, i) * max(mpf(0), mpmath.exp((k - i) * e) - mpmath.exp(epsilon + i * e)) for i in range(k + 1)
    )
    return mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** k


@given(st.integers(1, 60), st.fractions(Fraction(1, 100), 3, max_denominator=1000), st.floats(0, 0.9))
def test_pure_steps_alone_are_exact(k, e, part):
    epsilon = Fraction(part) * min(k * e, Fraction(20))
    with mpmath.workdps(60):
        exact = randomised_responses(k, real(e), real(epsilon))
        ours = real(adaptive_delta(counts(k, e), epsilon))
        assert exact <= ours <= exact * (1 + mpf("1e-4")) + mpf(10) ** -40


# ---- lower bounds: what real adversaries reach ---------------------------------------------------------------


def fixed_picks(k, e, epsilon):
    """Dong, Durfee and Rogers 2020: the optimum for bounded-range steps that are fixed beforehand."""
    best = mpf(0)
    for place in range(k + 1):
        t = min(max((epsilon + (place + 1) * e) / (k + 1), mpf(0)), e)
        q = (mpmath.exp(-t) - mpmath.exp(-e)) / (1 - mpmath.exp(-e))
        terms = (
            mpmath.binomial(k, i)
            * q ** (k - i)
            * (1 - q) ** i
            * max(mpf(0), mpmath.exp(k * t - i * e) - mpmath.exp(epsilon))
            for i in range(k + 1)
        )
        best = max(best, mpmath.fsum(terms))
    return best


@given(st.integers(1, 25), st.fractions(Fraction(1, 100), 3, max_denominator=1000), st.floats(0, 0.95))
def test_never_below_the_optimum_of_fixed_picks(k, e, part):
    epsilon = Fraction(part) * min(k * e, Fraction(20))
    with mpmath.workdps(40):
        assert real(adaptive_delta(picks(k, e), epsilon)) >= fixed_picks(k, real(e), real(epsilon))


kinds = st.one_of(
    st.builds(BoundedRange, st.fractions(Fraction(1, 50), 2, max_denominator=50)),
    st.builds(PureDP, st.fractions(Fraction(1, 50), 2, max_denominator=50)),
)
few_steps = st.lists(st.builds(Steps, kinds, st.integers(1, 3)), min_size=1, max_size=3).filter(
    lambda steps: sum(s.times for s in steps) <= 6
)


@settings(max_examples=50)
@given(few_steps, st.floats(0, 0.9), st.integers(0, 2**32), st.floats(0, 0.5))
def test_never_below_an_adaptive_adversary(steps, part, seed, width):
    """Every history is enumerated; after each the adversary takes another t, and the divergence is exact."""
    epsilon = Fraction(part) * basic(steps)
    values = [s.value for s in steps for _ in range(s.times)]
    generator = np.random.default_rng(seed)
    choice = {
        history: Fraction(0.5 + width * (2 * generator.random() - 1))
        for j in range(len(values))
        for history in product((False, True), repeat=j)
    }
    with ctx.workprec(200):  # a ball far smaller than the slack of what it is compared with
        reached = arb(0)
        for outcome in product((False, True), repeat=len(values)):
            probability, loss = arb(1), Fraction(0)
            for j, (value, up) in enumerate(zip(values, outcome, strict=True)):
                high, spread = value.epsilon, value.bounded_range
                if isinstance(value, BoundedRange):
                    high *= choice[outcome[:j]]
                p = enclose(high - spread).expm1() / enclose(-spread).expm1()
                probability *= p if up else 1 - p
                loss += high if up else high - spread
            if loss > epsilon:
                reached -= probability * enclose(epsilon - loss).expm1()
        assert enclose(adaptive_delta(steps, epsilon)) >= reached


def lattice_adversary(k, e, delta, parts, counted=0):
    """A total epsilon, on a grid, that is too small for an adversary whose t are multiples of e / parts.

    Its states stay on the grid, so nothing is interpolated: a true lower bound, apart from the last bits of floats.
    `counted` pure steps of e / 2 follow the picks.
    """
    h = e / parts
    edge = (k + counted) * parts
    g = h * np.arange(-edge, edge + 1)
    outside = parts
    values = np.maximum(
        0, -np.expm1(np.concatenate([g[:1] - h * np.arange(outside, 0, -1), g, g[-1:] + h * np.arange(1, outside + 1)]))
    )
    inner = slice(outside, outside + len(g))
    p = 1 / (1 + math.exp(-e / 2))
    half = parts // 2
    for _ in range(counted):
        down, up = values[outside - half : outside - half + len(g)], values[outside + half : outside + half + len(g)]
        values[inner] = p * down + (1 - p) * up
    for _ in range(k):
        best = np.zeros(len(g))
        for d in range(parts + 1):
            q = math.expm1(d * h - e) / math.expm1(-e)
            down = values[outside - d : outside - d + len(g)]
            up = values[outside - d + parts : outside - d + parts + len(g)]
            best = np.maximum(best, q * down + (1 - q) * up)
        values[inner] = best
    above = np.flatnonzero(values[inner] > delta * (1 + 1e-9))
    return (g[above[-1]] if len(above) else -math.inf), h


@pytest.mark.parametrize(("k", "e"), [(2, 0.4), (5, 0.2328), (10, 0.5), (20, 0.1), (50, 0.0671)])
def test_optimised_adversaries_come_close(k, e):
    parts = max(4, 1600 // k)
    low, h = lattice_adversary(k, e, 1e-6, parts)
    found = float(adaptive_epsilon(picks(k, e), DELTA))
    assert low <= found <= low + h + 2e-3 * found


@pytest.mark.parametrize(("k", "e"), [(2, 0.4), (10, 0.11), (20, 0.3)])
def test_picks_then_counts(k, e):
    steps = (*picks(k, e), *counts(k, Fraction(e) / 2))
    low, h = lattice_adversary(k, e, 1e-6, max(4, 1000 // k // 2 * 2), counted=k)
    found = float(adaptive_epsilon(steps, DELTA))
    assert low <= found <= low + h + 2e-3 * found
    assert found < 0.95 * float(zcdp(steps, DELTA))


# ---- twins that are wrong --------------------------------------------------------------------------------------


def nearest_t(k, e, delta, parts=8):
    """Only t on the grid, t rounded down to a node: misses what lies between."""
    return lattice_adversary(k, e, delta, parts)[0]


def cut_right(k, e, delta, parts=64):
    """Linear interpolation, but zero beyond the grid, which ends where the answer for half of the steps lies."""
    grid = OddsGrid(Fraction(e) / parts, int(0.45 * k * parts))
    operator = grid.operator(BoundedRange(Fraction(e)))
    values = np.zeros(grid.nodes)
    for _ in range(k):
        values = operator(values)
        values[-parts:] = 0
    return float(grid.step) * int(np.argmax(values <= delta))


def rounded_down(k, e, delta):
    """The step's epsilon rounded down to the grid instead of up."""
    return float(adaptive_epsilon(picks(k, Fraction(e) * Fraction(31, 32)), Fraction(delta)))


def tangent(k, e, delta, parts=12):
    """Below the curve instead of above it: each cell takes its lower end's value."""
    grid = OddsGrid(Fraction(e) / parts, k * parts + 3)
    operator = grid.operator(BoundedRange(Fraction(e)))
    values = np.zeros(grid.nodes)
    for _ in range(k):
        values = operator(np.append(values[1:], 0.0))
    return float(grid.step) * int(np.argmax(values <= delta))


def ours(k, e, delta):
    return float(adaptive_epsilon(picks(k, Fraction(e)), Fraction(delta)))


def stands(bound, k=10, e=0.1, delta=1e-6):
    """Whether a bound withstands the adversary: the test that every bound of this file must pass."""
    return bound(k, e, delta) >= lattice_adversary(k, e, delta, 160)[0]


@pytest.mark.parametrize("twin", [nearest_t, cut_right, rounded_down, tangent])
def test_a_twin_is_refused(twin):
    assert stands(ours)
    assert not stands(twin)


# ---- rounding: one operator against balls ------------------------------------------------------------------------


class Lines:
    """The piecewise linear function that an operator is applied to, and the operator's exact values, as balls."""

    def __init__(self, grid, values):
        self.grid, self.values = grid, values

    def node(self, i):
        if i >= 0:
            return enclose(Fraction(float(self.values[min(i, self.grid.nodes - 1)])))
        return 1 - enclose(i * self.grid.step).exp() * (1 - self.node(-i))

    def at(self, g):
        node = math.floor(g / self.grid.step)
        weight = enclose(g - node * self.grid.step).expm1() / enclose(self.grid.step).expm1()
        return self.node(node) * (1 - weight) + self.node(node + 1) * weight

    def step(self, i, high, spread):
        """One step with the losses `high` and `high - spread`, at node i."""
        g, p = i * self.grid.step, enclose(high - spread).expm1() / enclose(-spread).expm1()
        return p * self.at(g - high) + (1 - p) * self.at(g - high + spread)

    def best(self, i, e):
        """The step's values at the best t of every cell, as floats find it."""
        h = self.grid.step
        span, ratio = int(e / h), enclose(h).expm1()
        for d in range(1, span + 1):
            near = self.node(i - d), (self.node(i - d + 1) - self.node(i - d)) / ratio
            far = self.node(i - d + span), (self.node(i - d + 1 + span) - self.node(i - d + span)) / ratio
            alpha = float(far[1] - enclose(e).exp() * near[1])
            beta = float(near[0] - near[1] - far[0] + far[1])
            inside = (float(d * h) + math.log(beta / alpha)) / 2 if alpha > 0 and beta > 0 else 0.0
            yield self.step(i, d * h - min(h, max(Fraction(0), Fraction(inside))), e)


def random_values(grid, e, seed, decay):
    """Convex values that fall, and so gently that their mirror image left of 0 continues them convexly."""
    generator, places = np.random.default_rng(seed), np.arange(grid.nodes)
    steepness = np.sort(generator.random(grid.nodes))[::-1] * np.exp(-decay * places / grid.nodes)
    widths = np.exp(float(grid.step) * places) * math.expm1(grid.step)
    values = np.cumsum((steepness * widths)[::-1])[::-1]
    return values * min(0.4 / steepness[0], -math.expm1(-float(e)) / 6 / values[0])


def shortfalls(e, span, seed, decay):
    """By how much both operators are below the exact values, and above them (where that is more than promised)."""
    span = max(span, math.ceil(2 * e))
    grid = OddsGrid(e / span, 3 * span + 4)
    values = random_values(grid, e, seed, decay)
    lines, step = Lines(grid, values), float(grid.step)
    pick, count = grid.operator(BoundedRange(e))(values), grid.operator(PureDP(e / 3))(values)
    promised = 2.0**-43 * math.exp(e + step) / math.expm1(step) / math.expm1(e)
    for i in {0, 1, span // 2, span, 2 * span + 1}:
        exact = list(lines.best(i, e))
        got = enclose(Fraction(float(pick[i])))
        yield any(got < one for one in exact), float(pick[i]) > max(map(float, exact)) * (1 + 1e-9) + promised
        exact, got = lines.step(i, e / 3, 2 * e / 3), enclose(Fraction(float(count[i])))
        yield got < exact, got > exact + 2.0**-44


@given(
    st.fractions(Fraction(1, 10**4), 12, max_denominator=10**5),
    st.integers(1, 40),
    st.integers(0, 2**32),
    st.floats(1e-12, 60),
)
def test_an_operator_is_above_its_exact_value_and_close(e, span, seed, decay):
    assert not any(low or high for low, high in shortfalls(e, span, seed, decay))


def test_without_outward_rounding_an_operator_is_refused(monkeypatch):
    for name, value in (("SLACK", 0.0), ("UP", 1.0), ("TINY", 0.0)):
        monkeypatch.setattr(optimal_adaptive, name, value)
    assert any(low for seed in range(5) for low, _ in shortfalls(Fraction(1, 2), 12, seed, 5.0))


# ---- order, monotonicity, limits ---------------------------------------------------------------------------------


@given(few_steps, st.integers(1, 30))
def test_a_smaller_delta_costs_more_and_never_more_than_adding_up(steps, digits):
    small, large = Fraction(1, 2 * 10**digits), Fraction(1, 10**digits)
    epsilon = adaptive_epsilon(steps, large)
    assert adaptive_epsilon(steps, small) >= epsilon * (1 - Fraction(1, 10**4))
    assert epsilon <= basic(steps)


@pytest.mark.parametrize(("k", "e"), [(3, "0.4"), (10, "0.1"), (40, "0.05")])
def test_delta_answers_epsilon(k, e):
    assert adaptive_delta(picks(k, e), adaptive_epsilon(picks(k, e), DELTA)) <= DELTA * Fraction(101, 100)


def test_an_earlier_count_is_never_cheaper():
    """Picks that see the counts can adapt to them."""
    pick, count = picks(5, "0.3"), counts(5, "0.15")
    late, early = adaptive_epsilon(pick + count, DELTA), adaptive_epsilon(count + pick, DELTA)
    assert late < early < late * Fraction(101, 100)


@pytest.mark.parametrize(("k", "e"), [(3, "0.4"), (10, "0.1"), (40, "0.05")])
def test_doubling_the_resolution_never_costs(k, e):
    totals = [float(adaptive_epsilon(picks(k, e), DELTA, resolution=n)) for n in (4, 8, 16, 32, 64)]
    assert all(finer <= coarser * (1 + 1e-8) for coarser, finer in pairwise(totals))


@pytest.mark.parametrize(("k", "e"), [(5, "0.2328"), (20, "0.1"), (60, "0.06"), (150, "0.035")])
def test_the_default_resolution_loses_less_than_half_a_percent(k, e):
    fine = adaptive_epsilon(picks(k, e), DELTA, resolution=2 * default_resolution(k))
    assert adaptive_epsilon(picks(k, e), DELTA) <= fine * Fraction(1003, 1000)


def test_limits():
    assert adaptive_epsilon((), DELTA) == 0
    assert adaptive_epsilon(picks(7, "0.5"), Fraction(0)) == Fraction(7, 2)
    assert adaptive_epsilon(picks(3, "40"), DELTA) == 120
    assert adaptive_epsilon(picks(3, "0.5"), Fraction(1)) == 0
    assert adaptive_epsilon(picks(0, "0.5"), DELTA) == 0
    assert adaptive_delta(picks(3, "0.5"), Fraction(3, 2)) == 0
    assert adaptive_delta(picks(3, "40"), Fraction(1)) == 1
    assert adaptive_delta(picks(3, "0.5"), Fraction(-1)) == 1
    assert adaptive_epsilon(picks(100, "1e-9"), DELTA) <= Fraction(1, 10**7)  # rounding outgrows it: the sum
    kinds = (*picks(1000, "0.0001"), *picks(2, "15"), *counts(1, "0.3"))
    assert adaptive_epsilon(kinds, DELTA) <= basic(kinds)  # no grid fits both well


# ---- calibration -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "best"), [(5, 0.2328), (10, 0.1534), (50, 0.0671)])
def test_the_largest_pick(k, best):
    plan = plan_of(k)
    low = Fraction(1, 6 * math.isqrt(k) + 6) if k > 5 else Fraction(1, k)  # below what zCDP allows
    found = largest(plan, Fraction(1), DELTA, low)
    assert low < found
    assert best * 0.998 <= float(found) <= best * 1.0005
    assert adaptive_epsilon(plan(found), DELTA) <= 1 < adaptive_epsilon(plan(found * Fraction(1003, 1000)), DELTA)


@given(st.integers(1, 30), st.booleans(), st.fractions(Fraction(1, 100), 12), st.integers(2, 30))
def test_a_found_pick_is_certified(k, counted, epsilon, digits):
    plan, delta = plan_of(k, k if counted else 0), Fraction(1, 10**digits)
    low = epsilon / basic(plan(Fraction(1)))
    found = largest(plan, epsilon, delta, low)
    assert found >= low
    assert adaptive_epsilon(plan(found), delta) <= epsilon


def test_where_a_search_does_not_pay_the_start_is_returned():
    assert largest(plan_of(1), Fraction(1), DELTA, Fraction(1)) == 1
    assert largest(plan_of(2000), Fraction(1), DELTA, Fraction(1, 2000)) == Fraction(1, 2000)
    assert largest(plan_of(5), Fraction(1), Fraction(0), Fraction(1, 5)) == Fraction(1, 5)
