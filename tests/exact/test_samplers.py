"""Samplers over coins whose every outcome is followed: the law of the real code, where samples see no 5 % of a rate.

What runs for ever is followed for so many steps; what is left of it is left out, or too little to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.reals import Exp, Real, enclose, lower
from dpselect.draws import CertifiedDraws, Weights, group_bernoullis, many_noises, monotone_categorical
from dpselect.draws.binomial import MAX_SINGLE_TRIALS, binomial
from dpselect.draws.core import Core, gaussian
from dpselect.draws.peeling import Peel
from dpselect.mechanisms.joint.ranked import power
from dpselect.papers import Noise, noisy_top_k
from dpselect.papers.noisy_draws import noisy
from dpselect.papers.noisy_max import BITS_PER_UNIT, _Contender
from dpselect.papers.noisy_top_k import _Noisy, _order, _Run
from dpselect.testing import ExactDraws, Law, SeededDraws, law
from tests.exact.laws import BITS, CLOSE, same, uniform

Closed = Callable[[int], arb]


class Stop(Exception):
    """A run that went on for so long that the rest of it is left out."""


@dataclass
class Coins:
    """A core whose draws are followed, until it asks for more than `most` of those that a loop asks for again."""

    draws: ExactDraws
    most: int
    again: str

    def _ask(self, name: str, *given: object) -> Any:
        self.most -= name == self.again
        if self.most < 0:
            raise Stop
        return getattr(self.draws, name)(*given)

    def bernoulli(self, probability: Real) -> bool:
        assert lower(probability.ball(BITS)) <= 1
        return self._ask("bernoulli", probability)

    def below(self, n: int) -> int:
        return self._ask("below", n)

    def geometric(self, rate: Fraction) -> int:
        return self._ask("geometric", rate)

    def laplace(self, rate: Fraction) -> int:
        return self._ask("laplace", rate)


def followed(sampler: Callable[[Coins], int], most: int, again: str) -> Law:
    """The law of a sampler's whole runs."""

    def run(draws: ExactDraws) -> int | None:
        try:
            return sampler(Coins(draws, most, again))
        except Stop:
            return None

    found = law(run)
    found.pop(None, None)
    return found


def fits(found: Law, closed: Closed, *, scaled: bool = False) -> bool:
    """Is each mass the one of the closed form? `scaled`: as multiples of that of the likeliest."""
    best = max(found, key=lambda x: float(found[x]))
    with ctx.workprec(BITS):
        of = found[best] / closed(best) if scaled else arb(1)
        gaps = [p / of - closed(x) for x, p in found.items()]
        return all(gap.overlaps(arb(0)) and gap.abs_upper() < CLOSE for gap in gaps)


def memoryless(rate: Fraction) -> Closed:
    return lambda x: (1 - enclose(-rate).exp()) * enclose(-rate * x).exp()


def normal(variance: Fraction) -> Closed:
    return lambda z: enclose(-Fraction(z * z) / (2 * variance)).exp()


@pytest.fixture(params=["one", "many"])
def many(request, monkeypatch):
    """Whether numbers are drawn one by one, or together: then each of their coins is followed by itself."""
    if request.param == "one":
        return False

    def coins(core: Coins, probability: Real, n: int):
        return np.array([core.bernoulli(probability) for _ in range(n)], dtype=bool)

    monkeypatch.setattr(many_noises, "coins", coins)
    return True


@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(3, 2)])
def test_a_geometric_number(many, rate):
    """Three blocks of it: as many numbers, with all of their bits."""
    top = (1 / rate).__ceil__().bit_length()
    draw = (
        (lambda core: many_noises.geometrics(core, rate, 1)[0]) if many else (lambda core: Core.geometric(core, rate))
    )
    found = followed(draw, top + 3, "bernoulli")
    assert set(found) == set(range(3 << top))
    assert fits(found, memoryless(rate))
    assert not fits(found, memoryless(rate * Fraction(101, 100)))


