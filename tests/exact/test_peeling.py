"""Top k of a known domain: Theorem 1 of Durfee and Rogers 2021, the price of k picks, and noisy counts."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import ctx

from dpselect._ground.privacy import BoundedRange, PureDP, Steps
from dpselect._ground.reals import enclose
from dpselect.mechanisms import NoisyCounts, Peeling
from dpselect.testing import law
from tests.exact.grids import pairs, replaced
from tests.exact.laws import (
    BITS,
    cached_laws,
    equals,
    law_of,
    log_range,
    max_log_ratio,
    peeled,
    private,
    pure,
    same,
)
from tests.twins import selection as broken

PICK = Fraction(1, 2)
SHAPES = {
    "ties": (3, 1, 3, 0),
    "all equal": (2, 2, 2),
    "k = d": (4, 1),
    "d = 1": (3,),
    "huge gap": (10**9, 1, 0),
    "zeros": (0, 0, 0),
}


@pytest.mark.parametrize("counts", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("k", [1, 2, 3])
def test_peeling_is_a_product_of_softmaxes(counts, k):
    k = min(k, len(counts))
    found = law_of(Peeling(k=k, epsilon_per_pick=PICK), counts)
    expected = peeled(counts, k, PICK)
    assert same(found, expected)


@pytest.mark.parametrize("counts", SHAPES.values(), ids=SHAPES.keys())
def test_grouped_counts_have_the_same_law_as_listed_ones(counts):
    k = min(2, len(counts))
    peeling = Peeling(k=k, epsilon_per_pick=PICK)
    grouped = law(lambda draws: tuple(peeling(broken.histogram(counts), draws=draws)))
    assert same(grouped, law_of(peeling, counts))


def test_theorem_1_one_shot_gumbel_is_peeling():
    """Durfee and Rogers 2021, equation (3), integrated numerically, with the Gumbel density as it stands there."""
    h, rate = (2, 1, 0), 0.5

    def density(x):
        return rate * mpmath.exp(-rate * x - mpmath.exp(-rate * x))

    def below(x):
        return mpmath.exp(-mpmath.exp(-rate * x))

    def inner(top):
        return mpmath.quad(lambda u: density(u - h[1]) * below(u - h[2]), [-30, 0, min(top, 10), top], maxdegree=4)

    one_shot = mpmath.quad(lambda u: density(u - h[0]) * inner(u), [-25, -5, 0, 5, 15, 60], maxdegree=3)
    peeling = law_of(Peeling(k=2, epsilon_per_pick=Fraction(1, 2)), h)[0, 1]
    assert abs(one_shot - float(peeling.mid())) < 1e-6


def test_privacy_of_the_whole_call_over_all_neighbours():
    delta = Fraction(1, 100)
    for mechanism in (
        Peeling(k=2, epsilon=1),
        Peeling(k=2, epsilon=1, delta=delta),
        Peeling(k=3, epsilon=2, delta=delta),
    ):
        assert private(cached_laws(mechanism), pairs(3, 2), mechanism.privacy.epsilon, mechanism.privacy.delta)


def test_k_picks_stay_within_k_epsilons_and_one_pick_meets_its_range():
    assert pure(cached_laws(Peeling(k=2, epsilon_per_pick=PICK)), pairs(3, 1), 2 * PICK)
    one = cached_laws(Peeling(k=1, epsilon_per_pick=PICK))
    assert any(equals(log_range(one(a), one(b)), PICK) for a, b in pairs(3, 1))


def test_replace_one_keeps_the_two():
    mechanism = Peeling(k=2, epsilon=1, neighbors="replace-one")
    assert pure(cached_laws(mechanism), replaced(3, 1), Fraction(1))
    assert not pure(cached_laws(Peeling(k=2, epsilon=1)), replaced(3, 1), Fraction(1))


def test_a_forgotten_k_is_refused():
    assert not pure(cached_laws(broken.PeelingForgottenK(k=3, epsilon=Fraction(1))), pairs(4, 1), Fraction(1))


def test_reused_noise_is_refused():
    twin = cached_laws(broken.ReusedNoise(k=2, epsilon=Fraction(1)))
    assert not private(twin, pairs(3, 2), Fraction(1), Fraction(1, 100))


def test_the_steps_of_a_call_are_its_picks():
    peeling = Peeling(k=7, epsilon_per_pick=PICK, delta="1e-6")
    assert peeling.privacy.steps == (Steps(BoundedRange(PICK), 7),)
    assert peeling.privacy.zcdp.rho == 7 * PICK**2 / 8
    assert Peeling(k=7, epsilon=1).epsilon_per_pick == Fraction(1, 7)


COUNT = Fraction(1)


def counts_law(mechanism, counts):
    return law(lambda draws: tuple(mechanism(counts, draws=draws)))


def test_noise_of_counts_is_discrete_laplace():
    found = counts_law(NoisyCounts(k=1, epsilon_per_count=COUNT), (5,))
    with ctx.workprec(BITS):
        q = enclose(-COUNT).exp()
        for z in range(-20, 21):
            expected = (1 - q) / (1 + q) * q ** abs(z)
            assert abs(found[5 + z,] - expected) < 1e-15


def test_counts_meet_their_epsilon():
    right = [counts_law(NoisyCounts(k=1, epsilon_per_count=COUNT), (c,)) for c in (3, 4)]
    narrow = [counts_law(broken.NarrowLaplaceCounts(COUNT), (c,)) for c in (3, 4)]
    for laws, met in ((right, COUNT), (narrow, 2 * COUNT)):
        near = {a: p for a, p in laws[0].items() if abs(a[0]) < 12}
        with ctx.workprec(BITS):
            assert abs(max_log_ratio(near, laws[1]) - enclose(met)) < 1e-10
    assert NoisyCounts(k=1, epsilon_per_count=COUNT).privacy.epsilon == COUNT


def test_one_noise_for_all_counts_is_refused():
    shared = [counts_law(broken.OneSharedNoise(COUNT), counts) for counts in ((1, 1), (1, 2))]
    assert not set(shared[0]) & set(shared[1])


def test_an_unbounded_user_breaks_the_price_of_bounded_counts():
    """max_items_per_user = 1 is a promise: a user who moves both counts moves the answer by 2 epsilon."""
    promised = NoisyCounts(k=2, epsilon_per_count=Fraction(5), max_items_per_user=1)
    assert promised.privacy.epsilon == 5
    laws = {counts: counts_law(promised, counts) for counts in ((1, 1), (1, 2), (2, 2))}
    for other, met in (((1, 2), 5), ((2, 2), 10)):
        near = {a: p for a, p in laws[1, 1].items() if max(map(abs, a)) < 3}
        with ctx.workprec(BITS):
            assert abs(max_log_ratio(near, laws[other]) - met) < 1e-6


def test_the_price_of_counts():
    privacy = NoisyCounts(k=10, epsilon_per_count=Fraction(1, 10), delta="1e-6").privacy
    assert privacy.steps == (Steps(PureDP(Fraction(1, 10)), 10),)
    assert NoisyCounts(k=10, epsilon_per_count=Fraction(1, 10)).privacy.epsilon == 1
    bounded = NoisyCounts(k=10, epsilon_per_count=Fraction(1, 10), max_items_per_user=3)
    assert bounded.privacy.epsilon == Fraction(3, 10)
    replaced_user = NoisyCounts(k=10, epsilon_per_count=1, max_items_per_user=3, neighbors="replace-one")
    assert replaced_user.privacy.epsilon == 6
    assert privacy.zcdp.rho == Fraction(10, 200)
