"""Counts with Gaussian noise that decide and are shown: the whole law is private for all neighbours; twins fail."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.accounting.gaussian_curve import gaussian_delta, smallest_deviation
from dpselect.aggregates.user_sets import UserSets
from dpselect.draws import CertifiedDraws
from dpselect.draws.gaussian_tails import TABLE_ENTRIES_PER_BALL, Tail, exact
from dpselect.mechanisms import CountGaussian
from dpselect.mechanisms.set_union.count_gaussian import _noise, _released, joint_threshold, too_much
from dpselect.mechanisms.set_union.release_laws import GaussianTail, root_up
from dpselect.testing import ExactDraws, SeededDraws, hockey_stick, law
from tests.exact.laws import BITS, at_most
from tests.exact.test_samplers import Script

NONE = -1
Shown = Callable[[GaussianTail, int], dict[int, arb]]
"""What is shown of an item of so many users, NONE where it is not released, and with which probability."""


@cache
def decided(tail: GaussianTail, users: int) -> dict[int, arb]:
    """What is shown is what decided: by how many whole steps it is above the threshold."""
    if users == 0:
        return {NONE: arb(1)}
    noise = Tail(tail.threshold, tail.deviation)
    reach = noise.reach // 2 + users
    with ctx.workprec(BITS):
        left = [noise.at(users - j, BITS) for j in range(reach)]
        return {NONE: 1 - left[0], reach - 1: left[-1]} | {j: a - b for j, (a, b) in enumerate(pairwise(left))}


@cache
def anew(tail: GaussianTail, users: int) -> dict[int, arb]:
    """A twin: released by one noise, and shown with another, which is not paid for."""
    if users == 0:
        return {NONE: arb(1)}
    with ctx.workprec(BITS):
        released = tail.of_gap(tail.threshold - users)
        below = [1 - tail.of_gap(Fraction(2 * x + 1, 2) - users) for x in range(-60, 80)]
        return {NONE: 1 - released} | {100 + x: (b - a) * released for x, (a, b) in enumerate(pairwise(below))}


def laws(tail: GaussianTail, counts: tuple[int, ...], shown: Shown) -> dict[tuple[int, ...], arb]:
    with ctx.workprec(BITS):
        found = {(): arb(1)}
        for users in counts:
            found = {(*a, s): p * q for a, p in found.items() for s, q in shown(tail, users).items()}
        return found


def worst(tail: GaussianTail, epsilon: Fraction, most: int, highest: int, shown: Shown = decided) -> arb:
    """The largest delta over all neighbours of up to `most` items of up to so many users, in both directions."""
    found = [arb(0)]
    for counts in product(range(highest + 1), repeat=most):
        if list(counts) != sorted(counts):
            continue
        one, other = (laws(tail, tuple(c + more for c in counts), shown) for more in (0, 1))
        found += [hockey_stick(one, other, epsilon), hockey_stick(other, one, epsilon)]
    return max(found, key=lambda delta: float(delta.mid()))


def made(epsilon: str, delta: str, most: int) -> CountGaussian:
    return CountGaussian(epsilon=epsilon, delta=delta, max_items_per_user=most)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "0.1"), ("1/2", "0.3"), ("3", "0.01"), ("1/100", "0.4")])
@pytest.mark.parametrize(("most", "highest"), [(1, 12), (2, 4)])
def test_noisy_counts_are_private_for_all_neighbours(epsilon, delta, most, highest):
    assert at_most(worst(made(epsilon, delta, most).law, Fraction(epsilon), most, highest), Fraction(delta))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_user_alone_uses_all_of_delta_that_is_left(most):
    """All items new: nothing is lost but what rounding leaves. In small laws some other number of new items decides."""
    mechanism = made("1", "1e-6", most)
    with ctx.workprec(BITS):
        assert float(_released(mechanism.law, most).mid()) == pytest.approx(1e-6, rel=1e-9)
        assert float(_noise(mechanism.deviation, Fraction(1), most).mid()) == pytest.approx(1e-6, rel=1e-9)


def test_a_noise_of_its_own_that_is_not_paid_is_refused():
    right = made("1", "0.1", 1)
    assert not at_most(worst(right.law, Fraction(1), 1, 12, anew), Fraction(1, 10))


def test_a_threshold_that_forgets_items_that_are_not_new_is_refused():
    """A twin whose threshold takes all of delta, and whose noise does too, where both can fail for one user."""
    epsilon, delta = Fraction(1, 100), Fraction(2, 5)
    deviation = smallest_deviation(epsilon, delta) * root_up(Fraction(2))
    both = GaussianTail(joint_threshold(deviation, epsilon, delta, 2), deviation)
    low = both.threshold
    with ctx.workprec(BITS):
        while _released(GaussianTail(low - Fraction(1, 100), deviation), 2) <= enclose(delta):
            low -= Fraction(1, 100)
    assert low < both.threshold
    forgets = GaussianTail(low, deviation)
    assert too_much(both, epsilon, delta, 2) is None
    assert too_much(forgets, epsilon, delta, 2) == 1
    assert at_most(worst(both, epsilon, 2, 4), delta)


def test_less_noise_is_refused():
    right = made("1", "0.01", 1)
    less = GaussianTail(right.threshold, right.deviation * Fraction(3, 4))
    assert not at_most(worst(less, Fraction(1), 1, 12), Fraction(1, 100))


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.01", "0.3"), ("5", "0.9"), ("1/1000", "1e-30")])
@pytest.mark.parametrize("most", [1, 2, 10, 3000])
def test_every_number_of_new_items_is_paid_and_hardly_more(epsilon, delta, most):
    mechanism, epsilon, delta = made(epsilon, delta, most), Fraction(epsilon), Fraction(delta)
    with ctx.workprec(BITS):
        for new in range(0, most + 1, max(most // 100, 1)):
            noise = _noise(mechanism.deviation, epsilon, most - new)
            assert _released(mechanism.law, new) + noise <= enclose(delta)
    assert too_much(mechanism.law, epsilon, delta, most) is None
    lower = mechanism.threshold - (abs(mechanism.threshold) + 1) / 10**9
    assert too_much(GaussianTail(lower, mechanism.deviation), epsilon, delta, most) is not None


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("1/10", "1/10")])
def test_beyond_many_items_of_a_user_halves_are_enough(epsilon, delta):
    mechanism = made(epsilon, delta, 2**30)
    assert too_much(mechanism.law, Fraction(epsilon), Fraction(delta), 2**30) is None
    assert mechanism.deviation == smallest_deviation(Fraction(epsilon), Fraction(delta) / 2) * root_up(Fraction(2**30))


def test_the_delta_of_noise_on_so_many_items_is_that_of_their_distance():
    with ctx.workprec(BITS):
        assert _noise(Fraction(30), Fraction(1), 9) >= gaussian_delta(Fraction(10), Fraction(1))
        assert float(_noise(Fraction(30), Fraction(1), 9).mid()) == pytest.approx(
            float(gaussian_delta(Fraction(10), Fraction(1)).mid()), rel=1e-12
        )
        assert _noise(Fraction(30), Fraction(1), 0) == 0


# ---- what is shown is what decided ------------------------------------------------------------------------


def test_the_real_call_shows_what_decided():
    mechanism = made("1", "0.1", 1)
    users = np.array([1, 4], dtype=np.int64)

    def run(draws: ExactDraws) -> tuple[int, ...]:
        released = draws.bernoullis(users, 1, mechanism.law)
        noisy = iter(mechanism.noisy(users[released], draws))
        return tuple(next(noisy) if one else NONE for one in released)

    found, first, second = law(run), *(decided(mechanism.law, int(one)) for one in users)
    for (a, b), p in found.items():
        one, other = (d.get(x if x == NONE else x - mechanism.least, arb(0)) for d, x in ((first, a), (second, b)))
        if float(p.mid()) > 1e-9:
            assert float(p.mid()) == pytest.approx(float((one * other).mid()), rel=1e-6)
    assert float(sum(found.values()).mid()) == pytest.approx(1, abs=1e-12)


def test_noisy_counts_lie_above_the_threshold_by_whole_steps():
    mechanism = made("1", "1e-6", 10)
    sets = UserSets.from_sets([["a"], ["a", "b"]] * 200 + [["c"]])
    codes, users = mechanism.weighed(sets, SeededDraws(1))
    assert codes.tolist() == mechanism(sets, draws=SeededDraws(1)).tolist() == [0, 1]
    assert users.tolist() == [400, 200]
    noisy = mechanism.noisy(users, SeededDraws(2))
    assert all(abs(a - b) < 10 * mechanism.deviation for a, b in zip(noisy, users.tolist(), strict=True))
    assert mechanism.noisy(np.array([1], dtype=np.int64), SeededDraws(3))[0] >= mechanism.least > mechanism.threshold


@pytest.mark.parametrize("true", [1, 30, 70, 100, 1000])
def test_an_interval_leaves_out_the_true_number_as_rarely_as_said(true):
    """Exactly: the probability of all noisy counts whose interval misses, given that the item is released."""
    mechanism, missed = made("1", "1e-6", 10), 0.0
    noise = Tail(mechanism.threshold, mechanism.deviation)
    whole = float(noise.at(true, 96).mid())
    for step in range(max(0, true - mechanism.least - 100), true + 200):
        low, high = mechanism.interval(mechanism.least + step, 0.05)
        assert 1 <= low <= high
        if not low <= true <= high:
            missed += float((noise.at(true - step, 96) - noise.at(true - step - 1, 96)).mid()) / whole
    assert 0.015 < missed <= 0.05


@pytest.mark.parametrize(("epsilon", "most"), [("1", 10), ("0.01", 10), ("1/2", 1000)])
def test_an_interval_has_its_own_count_also_where_each_step_is_rare(epsilon, most):
    """Of wide noise the first steps above the threshold are rarer than 0.025 each, whatever the true number is."""
    mechanism = made(epsilon, "1e-6", most)
    for noisy in range(mechanism.least, mechanism.least + 20):
        low, high = mechanism.interval(noisy, 0.05)
        assert 1 <= low <= noisy <= high


# ---- the draws --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slack_bits", [36, 3])
@pytest.mark.parametrize("then", [0, 2**64 - 1])
@pytest.mark.parametrize("weight", [1, 40, 90, 10**7])
def test_words_next_to_a_step_are_decided_as_it_demands(weight, then, slack_bits):
    """U lies next to G(w - m) / G(w), on either side, and its further bits decide."""
    tail = Tail(Fraction(701, 10), Fraction(134, 10))
    middle = max(weight - 110, 0)  # where G has turned, for those of many users
    with ctx.workprec(400):
        ratios = [tail.at(weight - m, 400) / tail.at(weight, 400) * 2**64 for m in (middle + 1, middle + 30)]
        words = [int(r.mid().floor().unique_fmpz()) + step for r in ratios for step in (-1, 0, 1)]
        words = [min(max(word, 1), 2**64 - 1) for word in words] * 12  # for many a table is made
        draws = CertifiedDraws(Script(words, then), secure=False, slack_bits=slack_bits)
        weights = np.full(len(words), weight, dtype=np.int64)
        found = draws.gaussians_above(tail.deviation, tail.threshold, weights)
        for word, steps in zip(words, found.tolist(), strict=True):
            u = (arb(word) + arb(then) / 2**64 + arb(then) / 2**128) / 2**64
            assert tail.at(weight - steps, 400) > u * tail.at(weight, 400)
            assert tail.at(weight - steps - 1, 400) <= u * tail.at(weight, 400) + arb(2) ** -180


def test_what_floats_propose_is_what_balls_decide():
    draws, often = SeededDraws(7), SeededDraws(7, slack_bits=3)
    weights = np.array([1, 50, 72, 80, 100, 1000, 10**9] * 40, dtype=np.int64)
    terms = Fraction(134, 10), Fraction(725, 10), weights
    assert draws.gaussians_above(*terms).tolist() == often.gaussians_above(*terms).tolist()
    assert draws.refined < 3 < often.refined


def test_where_floats_vanish_balls_decide():
    """Noise 49 deviations away: G is 0 in floats, and no number lies below the threshold."""
    draws, terms = SeededDraws(2), (Fraction(1), Fraction(50), np.full(20, 1, dtype=np.int64))
    assert draws.gaussians_above(*terms).tolist() == [0] * 20
    assert draws.refined == 20


def test_few_numbers_of_wide_noise_have_no_table():
    """A table of 800,000 entries would be made for one number."""
    draws, terms = SeededDraws(2), (Fraction(30_000), Fraction(150_000))
    assert 0 <= draws.gaussians_above(*terms, np.array([1], dtype=np.int64))[0] < 10**6
    assert draws.refined == 1
    many = Tail(Fraction(151), Fraction(30)).entries(np.full(60, 100, dtype=np.int64))
    found = draws.gaussians_above(Fraction(30), Fraction(151), np.full(60, 100, dtype=np.int64))
    assert many < TABLE_ENTRIES_PER_BALL * 60
    assert draws.refined < 5
    assert min(found) >= 0


def test_wide_noise_has_no_table_and_none_is_drawn_for_nobody():
    draws = SeededDraws(2)
    found = draws.gaussians_above(Fraction(10**6), Fraction(5 * 10**6), np.array([1, 10**7], dtype=np.int64))
    assert draws.refined == 2
    assert 0 <= found[0] < 10**6 < found[1] < 10**7
    assert draws.gaussians_above(Fraction(1), Fraction(1), np.zeros(0, dtype=np.int64)).tolist() == []
    assert exact(draws, 0, Tail(Fraction(0), Fraction(1)), 5) > 10  # the first 64 bits of U are 0
