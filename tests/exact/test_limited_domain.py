"""Limited domain: the law is Algorithm 1, the price is Theorem 1, and every way to get it wrong is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.mechanisms import LimitedDomain
from dpselect.papers import ChosenKBar
from dpselect.testing import law
from tests.exact.grids import pairs
from tests.exact.laws import BITS, cached_laws, law_of, private, same
from tests.twins import selection as broken


def algorithm_1(counts, k, k_bar, rate, delta, touched=None):
    """Durfee and Rogers 2019, Algorithm 1: peel the k_bar best items, bottom, and items of count 0 that fill up.

    Written apart from the code: recursion over the items left, probabilities as balls.
    """
    order = sorted((i for i, c in enumerate(counts) if c > 0), key=lambda i: (-counts[i], i))
    inside, after = order[:k_bar], [counts[i] for i in order[k_bar : k_bar + 1]]
    height = (after[0] if after else 0) + 1
    found = {}
    with ctx.workprec(BITS):
        swaps = k_bar if touched is None else min(touched, k_bar)
        stop = enclose(rate * height).exp() * enclose(swaps / delta) + (k_bar - len(inside))
        weight = {i: enclose(rate * counts[i]).exp() for i in inside}

        def walk(picked, p):
            if len(picked) == k:
                found[picked] = p
                return
            left = [i for i in inside if i not in picked]
            total = sum((weight[i] for i in left), stop)
            found[picked] = p * stop / total
            for i in left:
                walk((*picked, i), p * weight[i] / total)

        walk((), arb(1))
    return found


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("touched", [None, 1, 2])
def test_the_law_is_algorithm_1(k, touched):
    rate, delta = Fraction(1, 2), Fraction(1, 10)
    mechanism = LimitedDomain(
        k=k, k_bar=3, epsilon_per_pick=rate, delta=delta, delta_threshold=delta, max_items_per_user=touched
    )
    for counts in [(0, 0, 0, 0), (3, 1, 0, 0), (2, 2, 2, 2), (1, 3, 0, 2), (5, 4, 1, 2)]:
        assert same(law_of(mechanism, counts), algorithm_1(counts, k, 3, rate, delta, touched))
        rows = law(lambda draws, c=counts: tuple(mechanism(broken.histogram(c), draws=draws)))
        assert same(rows, law_of(mechanism, counts))


CASES = [
    {"k": 1, "k_bar": 1},
    {"k": 1, "k_bar": 2},
    {"k": 2, "k_bar": 2},
    {"k": 2, "k_bar": 3},
    {"k": 1, "k_bar": 2, "max_items_per_user": 1},
    {"k": 2, "k_bar": 2, "max_items_per_user": 1},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("pick", [Fraction(1, 20), Fraction(2)], ids=["soft", "hard"])
def test_pure_picks_and_the_threshold_are_private_over_all_neighbours(case, pick):
    """Basic composition and delta_threshold alone: hockey-stick at k epsilon_per_pick is at most delta_threshold."""
    delta = Fraction(1, 5)
    mechanism = LimitedDomain(epsilon_per_pick=pick, delta=delta, delta_threshold=delta, **case)
    assert mechanism.privacy.epsilon == case["k"] * pick
    near = pairs(3, 2, case.get("max_items_per_user"))
    assert private(cached_laws(mechanism), near, mechanism.privacy.epsilon, delta)


@pytest.mark.parametrize("total", [{"k": 2, "k_bar": 3}, {"k": 3, "k_bar": 3}], ids=str)
def test_a_wanted_total_is_kept_over_all_neighbours(total):
    mechanism = LimitedDomain(epsilon=1, delta=Fraction(1, 10), **total)
    assert private(cached_laws(mechanism), pairs(4, 1), Fraction(1), Fraction(1, 10))


def test_a_cut_off_chosen_privately_costs_one_more_pick():
    delta = Fraction(1, 5)
    mechanism = ChosenKBar(k=1, k_bar=2, epsilon_per_pick=Fraction(1, 2), delta=delta, delta_threshold=delta)
    assert mechanism.privacy.epsilon == 1
    assert private(cached_laws(mechanism), pairs(3, 2), Fraction(1), delta)


def test_the_law_of_a_chosen_cut_off():
    rate, delta, counts = Fraction(1, 2), Fraction(1, 10), (3, 2, 2, 1)
    found = law_of(ChosenKBar(k=1, k_bar=3, epsilon_per_pick=rate, delta=delta, delta_threshold=delta), counts)
    with ctx.workprec(BITS):
        weights = {j: enclose(-rate * counts[j]).exp() / j for j in (1, 2, 3)}
        expected = {}
        for j, w in weights.items():
            for answer, p in algorithm_1(counts, 1, j, rate, delta).items():
                expected[answer] = expected.get(answer, arb(0)) + p * w / sum(weights.values())
    assert same(found, expected)


def refused(twin, neighbours, epsilon, delta):
    return not private(cached_laws(twin), neighbours, epsilon, delta)


def limited(**settings):
    settings = {"delta": Fraction(1, 20), "delta_threshold": Fraction(1, 20)} | settings
    return LimitedDomain(**settings)


def test_a_threshold_without_its_plus_one_is_refused():
    right = limited(k=1, k_bar=1, epsilon_per_pick=2)
    assert not refused(right, pairs(2, 2), Fraction(2), Fraction(1, 20))
    assert refused(broken.BottomTwin(right, plus=0), pairs(2, 2), Fraction(2), Fraction(1, 20))


def test_a_threshold_that_forgets_k_bar_is_refused():
    right = limited(k=2, k_bar=2, epsilon_per_pick=Fraction(1, 10))
    assert not refused(right, pairs(4, 1), Fraction(1, 5), Fraction(1, 20))
    assert refused(broken.BottomTwin(right, swaps=1), pairs(4, 1), Fraction(1, 5), Fraction(1, 20))


def test_an_unbounded_user_is_refused():
    """max_items_per_user = 1 is a promise about the data; a user who touches two items breaks the guarantee."""
    promised = limited(k=2, k_bar=2, epsilon_per_pick=Fraction(1, 10), max_items_per_user=1)
    assert not refused(promised, pairs(4, 1, 1), Fraction(1, 5), Fraction(1, 20))
    assert refused(promised, pairs(4, 1, 2), Fraction(1, 5), Fraction(1, 20))


def test_ties_broken_by_data_are_refused():
    right = limited(k=2, k_bar=2, epsilon_per_pick=Fraction(1, 10), max_items_per_user=1)
    assert refused(broken.TiesAtTheCut(right), pairs(4, 1, 1), Fraction(1, 5), Fraction(1, 20))


def as_counted(counts):
    """A mapping in the order in which a loop over the users would have met the items: the order is data."""
    order = sorted((i for i, c in enumerate(counts) if c), reverse=sum(counts) % 2 == 1)
    return {f"item {i}": counts[i] for i in order}


def test_ties_of_a_mapping_are_broken_by_label_not_by_place():
    right = limited(k=2, k_bar=2, epsilon_per_pick=Fraction(1, 10), max_items_per_user=1)

    def holds(mechanism):
        laws = cached_laws(lambda counts, draws: [int(a[-1]) for a in mechanism(as_counted(counts), draws=draws)])
        return private(laws, pairs(4, 1, 1), Fraction(1, 5), Fraction(1, 20))

    assert holds(right)
    assert not holds(broken.TiesByPlace(right))


def test_a_forgotten_k_is_refused():
    """Two unraised items first: the losses ln((2 + 2e)/4) and ln((2e + 1)/3) add up beyond one pick's epsilon."""
    right = limited(k=3, k_bar=4, epsilon_per_pick=1, delta=Fraction(1, 100), delta_threshold=Fraction(1, 100))
    neighbours = [((30, 30, 30, 30), (31, 31, 30, 30))]
    assert not refused(right, neighbours, right.privacy.epsilon, Fraction(1, 100))
    assert refused(right, neighbours, Fraction(1), Fraction(1, 100))
