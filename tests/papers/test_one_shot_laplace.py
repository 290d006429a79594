"""One-shot Laplace: the law of the k largest noisy scores in closed form, privacy over all neighbours, wrong twins."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from flint import arb, ctx

from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Weights
from dpselect.errors import ParameterError
from dpselect.papers import ApproxOneShotLaplace, GammaMechanism, Noise, OneShotLaplace
from dpselect.testing import law
from tests.exact.grids import pairs, replaced
from tests.exact.laws import BITS, at_most, cached_laws, pure
from tests.papers.noisy_max_law import noisy_max_law
from tests.papers.noisy_top_law import noisy_top_law
from tests.twins import selection as broken

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    "shape", [((3, 1, 0), (1, 2, 1)), ((5,), (3,)), ((2, 2, 0), (1, 1, 1)), ((9, 0), (1, 3))], ids=str
)
def test_the_first_of_the_k_largest_is_the_noisy_max(shape):
    weights = Weights(np.array(shape[0]), HALF, np.array(shape[1]))
    best = noisy_max_law(weights, Noise.LAPLACE)
    for k in (1, 2, 3):
        firsts: dict[int, arb] = {}
        with ctx.workprec(BITS):
            for order, p in noisy_top_law(weights, k).items():
                firsts[order[0]] = firsts.get(order[0], arb(0)) + p
            assert all(abs(firsts[g] - p) < 1e-40 for g, p in enumerate(best))


def test_two_noisy_scores_in_closed_form():
    """A difference t of two Laplace noises exceeds x >= 0 with probability (1 + x / 2) e^-x / 2."""
    for gap, rate in product((0, 1, 4), (HALF, Fraction(3))):
        found = noisy_top_law(Weights(np.array([gap, 0]), rate), 2)
        x = float(gap * rate)
        assert float(found[1, 0]) == pytest.approx((1 + x / 2) * math.exp(-x) / 2, abs=1e-15)
        assert float(found[0, 1]) == pytest.approx(1 - (1 + x / 2) * math.exp(-x) / 2, abs=1e-15)


def test_three_noisy_scores_by_summing_a_fine_grid():
    """The rule of small steps on the density, as a check that shares nothing with the closed form."""
    scores, step = (2.0, 1.0, 0.0), 1 / 64
    t = np.arange(-25, 25, step)
    density = [np.exp(-np.abs(t - s)) / 2 * step for s in scores]
    for order in permutations(range(3)):
        p = np.cumsum(density[order[2]]) - density[order[2]] / 2
        p = np.cumsum(density[order[1]] * p) - density[order[1]] * p / 2
        exact = noisy_top_law(Weights(np.array([2, 1, 0]), Fraction(1)), 3)[order]
        assert float((density[order[0]] * p).sum()) == pytest.approx(float(exact), abs=1e-4)


# One-shot Laplace.


APPROX = ApproxOneShotLaplace(k=3, epsilon="0.1", delta="1e-6")


@pytest.mark.parametrize("k", [1, 2])
def test_one_shot_laplace_is_private_for_counts_that_move_either_way(k):
    mechanism = OneShotLaplace(k=k, epsilon=1, neighbors="replace-one")
    assert mechanism.scale == 2 * k
    assert pure(cached_laws(mechanism), replaced(3, 1), Fraction(1))


@pytest.mark.parametrize("k", [1, 2])
def test_half_the_noise_is_enough_for_counts_that_move_alike(k):
    mechanism = OneShotLaplace(k=k, epsilon=1, monotonic=True)
    assert mechanism.scale == k
    assert pure(cached_laws(mechanism), pairs(3, 2), Fraction(1))


FAR = [((0, 9, 9, 9), (1, 8, 8, 8)), ((0, 0, 9, 9), (1, 1, 8, 8)), ((0, 0, 19, 19), (1, 1, 18, 18))]


def test_a_one_shot_laplace_without_its_two_is_refused():
    right = OneShotLaplace(k=2, epsilon=1, neighbors="replace-one")
    assert pure(cached_laws(right), FAR, Fraction(1))
    assert not pure(cached_laws(broken.OneShotForgottenTwo(2, Fraction(1))), FAR, Fraction(1))


def test_a_one_shot_laplace_without_its_k_is_refused():
    right = OneShotLaplace(k=2, epsilon=1)
    assert pure(cached_laws(right), FAR, Fraction(1))
    assert not pure(cached_laws(broken.OneShotForgottenK(2, Fraction(1))), FAR, Fraction(1))


def test_the_noise_of_the_selection_must_not_be_released():
    """All counts fall together, so a low largest noisy count is e^(3 epsilon / 2) times as likely, not e^epsilon."""
    epsilon = Fraction(8)
    twin = broken.SelectionNoiseReleased(epsilon)
    before, after = (law(lambda draws, c=c: twin(c, draws=draws)) for c in ((0, 0, 0), (1, 1, 1)))
    ratio = before[0, -2] / after[0, -2]
    assert float(ratio.log().mid()) == pytest.approx(1.5 * 8, abs=0.1)
    assert not at_most(ratio.log(), epsilon)


def test_the_approximate_scale_is_that_of_seed_004():
    mechanism = ApproxOneShotLaplace(k=7, epsilon="0.1", delta="1e-6")
    seed = 8 * math.sqrt(2 * 7 * math.log(1000 / 1e-6)) / 0.1  # a standard deviation
    assert float(mechanism.scale(1000)) * math.sqrt(2) == pytest.approx(seed, rel=1e-12)
    assert Fraction(seed) / mechanism.scale(1000) < Fraction(math.sqrt(2)) * (1 + Fraction(1, 10**12))
    assert (mechanism.privacy.epsilon, mechanism.privacy.delta) == (Fraction(1, 10), Fraction(1, 10**6))
    assert mechanism.privacy.failure == mechanism.privacy.delta


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": "0.2"}, r"epsilon must be below 0.2 here, got '0.2'\nhint: the theorem"),
        ({"delta": "0.05"}, "delta must be below 0.05 here"),
        ({"delta": 0}, "delta must be between 0 and 1"),
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
    ],
)
def test_the_approximate_theorem_is_not_used_outside_of_its_range(change, message):
    with pytest.raises(ParameterError, match=message):
        ApproxOneShotLaplace(**({"k": 3, "epsilon": "0.1", "delta": "1e-6"} | change))


@pytest.mark.parametrize("make", [OneShotLaplace(k=3, epsilon=1), APPROX, GammaMechanism(k=3, epsilon=1)])
@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], "k must be at most the number of candidates"),
        ([1, -2, 3], "counts must be at least 0"),
        ([1.5, 2.0, 3.0], "counts must be whole numbers of users"),
        ([], "scores must hold at least one candidate"),
    ],
)
def test_counts_that_cannot_be_used_are_refused(make, counts, message):
    with pytest.raises(ParameterError, match=message):
        make(counts)


def test_monotonic_and_replaced_users_exclude_each_other():
    with pytest.raises(ParameterError, match="monotonic must be False for replace-one neighbors"):
        OneShotLaplace(k=1, epsilon=1, monotonic=True, neighbors="replace-one")


@pytest.mark.parametrize("unseen", [10**8, 10**30])
def test_unseen_items_need_not_be_listed(unseen):
    seen = CountGroups(counts=np.array([900, 0]), sizes=[1, unseen], label=lambda group, member: (group, member))
    answer = OneShotLaplace(k=3, epsilon=2)(seen)
    assert answer[0] == (0, 0)
    assert len(set(answer)) == 3
    assert all(0 <= member < unseen for _, member in answer)
