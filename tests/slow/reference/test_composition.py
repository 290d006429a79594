"""Composition and calibration against published numbers, an independent computation, and each other."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect._ground.domain import Size
from dpselect._ground.privacy import ZCDP, AnySteps, ApproxDP, BoundedRange, PureDP, Steps, total_rho
from dpselect.accounting.calibration import STEPS, Bound, largest_epsilon, plan_of, priced, split_delta
from dpselect.accounting.composition import (
    Composed,
    advanced,
    basic,
    bounded_range,
    compose,
    compose_quickly,
    every_bound,
    with_failures,
    zcdp,
    zcdp_to_epsilon,
)
from dpselect.accounting.renyi import renyi_epsilon
from dpselect.errors import ParameterError
from dpselect.mechanisms import LimitedDomain, NoisyCounts, Peeling, Quantile
from dpselect.papers import ChosenKBar
from dpselect.papers.composition import nonadaptive_epsilon, optimal_pure
from tests.by_names import plan_of as top_k_plan
from tests.covering import covering

DELTA = Fraction(1, 10**6)


def picks(k, epsilon):
    return (Steps(BoundedRange(Fraction(epsilon)), k),)


# k, epsilon of a step: basic, the pure optimum, Durfee and Rogers (smallest of three terms), zCDP by Bun and Steinke,
# tight zCDP, the non-adaptive optimum, all at delta = 1e-6
PUBLISHED = [
    (10, "0.1", 1.0, 0.9994, 0.8811, 0.8436, 0.7002, 0.6286),
    (10, "0.5", 5.0, 4.9999, 5.0, 4.468, 4.010, 3.569),
    (50, "0.1", 5.0, 3.173, 2.108, 1.921, 1.660, 1.534),
    (100, "0.1", 10.0, 4.775, 3.128, 2.753, 2.419, 2.246),
    (1000, "0.02", 20.0, 2.916, 1.862, 1.712, 1.472, 1.367),
]


@pytest.mark.parametrize(("k", "epsilon", "added", "pure", "seed", "loose", "tight", "fixed"), PUBLISHED)
def test_published_totals(k, epsilon, added, pure, seed, loose, tight, fixed):
    steps = picks(k, epsilon)
    assert float(basic(steps)) == added
    assert float(optimal_pure(steps, DELTA)) == pytest.approx(pure, rel=3e-4)
    three = min(basic(steps), advanced(steps, DELTA), bounded_range(steps, DELTA))
    assert float(three) == pytest.approx(seed, rel=3e-4)
    rho = float(total_rho(steps))
    assert rho + 2 * math.sqrt(-rho * math.log(DELTA)) == pytest.approx(loose, rel=3e-4)
    assert float(zcdp(steps, DELTA)) == pytest.approx(tight, rel=3e-4)
    assert float(nonadaptive_epsilon(k, Fraction(epsilon), DELTA)) == pytest.approx(fixed, rel=3e-4)
    assert compose(steps, DELTA).epsilon <= min(three, zcdp(steps, DELTA), optimal_pure(steps, DELTA))


def test_the_renyi_curve_of_bounded_range_beats_its_zcdp():
    assert float(renyi_epsilon(picks(100, "0.1"), DELTA)) == pytest.approx(2.400, abs=5e-4)


def test_adding_gaussian_like_rho_twice_is_not_forgotten():
    """A peer's development version ignores how often a step is taken: 100 x 0.1 would be 0.106."""
    assert float(zcdp(picks(100, "0.1"), DELTA)) > 2


@pytest.mark.parametrize(("k", "pick"), [(5, 0.2), (10, 0.1396), (50, 0.0624), (100, 0.0441), (200, 0.0312)])
def test_published_epsilon_per_pick_at_total_one(k, pick):
    """Published for zCDP; the Renyi curve allows more, the most for few picks."""

    def concentrated(steps, delta):
        return min(Composed(basic(steps), "basic"), Composed(zcdp(steps, delta), "zCDP"), key=lambda t: t.epsilon)

    least = largest_epsilon(plan_of(k), Fraction(1), DELTA, concentrated)
    assert float(least) == pytest.approx(pick, rel=2e-3)
    found = largest_epsilon(plan_of(k), Fraction(1), DELTA)
    assert least < found < least * Fraction("1.2")
    assert compose(picks(k, found), DELTA).epsilon <= 1
    assert compose(picks(k, found * Fraction(1001, 1000)), DELTA).epsilon > 1


