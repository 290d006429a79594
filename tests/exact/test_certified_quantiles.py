"""Certified quantiles: the price over all neighbours, the least bounds, and how often they hold; twins are refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement
from math import comb

import numpy as np
import pytest
from flint import ctx

from dpselect._ground.privacy import BoundedRange, PureDP, Steps
from dpselect._ground.reals import Exp
from dpselect.accounting.prices import ceiling
from dpselect.aggregates.value_counts import UsersAt
from dpselect.mechanisms import CertifiedQuantiles, Quantile, RecursiveQuantiles
from dpselect.mechanisms.certified_quantiles import CertifiedValues, count_cells, rank_noises
from dpselect.mechanisms.rank_noise import RankNoise, chernoff_bound, noise_bound, total_width
from dpselect.testing import SeededDraws, law
from tests.exact.cells import both_ways, law_of_cells, values_and_cells, with_noise
from tests.exact.laws import BITS, at_most, delta_between, largest, max_log_ratio
from tests.twins import certified as broken

BETA = 0.05


def quantiles(**more) -> CertifiedQuantiles:
    return CertifiedQuantiles(**{"bounds": (0, 2), "step": 1, "epsilon": 2} | more)


def neighbours(points: int, most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Values of up to so many users, and those with one more."""
    for n in range(most + 1):
        for values in combinations_with_replacement(range(points), n):
            for one in range(points):
                yield values, tuple(sorted((*values, one)))


QUARTERS = (Fraction(1, 4), Fraction(3, 4))
CASES = {
    "median": (quantiles(), (3, 3)),
    "an outer quantile": (quantiles(q=Fraction(9, 10)), (3, 3)),
    "quartiles": (quantiles(q=QUARTERS), (3, 2)),
    "quartiles with a delta": (quantiles(q=QUARTERS, bounds=(0, 1), delta=Fraction(1, 4)), (2, 3)),
}


def noisy_laws(mechanism):
    """The law of values and noisy cells of one of two data sets that are compared."""
    alone = cache(lambda values: law_of_cells(mechanism, list(values)))
    return lambda both: with_noise(alone(both[0]), alone(both[1]), mechanism.rate)


@pytest.mark.parametrize("case", CASES)
def test_the_price_is_kept_over_all_neighbours(case):
    mechanism, (points, most) = CASES[case]
    laws, worst = noisy_laws(mechanism), []
    for a, b in both_ways(neighbours(points, most)):
        assert at_most(delta_between(laws(a), laws(b), Fraction(2)), mechanism.privacy.delta)
        worst += [max_log_ratio(laws(a), laws(b)), max_log_ratio(laws(b), laws(a))]
    assert mechanism.privacy.epsilon == 2
    assert float(largest(worst).mid()) > 0.35 * 2  # of a median it is 0.71 of the price


def test_the_law_with_noise_is_that_of_the_real_call():
    """Where noise is rare every outcome can be followed: values, then each cell with noise of its own."""
    mechanism = quantiles(epsilon=240)
    assert mechanism.rate == 24
    q = Exp(-mechanism.rate).ball(BITS)
    values = [0, 1, 1]
    cells = dict(key for key in law_of_cells(mechanism, values))
    picks = {key[0]: p for key, p in law_of_cells(mechanism, values).items()}
    found = law(lambda draws: values_and_cells(mechanism(values, draws=draws)))
    with ctx.workprec(BITS):
        for (value, noisy), p in found.items():
            noise = picks[value]
            for mine, true in zip(noisy, cells[value], strict=True):
                noise *= (1 - q) / (1 + q) * q ** abs(mine - true)
            assert abs(float((p / noise).mid()) - 1) < 1e-12
    assert len(found) > 50


# ---- cells --------------------------------------------------------------------------------------------------

USERS = [((0, 2), (1,), (1, 0), (2, 1)), ((0,), (0,), (1, 2), (2, 0))]  # values of users, of which the first counts
ANOTHER = (1, 0)


def moved(cells: broken.Cells) -> int:
    """By how much all cells together change at most if one more user is there, whatever was released."""
    mechanism, most = quantiles(q=QUARTERS), 0
    for users in USERS:
        for places in ((0, 1), (1, 1), (1, 2), (0, 2)):
            without, there = (cells(mechanism, of, places) for of in (users, (*users, ANOTHER)))
            assert len(without) == len(there)
            most = max(most, sum(abs(a - b) for a, b in zip(without, there, strict=True)))
    return most


def test_one_user_moves_one_cell_by_one():
    assert moved(broken.counted) == 1


