"""Samplers of whole numbers over coins whose every outcome is followed: the law of the real code, to forty digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.reals import Exp, Real, enclose
from dpselect.draws import Weights, many_noises, noisy_top_k
from dpselect.draws.binomial import FEW, binomial
from dpselect.draws.core import Core, gaussian
from dpselect.draws.noisy_top_k import _Noisy, _order, _Run
from dpselect.testing import ExactDraws, Law, law
from tests.exact.laws import BITS, CLOSE

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
    assert n > FEW
    found = followed(lambda core: binomial(core, n, Exp(Fraction(0), p)), 1, "below")
    assert set(found) == set(range(n + 1))
    assert fits(found, lambda x: enclose(math.comb(n, x) * p**x * (1 - p) ** (n - x)), scaled=True)
    assert not fits(found, lambda x: enclose(math.comb(n, x) * p ** (n - x) * (1 - p) ** x), scaled=True)


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
