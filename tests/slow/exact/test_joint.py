"""The joint mechanisms: their laws by brute force over all answers, their privacy over all neighbours, their twins."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from flint import arb

from dpselect._ground.privacy import BoundedRange
from dpselect.aggregates.count_groups import CountGroups
from dpselect.draws import Draws
from dpselect.errors import ParameterError
from dpselect.mechanisms import CanonicalSet
from dpselect.mechanisms.joint.ranked import rank_counts, subset
from dpselect.papers import JointSequence, JointSet
from dpselect.papers.joint_paths import Paths
from dpselect.papers.joint_sequence import SequenceWays, sequence_within
from dpselect.papers.joint_set import SetWays
from dpselect.papers.loss_levels import Levels, cuts
from dpselect.testing import SeededDraws, law
from tests.exact.grids import grid, pairs, replaced
from tests.exact.joint_laws import (
    canonical_loss,
    exponential,
    joint_loss,
    losses,
    sequence_loss,
    sorted_grid,
)
from tests.exact.laws import at_most, cached_laws, equals, law_of, log_range, max_log_ratio, pure, same, uniform
from tests.twins import selection as broken

HALF = Fraction(1, 2)


def make(name: str, **parameters: Any) -> Any:
    kinds = (JointSet, JointSequence, CanonicalSet)
    return next(kind for kind in kinds if kind.__name__ == name)(**parameters)


FORMS = {  # the loss of each of them, by definition
    "JointSet": joint_loss,
    "JointSequence": sequence_loss,
    "CanonicalSet": canonical_loss,
}
ALL = sorted(FORMS)


def expected(name: str, counts: tuple[int, ...], k: int, rate: Fraction = HALF) -> Any:
    return exponential(losses(counts, k, FORMS[name]), rate)


# ---- laws -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ALL)
def test_the_law_of_every_count_vector_of_a_grid(name, k):
    """d up to 7 and all ties; the order of the items is covered by the next test."""
    for d, most in ((1, 3), (2, 3), (3, 3), (4, 2), (5, 2), (6, 1), (7, 1)):
        for counts in sorted_grid(d, most) if k <= d else ():
            assert same(law_of(make(name, k=k, epsilon=1), counts), expected(name, counts, k))


@pytest.mark.parametrize("name", ALL)
def test_the_law_wherever_an_item_stands(name):
    for counts in grid(4, 2):
        assert same(law_of(make(name, k=2, epsilon=1), counts), expected(name, counts, 2))


@pytest.mark.parametrize("counts", [(9, 7, 4, 4, 2, 0, 0), (30, 11, 11, 10, 3, 2, 1), (40, 0, 0, 0, 0, 0, 0)])
@pytest.mark.parametrize("name", ALL)
def test_the_law_with_wide_gaps_and_other_rates(name, counts):
    for epsilon in ("0.1", 3):
        found = law_of(make(name, k=3, epsilon=epsilon), counts)
        assert same(found, expected(name, counts, 3, Fraction(epsilon) / 2))


@pytest.mark.parametrize("name", ALL)
def test_grouped_counts_and_labels_have_the_same_law(name):
    counts = (3, 1, 1, 0, 0, 0)
    mechanism = make(name, k=3, epsilon=1)
    listed = law_of(mechanism, counts)
    grouped = law(lambda draws: tuple(mechanism(broken.histogram(counts), draws=draws)))
    labelled = law(lambda draws: tuple(mechanism(dict(enumerate(counts)), draws=draws)))
    assert same(grouped, listed)
    assert same(labelled, listed)


# ---- the identity, step by step -------------------------------------------------------------------------------


def test_the_number_of_sets_and_sequences_within_a_loss():
    for d in range(1, 8):
        for counts in sorted_grid(d, 3 if d < 6 else 2):
            for k in range(1, min(d, 4) + 1):
                rows = rank_counts(counts, k)
                for ways, loss in ((SetWays(rows), joint_loss), (SequenceWays(rows), sequence_loss)):
                    found = losses(counts, k, loss).values()
                    for m in range(rows.spread + 2):
                        assert int(ways(m, 64).unique_fmpz()) == sum(x <= m for x in found)


def test_a_set_within_a_loss_is_uniform():
    for counts in sorted_grid(5, 3):
        rows = rank_counts(counts, 3)
        for m in range(rows.spread + 1):
            within = [s for s, x in losses(counts, 3, joint_loss).items() if x <= m]
            found = law(lambda draws, m=m, rows=rows: tuple(sorted(SetWays(rows).within(m).draw(draws))))
            assert same(found, uniform(within))


def test_a_sequence_within_a_loss_is_uniform():
    for counts in sorted_grid(5, 3):
        rows = rank_counts(counts, 3)
        for m in range(rows.spread + 1):
            within = [s for s, x in losses(counts, 3, sequence_loss).items() if x <= m]
            found = law(lambda draws, m=m, rows=rows: tuple(sequence_within(rows.reach(m), draws)))
            assert same(found, uniform(within))


def test_floyds_subset_is_uniform():
    for n, size in ((5, 2), (5, 5), (4, 0), (6, 3)):
        found = law(lambda draws, n=n, size=size: tuple(subset(draws, n, size)))
        assert len(found) == comb(n, size)
        assert same(found, uniform(found))


def test_numbers_of_sets_beyond_all_floats():
    """All k-sets, by the recursion over blocks that are cut at random: C(d, k), about 10^3432."""
    reach = sorted(np.random.default_rng(0).integers(10**5, 10**6, size=100).tolist())
    assert Paths.from_reach([10**6] * 1000).count(64).overlaps(arb.bin_uiui(10**6, 1000))
    tight = Paths.from_reach(reach).count(64)
    assert tight < arb.bin_uiui(10**6, 100)
    assert tight.rel_accuracy_bits() > 30


# ---- privacy --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_privacy_over_all_neighbours(name):
    mechanism = make(name, k=2, epsilon=1)
    assert mechanism.privacy.epsilon == 1
    assert mechanism.privacy.delta == 0
    assert pure(cached_laws(mechanism), pairs(4, 2), Fraction(1))


@pytest.mark.parametrize("name", ALL)
def test_replace_one_halves_the_rate(name):
    other = make(name, k=2, epsilon=1, neighbors="replace-one")
    assert other.privacy.neighbors == "replace-one"
    assert same(law_of(other, (3, 1, 1, 0)), expected(name, (3, 1, 1, 0), 2, HALF / 2))
    assert pure(cached_laws(other), replaced(4, 2), Fraction(1))


def test_replace_one_at_the_full_rate_is_refused():
    """The twin: A and nearly all others rise by 1, B falls, so {A, other} loses 2 and {B, last} gains 2."""
    left, right = (61, 2, *[0] * 40), (62, 1, *[1] * 39, 0)
    whole, halved = (JointSet(k=2, epsilon=1, neighbors=n) for n in ("add-remove", "replace-one"))
    assert not at_most(max_log_ratio(law_of(whole, left), law_of(whole, right)), Fraction(1))
    assert at_most(max_log_ratio(law_of(halved, left), law_of(halved, right)), Fraction(1))


@pytest.mark.parametrize("name", ALL)
def test_no_smaller_epsilon_would_do(name):
    """One user has all items but B and the last: {A, other}, which nearly all sets are, lose 1, {B, last} gains 1."""
    mechanism = make(name, k=2, epsilon=1)
    left, right = (61, 1, *[0] * 40), (62, 1, *[1] * 39, 0)
    ratio = max_log_ratio(law_of(mechanism, left), law_of(mechanism, right))
    assert at_most(ratio, Fraction(1))
    assert ratio > 0.97


@pytest.mark.parametrize("name", ALL)
def test_the_bounded_range_is_met_with_equality(name):
    assert make(name, k=3, epsilon=2).privacy.steps[0].value == BoundedRange(Fraction(2))
    laws = cached_laws(make(name, k=2, epsilon=1))
    ranges = [log_range(laws(a), laws(b)) for a, b in pairs(4, 2)]
    assert all(at_most(r, Fraction(1)) for r in ranges)
    assert any(equals(r, Fraction(1)) for r in ranges)


# ---- twins ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Twin:
    """JointSet or JointSequence with one thing wrong."""

    wrong: str
    k: int = 2
    epsilon: Fraction = Fraction(1)

    def __call__(self, counts: Any, *, draws: Draws) -> Any:
        rows = rank_counts(counts, self.k)
        rate = self.epsilon if self.wrong == "epsilon for epsilon / 2" else self.epsilon / 2
        sequence = self.wrong == "t_i - i ways for the i-th"
        ways: Any = SequenceWays(rows) if sequence else SetWays(rows)
        near = ways

        def off(m: int, bits: int) -> arb:
            return near(max(m - 1, 0), bits)

        if sequence or self.wrong == "N(m - 1) for N(m)":
            ways = off
        levels: Levels = Levels(rate, rows.spread, ways, cuts(rate, rows.spread, near.log))
        if self.wrong == "tail dropped":
            levels = Levels(rate, max(rows.spread - 1, 0), ways, [0, max(rows.spread - 1, 0)])
            object.__setattr__(levels, "sizes", levels.sizes[:-1] if rows.spread > 1 else [1])
        loss = levels.loss(*draws.sample_product(levels))
        if sequence:
            return rows.names(sequence_within(rows.reach(loss), draws))
        ranks = SetWays(rows).within(loss).draw(draws)
        return rows.names(sorted(ranks)) if self.wrong == "best first" else rows.unordered(ranks)


@pytest.mark.parametrize("wrong", ["epsilon for epsilon / 2", "best first"])
def test_twins_that_are_not_private(wrong):
    laws = cached_laws(Twin(wrong))
    found = [(laws(a), laws(b)) for a, b in [*pairs(4, 1), *replaced(4, 1)]]
    assert not all(set(a) == set(b) and at_most(max_log_ratio(a, b), Fraction(1)) for a, b in found)


@pytest.mark.parametrize(
    ("wrong", "loss"),
    [
        ("epsilon for epsilon / 2", joint_loss),
        ("N(m - 1) for N(m)", joint_loss),
        ("t_i - i ways for the i-th", sequence_loss),
        ("tail dropped", joint_loss),
    ],
)
def test_twins_that_have_another_law(wrong, loss):
    counts = (3, 2, 1, 0)
    assert not same(law_of(Twin(wrong), counts), exponential(losses(counts, 2, loss), HALF))
    if loss is joint_loss:
        assert same(law_of(Twin("nothing"), counts), exponential(losses(counts, 2, loss), HALF))


def test_a_loss_without_sorting_is_another_law():
    """The counts of a set must be sorted too: items in the order of their index lose more than the set does."""
    counts = (0, 3, 2, 1)
    unsorted = {s: max(b - counts[i] for b, i in zip((3, 2), s, strict=True)) for s in losses(counts, 2, joint_loss)}
    assert not same(law_of(JointSet(k=2, epsilon=1), counts), exponential(unsorted, HALF))


# ---- inputs ---------------------------------------------------------------------------------------------------

GIVEN = [
    [5, 900, 0, 700, 3, 800],
    np.array([5, 900, 0, 700, 3, 800] + [0] * 100),
    np.array([5, 900 * 10**9, 0, 700 * 10**9, 3, 800 * 10**9] + [0] * 100),
    np.array([5, 900, 0, 700, 3, 800], dtype=np.uint16),
]


@pytest.mark.parametrize("counts", GIVEN)
@pytest.mark.parametrize("name", ALL)
def test_every_form_of_counts_gives_the_top_where_it_is_clear(name, counts):
    found = make(name, k=3, epsilon=2)(counts).tolist()
    assert found == ([1, 5, 3] if name == "JointSequence" else [1, 3, 5])


@pytest.mark.parametrize("unseen", [10**8, 10**30])
@pytest.mark.parametrize("name", ALL)
def test_unseen_items_of_any_number(name, unseen):
    histogram = CountGroups(counts=np.array([0, 900, 800]), sizes=[unseen, 1, 2], label=lambda g, r: (g, r))
    found = make(name, k=3, epsilon=2)(histogram, draws=SeededDraws(1))
    assert sorted(found) == [(1, 0), (2, 0), (2, 1)]
    far = make(name, k=5, epsilon="0.5")(histogram, draws=SeededDraws(1))
    assert len(set(far)) == 5


@pytest.mark.parametrize("epsilon", ["1e-100", "1e-30", "1e-6", 10**6])
@pytest.mark.parametrize("name", ALL)
def test_extreme_epsilons(name, epsilon):
    for counts in ((2**53, 7, 3, 3, 0), (1, 0, 0, 0, 0)):
        assert len(set(make(name, k=3, epsilon=epsilon)(counts, draws=SeededDraws(4)).tolist())) == 3


BAD = [
    ([1, 2], "k must be at most the number of candidates"),
    ([1, 2, -1], "counts must be at least 0"),
    ([1, 2, 2**53 + 1], "counts must be at most 2\\^53"),
    ([1.0, 2.0, 3.0], "counts must be whole numbers"),
    ([1, 2, Fraction(1, 2)], "counts must be whole numbers"),
    ([1, 2, float("nan")], "scores must be finite"),
    ([1, 2, "3"], "scores must be finite"),
]


@pytest.mark.parametrize(("counts", "message"), BAD)
@pytest.mark.parametrize("name", ALL)
def test_bad_counts_are_named(name, counts, message):
    with pytest.raises(ParameterError, match=f"^{message}"):
        make(name, k=3, epsilon=1)(counts)


def test_bad_parameters_are_named():
    for name in ALL:
        with pytest.raises(ParameterError, match=r"^epsilon must be a positive"):
            make(name, k=3, epsilon=0)
        with pytest.raises(ParameterError, match=r"^epsilon must be between"):
            make(name, k=3, epsilon=Fraction(1, 2**950))
        with pytest.raises(ParameterError, match=r"^k must be a whole number"):
            make(name, k=0, epsilon=1)
        with pytest.raises(ParameterError, match=r"^neighbors must be"):
            make(name, k=1, epsilon=1, neighbors="rows")
