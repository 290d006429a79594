"""What comes near the best: every candidate has one place, by its score, and is found again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from dpselect.draws import Weights
from dpselect.draws.near import nearest

SCORES = some.lists(some.integers(-3, 12) | some.integers(-(2**63), 2**63 - 1), min_size=2, max_size=40)


@given(
    SCORES, some.integers(1, 40), some.sampled_from([Fraction(1, 50), Fraction(1, 2), Fraction(7)]), some.integers(0, 9)
)
def test_every_candidate_has_one_place(scores, k, rate, reach):
    """All that may be near are there once, with their own scores; the others are what lies beyond."""
    weights = Weights(np.array(scores, dtype=np.int64), rate)
    near = nearest(weights, min(k, len(scores)), reach)
    every = [(place, member) for place in range(len(near)) for member in range(near.weights.size(place))]
    found = near.candidates(every)
    assert {member for _, member in found} <= {0}
    groups = [group for group, _ in found]
    assert [scores[group] for group in groups] == [int(near.weights.scores[place]) for place, _ in every]
    assert sorted([*groups, *near.beyond(len(near)).tolist()]) == list(range(len(scores)))
    assert all(a >= b for a, b in zip(near.weights.scores[:-1], near.weights.scores[1:], strict=True))
    best = sorted(scores, reverse=True)[min(k, len(scores)) - 1]
    assert all(rate * (best - scores[group]) > reach for group in near.beyond(len(near)).tolist())
    for end in range(len(near) + 1):
        first = {group for (place, _), group in zip(every, groups, strict=True) if place < end}
        assert set(near.beyond(end).tolist()) == set(range(len(scores))) - first


@given(SCORES, some.integers(1, 39))
def test_a_few_names_are_those_that_many_are(scores, k):
    """They are looked up one by one, many in one pass."""
    near = nearest(Weights(np.array(scores, dtype=np.int64), Fraction(1)), min(k, len(scores)), 48)
    every = [(place, member) for place in range(len(near)) for member in range(near.weights.size(place))]
    assert near.candidates(every) == [near.candidates([one])[0] for one in every]
    if k > 5:  # all of them above what was counted by value
        assert near.candidates(every[:5]) == [near.candidates([one])[0] for one in every[:5]]


@pytest.mark.parametrize("k", [1, 3, 10])
def test_no_score_decides_whether_equal_ones_are_put_together(k):
    """One user moves the range of all counts across any number: the same way is gone."""
    counts = np.random.default_rng(0).integers(0, 400, size=100)
    counts[:2] = 400, 0
    for moved in range(-2, 3):
        counts[0] = 400 + moved
        assert nearest(Weights(counts, Fraction(1)), k, 48).counts is not None
        assert nearest(Weights(counts, Fraction(1, 100)), k, 48).counts is None