def test_laplace_noise(many, monkeypatch):
    """The difference of two geometric numbers, which are followed until less than 2^-60 is left of them."""
    rate = Fraction(3, 2)
    monkeypatch.setattr(many_noises, "geometrics", lambda core, rate, n: [core.geometric(rate) for _ in range(n)])
    draw = (lambda core: many_noises.laplaces(core, rate, 1)[0]) if many else (lambda core: Core.laplace(core, rate))
    found = followed(draw, 2, "geometric")
    q = float(Exp(-rate).ball(BITS))
    assert all(float(p) == pytest.approx((1 - q) / (1 + q) * q ** abs(z), abs=1e-15) for z, p in found.items())
    assert min(found) == -max(found) < -20


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(7, 2)])
def test_gaussian_noise(many, variance, monkeypatch):
    """What is accepted of one proposal."""
    monkeypatch.setattr(many_noises, "laplaces", lambda core, rate, n: [core.laplace(rate) for _ in range(n)])
    draw = (
        (lambda core: many_noises.gaussians(core, variance, 1)[0]) if many else (lambda core: gaussian(core, variance))
    )
    found = followed(draw, 1, "laplace")
    assert min(found) == -max(found) < -20
    assert fits(found, normal(variance), scaled=True)
    assert not fits(found, normal(variance * Fraction(101, 100)), scaled=True)


def test_a_binomial_number_of_an_envelope():
    """What is accepted of one proposal, in the middle and in both tails."""
    n, p = 24, Fraction(2, 5)
    assert n > MAX_SINGLE_TRIALS
    found = followed(lambda core: binomial(core, n, Exp(Fraction(0), p)), 1, "below")
    assert set(found) == set(range(n + 1))
    assert fits(found, lambda x: enclose(math.comb(n, x) * p**x * (1 - p) ** (n - x)), scaled=True)
    assert not fits(found, lambda x: enclose(math.comb(n, x) * p ** (n - x) * (1 - p) ** x), scaled=True)


def test_successes_beyond_a_window_are_those_of_their_own_probabilities(monkeypatch):
    """Proposed at e^-far, and thinned."""
    weights = Weights(np.array([9, 4, 3]), Fraction(1, 2), np.array([1, 2, 1]))
    best, far = weights.score(0), 2

    def run(draws: ExactDraws) -> tuple[tuple[int, int], ...]:
        core = Coins(draws, 99, "geometric")
        return tuple(sorted(group_bernoullis._beyond(core, weights, np.array([1, 2]), best, far)))

    monkeypatch.setattr(group_bernoullis, "binomial", lambda core, n, p: core.draws.binomial(n, p))
    monkeypatch.setattr(group_bernoullis, "peel", lambda core, weights, k: core.draws.peel(weights, k))
    many = law(
        lambda draws: tuple((g, n) for g in (1, 2) if (n := draws.binomial(weights.size(g), weights.ratio(g, 9))))
    )
    assert same(law(run), many)


class Script:
    """Bits that were written down: words for all candidates; whatever refines them is `then`."""

    def __init__(self, first: list[int], then: int) -> None:
        self.first, self.then = first, then

    def words(self, n: int):
        return np.array(self.first[:n], dtype=np.uint64)

    def word(self) -> int:
        return self.then


@pytest.mark.parametrize("slack_bits", [36, 3])
def test_single_candidates_succeed_where_u_lies_below_their_probability(slack_bits):
    """U is next to p, or next to what slack makes of p; its further bits are all 0, or all 1."""
    rate, slack = Fraction(1, 3), 2.0**-slack_bits
    with ctx.workprec(400):
        p = Exp(-2 * rate).ball(400)
        places = [p * f * 2**53 for f in (1, 1 - slack, 1 + slack)]
        words = [int(place.mid().floor().unique_fmpz()) + step for place in places for step in (-2, -1, 0, 1, 2)]
        for then in (0, 2**64 - 1):
            core = CertifiedDraws(Script([word << 11 for word in words], then), secure=False, slack_bits=slack_bits)
            near = Weights(np.array([2, *[0] * len(words)]), rate)
            positions = np.arange(1, len(words) + 1)
            found = group_bernoullis._singles(core, near, near.log_gaps(slice(1, None), 2), positions, 2)
            assert found.tolist() == [bool(word + arb(then) / 2**64 < p * 2**53) for word in words]


