"""Scores that one user moves by up to s units: the laws of every mechanism, and its price over all neighbours."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from flint import ctx

from dpselect.mechanisms import CanonicalSet, LimitedDomain, NoisyCounts, Peeling
from dpselect.papers import ChosenKBar, JointSequence, JointSet
from dpselect.testing import law
from tests.exact.grids import replaced, weighed
from tests.exact.laws import (
    BITS,
    at_most,
    cached_laws,
    delta_between,
    equals,
    largest,
    law_of,
    log_range,
    max_log_ratio,
    peeled,
    private,
    pure,
    same,
)
from tests.exact.test_limited_domain import algorithm_1, limited, refused
from tests.twins import selection as broken
from tests.twins import totals as twins

ONE = Fraction(1)
SETS = {
    "joint-set": JointSet,
    "canonical-set": CanonicalSet,
    "joint-sequence": JointSequence,
}


# ---- the laws are those of scores in units of s -----------------------------------------------------------


@pytest.mark.parametrize("s", [2, 3, 7])
def test_s_times_the_scores_have_the_law_of_the_scores(s):
    """What is weighed is score / s, and bottom stands one s above: nothing else of a mechanism may know of s."""
    for counts in [(0, 0, 0), (3, 1, 0), (2, 2, 2), (1, 3, 2)]:
        larger = tuple(s * c for c in counts)
        for make in (
            lambda **given: limited(k=2, k_bar=2, epsilon_per_pick=ONE, **given),
            lambda **given: ChosenKBar(
                k=1, k_bar=2, epsilon_per_pick=ONE, delta=ONE / 9, delta_threshold=ONE / 9, **given
            ),
            lambda **given: Peeling(k=2, epsilon_per_pick=ONE, **given),
            *((lambda kind=kind, **given: kind(k=2, epsilon=ONE, **given)) for kind in SETS.values()),
        ):
            assert same(law_of(make(sensitivity=s), larger), law_of(make(), counts))


@pytest.mark.parametrize("counts", [(0, 0, 0), (5, 3, 2), (4, 4, 1), (1, 7, 2)])
def test_scores_between_the_multiples_of_s(counts):
    rate = Fraction(1, 6)  # of a pick of 1/2 and s = 3
    assert same(law_of(Peeling(k=2, epsilon_per_pick=3 * rate, sensitivity=3), counts), peeled(counts, 2, rate))
    found = law_of(limited(k=2, k_bar=2, epsilon_per_pick=3 * rate, sensitivity=3), counts)
    # Algorithm 1 puts bottom at h + 1: two more units are a factor e^(2 rate) of what stands for 1 / delta.
    ours = law_of(broken.BottomTwin(limited(k=2, k_bar=2, epsilon_per_pick=rate), plus=3), counts)
    at_one = law_of(broken.BottomTwin(limited(k=2, k_bar=2, epsilon_per_pick=rate), plus=1), counts)
    if all(counts):  # the twin has no nameless items
        assert same(found, ours)
        assert not same(found, at_one)
        assert same(at_one, algorithm_1(counts, 2, 2, rate, Fraction(1, 20)))


# ---- limited domain ---------------------------------------------------------------------------------------

CASES = [
    {"k": 1, "k_bar": 1, "sensitivity": 2},
    {"k": 2, "k_bar": 2, "sensitivity": 2},
    {"k": 1, "k_bar": 2, "sensitivity": 3, "max_items_per_user": 1},
    {"k": 2, "k_bar": 2, "sensitivity": 3, "max_items_per_user": 1},
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("pick", [Fraction(1, 20), Fraction(2)], ids=["soft", "hard"])
def test_limited_domain_over_all_neighbours(case, pick):
    delta = Fraction(1, 5)
    mechanism = LimitedDomain(epsilon_per_pick=pick, delta=delta, delta_threshold=delta, **case)
    assert mechanism.privacy.epsilon == case["k"] * pick
    near = weighed(3, 3, case["sensitivity"], case.get("max_items_per_user"))
    assert private(cached_laws(mechanism), near, mechanism.privacy.epsilon, delta)


def test_a_wanted_total_is_kept_over_all_neighbours():
    mechanism = LimitedDomain(k=2, k_bar=2, epsilon=1, delta=Fraction(1, 10), sensitivity=2)
    assert private(cached_laws(mechanism), weighed(3, 3, 2), ONE, Fraction(1, 10))


def test_a_cut_off_chosen_privately():
    delta = Fraction(1, 5)
    given = {"k": 1, "k_bar": 2, "delta": delta, "delta_threshold": delta}
    mechanism = ChosenKBar(epsilon_per_pick=Fraction(1, 2), sensitivity=2, **given)
    assert private(cached_laws(mechanism), weighed(3, 3, 2), ONE, delta)


def test_bottom_one_unit_above_is_refused():
    """The + 1 of counts in place of + s: an item of another user stands up to s above the cut-off."""
    for s in (2, 3):
        right = limited(k=1, k_bar=1, epsilon_per_pick=2, sensitivity=s)
        assert not refused(right, weighed(2, 3, s), Fraction(2), Fraction(1, 20))
        assert refused(broken.BottomTwin(right, plus=1), weighed(2, 3, s), Fraction(2), Fraction(1, 20))


def test_a_rate_that_forgets_s_is_refused():
    forgetful = limited(k=1, k_bar=2, epsilon_per_pick=1)
    assert refused(forgetful, weighed(2, 3, 2), ONE, Fraction(1, 20))


def answers(mechanism, scores, users, items, cap, more):
    """The laws for some users and for one more."""
    both = (scores(list(users), items, cap), scores([*users, more], items, cap))
    return [law(lambda draws, c=c: tuple(map(int, mechanism(c, draws=draws)))) for c in both]


ROWS = [[(item, units)] for item, units in product(range(3), (0, 1, 2))]
MORE = [*ROWS, [(0, 2), (0, 2)], [(0, 1), (0, 1), (1, 1)], [(0, 0), (1, 0)], [(0, 0), (1, 0), (2, 1)]]


def worst_of_rows(mechanism, scores, epsilon, touched=3):
    """The largest delta over some users and one more who has units of at most so many items."""
    found = []
    for users in ([], [[(0, 2)]], [[(0, 2)], [(1, 2), (0, 1)]]):
        for more in MORE:
            if sum(map(bool, twins.totals(more).values())) <= touched:
                p, q = answers(mechanism, scores, users, 3, 2, more)
                found.append(delta_between(p, q, epsilon))
    return largest(found)


def test_rows_that_are_cut_one_by_one_are_refused():
    right = limited(k=1, k_bar=2, epsilon_per_pick=1, sensitivity=2)
    assert at_most(worst_of_rows(right, twins.scores, ONE), Fraction(1, 20))
    assert not at_most(worst_of_rows(right, twins.cut_by_row, ONE), Fraction(1, 20))


def test_items_of_score_0_that_have_a_name_are_refused():
    """A user of no units of two items touches none by the bound; both could be released beside a bottom for one."""
    right = limited(k=2, k_bar=2, epsilon_per_pick=Fraction(1, 20), sensitivity=2, max_items_per_user=1)
    assert at_most(worst_of_rows(right, twins.scores, Fraction(1, 10), 1), Fraction(1, 20))
    assert not at_most(worst_of_rows(twins.NamedZeros(right), twins.present, Fraction(1, 10), 1), Fraction(1, 20))


def test_a_cap_from_the_data_is_refused():
    def of(users):
        cap = twins.cap_of_the_data(users)
        mechanism = limited(k=1, k_bar=2, epsilon_per_pick=1, sensitivity=cap)
        counts = twins.scores(users, 2, cap)
        return law(lambda draws: tuple(map(int, mechanism(counts, draws=draws))))

    many = [[(0, 1)]] * 8
    assert not at_most(delta_between(of(many), of([*many, [(1, 8)]]), ONE), Fraction(1, 20))
    fixed = limited(k=1, k_bar=2, epsilon_per_pick=1, sensitivity=8)
    p, q = answers(fixed, twins.scores, many, 2, 8, [(1, 8)])
    assert at_most(delta_between(p, q, ONE), Fraction(1, 20))


# ---- a known domain ---------------------------------------------------------------------------------------


def test_peeling_over_all_neighbours():
    assert pure(cached_laws(Peeling(k=2, epsilon_per_pick=Fraction(1, 2), sensitivity=2)), weighed(3, 2, 2), ONE)
    one = cached_laws(Peeling(k=1, epsilon_per_pick=Fraction(1, 2), sensitivity=2))
    ranges = [log_range(one(a), one(b)) for a, b in weighed(3, 1, 2)]
    assert all(at_most(r, Fraction(1, 2)) for r in ranges)
    assert any(equals(r, Fraction(1, 2)) for r in ranges)
    forgetful = cached_laws(Peeling(k=1, epsilon_per_pick=Fraction(1, 2)))
    assert not all(at_most(log_range(forgetful(a), forgetful(b)), Fraction(1, 2)) for a, b in weighed(3, 1, 2))


def test_replacing_a_user_moves_a_score_by_s_either_way():
    mechanism = cached_laws(Peeling(k=2, epsilon=1, neighbors="replace-one", sensitivity=2))
    doubled = [(tuple(2 * c for c in a), tuple(2 * c for c in b)) for a, b in replaced(3, 1)]
    assert pure(mechanism, doubled, ONE)


@pytest.mark.parametrize("name", SETS)
def test_sets_and_sequences_over_all_neighbours(name):
    assert pure(cached_laws(SETS[name](k=2, epsilon=1, sensitivity=2)), weighed(4, 1, 2), ONE)


@pytest.mark.parametrize("name", SETS)
def test_no_smaller_epsilon_would_do_for_a_set(name):
    """One user gives s to all items but B and the last: {A, other}, nearly all sets, lose s, {B, last} gains s."""
    left, right = (122, 2, *[0] * 20), (124, 2, *[2] * 19, 0)
    found, forgetful = (
        max_log_ratio(law_of(made, left), law_of(made, right))
        for made in (SETS[name](k=2, epsilon=1, sensitivity=2), SETS[name](k=2, epsilon=1))
    )
    assert at_most(found, ONE)
    assert found > 0.94
    assert not at_most(forgetful, ONE)


# ---- noisy sums -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [12, 14])
def test_noisy_sums_lose_what_the_sums_differ_by_over_s(other):
    """The law of a sum is exp(-epsilon |z| / s) in proportion: sums that are s apart lose epsilon, and no more."""
    counter = NoisyCounts(k=1, epsilon_per_count=4, sensitivity=4)
    assert counter.privacy.epsilon == 4
    left, right = (law(lambda draws, c=c: counter([c], draws=draws)[0]) for c in (10, other))
    near = {answer: p for answer, p in left.items() if abs(answer - 12) < 12}
    with ctx.workprec(BITS):
        assert abs(max_log_ratio(near, right) - (other - 10)) < 1e-10
