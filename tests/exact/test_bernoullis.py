"""Bernoulli draws of a monotone probability: buckets that hold their weights, bounds that hold, exact decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st

from dpselect._ground.reals import Exp, enclose
from dpselect.draws import CertifiedDraws, SecureDraws, bernoullis
from dpselect.draws.bernoullis import Buckets, word_bounds
from dpselect.errors import ParameterError
from dpselect.testing import ExactDraws, SeededBits, SeededDraws, law
from tests.exact.laws import same
from tests.exact.monotone import Normal
from tests.exact.test_samplers import Script


@dataclass(frozen=True)
class Growth:
    """min(1, e^(weight - end)): reaches 1."""

    end: Fraction

    def at(self, weight: Fraction) -> Exp:
        return Exp(min(Fraction(0), weight - self.end))


@dataclass(frozen=True)
class Step:
    """A fixed probability up to a weight, another beyond it."""

    until: Fraction
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)

    def at(self, weight: Fraction) -> Exp:
        return Exp(Fraction(0), self.low if weight <= self.until else self.high)


PROBABILITIES = {
    "normal": Normal(Fraction(8)),
    "narrow normal": Normal(Fraction(8), Fraction(1, 50)),
    "growth": Growth(Fraction(9)),
    "step": Step(Fraction(7)),
    "always": Step(Fraction(-1)),
    "never": Step(Fraction(10**400)),
    "a third, then two": Step(Fraction(7), Fraction(1, 3), Fraction(2, 3)),
}
UNIT = 1 << 30
WEIGHTS = {
    "few units": (np.array([1, 2, 3, 7, 8, 9, 30] * 40) * UNIT, UNIT),
    "spread": (np.arange(1, 400) * (UNIT // 20) + 7, UNIT),
    "one giant": (np.array([1, 2, 8, 9, 2**62]), 1),
    "ints that no float holds": (2**53 + np.arange(-3, 300), 2**50),
    "large ints of every last digit": (2**62 + np.arange(0, 5000, 7), 2**59),
    "all equal": (np.full(50, 8), 1),
    "floats": (np.linspace(0.001, 20, 500), 1),
    "extreme floats": (np.array([5e-324, 1e-300, 7.9, 8.1, 1e300, 1.7976931348623157e308] * 9), 1),
    "neighbours": (8 + np.arange(-200, 200) * 2.0**-49, 1),
}


def exact(weights, i, unit):
    return Fraction(weights[i].item()) / unit


def holds(weights, buckets) -> bool:
    """Whether every weight lies in its bucket."""
    starts = [buckets.start(int(b)) <= Fraction(w.item()) for w, b in zip(weights, buckets.index, strict=True)]
    ends = [  # the last bucket has no end: nobody asks for it
        b + 1 == len(buckets.counts) or Fraction(w.item()) < buckets.start(int(b) + 1)
        for w, b in zip(weights, buckets.index, strict=True)
    ]
    return all(starts) and all(ends)


@pytest.mark.parametrize("weights", [weights for weights, _ in WEIGHTS.values()], ids=WEIGHTS.keys())
def test_every_weight_lies_in_its_bucket(weights):
    buckets = Buckets.from_weights(weights)
    assert holds(weights, buckets)
    assert buckets.counts.sum() == len(weights)


def test_integers_rounded_to_the_nearest_float_would_be_refused():
    """The twin: rounded up, 2^53 + 3 would pass the start of its bucket."""
    weights = 2**53 + np.arange(-3, 300)
    assert not holds(weights, Buckets.from_weights(weights.astype(np.float64)))


@given(st.lists(st.integers(1, 2**63 - 1), min_size=1, max_size=60))
def test_every_integer_lies_in_its_bucket(weights):
    assert holds(np.array(weights), Buckets.from_weights(np.array(weights)))


@given(st.lists(st.floats(0, exclude_min=True, allow_infinity=False), min_size=1, max_size=60))
def test_every_float_lies_in_its_bucket(weights):
    assert holds(np.array(weights), Buckets.from_weights(np.array(weights)))


def bounded(weights, unit, probability, buckets) -> bool:
    """Whether low <= 2^64 p <= last + 1 at every weight."""
    low, last = word_bounds(buckets, unit, probability)
    for i, bucket in enumerate(buckets.index):
        p = probability.at(exact(weights, i, unit)).ball(256)
        with ctx.workprec(256):
            if p * 2**64 < int(low[bucket]) or p * 2**64 > int(last[bucket]) + 1:
                return False
    return True


@pytest.mark.parametrize("probability", PROBABILITIES.values(), ids=PROBABILITIES.keys())
@pytest.mark.parametrize(("weights", "unit"), WEIGHTS.values(), ids=WEIGHTS.keys())
def test_bounds_hold_the_probability_of_every_weight(weights, unit, probability):
    assert bounded(weights, unit, probability, Buckets.from_weights(weights))


@pytest.mark.parametrize("moved", [-1, 1])
def test_bounds_of_the_neighbouring_bucket_would_be_refused(moved):
    weights, unit = WEIGHTS["spread"]
    buckets = Buckets.from_weights(weights)
    wrong = replace(buckets, first=buckets.first + moved * (1 << buckets.shift + 4))
    assert not bounded(weights, unit, PROBABILITIES["narrow normal"], wrong)


ATOMS = {
    "at a cutoff": np.array([0.25, 3.5, 1.0] + [8.0] * 5000),
    "at the bottom": np.array([7.5] * 5000 + [80.0]),
    "in between": np.array([1, 30, *[8] * 5000]),
    "spread": np.linspace(0.001, 1000, 5000),
    "one in a million": np.array([*range(1, 5000), 2**62]),
}


@pytest.mark.parametrize("weights", ATOMS.values(), ids=ATOMS.keys())
def test_few_draws_are_left_to_balls(weights):
    """No distribution depends on it, only the time: without the cells all 5000 would be."""
    draws = SeededDraws(11)
    draws.bernoullis(weights, 1, PROBABILITIES["normal"])
    assert draws.refined < 250


@pytest.mark.parametrize("few", [0, 2, 10**9])
@pytest.mark.parametrize("probability", PROBABILITIES.values(), ids=PROBABILITIES.keys())
@pytest.mark.parametrize("then", [1, 2**64 - 2, 0x123456789ABCDEF0])
def test_every_answer_is_the_truth_of_u_below_p(monkeypatch, probability, then, few):
    """U is given: first the word nearest to p and its neighbours, then a word that repeats for ever."""
    monkeypatch.setattr(bernoullis, "MAX_OPEN_DRAWS", few)
    weights, unit = WEIGHTS["spread"]
    words, truth = [], []
    with ctx.workprec(1000):
        for i in range(len(weights)):
            p = probability.at(exact(weights, i, unit)).ball(1000)
            near = int((p * 2**64).mid().floor().unique_fmpz()) + i % 3 - 1
            words.append(min(max(near, 0), 2**64 - 1))
            repeating = enclose(Fraction(then, 2**64 - 1))
            truth.append(bool((words[-1] + repeating) / 2**64 < p.mid()))
    draws = CertifiedDraws(Script(words, then), secure=False)
    assert draws.bernoullis(weights, unit, probability).tolist() == truth


def test_the_distribution_of_the_exact_draws():
    def run(draws: ExactDraws) -> tuple[bool, ...]:
        return tuple(draws.bernoullis(np.array([0, 2, 1]), 2, Growth(Fraction(2))).tolist())

    high, low = (Exp(Fraction(-x)).ball(192) for x in (Fraction(1), Fraction(3, 2)))
    with ctx.workprec(192):
        expected = {
            (False, a, b): (high if a else 1 - high) * (low if b else 1 - low)
            for a in (False, True)
            for b in (False, True)
        }
    assert same(law(run), expected)


@pytest.mark.parametrize("make", [lambda: CertifiedDraws(SeededBits(1), secure=False), ExactDraws])
@pytest.mark.parametrize("wrong", [[1.0, float("nan")], [-1.0], [float("inf")], [-1], np.array([1], dtype=np.int32)])
def test_what_is_not_a_weight_is_refused(make, wrong):
    weights = np.asarray(wrong)
    with pytest.raises(ParameterError, match="weights") as caught:
        make().bernoullis(weights, 1, Growth(Fraction(1)))
    assert "nan" not in str(caught.value)


def test_a_weight_of_zero_never_succeeds():
    draws = SecureDraws()
    assert draws.bernoullis(np.zeros(5), 1, Step(Fraction(-1))).tolist() == [False] * 5
    assert draws.bernoullis(np.zeros(0, dtype=np.int64), 1, Step(Fraction(-1))).tolist() == []
    assert draws.bernoullis(np.array([0, 3, 0]), 1, Step(Fraction(-1))).tolist() == [False, True, False]