@pytest.mark.parametrize("noise", list(Noise))
@pytest.mark.parametrize("size", [1, 40])
def test_the_largest_noise_of_a_group_is_above_t_as_often_as_v_is_below(noise, size):
    """V = 1 - (1 - S(t))^size, for numbers on either side of the middle and for rare ones."""
    shift, bits = Fraction(-7, 2), 64
    for v in (Fraction(1, 2**20), Fraction(1, 10), Fraction(1, 2), Fraction(3, 5), Fraction(99, 100)):
        value = int(v * 2**bits)
        contender = _Contender(SeededDraws(1), noise, (0, None), size, shift, value, bits)
        with ctx.workprec(bits + 64):
            t = contender._score_at(value) - enclose(shift)
            tail = (-t).exp() if noise is Noise.EXPONENTIAL else (-t).exp() / 2 if t > 0 else 1 - t.exp() / 2
            assert abs(1 - (1 - tail) ** size - enclose(Fraction(value, 2**bits))) < 1e-20


def test_zeros_that_are_asked_of_those_far_away_are_no_rarer_than_their_noise():
    with ctx.workprec(64):
        assert enclose(BITS_PER_UNIT) * arb(2).log() < 1


def test_members_of_a_group_are_taken_in_a_uniformly_random_order():
    weights = Weights(np.array([0]), Fraction(1), np.array([4]))

    def run(draws: ExactDraws) -> tuple[int, ...]:
        peel = Peel(SeededDraws(1), weights, 4)
        return tuple(peel._take(0, draws.below(peel._left_at(0))) for _ in range(4))

    assert same(law(run), uniform(permutations(range(4))))


def test_what_is_taken_behind_a_window_is_not_missing_inside():
    peel = Peel(SeededDraws(1), Weights(np.array([3, 2, 1]), Fraction(1)), 3)
    peel.taken_by_position = {1: 1, 2: 1}
    assert peel._count_copies(slice(0, 2)).tolist() == [1, 0]


def test_a_candidate_beyond_the_window_is_one_of_all_that_are():
    """A group in proportion to its size."""
    weights = Weights(np.array([100, 0, 1]), Fraction(1), np.array([1, 5, 2]))

    def run(draws: ExactDraws) -> int:
        peel = Peel(SeededDraws(1), weights, 1)
        peel._build(weights.candidate_count)
        peel.core = draws
        return peel._far_group(peel._draw_far_position())

    with ctx.workprec(BITS):
        assert same(law(run), {1: arb(5) / 7, 2: arb(2) / 7})


class Slopes:
    """Masses that hardly change, so that cells stay wide."""

    sizes = (1, 7, 3)

    def fall(self, family: int, x: int, bits: int) -> arb:
        return power(-Fraction(x, 50) - family, bits)

    def rise(self, family: int, x: int, bits: int) -> arb:
        with ctx.workprec(bits):
            return enclose(1 + Fraction(x, 60 + family))