def points(number):
    """Random steps and deltas, the same in every run."""
    draw = random.Random(number)
    for _ in range(number):
        steps = [
            Steps(draw.choice([BoundedRange, PureDP])(Fraction(draw.uniform(0.001, 3))), draw.randint(1, 50))
            for _ in range(draw.randint(1, 4))
        ]
        yield steps, Fraction(math.exp(draw.uniform(math.log(1e-12), math.log(0.4))))


def test_600_bounds_equal_an_independent_high_precision_computation():
    """mpmath at 50 digits; ours may be larger only by its outward rounding, never smaller."""
    for steps, delta in points(300):
        with mpmath.workdps(50):
            each = [(_real(s.value.epsilon), s.value, s.times) for s in steps]
            log = -mpmath.log(_real(delta))
            squares = mpmath.fsum(e**2 * n for e, _, n in each)
            drift = mpmath.fsum(e * mpmath.tanh(e / 2) * n for e, _, n in each)
            near(advanced(steps, delta), drift + mpmath.sqrt(2 * squares * log))
            ranges = mpmath.fsum((e * (1 if isinstance(v, BoundedRange) else 2)) ** 2 * n for e, v, n in each)
            near(bounded_range(steps, delta), ranges / 2 + mpmath.sqrt(ranges * log / 2))


@settings(max_examples=20)
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
    assert compose(pure, DELTA).epsilon > compose(picks(100, "0.1"), DELTA).epsilon
    assert compose(pure, DELTA).bound == "Renyi"


def test_compose_is_the_smallest_of_every_bound():
    """What it leaves out is larger, or smaller by less than one part in 10^8."""
    for steps, delta in points(60):
        short = [Steps(s.value, min(s.times, 5)) for s in steps[:3]]
        found = compose(short, delta)
        smallest = min(t.epsilon for t in every_bound(short, delta))
        assert smallest <= found.epsilon <= smallest * (1 + Fraction(1, 10**8))


def test_compose_tells_which_delta_it_uses():
    by_name = {t.bound: t for t in every_bound(picks(3, "0.5"), DELTA)}
    assert set(by_name) == {"basic", "Renyi", "zCDP", "advanced", "bounded range", "adaptive optimum"}
    assert by_name.pop("basic").delta == 0
    assert {t.delta for t in by_name.values()} == {DELTA}


def test_zcdp_steps_compose_with_others():
    rho = Fraction(1, 50)
    both = (AnySteps(ZCDP(rho), 2), *picks(4, "0.4"))
    bounds = {t.bound: t.epsilon for t in every_bound(both, DELTA)}
    assert set(bounds) == {"zCDP", "Renyi"}
    assert bounds["zCDP"] == zcdp_to_epsilon(2 * rho + 4 * Fraction("0.16") / 8, DELTA)
    assert bounds["Renyi"] < bounds["zCDP"]
    only = compose((AnySteps(ZCDP(rho), 3),), DELTA).epsilon
    assert float(only) == pytest.approx(float(zcdp_to_epsilon(3 * rho, DELTA)), rel=1e-9)
    with pytest.raises(ParameterError, match="zCDP"):
        compose(both, Fraction(0))


def test_approximate_steps_are_pure_steps_that_may_fail():
    failure = Fraction(1, 10**8)
    approx = (AnySteps(ApproxDP(Fraction(1, 10), failure), 20), *picks(5, "0.2"))
    pure = (Steps(PureDP(Fraction(1, 10)), 20), *picks(5, "0.2"))
    for with_them, without in zip(every_bound(approx, DELTA), every_bound(pure, DELTA), strict=True):
        assert with_them.epsilon == without.epsilon
        exact = 1 - (1 - without.delta) * (1 - failure) ** 20
        assert exact <= with_them.delta <= exact * (1 + Fraction(1, 2**90))
    assert with_failures(approx, DELTA) < DELTA + 20 * failure
    assert compose(approx, Fraction(0)).delta > 0
    assert with_failures((AnySteps(ApproxDP(Fraction(1), Fraction(1)), 1),), DELTA) == 1
    with pytest.raises(ParameterError, match="zCDP"):
        total_rho(approx)


def test_no_steps_cost_nothing():
    for steps in ((), picks(0, "0.5")):
        assert (compose(steps, DELTA).epsilon, compose(steps, DELTA).delta) == (0, 0)


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


# ---- what is promised is covered by the steps it is made of ---------------------------------------------------


def spread(k):
    """k quantiles."""
    return [Fraction(i, k + 1) for i in range(1, k + 1)]


