"""Noises that are drawn together: every coin is the truth of U < p, whatever the first 64 bits of U are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.reals import Exp, Logistic, Real
from dpselect.draws import CertifiedDraws
from dpselect.draws.many_noises import TWO_TO_64, certain, coins, gaussians, geometrics, laplaces
from dpselect.testing import SeededDraws
from tests.exact.test_samplers import Script

HALF, THIRD = Exp(Fraction(0), Fraction(1, 2)), Exp(Fraction(0), Fraction(1, 3))
ODD = [HALF, THIRD, Exp(Fraction(-1)), Exp(Fraction(-60)), Logistic(Fraction(1, 7)), Exp(Fraction(0)),
       Exp(Fraction(0), Fraction(0)), Exp(Fraction(0), Fraction(1, TWO_TO_64)), Exp(Fraction(-1, 10**30))]  # fmt: skip


@pytest.mark.parametrize("probability", ODD, ids=repr)
@pytest.mark.parametrize("slack_bits", [36, 3])
def test_words_next_to_the_probability_are_decided_as_it_demands(probability: Real, slack_bits: int) -> None:
    with ctx.workprec(400):
        exact = probability.ball(400) * TWO_TO_64
        centre = int(exact.mid().floor().unique_fmpz())
        words = sorted({min(max(centre + step, 0), TWO_TO_64 - 1) for step in range(-3, 4)} | {0, TWO_TO_64 - 1})
        for then in (0, TWO_TO_64 - 1):  # the next 64 bits
            draws = CertifiedDraws(Script(words, then), secure=False, slack_bits=slack_bits)
            found = coins(draws, probability, len(words)).tolist()
            assert found == [bool(exact > word + arb(then) / TWO_TO_64) for word in words]


@pytest.mark.parametrize("probability", ODD, ids=repr)
def test_what_is_certain_is_so(probability: Real) -> None:
    for slack in (0, 1, TWO_TO_64 >> 3):
        low, last = certain(probability, slack)
        assert 0 <= low <= last + 1 <= TWO_TO_64
        assert low < TWO_TO_64
        with ctx.workprec(400):
            exact = probability.ball(400) * TWO_TO_64
            assert low <= exact.upper()
            assert last + 1 >= exact.lower() or last == TWO_TO_64 - 1


def test_a_coin_that_only_its_first_bits_decide_is_found_out() -> None:
    """A twin that takes W < 2^64 p, rounded, for the answer: wrong for a third and the word at its place."""
    centre = TWO_TO_64 // 3
    for then, right in ((0, True), (TWO_TO_64 - 1, False)):
        draws = CertifiedDraws(Script([centre], then), secure=False)
        assert coins(draws, THIRD, 1).tolist() == [right]


@pytest.mark.parametrize("many", [geometrics, laplaces, gaussians])
def test_none_one_and_far_ones(many) -> None:
    draws = SeededDraws(1)
    assert many(draws, Fraction(1, 2), 0) == []
    assert len(many(draws, Fraction(1, 2), 1)) == 1
    if many is not gaussians:
        wide = many(draws, Fraction(1, 10**40), 3)  # beyond 64 bits
        assert max(map(abs, wide)) > 2**64
        assert len(set(wide)) == 3
    assert min(geometrics(draws, Fraction(1, 10**40), 64)) >= 0  # bits put together in 64 would turn half of the signs
    assert set(many(draws, Fraction(1000), 9)) <= {0} if many is not gaussians else True


@pytest.mark.parametrize("slack_bits", [36, 3])
def test_more_slack_draws_the_same_law_from_other_bits(slack_bits: int) -> None:
    """Means and spreads of many, far beyond what chance leaves: 12 deviations of the mean, 20 of the square."""
    n, rate, variance = 20_000, Fraction(1, 50), Fraction(900)
    for z, square in (
        (np.array(laplaces(SeededDraws(3, slack_bits=slack_bits), rate, n)), 2 * 50**2),
        (np.array(gaussians(SeededDraws(4, slack_bits=slack_bits), variance, n)), 900),
    ):
        assert abs(z.mean()) < 12 * (square / n) ** 0.5
        assert abs((z**2).mean() / square - 1) < 20 * (5 / n) ** 0.5