def test_candidates_of_an_envelope_have_their_masses(monkeypatch):
    """What is accepted of one proposal: a cell in proportion to its area, one of it, and with which probability."""
    masses, widths = Slopes(), []

    def run(draws: ExactDraws) -> tuple[int, int] | None:
        core = Coins(draws, 1, "bernoulli")

        def cell(sums: list[int], point: int) -> int:
            assert point == sums[-1]
            widths.append(len(sums))
            return draws._follow(lambda: [arb(b - a) / sums[-1] for a, b in pairwise([0, *sums])])

        monkeypatch.setattr(monotone_categorical, "bisect_right", cell)
        monkeypatch.setattr(core, "below", lambda n: n if n > 2**40 else draws.below(n))  # the cell is followed
        try:
            return monotone_categorical.sample_product(core, masses)
        except Stop:
            return None

    found = law(run)
    del found[None]
    assert set(found) == {(f, x) for f, size in enumerate(masses.sizes) for x in range(size)}
    assert max(widths) < len(found)
    with ctx.workprec(BITS):
        of = {(f, x): masses.fall(f, x, BITS) * masses.rise(f, x, BITS) for f, x in found}
        scale = found[0, 0] / of[0, 0]
        assert all((p - scale * of[one]).overlaps(arb(0)) and p.rad() < CLOSE for one, p in found.items())


# ---- the k largest of noisy scores ------------------------------------------------------------------------


@pytest.mark.parametrize("signs", [(True, False), (True, True), (False, False)], ids=str)
def test_numbers_of_one_integer_are_ordered_by_their_fractions(signs):
    """F + F' > 1 for noise above 0 against noise below; one half where both are alike. Seven bits decide nearly all."""
    rate = Fraction(3, 2)

    def first(core: Coins) -> bool:
        left, right = (_Noisy(core, rate, group, 0, above) for group, above in enumerate(signs))
        return _order(left, right) < 0

    found = {answer: float(p) for answer, p in followed(first, 14, "bernoulli").items()}
    open_ = 1 - found[True] - found[False]
    r = float(rate)
    less = math.exp(-r) * (r - 1 + math.exp(-r)) / (1 - math.exp(-r)) ** 2
    assert open_ < 2**-6
    assert found[True] + open_ / 2 == pytest.approx(less if signs == (True, False) else 0.5, abs=2e-5)
    assert abs(less - 0.5) > 0.1


def test_a_number_below_one_cut_after_another_has_the_law_of_noise(monkeypatch):
    """Whatever is rejected is drawn up to six times; a geometric number of 2 is one of at least 2."""
    rate, many = Fraction(2), 2
    q = math.exp(-float(rate))

    def geometric(core: Coins, _: Fraction) -> int:
        core.most -= 1
        if core.most < 0:
            raise Stop
        return next((x for x in range(many) if not core.draws.bernoulli(Exp(-rate))), many)

    monkeypatch.setattr(Coins, "geometric", geometric)
    monkeypatch.setattr(noisy_top_k, "group_bernoullis", lambda core, weights: core.draws.group_bernoullis(weights))

    def draw(core: Coins) -> int:
        run, last = _Run(core, Weights(np.array([0]), rate)), None
        for cut in (3, 1, None):
            run.descend(cut, last)
            if run.found:
                break
            last = cut
        (found,) = run.found
        assert found.above == (found.integer >= 0)
        return found.integer

    found = followed(draw, 6, "geometric")
    right = {z: (1 - q) * q ** (z if z >= 0 else -z - 1) / 2 for z in range(-many, 3 + many)}
    right |= {-many - 1: q**many / 2, 3 + many: q ** (3 + many) / 2}
    assert set(found) == set(right)
    assert all(float(p) == pytest.approx(right[z], rel=1e-6) for z, p in found.items())


def test_k_are_found_however_few_reach_the_first_cuts(monkeypatch):
    """The first cut expects one of twelve candidates, each later one twice as many; every draw has k different ones."""
    weights, k = Weights(np.array([4, 2, 0]), Fraction(1, 2), np.array([1, 4, 7])), 3
    monkeypatch.setattr(noisy_top_k, "SPARE", 1 - 2 * k)
    monkeypatch.setattr(noisy_top_k, "LOWER", 2)
    assert {len(set(noisy(SeededDraws(seed)).noisy_top(weights, k))) for seed in range(50)} == {k}
