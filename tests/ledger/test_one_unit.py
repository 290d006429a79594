"""What an analyst has left, and what a question takes: parts of one thing, own and common told apart."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpselect.ledger import Account, Ledger
from tests.ledger.amounts import ask, charge

ANN = Account("plays", "ann")


def old_left(standing):
    """The twin: the least of a part of the quota and a part of the promise, which are parts of different things."""
    return 1 - max(limits.part(used.total.as_spent) for limits, used in standing.limits)


@pytest.mark.parametrize("apart", [charge("0.9"), charge("0.9", "1e-7")])
def test_what_is_left_of_a_quota_and_what_a_question_takes_are_in_one_unit(tmp_path, apart):
    """Ann may use a third of what is promised, of which bob used two thirds."""
    with Ledger.create(tmp_path / "one.sqlite") as ledger:
        ledger.data(ANN.dataset, 3, "1e-6")
        bob = Account(ANN.dataset, "bob")
        ledger.grant(ANN, 1, "4e-7")
        ledger.grant(bob, 3, "4e-7")
        ask(ledger, bob, charge("2"))
        before = ledger.standing(ANN)
        assert before.left == 1
        assert before.part(apart) > old_left(before)
        assert before.admits(apart)
        after = ask(ledger, ANN, apart)
        assert after.left == before.left - before.part(apart) == before.left_with(apart) == Fraction(1, 10)
        assert not after.admits(charge("0.2"))
        quota, used, own, common = after.promise_shares
        assert (quota, used, own, common) == tuple(Fraction(one, 30) for one in (10, 9, 1, 1))
        assert after.delta_left == Fraction(4, 10**7) - apart.delta
        assert ledger.standing(bob).promise_shares == (1, Fraction(2, 3), Fraction(1, 3), Fraction(1, 30))


@pytest.mark.parametrize("granted", ["1", "3", "9"])
def test_what_everybody_has_left_bounds_what_one_has(tmp_path, granted):
    with Ledger.create(tmp_path / "one.sqlite") as ledger:
        ledger.data(ANN.dataset, 3, "1e-6", keep="1/2")
        ledger.grant(ANN, granted, 0)
        ledger.grant(Account(ANN.dataset, "bob"), 3, 0)
        ask(ledger, Account(ANN.dataset, "bob"), charge("1.2"))
        standing, most = ledger.standing(ANN), min(Fraction(granted), Fraction(3, 2))
        assert standing.left == Fraction(3, 10) / most
        assert standing.part(charge("0.3")) == standing.left
        assert standing.admits(charge("0.3"))
        assert not standing.admits(charge("0.301"))
