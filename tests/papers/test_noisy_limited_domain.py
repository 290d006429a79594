"""Limited domain with Laplace noise: heights, privacy over all neighbours, wrong twins, the real code."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from flint import arb

from dpselect.errors import ParameterError
from dpselect.mechanisms.top_k.top_rows import largest, top_rows
from dpselect.papers import LimitedDomainLaplace
from dpselect.papers.noisy_limited_domain import (
    laplace_height,
    laplace_tail,
)
from dpselect.testing import hockey_stick, law
from tests.exact.grids import pairs
from tests.papers.noisy_domain import NoisyDomain, hockey, laplace, none
from tests.twins import selection as broken

HALF = Fraction(1, 2)


@pytest.mark.parametrize("rate", [Fraction(1, 10), HALF, Fraction(3)])
def test_the_laplace_tail_is_the_sum_of_products(rate):
    z = np.arange(-600, 601)
    noise = np.exp(-float(rate) * np.abs(z)) * math.tanh(float(rate) / 2)
    difference = np.convolve(noise, noise)[600:1801]  # of z - z' at -600 .. 600
    for t in (0, 1, 7):
        assert float(laplace_tail(rate, t)) == pytest.approx(difference[600 + t + 1 :].sum(), rel=1e-9)


def test_heights_are_the_least():
    delta = Fraction(1, 10**6)
    for swaps in (1, 10):
        t = laplace_height(HALF, swaps, delta)
        assert swaps * laplace_tail(HALF, t) <= delta < swaps * laplace_tail(HALF, t - 1)
    assert laplace_height(Fraction(3), 1, HALF) == 0


# Limited domain with noise: privacy over all neighbours, in both directions, of all that could be told.

SLACK = 1e-8


def least_delta(domain, neighbours, epsilon):
    released = cache(domain.released)
    ways = [way for pair in neighbours for way in (pair, pair[::-1])]
    return max(hockey(released(a), released(b), epsilon) for a, b in ways)


CASES = [
    {"k_bar": 1, "max_items_per_user": 1, "items": 2},
    {"k_bar": 1, "max_items_per_user": 2, "items": 3},
    {"k_bar": 2, "max_items_per_user": 1, "items": 3},
    {"k_bar": 2, "max_items_per_user": 2, "items": 4},
    {"k_bar": 2, "max_items_per_user": 3, "items": 3},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("delta", ["0.2", "0.01"])
def test_limited_domain_laplace_over_all_neighbours(case, delta):
    case = dict(case)
    items, touched = case.pop("items"), case["max_items_per_user"]
    mechanism = LimitedDomainLaplace(k=1, epsilon=touched, delta=delta, **case)
    domain = NoisyDomain(case["k_bar"], mechanism.height, laplace(float(mechanism.rate)))
    neighbours = list(pairs(items, 2 if items < 4 else 1, touched))
    assert least_delta(domain, neighbours, touched) <= float(delta) + SLACK
    assert (mechanism.privacy.epsilon, mechanism.privacy.delta) == (touched, Fraction(delta))


def twin_case(touched=1, delta="0.01", k_bar=1):
    mechanism = LimitedDomainLaplace(k=1, k_bar=k_bar, epsilon=touched * HALF, delta=delta, max_items_per_user=touched)
    rate = laplace(float(mechanism.rate))
    neighbours = list(pairs(4 if touched > 1 else 2, 1, touched))
    domain = NoisyDomain(k_bar, mechanism.height, rate)
    assert least_delta(domain, neighbours, float(mechanism.epsilon)) <= float(delta) + SLACK
    return mechanism, rate, neighbours


def test_a_height_without_its_plus_one_is_refused():
    mechanism, noise, neighbours = twin_case()
    assert least_delta(NoisyDomain(1, mechanism.height - 1, noise), neighbours, 0.5) > 0.01


def test_the_height_of_a_single_noise_is_refused():
    """T = b ln(Delta / delta) forgets bottom's own noise: delta is exceeded, and more so as it falls."""
    for delta, excess in (("0.001", 1.3), ("0.00001", 1.6)):
        _, noise, neighbours = twin_case(delta=delta)
        trap = math.ceil(2 * math.log(1 / float(delta)))
        assert least_delta(NoisyDomain(1, 1 + trap, noise), neighbours, 0.5) > excess * float(delta)


def test_a_height_that_forgets_how_many_items_change_places_is_refused():
    mechanism, noise, neighbours = twin_case(touched=2, k_bar=2)
    single = 1 + laplace_height(mechanism.rate, 1, Fraction(1, 100))
    assert least_delta(NoisyDomain(2, single, noise), neighbours, 1) > 0.01


