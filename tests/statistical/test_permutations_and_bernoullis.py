"""The fast paths of orders, samples and Bernoulli draws at real sizes, where enumeration cannot go."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest

from dpselect.draws import SecureDraws, bernoullis
from tests.exact.monotone import Normal
from tests.statistical.judge import judge, size

ORDERS = list(permutations(range(4)))


def shuffled_by(swaps):
    """The distribution of a shuffle of 4 whose i-th swap takes place swaps[i] of those it is given."""
    found = Counter()
    for way in product(*swaps):
        order = list(range(4))
        for i, j in enumerate(way):
            order[i], order[j] = order[j], order[i]
        found[tuple(order)] += 1
    total = found.total()
    return {order: count / total for order, count in found.items()}


def test_an_order():
    """Judged at the front of a long order: which of the first four comes when."""
    draws = SecureDraws()

    def sample():
        found = draws.order(40)
        return tuple(found[found < 4].tolist())

    wrong = [shuffled_by([range(4)] * 4), shuffled_by([range(i + 1, 4) for i in range(3)])]
    judge(sample, dict.fromkeys(ORDERS, 1 / 24), wrong)


def test_a_sample_of_many_blocks():
    law = dict.fromkeys(combinations(range(5), 2), 1 / 10)
    first = {pair: 1 / 4 if 0 in pair else 0 for pair in law}
    near = {pair: 0.13 if 4 in pair else 0.08 for pair in law}
    n = size(law, [first, near])
    kept = SecureDraws().sample(np.arange(0, 5 * n + 1, 5), 2).reshape(n, 2) - 5 * np.arange(n)[:, None]
    found = iter(map(tuple, kept.tolist()))
    judge(lambda: next(found), law, [first, near])


def bernoulli(weight, probability):
    p = float(probability.at(weight).ball(64).mid())
    return {True: p, False: 1 - p}


@pytest.mark.parametrize("few", [2, 10**9], ids=["as shipped", "all decided exactly"])
@pytest.mark.parametrize("unit", [1 << 30, 1])
def test_draws_of_many_weights(monkeypatch, few, unit):
    """One call with many weights; the draws of each weight are judged by themselves."""
    monkeypatch.setattr(bernoullis, "MAX_OPEN_DRAWS", few)
    right, weights = Normal(Fraction(8), Fraction(3)), [Fraction(x, 4) for x in (12, 20, 44)]
    wrong = [Normal(Fraction(8), Fraction(3, 2)), Normal(Fraction(13, 2), Fraction(3))]
    sizes = [size(bernoulli(w, right), [bernoulli(w, law) for law in wrong]) for w in weights]
    given = np.array([float(w * unit) for w in weights]).repeat(sizes)
    found = SecureDraws().bernoullis(given.astype(np.int64) if unit > 1 else given, unit, right)
    for w, block in zip(weights, np.split(found, np.cumsum(sizes)[:-1]), strict=True):
        answers = iter(block.tolist())
        judge(lambda answers=answers: next(answers), bernoulli(w, right), [bernoulli(w, law) for law in wrong])


def test_draws_are_independent():
    """Pairs of draws of one call: the twins use one word for both, or the second one's opposite."""
    p = bernoulli(Fraction(7), Normal(Fraction(8), Fraction(3)))
    law = {(a, b): p[a] * p[b] for a in p for b in p}
    shared = {(a, b): p[a] if a == b else 0 for a in p for b in p}
    opposite = {(True, True): 0, (True, False): p[True], (False, True): p[True], (False, False): 1 - 2 * p[True]}
    n = size(law, [shared, opposite])
    found = SecureDraws().bernoullis(np.full(2 * n, 7.0), 1, Normal(Fraction(8), Fraction(3))).reshape(n, 2)
    pairs = iter(map(tuple, found.tolist()))
    judge(lambda: next(pairs), law, [shared, opposite])
