"""Choosing one: laws equal closed forms, privacy over all neighbours of a grid, tight where theory says so."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb, ctx

from dpselect._ground.reals import enclose
from dpselect.mechanisms import ExponentialMechanism, LimitedDomain, PermuteAndFlip
from dpselect.papers import Noise, NoisyHistogram, ReportNoisyMax
from tests.exact.grids import grid, pairs, replaced
from tests.exact.laws import BITS, at_most, cached_laws, equals, law_of, log_range, max_log_ratio, pure, same, softmax
from tests.twins import selection as broken

EPSILON = Fraction(3, 2)
SCORES = [[5, 3, 4, 0, 5], [7], [2, 2, 2], [0, 40], [-3, -1], [Fraction(1, 3), Fraction(1, 2)], [0.1, 0.25, 0.1]]


def choosers(monotonic: bool, neighbors: str) -> list[object]:
    settings = {"epsilon": EPSILON, "monotonic": monotonic, "neighbors": neighbors}
    return [
        ExponentialMechanism(**settings),
        PermuteAndFlip(**settings),
        ReportNoisyMax(**settings),
        ReportNoisyMax(**settings, noise=Noise.EXPONENTIAL),
    ]


@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_exponential_mechanism_is_a_softmax(scores):
    general = ExponentialMechanism(epsilon=EPSILON, sensitivity=Fraction(1, 2))
    assert same(law_of(general, scores), softmax(scores, EPSILON))
    assert same(law_of(ExponentialMechanism(epsilon=EPSILON), scores), softmax(scores, EPSILON / 2))
    assert same(law_of(ExponentialMechanism(epsilon=EPSILON, monotonic=True), scores), softmax(scores, EPSILON))


def sequential_flips(scores, rate):
    """McKenna and Sheldon's Algorithm 1 as it is written: every order, flip by flip."""
    from itertools import permutations
    from math import factorial

    found = {}
    with ctx.workprec(BITS):
        heads = [enclose(rate * Fraction(s - max(scores))).exp() for s in scores]
        for order in permutations(range(len(scores))):
            reached = arb(1) / factorial(len(scores))
            for i in order:
                found[i,] = found.get((i,), arb(0)) + reached * heads[i]
                reached *= 1 - heads[i]
    return found


@pytest.mark.parametrize("scores", SCORES, ids=str)
def test_all_coins_at_once_have_the_law_of_permute_and_flip(scores):
    found = law_of(PermuteAndFlip(epsilon=EPSILON), scores)
    assert same(found, sequential_flips(scores, EPSILON / 2))
    assert same(found, law_of(ReportNoisyMax(epsilon=EPSILON, noise="exponential"), scores))


def test_laplace_noisy_max_of_two_is_the_known_formula():
    """P(first of two wins | lead g) = 1 - e^-g (2 + g) / 4 for unit Laplace noise."""
    with ctx.workprec(BITS):
        g = enclose(EPSILON * 3 / 2)
        loses = (-g).exp() * (2 + g) / 4
        expected = {(0,): 1 - loses, (1,): loses}
    assert same(law_of(ReportNoisyMax(epsilon=EPSILON), [5, 2]), expected)


def test_the_naive_histogram_pays_for_every_count():
    naive = law_of(NoisyHistogram(epsilon=EPSILON), [5, 2, 1])
    assert same(naive, law_of(ReportNoisyMax(epsilon=EPSILON / 3, monotonic=True), [5, 2, 1]))
    bounded = law_of(NoisyHistogram(epsilon=EPSILON, max_items_per_user=2), [5, 2, 1])
    assert same(bounded, law_of(ReportNoisyMax(epsilon=EPSILON / 2, monotonic=True), [5, 2, 1]))
    by_four = law_of(NoisyHistogram(epsilon=EPSILON, max_items_per_user=2, sensitivity=4), [20, 8, 4])
    assert same(by_four, bounded)
    replaced = law_of(NoisyHistogram(epsilon=EPSILON, max_items_per_user=2, neighbors="replace-one"), [5, 2, 1])
    assert same(replaced, law_of(ReportNoisyMax(epsilon=EPSILON / 4, monotonic=True), [5, 2, 1]))  # 2 away, 2 added