@pytest.mark.parametrize(
    "twin", [broken.at_both_sides, broken.of_all_values, broken.at_the_true_quantiles, broken.with_all_users]
)
def test_cells_that_a_user_moves_further_are_refused(twin):
    """The step costs the rate times that, and promises the rate."""
    assert moved(twin) > 1


def test_cells_are_the_same_from_an_array_and_from_counts():
    random = np.random.default_rng(1)
    places = random.integers(0, 30, 500)
    ends = [(3, 3), (7, 8), (20, 20)]
    found = count_cells(places, ends)
    assert found == count_cells(UsersAt.counted(np.sort(places)), ends)
    assert sum(found) == 500
    assert found[3] == np.count_nonzero((places == 7) | (places == 8))
    assert count_cells(UsersAt.counted(places[:0]), ends) == [0] * 7


def test_points_that_are_one_number_are_one_value():
    """Neighbouring points beyond the digits of floats are released as one number, and so they are one cell."""
    low = 2**60
    mechanism = quantiles(q=QUARTERS, bounds=(Fraction(low) - Fraction(1, 2), low + 3), step=1, epsilon=400)
    found = mechanism([low] * 5 + [low + 2] * 5, draws=SeededDraws(1))
    assert len(set(found.values)) == 1
    assert found.below[0] == found.below[1]
    assert abs(found.users - 10) < 5


# ---- bounds -------------------------------------------------------------------------------------------------


@cache
def law_of_sum(rate: float, times: int, reach: int) -> np.ndarray:
    """The law of a sum of noises from -reach to reach, by adding them up one after another."""
    q = np.exp(-rate)
    one = (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))
    found = np.zeros(2 * reach + 1)
    found[reach] = 1
    for _ in range(times):
        found = np.convolve(found, one)[reach : 3 * reach + 1]
    return found


def beyond(rate: float, noises: list[RankNoise], t: int) -> float:
    """The sum of P(noise > t): for each sum z of the first noises, all sums of the others below ((1 - q) z - t) / q."""
    reach, total = int(45 / rate), 0.0
    for q, below, other in noises:
        for z, mass in zip(range(-reach, reach + 1), law_of_sum(rate, below, reach), strict=True):
            most = reach if q == 0 and z > t else -reach - 1 if q == 0 else ((((1 - q) * z - t) / q).__ceil__() - 1)
            total += mass * float(law_of_sum(rate, other, reach)[: max(0, most + reach + 1)].sum())
    return total


@pytest.mark.parametrize(("ranks", "which"), [(1, [0]), (3, [0, 1, 2]), (3, [0, 0, 1]), (4, [0, 1, 1, 1])])
def test_the_bound_is_the_least(ranks, which):
    rate, q = Fraction(1, 4), [Fraction(i, ranks + 1) for i in range(1, ranks + 1)]
    noises = rank_noises(q, which)
    t = noise_bound(rate, noises, BETA)
    assert beyond(0.25, noises, t) <= BETA < beyond(0.25, noises, t - 1)
    assert t <= chernoff_bound(rate, noises, BETA) < 2 * t
    sums = [RankNoise(Fraction(0), 2 * ranks + 1, 0)] * 2
    assert beyond(0.25, sums, total_width(rate, 2 * ranks + 1, BETA)) <= BETA


def test_a_finer_rate_is_bounded_by_a_coarser_one():
    noises = rank_noises([Fraction(1, 4), Fraction(1, 2)], [0, 1])
    exact = noise_bound(Fraction(1, 50), noises, BETA)
    for times in (2, 7, 1000):
        assert exact * times < noise_bound(Fraction(1, 50 * times), noises, BETA) < 1.02 * exact * times


def test_what_the_bounds_come_to():
    """Over the rate: 2.5, 4.3, 8.0 and 12.3 for 1, 3, 9 and 19 quantiles."""
    for ranks, wanted in ((1, 2.5), (3, 4.4), (9, 8.0), (19, 12.3)):
        q = [Fraction(i, ranks + 1) for i in range(1, ranks + 1)]
        assert float(noise_bound(Fraction(1, 10), rank_noises(q, range(ranks)), BETA)) / 10 == wanted


# ---- how often they hold ------------------------------------------------------------------------------------


def true_misses(values, answer, shares) -> list[tuple[Fraction, Fraction]]:
    ordered, n = np.sort(values), len(values)
    below, upto = (ordered.searchsorted(answer.values, side) for side in ("left", "right"))
    return [(int(a) - q * n, n - int(b) - (1 - q) * n) for q, a, b in zip(shares, below, upto, strict=True)]


def held(mechanism, runs, answer, values, too_many) -> int:
    """In how many runs every true number is at most the stated one."""
    found = 0
    for run in range(runs):
        drawn = answer(SeededDraws(run))
        stated, true = too_many(mechanism, drawn, BETA), true_misses(values, drawn, mechanism.shares)
        found += all(a <= b and c <= d for (a, c), (b, d) in zip(true, stated, strict=True))
    return found


