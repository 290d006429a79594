"""Limited domain by sparse vector: its law, its height, its price over all neighbours, and the wrong ones refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate, permutations

import pytest
from flint import ctx

from dpselect._ground.reals import enclose, upper
from dpselect.errors import ParameterError
from dpselect.mechanisms import LimitedDomainSparse
from dpselect.mechanisms.top_k.sparse_limited_domain import PRECISION, _ratio, height_for
from dpselect.testing import law
from tests.exact.grids import pairs, weighed
from tests.exact.laws import cached_laws, law_of, worst_delta
from tests.twins.selection import histogram
from tests.twins.sparse import Sparse

FAR = 160  # larger noise has a mass below 1e-16 at the rates of these tests
ADDED = {"k": 2, "k_bar": 2, "epsilon": 4, "delta": "1/1000"}  # its picks are paid by adding up
COMPOSED = {"k": 2, "k_bar": 2, "epsilon": 3, "delta": "3/5"}  # its picks are composed, at half of delta
ONE = {"k": 1, "k_bar": 2, "epsilon": 3, "delta": "1/50"}
TWO = {"k": 2, "k_bar": 2, "epsilon": 6, "delta": "1/50"}
CASES = [
    {"k": 1, "k_bar": 1, "epsilon": 4, "delta": "1/10"},
    ONE,
    ADDED,
    COMPOSED,
    {"k": 2, "k_bar": 3, "epsilon": 6, "delta": "1/50"},
]


def by_definition(m, counts):
    """All orders of all picks, nameless ones too; then all values of all noises, as sums of floats."""
    t, order = m.terms, sorted((i for i, c in enumerate(counts) if c), key=lambda i: (-counts[i], i))
    inside, after = order[: m.k_bar], sum(counts[i] for i in order[m.k_bar : m.k_bar + 1])
    slots = [*[(i, counts[i]) for i in inside], *[(-1 - j, 0) for j in range(m.k_bar - len(inside))]]
    a, b, e = (float(x / t.sensitivity) for x in (t.epsilon_of_threshold, t.epsilon_of_test, t.epsilon_per_pick))
    at_most = list(accumulate(-math.expm1(-b) * math.exp(-b * n) for n in range(FAR + max(counts) + 1)))
    found = {}
    for picks in permutations(slots, m.k):
        p = 1.0
        for place, (_, count) in enumerate(picks):
            p /= sum(math.exp(e * (c - count)) for i, c in slots if (i, c) not in picks[:place])
        for r in range(FAR):
            going, told = p * -math.expm1(-a) * math.exp(-a * r), ()
            for i, c in picks:
                slack = c - (after + t.height - r)
                passes = at_most[slack] if i >= 0 and slack >= 0 else 0.0
                found[told] = found.get(told, 0.0) + going * (1 - passes)
                going, told = going * passes, (*told, i)
            found[told] = found.get(told, 0.0) + going
    return found


def passing(threshold_rate, test_rate, gap):
    """An upper bound, tight to many digits, on P(R - N >= gap), gap >= 0, for geometric R and N of these rates.

    With q = e^-threshold_rate and p = e^-test_rate it is q^gap (1 - p) / (1 - p q).
    """
    with ctx.workprec(PRECISION):
        return upper(_ratio(threshold_rate, test_rate) * (-enclose(threshold_rate * gap)).exp())


@pytest.mark.parametrize("case", [ADDED, COMPOSED, COMPOSED | {"sensitivity": 3}], ids=str)
def test_the_law_is_its_definition(case):
    m = LimitedDomainSparse(**case)
    for counts in [(0, 0, 0), (3, 0, 0), (9, 7, 3), (5, 5, 5), (12, 1, 0), (0, 2, 4)]:
        found, expected = law_of(m, counts), by_definition(m, counts)
        for answer in set(found) | set(expected):
            assert float(found.get(answer, 0)) == pytest.approx(expected.get(answer, 0.0), abs=1e-12)
        rows = law(lambda draws, c=counts: tuple(m(histogram(c), draws=draws)))
        assert all(float(rows[answer]) == pytest.approx(float(p), abs=1e-15) for answer, p in found.items())


def test_the_two_ways_to_pay():
    """Adding up leaves the tests for nothing and all of delta to the threshold; composing leaves more to a pick."""
    added, composed = LimitedDomainSparse(**ADDED).terms, LimitedDomainSparse(**COMPOSED).terms
    assert added.privacy.bound == "basic" != composed.privacy.bound
    assert added.epsilon_of_test == added.epsilon_per_pick
    assert added.added(2) == added.added(1) == added.privacy.epsilon == 4
    assert (added.delta_threshold, composed.delta_threshold) == (added.privacy.delta, composed.privacy.delta / 2)
    assert composed.added(2) > composed.privacy.epsilon == 3
    for t in (added, composed):
        rate = t.epsilon_of_threshold + 2 * t.epsilon_of_test
        assert t.privacy.steps[0].value.epsilon == rate
        assert t.privacy.steps[1].times == 2


@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(1, 10**6), Fraction(1, 10**12)])
@pytest.mark.parametrize("rates", [(Fraction(1, 20), Fraction(1, 40)), (Fraction(2), Fraction(1, 3))])
@pytest.mark.parametrize("above", [1, 4])
def test_the_height_is_the_least_that_keeps_delta(rates, delta, above):
    height = height_for(*rates, delta, above)
    assert passing(*rates, height - above) <= delta
    assert height == above or passing(*rates, height - above - 1) > delta
    a, b = map(float, rates)
    total = sum(  # P(R = r) P(N <= r - gap)
        -math.expm1(-a) * math.exp(-a * r) * -math.expm1(-b * (r - (height - above) + 1))
        for r in range(height - above, 4000)
    )
    assert float(passing(*rates, height - above)) == pytest.approx(total, rel=1e-9)


def neighbours(m, items=3, most=1):
    """All of a grid, and tall counts around the threshold."""
    yield from pairs(items, most)
    for left, right in pairs(2, 1):
        for up in (m.terms.height - 1, m.terms.height + 1):
            yield tuple(c + up for c in left), tuple(c + up for c in right)
    yield (4, 4, 3), (5, 5, 4)
    yield (4, 3, 3), (4, 4, 4)


def worst(mechanism, m, near=None):
    """The largest delta that epsilon needs, over neighbours and both directions."""
    return float(worst_delta(cached_laws(mechanism), near or neighbours(m), m.epsilon))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_private(case):
    m = LimitedDomainSparse(**case)
    assert worst(m, m) <= float(m.delta)
    assert (m.privacy.epsilon, m.privacy.delta) == (case["epsilon"], Fraction(case["delta"]))


@pytest.mark.parametrize("case", [CASES[0], TWO], ids=str)
def test_it_is_private_by_weights(case):
    m = LimitedDomainSparse(**case | {"sensitivity": 2})
    assert worst(m, m, [*weighed(2, 2, 2), *weighed(3, 1, 2, touched=1)]) <= float(m.delta)


def test_delta_is_met():
    """One pick of one slot: what a neighbour's data may lack is all of delta that is needed, and nearly needed."""
    m = LimitedDomainSparse(k=1, k_bar=1, epsilon=4, delta="1/10")
    failure = float(passing(m.terms.epsilon_of_threshold, m.terms.epsilon_of_test, m.terms.height - 1))
    assert failure * 0.4 <= worst(m, m) <= failure <= 0.1


