"""Noise of the real draws: the k largest noisy scores through every cut, discrete Laplace and Gaussian, the radius.

What has no float filter of its own is judged once, not once for every slack.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpselect.draws import CertifiedDraws, SecureDraws, Weights
from dpselect.draws.entropy import SystemBits
from dpselect.papers.gamma import cube_radius
from dpselect.papers.noisy_draws import noisy
from dpselect.testing import law
from tests.papers.noisy_top_law import noisy_top_law
from tests.statistical.judge import judge

REAL = {
    "as shipped": SecureDraws,
    "refining often": lambda: CertifiedDraws(SystemBits(), secure=True, slack_bits=3),
}
HALF = Fraction(1, 2)


@pytest.fixture(params=REAL)
def draws(request):
    return REAL[request.param]()


def floats(exact):
    return {answer: float(p) for answer, p in exact.items() if float(p) > 1e-12}


def groups_law(shape, k, rate):
    return floats(noisy_top_law(Weights(np.array(shape[0]), rate, np.array(shape[1])), k))


def judge_top(draws, shape, k, rate):
    weights = Weights(np.array(shape[0]), rate, np.array(shape[1]))
    judge(
        lambda: tuple(g for g, _ in noisy(draws).noisy_top(weights, k)),
        groups_law(shape, k, rate),
        [groups_law(shape, k, 2 * rate), groups_law(shape, k, rate / 2)],
    )


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(3, 2)], ids=str)
def test_few_candidates_all_get_a_number(draws, rate):
    """At 3/2 the unit is a quarter; ties of integers are decided by the bits of fractions."""
    judge_top(draws, ((2, 1, 0), (1, 2, 1)), 2, rate)


@pytest.mark.parametrize(("k", "huge"), [(1, 2**40), (2, 3)])
def test_draws_at_one_cut_after_another(draws, k, huge, monkeypatch):
    """The first cut expects one candidate, the next twice as many: most draws go down several cuts."""
    monkeypatch.setattr("dpselect.papers.noisy_top_k.HUGE", huge)
    monkeypatch.setattr("dpselect.papers.noisy_top_k.SPARE", 1 - 2 * k)
    monkeypatch.setattr("dpselect.papers.noisy_top_k.LOWER", 2)
    judge_top(draws, ((4, 2, 0), (1, 4, 7)), k, HALF)


def test_a_hundred_million_unseen_items(draws):
    """The best of n noises is below x with probability (1 - e^-x / 2)^n; one seen item is beside them."""
    n, rate = 10**8, Fraction(1, 4)
    weights = Weights(np.array([80, 0]), rate, np.array([1, n]))

    def law_at(r):
        x = np.arange(-400, 8000) / 100  # of the seen item's noisy count, in units of 1 / r
        top = float(80 * r) + x
        stays = np.where(top > 0, (1 - np.exp(-np.abs(top)) / 2) ** n, 0)
        wins = float((np.exp(-np.abs(x)) / 2 * stays).sum() / 100)
        return {0: wins, 1: 1 - wins}

    judge(lambda: noisy(draws).noisy_top(weights, 1)[0][0], law_at(rate), [law_at(rate / 2), law_at(Fraction(1, 3))])


def test_discrete_laplace():
    draws, rate = SecureDraws(), Fraction(1, 5)

    def law_at(r):
        return floats(law(lambda d: max(-15, min(15, d.laplace(r)))))

    judge(
        lambda: max(-15, min(15, draws.laplace(rate))), law_at(rate), [law_at(2 * rate), law_at(rate * Fraction(4, 5))]
    )


@pytest.mark.parametrize("law_of", ["laplaces", "gaussians"])
def test_noises_that_are_drawn_together(law_of):
    """Two of them: each has its law, and they are independent."""
    draws, one = CertifiedDraws(SystemBits(), secure=True, slack_bits=8), law_of.removesuffix("s")
    parameter = {"laplaces": Fraction(2, 3), "gaussians": Fraction(3, 2)}[law_of]

    def clipped(z):
        return max(-2, min(2, z))

    def law_at(x):
        return floats(law(lambda d: clipped(getattr(d, one)(x))))

    def many():
        while True:
            found = list(map(clipped, getattr(draws, law_of)(parameter, 2000)))
            yield from zip(found[::2], found[1::2], strict=True)

    def pairs_of(single):
        return {(a, b): p * q for a, p in single.items() for b, q in single.items()}

    right = law_at(parameter)
    same = {(a, b): right[a] * (a == b) for a in right for b in right}
    mixed = {pair: 0.8 * p + 0.2 * same[pair] for pair, p in pairs_of(right).items()}
    wrong = [pairs_of(law_at(parameter * 2)), pairs_of(law_at(parameter * Fraction(2, 3))), mixed]
    pairs = many()
    judge(lambda: next(pairs), pairs_of(right), wrong)


def test_discrete_gaussian():
    draws, variance = SecureDraws(), Fraction(7, 2)

    def law_at(v):
        return floats(law(lambda d: max(-15, min(15, d.gaussian(v)))))

    wrong = [law_at(variance / 2), law_at(variance * Fraction(3, 2))]
    judge(lambda: max(-15, min(15, draws.gaussian(variance))), law_at(variance), wrong)


@pytest.mark.parametrize(("d", "rate"), [(1, Fraction(2)), (3, HALF), (40, Fraction(3))])
def test_the_radius_of_the_gamma_mechanism(d, rate):
    draws = SecureDraws()

    def law_at(r, dimension):
        weights = [math.exp(-float(r) * n + dimension * math.log(2 * n + 1)) for n in range(300)]
        return {n: w / sum(weights) for n, w in enumerate(weights) if w / sum(weights) > 1e-12}

    wrong = [law_at(rate * Fraction(5, 4), d), law_at(rate / 2, d)]
    judge(lambda: cube_radius(draws, d, rate), law_at(rate, d), wrong)
