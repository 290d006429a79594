"""Counts with whole Laplace noise that decide and are shown: their whole law is private for all neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations_with_replacement

import numpy as np
import pytest
from flint import arb

from dpselect._ground.privacy import PureDP
from dpselect.accounting.prices import divergence
from dpselect.draws import many_noises
from dpselect.mechanisms import CountLaplace
from dpselect.mechanisms.set_union.release_laws import DiscreteLaplaceTail
from dpselect.testing import ExactDraws, SeededDraws, law
from tests.twins import unions as broken

SETTINGS = [
    ("1", "0.02", 1),
    ("1", "0.02", 2),
    ("1", "0.05", 3),
    ("1/2", "0.01", 2),
    ("2", "0.3", 2),
    ("1/5", "0.4", 2),
]
FAR = 45  # counts above the threshold that are told apart; the last stands for all beyond
Shown = Callable[[DiscreteLaplaceTail, int], np.ndarray]
"""Of an item of so many users: P(not released), P(the least count is shown), P(that and 1), ..."""


def made(epsilon: str, delta: str, most: int) -> CountLaplace:
    return CountLaplace(epsilon=epsilon, delta=delta, max_items_per_user=most)


@cache
def decided(tail: DiscreteLaplaceTail, users: int) -> np.ndarray:
    """What is shown is what decided: n + Z from the threshold on, Z of the textbook."""
    return np.array([1.0] + [0.0] * FAR) if users == 0 else _above(tail, users)


@cache
def anew(tail: DiscreteLaplaceTail, users: int) -> np.ndarray:
    """A twin: released by one noise, and shown with another, which is not paid for."""
    if users == 0:
        return decided(tail, 0)
    q, hidden = math.exp(-tail.rate), _above(tail, users)[0]
    shown = (1 - q) / (1 + q) * q ** np.abs(np.arange(-12, FAR - 12) - users)
    return np.concatenate([[hidden], (1 - hidden) * shown / shown.sum()])


def _above(tail: DiscreteLaplaceTail, users: int) -> np.ndarray:
    q, least = math.exp(-tail.rate), int(tail.threshold)
    seen = (1 - q) / (1 + q) * q ** np.abs(np.arange(least, least + FAR) - users)
    beyond = least + FAR - users
    seen[-1] += q**beyond / (1 + q)
    return np.concatenate([[1 - seen.sum()], seen])


def neighbours(tail: DiscreteLaplaceTail, most: int, shown: Shown) -> list[tuple[np.ndarray, np.ndarray]]:
    """The laws without and with a user of up to `most` items, whatever others have around the threshold."""
    last, found = int(tail.threshold), []
    for size in range(1, most + 1):
        for counts in combinations_with_replacement(sorted({0, 1, 2, last - 2, last - 1, last, last + 2} - {-1}), size):
            both = ([shown(tail, users + more) for users in counts] for more in (0, 1))
            found.append(tuple(reduce(np.multiply.outer, items) for items in both))
    return found


def worst(tail: DiscreteLaplaceTail, epsilon: Fraction, most: int, shown: Shown = decided) -> tuple[float, float]:
    """The largest delta when a user is added, and when one is removed."""
    factor = math.exp(epsilon)
    pairs = neighbours(tail, most, shown)
    return tuple(
        max(float(np.maximum(pair[1 - way] - factor * pair[way], 0).sum()) for pair in pairs) for way in (0, 1)
    )


@pytest.mark.parametrize(("epsilon", "delta", "most"), SETTINGS)
def test_the_delta_of_the_release_is_the_claimed_one(epsilon, delta, most):
    """1 - (1 - p)^most, when a user is added whose items are all new; a threshold one lower is too much."""
    right = made(epsilon, delta, most)
    claim = 1 - (1 - _above(right.law, 1)[1:].sum()) ** most
    added, removed = worst(right.law, Fraction(epsilon), most)
    assert added == pytest.approx(claim, rel=1e-6)
    assert removed <= claim * (1 + 1e-9)
    assert claim <= Fraction(delta)
    assert right.threshold == 2 or worst(broken.one_lower(right.law), Fraction(epsilon), most)[0] > Fraction(delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "most", "twin", "reached"),
    [
        ("1", "0.02", 1, broken.one_lower, 0.0364),
        ("1/2", "0.01", 2, broken.one_lower, 0.0125),
        ("1", "0.02", 2, lambda tail: broken.without_root(tail, Fraction(1, 50)), 0.037),
        ("1", "0.05", 3, lambda tail: broken.without_root(tail, Fraction(1, 20)), 0.117),
        ("1/2", "0.01", 2, lambda tail: broken.without_root(tail, Fraction(1, 100)), 0.016),
        ("1", "0.02", 2, lambda _: broken.noise_for_one(Fraction(1), Fraction(1, 50), 2), 0.338),
    ],
)
def test_twins_of_the_threshold_are_refused(epsilon, delta, most, twin, reached):
    found = max(worst(twin(made(epsilon, delta, most).law), Fraction(epsilon), most))
    assert found == pytest.approx(reached, rel=0.03)
    assert found > Fraction(delta)


def test_a_noise_of_its_own_that_is_not_paid_is_refused():
    assert max(worst(made("1", "0.02", 1).law, Fraction(1), 1, anew)) == pytest.approx(0.338, rel=0.01)
    assert max(worst(made("1", "0.02", 2).law, Fraction(1), 2, anew)) == pytest.approx(0.095, rel=0.01)


def test_noise_where_nobody_has_an_item_is_refused():
    """A user of many items keeps two of them; the twin draws for the others too, which no other data list."""
    right = made("1", "0.02", 2)
    kept, others = decided(right.law, 1)[0] ** 2, _above(right.law, 0)[0]
    assert 1 - kept == pytest.approx(0.01378, rel=1e-3)
    assert 1 - kept * others**10 > 0.05


@pytest.mark.parametrize("order", [2, 5, 23])
@pytest.mark.parametrize(("epsilon", "delta", "most"), SETTINGS[:4])
def test_the_price_of_any_order_holds_and_is_nearly_reached(epsilon, delta, most, order):
    """With g = P without new items when a user is added, and (1 - m) P when one is removed: docs/composing.md."""
    right = made(epsilon, delta, most)
    price, n = float(right.divergence(order)), order - 1
    assert right.divergence(order) == most * divergence(PureDP(Fraction(epsilon) / most), order)
    found = []
    for without, given in neighbours(right.law, most, decided):
        shared = np.where(without > 0, given, 0.0)
        rest = float(shared.sum())
        assert 1 - rest <= Fraction(delta)
        for g, q in ((shared, without), (rest * without, given)):
            on = g > 0
            found.append(math.log(float((g[on] * (g[on] / q[on]) ** n).sum())) / n)
    assert 0.8 * price < max(found) <= price * (1 + 1e-9)


@pytest.mark.parametrize(("most", "expected"), [(1, 0.986), (5, 0.864), (10, 0.712), (30, 0.352)])
def test_several_items_cost_less_than_one_step(most, expected):
    assert float(made("1", "1e-6", most).divergence(23)) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("epsilon", "most", "least", "width"),
    [("1", 1, 15, 3), ("1", 2, 30, 6), ("1", 3, 45, 9), ("1", 5, 76, 15), ("1", 10, 156, 30), ("0.3", 1, 46, 10),
     ("0.3", 2, 94, 20), ("3", 1, 6, 1), ("3", 2, 11, 2)],
)  # fmt: skip
def test_least_counts_and_widths(epsilon, most, least, width):
    mechanism = made(epsilon, "1e-6", most)
    assert (mechanism.least, mechanism.width(0.05)) == (least, width)
    q = math.exp(-mechanism.rate)
    assert mechanism.deviation == pytest.approx(math.sqrt(2 * q) / (1 - q), rel=1e-12)


# ---- what is shown is what decided ------------------------------------------------------------------------


def test_the_real_call_shows_what_decided():
    mechanism = made("1", "0.1", 1)
    users = np.array([1, mechanism.least + 2], dtype=np.int64)

    def run(draws: ExactDraws) -> tuple[int, ...]:
        released = draws.bernoullis(users, 1, mechanism.law)
        noisy = iter(mechanism.noisy(users[released], draws))
        return tuple(next(noisy) - mechanism.least + 1 if one else 0 for one in released)

    found, (first, second) = law(run), (decided(mechanism.law, int(one)) for one in users)
    assert sum(map(float, (p.mid() for p in found.values()))) == pytest.approx(1, abs=1e-12)
    for (a, b), p in found.items():
        if max(a, b) < FAR:
            assert float(p.mid()) == pytest.approx(first[a] * second[b], rel=1e-9)


@pytest.mark.parametrize("weight", [1, 5, 7, 9])
def test_rejection_has_the_law_of_the_noise_given_that_it_reaches_the_threshold(weight, monkeypatch):
    """The real sampler, followed through two proposals; what needs a third is left out of both."""
    rate, weights = Fraction(3, 2), np.array([weight], dtype=np.int64)

    class TwiceError(Exception):
        pass

    class Counting(ExactDraws):
        def laplaces(self, rate: Fraction, n: int) -> list[int]:
            self.left -= 1
            if self.left < 0:
                raise TwiceError
            return super().laplaces(rate, n)

    def run(draws: Counting) -> int:
        draws.left = 2
        try:
            return int(many_noises.laplaces_above(draws, rate, 6, weights)[0])
        except TwiceError:
            return -1

    monkeypatch.setattr(many_noises, "laplaces", lambda core, rate, n: core.laplaces(rate, n))
    found = law(run, Counting)
    decided_here = 1 - found.pop(-1)
    expected = law(lambda draws: int(draws.laplaces_above(rate, 6, weights)[0]))
    assert float(decided_here.mid()) > 0.75
    for steps in range(12):
        assert float((found.get(steps, arb(0)) / decided_here).mid()) == pytest.approx(
            float(expected[steps].mid()), rel=1e-9
        )


def test_many_are_drawn_at_once_and_none_is_below_the_threshold():
    weights = np.array([1, 14, 15, 40, 10**9] * 50, dtype=np.int64)
    found = SeededDraws(1).laplaces_above(Fraction(1), 15, weights)
    assert found.min() >= 0
    assert np.all(np.abs(found - np.maximum(weights - 15, 0)) < 60)
    assert SeededDraws(1).laplaces_above(Fraction(1), 15, weights[:0]).tolist() == []


@pytest.mark.parametrize("true", [1, 30, 70, 76, 100, 1000])
def test_an_interval_leaves_out_the_true_number_as_rarely_as_said(true):
    """Exactly: the probability of all noisy counts whose interval misses, given that the item is released."""
    mechanism = made("1", "1e-6", 5)
    q, least = math.exp(-mechanism.rate), mechanism.least
    noisy = np.arange(least, max(least, true) + 400)
    masses = q ** np.abs(noisy - true).astype(float)
    missed = [mass for count, mass in zip(noisy.tolist(), masses, strict=True) if not _has(mechanism, count, true)]
    assert 0.003 < sum(missed) / masses.sum() <= 0.05


def _has(mechanism: CountLaplace, count: int, true: int) -> bool:
    low, high = mechanism.interval(count, 0.05)
    assert 1 <= low <= count <= high
    return low <= true <= high


def test_an_interval_just_above_the_threshold_goes_down_to_one_user():
    mechanism = made("1", "1e-6", 5)
    q = math.exp(-mechanism.rate)
    for step in range(40):
        low, _ = mechanism.interval(mechanism.least + step, 0.05)
        assert (low == 1) == (q**step > 0.025)
    assert mechanism.interval(1000, 0.05) == (1000 - mechanism.width(0.05), 1000 + mechanism.width(0.05))