def overcharged(mechanism, price, near):
    """The largest sum of P - e^price Q over answers, where each has a price of its own."""
    find, most = cached_laws(mechanism), 0.0
    for a, b in near:
        for left, right in ((find(a), find(b)), (find(b), find(a))):
            excess = (float(p) - math.exp(price(len(o))) * float(right.get(o, 0)) for o, p in left.items())
            most = max(most, sum(max(0.0, x) for x in excess))
    return most


@pytest.mark.parametrize("case", [CASES[0], TWO, ADDED], ids=str)
def test_a_short_answer_costs_what_was_picked(case):
    """Each answer at the sum of its own steps: all that is left is the delta of the threshold."""
    m = LimitedDomainSparse(**case)
    assert overcharged(m, lambda n: float(m.terms.added(n)), neighbours(m)) <= float(m.terms.delta_threshold)


def test_the_pick_that_ends_a_list_is_not_free():
    m = LimitedDomainSparse(**ONE)
    t, delta = m.terms, float(m.terms.delta_threshold)
    assert overcharged(m, lambda n: float(t.added(n)), neighbours(m)) <= delta
    assert overcharged(m, lambda n: float(t.added(n) - (n < 1) * t.epsilon_per_pick), neighbours(m)) > delta


WRONG = [
    ({"lower": 1}, TWO),
    ({"cut": False}, TWO),
    ({"noisy": False}, ONE),
    ({"blurred": 0}, TWO),
    ({"blurred": 4}, ONE),
    ({"by_count": True}, TWO),
]


@pytest.mark.parametrize(("wrong", "case"), WRONG, ids=str)
def test_wrong_ones_are_refused(wrong, case):
    m = LimitedDomainSparse(**case)
    assert worst(Sparse(m), m) <= float(m.delta)  # the same code without the mistake passes
    assert worst(Sparse(m, **wrong), m) > float(m.delta)


def test_units_forgotten_in_the_height_are_refused():
    """A user who gives up to 3 moves an item that only one side has by 3 above the cut, not by 1."""
    m = LimitedDomainSparse(**CASES[0] | {"sensitivity": 3})
    near = [((0, 0), (3, 0)), ((0, 0), (3, 3))]
    assert worst(m, m, near) <= float(m.delta) < worst(Sparse(m, lower=2), m, near)


def test_the_parameters_are_exact_and_checked():
    m = LimitedDomainSparse(k=10, epsilon="0.3", delta="1e-6")
    assert (m.k_bar, m.threshold_share, m.terms.epsilon_of_threshold) == (1000, Fraction(1, 4), Fraction(3, 40))
    assert m.terms.epsilon_of_test == Fraction(9, 320)
    assert LimitedDomainSparse(k=9, epsilon="0.3", delta="1e-6").terms.epsilon_of_threshold == Fraction(1, 10)
    for share in ("0", "1", "2"):
        with pytest.raises(ParameterError, match="threshold_share"):
            LimitedDomainSparse(k=1, epsilon=1, delta="1e-6", threshold_share=share)
    with pytest.raises(ParameterError, match="k_bar must be at least k"):
        LimitedDomainSparse(k=2, k_bar=1, epsilon=1, delta="1e-6")
    with pytest.raises(ParameterError, match="epsilon must be large enough"):
        LimitedDomainSparse(k=1, epsilon="1e-18", delta="1e-6")


@pytest.mark.parametrize("counted", [0, 3])
def test_noisy_numbers_are_paid_within_epsilon(counted):
    few, many = (LimitedDomainSparse(k=k, epsilon=1, delta="1e-6", counted=counted).terms for k in (3, 20))
    told = few.epsilon_per_pick * Fraction(counted, 2)
    assert few.added(3) + told == few.left + few.epsilon_of_threshold == few.privacy.epsilon == 1
    assert few.epsilon_per_pick == Fraction(2, 3) / (3 + Fraction(counted, 2))
    assert many.privacy.bound != "basic"
    assert (few.composition, many.composition) == (0, Fraction(1, 2 * 10**6))
    assert sum(one.times for one in many.privacy.steps[2:]) == counted