@pytest.mark.parametrize("chooser", choosers(True, "add-remove"), ids=lambda c: f"{type(c).__name__}")
def test_monotonic_scores_are_private_without_the_two(chooser):
    assert pure(cached_laws(chooser), pairs(3, 2), EPSILON)


@pytest.mark.parametrize("chooser", choosers(False, "replace-one"), ids=lambda c: f"{type(c).__name__}")
def test_general_scores_are_private_with_the_two(chooser):
    assert pure(cached_laws(chooser), replaced(3, 2), EPSILON)


def test_the_exponential_mechanism_meets_its_bounded_range():
    for chooser, neighbours in (
        (ExponentialMechanism(epsilon=EPSILON, monotonic=True), pairs(3, 1)),
        (ExponentialMechanism(epsilon=EPSILON), replaced(3, 1)),
    ):
        laws = cached_laws(chooser)
        ranges = [log_range(laws(left), laws(right)) for left, right in neighbours]
        assert all(at_most(r, EPSILON) for r in ranges)
        assert any(equals(r, EPSILON) for r in ranges)
        assert chooser.privacy.bounded_range.epsilon == EPSILON
        assert chooser.privacy.zcdp.rho == EPSILON**2 / 8


def test_permute_and_flip_meets_epsilon_and_exceeds_it_as_a_range():
    laws = cached_laws(PermuteAndFlip(epsilon=EPSILON, monotonic=True))
    found = [(max_log_ratio(laws(a), laws(b)), max_log_ratio(laws(b), laws(a))) for a, b in pairs(2, 1)]
    assert any(equals(r, EPSILON) for pair in found for r in pair)
    with ctx.workprec(BITS):
        lower_bound = enclose(EPSILON) + (2 - enclose(-EPSILON).exp()).log()  # Durfee and Rogers 2021
    assert any((log_range(laws(a), laws(b)) - lower_bound).overlaps(arb(0)) for a, b in pairs(2, 1))
    privacy = PermuteAndFlip(epsilon=EPSILON).privacy
    assert privacy.bounded_range is None
    assert privacy.zcdp.rho == EPSILON**2 / 2


def test_permute_and_flip_never_errs_more_than_the_exponential_mechanism():
    """Expected loss, McKenna and Sheldon 2020, Theorem 2: at every score vector of the grid."""
    flip, softer = PermuteAndFlip(epsilon=1), ExponentialMechanism(epsilon=1)
    for scores in grid(3, 3):
        loss = [sum(p * (max(scores) - scores[i]) for (i,), p in law_of(m, scores).items()) for m in (flip, softer)]
        assert loss[0].mid() <= loss[1].mid() + 1e-30


@pytest.mark.parametrize(
    "twin",
    [
        broken.ForgottenTwo(EPSILON),
        broken.FlipForgottenTwo(EPSILON),
        broken.LaplaceForgottenTwo(EPSILON),
        broken.LaplaceForgottenTwo(EPSILON, Noise.EXPONENTIAL),
    ],
    ids=lambda t: f"{type(t).__name__}",
)
def test_a_forgotten_two_is_refused(twin):
    assert not pure(cached_laws(twin), replaced(3, 2), EPSILON)


@pytest.mark.parametrize("twin", [broken.FirstHeads(EPSILON), broken.TiesByData()], ids=lambda t: type(t).__name__)
def test_an_impossible_answer_on_one_side_is_refused(twin):
    laws = cached_laws(twin)
    assert any(set(laws(a)) != set(laws(b)) for a, b in pairs(3, 1))


def test_rows_counted_for_users_are_refused():
    """One user with three rows moves a count of rows by three: the ratio is e^(3 epsilon)."""
    rows = [(1, 0), (2, 1)]
    heavy = [*rows, (3, 1), (3, 1), (3, 1)]
    laws = cached_laws(ExponentialMechanism(epsilon=EPSILON, monotonic=True))
    wrong = [laws(broken.rows_for_users(r, 2)) for r in (rows, heavy)]
    right = [laws(broken.users_per_item(r, 2)) for r in (rows, heavy)]
    assert at_most(max_log_ratio(*right), EPSILON)
    assert not at_most(max_log_ratio(*wrong), EPSILON)


def test_a_call_that_may_fail_has_no_bounded_range() -> None:
    privacy = LimitedDomain(k=1, epsilon=1, delta="1e-6").privacy
    assert privacy.failure
    assert (privacy.bounded_range, privacy.zcdp) == (None, None)
