"""The gamma mechanism: its noise's law, privacy of all noisy counts, wrong twins."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest

from dpselect.errors import ParameterError
from dpselect.mechanisms.candidates import parse_candidates
from dpselect.papers import GammaMechanism
from dpselect.papers.gamma import _GammaShare, cube_radius
from dpselect.testing import SeededDraws, law
from tests.exact.grids import pairs, replaced

REACH = 40


def noise(d, epsilon, growth=None):
    """P(z) by shells: a radius of weight e^(-epsilon n) (2n + 1)^growth, then uniform in the cube."""
    weights = [math.exp(-epsilon * n) * (2 * n + 1) ** (d if growth is None else growth) for n in range(4 * REACH)]
    density = [w / sum(weights) / (2 * n + 1) ** d for n, w in enumerate(weights)]
    return [sum(density[m:]) for m in range(REACH)]


@pytest.mark.parametrize(("d", "epsilon"), [(1, 1), (3, 0.5), (5, 2)])
def test_a_radius_and_a_uniform_cube_make_the_noise_of_the_largest_norm(d, epsilon):
    by_norm = noise(d, epsilon)
    for m in range(10):
        assert by_norm[m + 1] / by_norm[m] == pytest.approx(math.exp(-epsilon), rel=1e-9)


def ratio(by_norm, d, steps):
    """The largest log-ratio over all noise vectors of a small box, for counts that move by a step."""
    return max(
        abs(math.log(by_norm[max(map(abs, z))] / by_norm[max(abs(a - s) for a, s in zip(z, step, strict=True))]))
        for z in product(range(-4, 5), repeat=d)
        for step in steps
    )


def test_all_noisy_counts_are_private_and_a_radius_without_the_cubes_volume_is_refused():
    steps = list(product((-1, 0, 1), repeat=2))
    assert ratio(noise(2, 0.5), 2, steps) == pytest.approx(0.5, rel=1e-9)
    assert ratio(noise(2, 0.5, growth=0), 2, steps) > 0.6  # radius geometric
    assert ratio(noise(2, 1.0), 2, steps) > 0.5 * 1.9  # half the noise


def answers(counts, epsilon, k, most=8):
    """The law of the answer, radius by radius; what is beyond `most` is left out."""
    among = parse_candidates(list(counts))
    mechanism = GammaMechanism(k=k, epsilon=epsilon)
    d, found = len(counts), {}
    weights = [math.exp(-epsilon * n) * (2 * n + 1) ** d for n in range(200)]
    for n in range(most):
        for picks, p in law(lambda draws, n=n: tuple(g for g, _ in mechanism.within(n, among, draws)[0])).items():
            found[picks] = found.get(picks, 0) + float(p) * weights[n] / sum(weights)
    return found


@pytest.mark.parametrize("k", [1, 2])
def test_the_answers_are_private_over_all_neighbours(k):
    laws = {}
    for a, b in [*pairs(2, 1), *replaced(2, 1)]:
        left, right = (laws.get(c) or laws.setdefault(c, answers(c, 3, k)) for c in (a, b))
        assert sum(left.values()) == pytest.approx(1, abs=1e-7)
        assert all(abs(math.log(left[o] / right[o])) <= 3 + 1e-5 for o in left)


@pytest.mark.parametrize(("d", "rate"), [(1, Fraction(1, 3)), (1, Fraction(9)), (2, Fraction(1)), (50, Fraction(1, 2))])
def test_the_radius_is_proposed_at_least_as_often_as_it_should_be(d, rate, monkeypatch):
    """Every share that the sampler asks about is at most 1."""
    asked = []
    draws = SeededDraws(7)
    decide = draws.bernoulli
    monkeypatch.setattr(draws, "bernoulli", lambda p: (asked.append(p), decide(p))[1])
    for _ in range(300):
        cube_radius(draws, d, rate)
    shares = [p for p in asked if isinstance(p, _GammaShare)]
    assert shares
    assert all(p.ball(64) <= 1 for p in shares if p.n != p.m or p.i is not None)


def test_an_epsilon_too_small_for_a_radius_is_refused():
    with pytest.raises(ParameterError, match="epsilon must be at least"):
        GammaMechanism(k=1, epsilon="1e-13")([1, 2])


def test_counts_come_with_the_answer():
    answer, noisy = GammaMechanism(k=2, epsilon=9).with_counts({"a": 900, "b": 3, "c": 500})
    assert answer == ["a", "c"]
    assert noisy == sorted(noisy, reverse=True)
    assert abs(noisy[0] - 900) < 100