PRICED = [
    lambda k, e, d: Peeling(k=k, epsilon=e, delta=d).privacy,
    lambda k, e, d: LimitedDomain(k=k, epsilon=e, delta=d).privacy,
    lambda k, e, d: ChosenKBar(k=k, epsilon=e, delta=d).privacy,
    lambda k, e, d: (
        Quantile(q=[Fraction(i, k + 1) for i in range(1, k + 1)], bounds=(0, 9), epsilon=e, delta=d).privacy
    ),
    lambda k, e, d: NoisyCounts(k=k, epsilon_per_count=e, delta=d).privacy,
    *(
        lambda k, e, d, counts=counts, domain=domain, method=method: (
            top_k_plan(
                "top_k",
                k=k,
                epsilon=e,
                delta=d,
                domain=domain,
                counts=counts,
                k_bar=None,
                max_items_per_user=2,
                method=method,
            ).price
        )
        for counts in (False, True)
        for domain, method in (
            (None, "limited-domain"),
            (Size(99), "peeling"),
            (Size(99), "canonical-set"),
        )
    ),
]


def covered(privacy):
    """Do the steps, with the delta that is left for composing them, stay within the promise?"""
    rest = privacy.delta - privacy.failure
    assert rest >= 0
    return compose(privacy.steps, rest).epsilon <= privacy.epsilon


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"), covering([1, 2, 3, 4, 10], ["0.1", "1", "4", "8"], ["1e-9", "1e-6", "0.01"])
)
def test_every_promise_is_covered_by_its_own_steps(k, epsilon, delta):
    assert all(covered(make(k, epsilon, delta)) for make in PRICED)


def test_a_twin_that_states_no_delta_for_what_delta_bought_is_refused():
    """Two picks of a hair more than half of epsilon: their sum is above epsilon, so delta = 0 is not true of them."""
    sound = Peeling(k=2, epsilon_per_pick="0.5005", delta="1e-6").privacy
    assert covered(sound)
    twin = replace(sound, epsilon=Fraction(1), delta=Fraction(0), bound="basic")
    assert not covered(twin)
    with pytest.raises(ValueError, match="not calibrated"):
        priced(sound.steps, Fraction(1), Fraction(0), failure=Fraction(0), neighbors=sound.neighbors)


def test_delta_that_would_buy_less_than_one_percent_is_kept():
    little = Peeling(k=2, epsilon=1, delta="1e-9")
    assert (little.privacy.delta, little.epsilon_per_pick) == (0, Fraction(1, 2))
    assert Peeling(k=10, epsilon=1, delta="1e-6").privacy.delta == Fraction(1, 10**6)


# ---- the search for the largest pick ----------------------------------------------------------------------


def bisected(k: int, counted: int, epsilon: Fraction, delta: Fraction, evaluate: Bound) -> Fraction:
    """The largest pick on the same grid, by halving alone: the plain form of what `largest_epsilon` does."""
    plan = plan_of(k, counted)
    low, high = epsilon / basic(plan(Fraction(1))), epsilon
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if evaluate(plan(middle), delta).epsilon <= epsilon else (low, middle)
    return low


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"),
    covering([2, 3, 10, 100, 3000], ["0.001", "0.1", "1", "10", "300"], ["1/2", "1e-3", "1e-9", "1e-100"]),
)
def test_the_search_finds_what_halving_finds_in_fewer_evaluations(k: int, epsilon: str, delta: str) -> None:
    wanted, failure, counted = Fraction(epsilon), Fraction(delta), k % 3
    evaluations = 0

    def evaluate(steps: Sequence[Steps], at: Fraction) -> Composed:
        nonlocal evaluations
        evaluations += 1
        return compose_quickly(steps, at)

    found = largest_epsilon(plan_of(k, counted), wanted, failure, evaluate)
    assert found == bisected(k, counted, wanted, failure, compose_quickly)
    assert evaluations <= STEPS


def test_the_search_takes_a_start_that_does_not_fit_and_an_end_that_does() -> None:
    """The start is taken to fit and the end not to, as halving takes them, whatever the bound says of them."""
    for total in (Fraction(1, 2), Fraction(2)):
        bound: Bound = lambda _steps, _delta, total=total: Composed(total, "constant")  # noqa: E731
        found = largest_epsilon(plan_of(3), Fraction(1), DELTA, bound)
        assert found == bisected(3, 0, Fraction(1), DELTA, bound)
