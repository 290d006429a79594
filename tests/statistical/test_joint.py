"""The joint mechanisms on the real draws: envelopes, acceptance and heights, against their exact distributions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpselect.draws import SecureDraws
from dpselect.mechanisms import CanonicalSet, JointPermuteAndFlip, JointSequence, JointSet
from dpselect.testing import law
from tests.statistical.judge import judge

COUNTS = (6, 5, 3, 3, 0)


@pytest.fixture(params=[None, 0.999999], ids=["as shipped", "coarse"])
def draws(request, monkeypatch):
    """Coarse: the envelope stays as wide as it was, and nearly every proposal is rejected; the same distribution."""
    if request.param:
        monkeypatch.setattr("dpselect.draws.monotone_categorical.REJECTION_RATE", request.param)
        monkeypatch.setattr("dpselect.draws.permute_and_flip.REJECTION_BITS", 0)
    return SecureDraws()


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (JointSet, {}),
        (JointSequence, {}),
        (CanonicalSet, {}),
        (JointPermuteAndFlip, {"loss": "joint"}),
        (JointPermuteAndFlip, {"loss": "canonical"}),
    ],
)
def test_joint_mechanisms(kind, more, draws):
    def law_at(epsilon):
        mechanism = kind(k=2, epsilon=epsilon, **more)
        exact = law(lambda d: tuple(mechanism(COUNTS, draws=d).tolist()))
        return {answer: float(p.mid()) for answer, p in exact.items()}

    mechanism = kind(k=2, epsilon=1, **more)
    wrong = [law_at(2), law_at(Fraction(1, 2))]
    judge(lambda: tuple(mechanism(COUNTS, draws=draws).tolist()), law_at(1), wrong)


@pytest.mark.parametrize("loss", ["joint", "canonical"])
def test_heights_that_count_as_low(loss, monkeypatch):
    """Nearly all of them, as where very many sets compete: one envelope serves for the height and for the draw."""
    monkeypatch.setattr("dpselect.draws.permute_and_flip.LOW", 0.9)

    def law_at(epsilon):
        mechanism = JointPermuteAndFlip(k=2, epsilon=epsilon, loss=loss)
        exact = law(lambda d: tuple(mechanism(COUNTS, draws=d).tolist()))
        return {answer: float(p.mid()) for answer, p in exact.items()}

    draws, mechanism = SecureDraws(), JointPermuteAndFlip(k=2, epsilon=1, loss=loss)
    judge(lambda: tuple(mechanism(COUNTS, draws=draws).tolist()), law_at(1), [law_at(2), law_at(Fraction(1, 2))])


def test_permute_and_flip_differs_from_the_exponential_mechanism():
    """The nearest wrong distribution: without the height, flipping would be the exponential mechanism."""
    counts = (2, 1, 0, 0)

    def law_of(kind):
        exact = law(lambda d: tuple(kind(k=1, epsilon=2)(counts, draws=d).tolist()))
        return {answer: float(p.mid()) for answer, p in exact.items()}

    draws, mechanism = SecureDraws(), JointPermuteAndFlip(k=1, epsilon=2)
    right, other = law_of(JointPermuteAndFlip), law_of(JointSet)
    judge(lambda: tuple(mechanism(counts, draws=draws).tolist()), right, [other, {(0,): 0.9, (1,): 0.08, (2,): 0.02}])
