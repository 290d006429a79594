"""The joint mechanisms on the real draws: envelopes and acceptance, against their exact distributions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpselect.draws import SecureDraws
from dpselect.mechanisms import CanonicalSet
from dpselect.papers import JointSequence, JointSet
from dpselect.testing import law
from tests.statistical.judge import judge

COUNTS = (6, 5, 3, 3, 0)


@pytest.fixture(params=[None, 0.999999], ids=["as shipped", "coarse"])
def draws(request, monkeypatch):
    """Coarse: the envelope stays as wide as it was, and nearly every proposal is rejected; the same distribution."""
    if request.param:
        monkeypatch.setattr("dpselect.draws.monotone_categorical.REJECTION_RATE", request.param)
    return SecureDraws()


@pytest.mark.parametrize("kind", [JointSet, JointSequence, CanonicalSet])
def test_joint_mechanisms(kind, draws):
    def law_at(epsilon):
        mechanism = kind(k=2, epsilon=epsilon)
        exact = law(lambda d: tuple(mechanism(COUNTS, draws=d).tolist()))
        return {answer: float(p.mid()) for answer, p in exact.items()}

    mechanism = kind(k=2, epsilon=1)
    wrong = [law_at(2), law_at(Fraction(1, 2))]
    judge(lambda: tuple(mechanism(COUNTS, draws=draws).tolist()), law_at(1), wrong)