def chance(runs: int, least: int) -> float:
    """The chance of so few that hold, or fewer, were 95 % the truth."""
    return sum(comb(runs, k) * 0.95**k * 0.05 ** (runs - k) for k in range(least + 1))


RANDOM = np.random.default_rng(5)
TIED = np.concatenate([RANDOM.integers(0, 200, 400), np.full(400, 50)])
NINE = [Fraction(i, 10) for i in range(1, 10)]
RUNS = 60


@pytest.mark.parametrize("name", ["tied", "apart", "one value"])
def test_nineteen_of_twenty_answers_hold(name):
    values = {"tied": TIED, "apart": np.arange(800) / 4, "one value": np.full(800, 7)}[name]
    mechanism = CertifiedQuantiles(q=NINE, bounds=(0, 200), step=None if name == "apart" else 1, epsilon=1)
    users = UsersAt.counted(np.sort(mechanism.grid.indices_of(values)))

    def answer(draws):
        return mechanism(users, draws=draws)

    assert chance(RUNS, held(mechanism, RUNS, answer, values, CertifiedQuantiles.too_many)) > 1e-6
    if name == "apart":
        assert chance(RUNS, held(mechanism, RUNS, answer, values, broken.by_one_cell)) < 1e-6


def test_other_values_than_were_counted_are_refused():
    """Each user has two values, of which another one counts: the sentence is about other values."""
    values = np.array([[i, 9999 - i] for i in range(5000)])
    which = np.random.default_rng(1).integers(0, 2, (2, len(values)))
    chosen, others = (values[np.arange(len(values)), one] for one in which)
    mechanism = CertifiedQuantiles(q=NINE, bounds=(0, 9999), step=1, epsilon=20)
    of_others = partial(broken.of_another_key, mechanism, chosen, others)
    wrong = held(mechanism, 20, of_others, chosen, CertifiedQuantiles.too_many)
    right = held(mechanism, 20, lambda draws: mechanism(chosen, draws=draws), chosen, CertifiedQuantiles.too_many)
    assert chance(20, right) > 1e-6
    assert chance(20, wrong) < 1e-6


def test_no_answer_states_more_than_was_known_before():
    for q in (Fraction(1, 2), NINE):
        mechanism = CertifiedQuantiles(q=q, bounds=(0, 120), step=1, epsilon=1)
        most = mechanism.gap(BETA).__ceil__()
        for run in range(5):
            for one in mechanism.too_many(mechanism(TIED, draws=SeededDraws(run)), BETA):
                assert 0 <= max(one) <= most


def test_crowds_that_recursion_promises_nothing_of_are_bounded_by_cells():
    """Over 16 million users may share a value: what is known before does not hold of them."""
    mechanism = CertifiedQuantiles(q=NINE, bounds=(0, 9), step=1, epsilon=1)
    before = mechanism.gap(BETA)
    for users, cut in ((10**6, True), (RecursiveQuantiles.SHARED - 10, False)):
        all_below = CertifiedValues(values=[9] * 9, below=[users] * 9, above=[0] * 9, users=users)
        stated = [below for below, _ in mechanism.too_many(all_below, BETA)]
        assert (max(stated) == before) is cut
        assert (max(stated) > Fraction(9, 10) * users) is not cut


# ---- the price ----------------------------------------------------------------------------------------------


def test_what_it_is_made_of():
    assert quantiles(epsilon=1).privacy.steps == (
        Steps(BoundedRange(Fraction(9, 10)), 1),
        Steps(PureDP(Fraction(1, 10)), 1),
    )
    assert quantiles(q=NINE, epsilon=1).privacy.steps[0] == Steps(BoundedRange(Fraction(9, 40)), 4)
    for times, kind in ((50, Quantile), (50, RecursiveQuantiles)):
        q = [Fraction(i, times + 1) for i in range(1, times + 1)]
        with_delta = quantiles(q=q, epsilon=1, delta="1e-6", kind=kind)
        alone = kind(q=q, bounds=(0, 2), step=1, epsilon=1, delta="1e-6")
        assert with_delta.epsilon_per_pick > Fraction(88, 100) * alone.epsilon_per_pick
        assert with_delta.rate > Fraction(7, 100)


def test_an_account_that_composes_pays_less_for_a_median_than_without_cells():
    with_cells = ceiling(quantiles(epsilon=1).privacy, 20)
    assert with_cells.renyi < ceiling(Quantile(bounds=(0, 2), step=1, epsilon=1).privacy, 20).renyi