def test_noise_that_forgets_the_items_of_a_user_is_refused():
    mechanism, noise, _ = twin_case(touched=2, k_bar=2)
    both = [((30, 30, 0), (31, 31, 0))]
    assert least_delta(NoisyDomain(2, mechanism.height, noise), both, 1) <= 0.01
    assert least_delta(NoisyDomain(2, mechanism.height, laplace(1.0)), both, 1) > 0.01


def test_a_bottom_without_noise_is_refused():
    """Its place is a count: where that moves by 1, an answer just above it becomes impossible."""
    mechanism, noise, _ = twin_case()
    at_bottom = [((20 + mechanism.height, 20), (20 + mechanism.height, 21))]
    assert least_delta(NoisyDomain(1, mechanism.height, noise), at_bottom, 0.5) <= 0.01
    assert least_delta(NoisyDomain(1, mechanism.height, noise, none), at_bottom, 0.5) > 0.05


def test_an_unbounded_user_is_refused():
    mechanism, noise, _ = twin_case()
    domain = NoisyDomain(2, mechanism.height, noise)
    assert least_delta(domain, list(pairs(4, 1, 2)), 0.5) > 0.01


class Script:
    """Draws whose noise is given, and whose permutations are the identity."""

    secure = False

    def __init__(self, noise):
        self.noise = list(noise)

    def laplace(self, _rate):
        return self.noise.pop(0)

    def peel(self, _weights, k):
        return [(g, 0) for g in range(k)]


def make(**case):
    return LimitedDomainLaplace(epsilon=2, delta="0.1", max_items_per_user=1, **case)


def test_the_mechanism_does_what_the_law_is_computed_from():
    counts = (3, 0, 9, 5, 2)
    mechanism = make(k=2, k_bar=3)
    for noise in product((-9, 0, 3, mechanism.height, 20), repeat=4):
        bottom = 2 + mechanism.height + noise[0]
        noisy = {i: counts[i] + z for i, z in zip((2, 3, 0), noise[1:], strict=True)}
        above = sorted((i for i in noisy if noisy[i] > bottom), key=lambda i: -noisy[i])[:2]
        picks, told = mechanism.picks_with_counts(top_rows(counts, 4), Script(noise))
        assert told == [noisy[i] for i in above]
        assert [noisy[(2, 3, 0)[row]] for row, _ in picks] == told


def test_fewer_items_than_k_bar():
    mechanism = make(k=2, k_bar=3)
    assert mechanism.picks_with_counts(top_rows([0, 0], 4), Script([0])) == ([], [])
    assert mechanism.with_counts({}, draws=Script([0])) == ([], [])
    assert mechanism({"a": 500}, draws=Script([0, 0])) == ["a"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"k_bar": 1}, "k_bar must be at least k = 2, got 1"),
        ({"max_items_per_user": 0}, "max_items_per_user must be a whole number"),
        ({"epsilon": 0}, "epsilon must be a positive"),
        ({"delta": 0}, "delta must be between 0 and 1"),
        ({"epsilon": "1e-20"}, r"epsilon must be large enough for a threshold below 2\^62"),
    ],
)
def test_parameters_of_noisy_limited_domain(change, message):
    with pytest.raises(ParameterError, match=message):
        LimitedDomainLaplace(**({"k": 2, "k_bar": 3, "epsilon": 1, "delta": "0.1", "max_items_per_user": 1} | change))


def test_equal_noisy_counts_are_ranked_at_random():
    found = law(lambda draws: tuple(largest([5, 2, 5, 5], 2, draws)))
    assert set(found) == set(permutations((0, 2, 3), 2))
    assert all(abs(float(p) - 1 / 6) < 1e-12 for p in found.values())
    assert law(lambda draws: tuple(largest([1, 2], 5, draws))).keys() == {(1, 0)}
    told = [[labels[i] for i in broken.ranked_by_place([5, 5], 2)] for labels in ("ab", "ba")]
    assert told[0] != told[1]  # the twin tells the order of the rows, which is that of the true counts


def test_hockey_sticks_of_draws_and_arrays_agree():
    """The same divergence of a small law, as balls and as arrays."""
    domain = NoisyDomain(1, 2, laplace(2.0))
    a, b = domain.released((1,)), domain.released((0,))
    balls = [
        {(told, i): arb(float(p)) for told, ps in released.items() for i, p in enumerate(ps.flatten())}
        for released in (a, b)
    ]
    assert hockey(a, b, 1) == pytest.approx(float(hockey_stick(*balls, Fraction(1))), abs=1e-12)
