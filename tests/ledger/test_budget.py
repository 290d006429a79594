"""Budgets: what is granted, reserved, settled and refused, to the last digit, in both stores."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import pytest

from dpselect.accounting.limits import Limits
from dpselect.accounting.prices import Spent
from dpselect.errors import BudgetError, LedgerError, ParameterError
from dpselect.ledger import ZERO, Account, Charge, EntryKind, Ledger, Reservation
from dpselect.ledger.account import ALWAYS
from dpselect.ledger.standing import Usage, format_hold
from tests.ledger.amounts import ask, charge, grant, rest, started

BOB = Account("plays", "bob")


def test_a_grant_adds(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, "0.5", 0)
    standing = grant(ledger, ann, Fraction(1, 4), "1e-6")
    assert standing == ledger.standing(ann)
    assert (standing.granted, standing.own) == (charge("0.75", "1e-6"), Usage())
    assert rest(standing) == standing.granted


def test_a_total_replaces(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "0.001")
    ask(ledger, ann, charge("0.25", "0.0001"))
    ledger.reserve(ann, charge("0.25"), "{}")
    assert rest(grant(ledger, ann, "0.5", "0.0001", total=True)) == ZERO
    assert grant(ledger, ann, 2, "0.5", total=True).granted == charge("2", "0.5")
    assert ledger.verify() == []


@pytest.mark.parametrize(("total", "left"), [(("0.4", "0.1"), ("0", "0.0999")), ((3, 0), ("2.5", "0"))])
def test_a_total_below_what_is_used_lets_nothing_more_through(
    ledger: Ledger, ann: Account, total: tuple[str, str], left: tuple[str, str]
) -> None:
    grant(ledger, ann, 1, "0.001")
    ask(ledger, ann, charge("0.25", "0.0001"))
    at_work = started(ledger, ann, charge("0.25"))
    assert rest(grant(ledger, ann, *total, total=True)) == charge(*left)
    for price in (charge("0.1"), Charge(Fraction(1, 10**30), Fraction(0)), ZERO):
        with pytest.raises(BudgetError):
            ledger.reserve(ann, price, "{}")
    ledger.settle(at_work, charge("0.25"), "[]")  # what was promised before is kept
    assert ledger.standing(ann).left == 0
    assert ledger.verify() == []
    grant(ledger, ann, 1, "0.001", total=True)
    ask(ledger, ann, charge("0.5", "0.0009"))


@pytest.mark.parametrize(
    ("epsilon", "delta", "message"),
    [
        (-1, 0, "epsilon must be a finite number of at least 0, got -1"),
        (0, 0, "epsilon must be above 0 if delta is 0"),
        (0.0, "0", "epsilon must be above 0 if delta is 0"),
        (True, 0, "epsilon must be a finite number"),
        (float("nan"), 0, "epsilon must be a finite number"),
        (float("inf"), 0, "epsilon must be a finite number"),
        ("0,5", 0, "write the decimal point as a point, for example 0.5"),
        ("one", 0, "epsilon must be a finite number"),
        (None, 0, "epsilon must be a finite number"),
        (1, -1e-9, "delta must be at least 0 and less than 1"),
        (1, 1, "delta must be at least 0 and less than 1"),
        (1, "0,1", "write the decimal point as a point"),
        (1, False, "delta must be at least 0"),
        (1, float("nan"), "delta must be at least 0"),
    ],
)
def test_amounts_that_make_no_sense(ledger: Ledger, ann: Account, epsilon: Any, delta: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ledger.data("plays", epsilon, delta)
    assert (ledger.count, ledger.data_accounts()) == (0, [])
    with pytest.raises(ParameterError, match=message):
        grant(ledger, ann, epsilon, delta)
    assert (ledger.count, ledger.all_standings()) == (1, [])  # the account of the data


def test_delta_stays_below_one_in_total(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "0.5")
    with pytest.raises(ParameterError, match="delta must be less than 1 in total, got 1"):
        grant(ledger, ann, 1, "0.5")
    assert ledger.standing(ann).granted == charge("1", "0.5")


def test_ten_tenths_fit_into_one(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, 0)
    for _ in range(10):
        ask(ledger, ann, charge("0.1"))
    assert rest(ledger.standing(ann)) == ZERO
    with pytest.raises(BudgetError) as refused:
        ask(ledger, ann, charge("0.1"))
    assert str(refused.value) == (
        "the question must reserve up to 10 % of the quota of 'ann' on 'plays' while it runs, but only 0 % is left\n"
        "hint: an answer may cost less than is reserved; ask with a smaller epsilon, "
        "or ask the owner of the ledger for a larger budget"
    )
    assert [entry.kind for entry in ledger.entries()][-1] is EntryKind.REFUSED
    assert ledger.verify() == []


def test_what_must_be_held_is_what_a_question_holds_by_itself() -> None:
    """Beside what an answer left of the other sum it would be more than all."""
    limits, answered = Limits(Fraction(1), Fraction(1), Fraction(1)), Spent(Fraction(9, 10), Fraction(15, 100))
    assert format_hold(limits, answered, Spent(Fraction(9, 10), Fraction(6, 5))) == ("90 %", "85 %")
    assert format_hold(limits, answered, Spent(Fraction(1, 5), Fraction(9, 10))) == (
        "90 %",
        "85 %",
    )  # adding is no more


def test_what_is_left_is_counted_by_both_sums_only_where_both_limits_have_them() -> None:
    both, added = (Limits(Fraction(1), renyi, Fraction(1)) for renyi in (Fraction(1), None))
    used = Spent(Fraction(9, 10), Fraction(15, 100))
    left = [one.left(used, other) for one, other in ((both, both), (both, added), (added, both), (added, added))]
    assert left == [Fraction(85, 100), Fraction(1, 10), Fraction(1, 10), Fraction(1, 10)]


def test_the_last_digit_counts(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, 0)
    least = Charge(Fraction(1, 10**30), Fraction(0))
    with pytest.raises(
        BudgetError,
        match=r"reserve up to 100\.01 % of the quota of 'ann' on 'plays' while it runs, but only 100\.00 % is left",
    ):
        ledger.reserve(ann, charge("1") + least, "{}")
    ask(ledger, ann, charge("1") - least)
    ask(ledger, ann, least)
    with pytest.raises(BudgetError):
        ledger.reserve(ann, least, "{}")


def test_delta_alone_runs_out(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 100, "2e-6")
    ask(ledger, ann, charge("1", "1e-6"))
    ask(ledger, ann, charge("1", "1e-6"))
    with pytest.raises(BudgetError, match=r"a delta of 1e-06, and the quota of 'ann' on 'plays' has 0 left for that"):
        ask(ledger, ann, charge("1", "1e-6"))
    ask(ledger, ann, charge("98"))


def test_a_settle_gives_the_rest_back(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "1e-6")
    reservation = started(ledger, ann, charge("0.75", "1e-6"), "{}")
    assert (reservation.account, reservation.ceiling) == (ann, charge("0.75", "1e-6"))
    assert rest(ledger.standing(ann)) == charge("0.25")
    after = ledger.settle(reservation, charge("0.5"), "[]")
    assert after == ledger.standing(ann)
    assert (after.own, after.all, after.left) == (
        Usage(charge("0.5"), ZERO),
        Usage(charge("0.5"), ZERO),
        Fraction(1, 2),
    )
    assert after == ledger.standing(ann)
    assert rest(after) == charge("0.5", "1e-6")


def test_a_settle_for_more_is_a_bug(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "1e-6")
    reservation = started(ledger, ann, charge("0.5"), "{}")
    for more in (charge("0.6"), charge("0.1", "1e-9")):
        with pytest.raises(ValueError, match="must not cost more than what was reserved"):
            ledger.settle(reservation, more, None)
    assert ledger.standing(ann).own.reserved == charge("0.5")


def test_a_settle_happens_once(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, 0)
    reservation = started(ledger, ann, charge("0.5"), "{}")
    ledger.settle(reservation, ZERO, None)
    with pytest.raises(LedgerError, match="reservation 3 was settled already"):
        ledger.settle(reservation, ZERO, None)
    assert rest(ledger.standing(ann)) == charge("1")


def test_a_reservation_cannot_be_made_up(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, 0)
    grant(ledger, BOB, 1, 0)
    real = started(ledger, ann, charge("0.5"), "{}")
    for number, account, when, ceiling in [
        (1, ann, ALWAYS, "1"), (2, ann, ALWAYS, "1"), (99, ann, ALWAYS, "1"), (real.number, BOB, ALWAYS, "0.5"),
        (real.number, ann, ALWAYS, "1"), (real.number, ann, "2026-10", "0.5"),
    ]:  # fmt: skip
        with pytest.raises(LedgerError, match="holds no such reservation"):
            ledger.settle(Reservation(number, account, {when: charge(ceiling)}, real.digest), ZERO, None)
    assert ledger.verify() == []


def test_accounts_are_apart(ledger: Ledger, ann: Account) -> None:
    other = Account("sales", "ann")
    for account in (BOB, ann, other):
        grant(ledger, account, 1, 0)
    ask(ledger, ann, charge("1"))
    assert [(one.account, rest(one).epsilon) for one in ledger.all_standings()] == [(ann, 0), (BOB, 1), (other, 1)]
    assert [entry.number for entry in ledger.entries(ann)] == [3, 6, 7, 8]


def test_an_unknown_analyst_is_named_with_those_near(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, 0)
    with pytest.raises(LedgerError, match=r"'anne' has no budget for the data set 'plays'\nhint: did you mean ann\?"):
        ledger.reserve(Account("plays", "anne"), ZERO, "{}")
    with pytest.raises(LedgerError, match="'sales'\nhint: no analyst has: grant one with"):
        ledger.standing(Account("sales", "ann"))
    assert ledger.count == 2


def test_names_of_all_the_world(ledger: Ledger) -> None:
    for analyst in ("Åsa", "O'Neil; DROP TABLE entry", "%s ? {whole}", "数" * 200, "🎵"):
        account = Account("données", analyst)
        grant(ledger, account, 1, 0)
        ask(ledger, account, charge("1"), '{"where": "a = \'ü\' ? %s"}', "é")
        assert ledger.repeat(account, '{"where": "a = \'ü\' ? %s"}') == "é"
    assert ledger.verify() == []


@pytest.mark.parametrize("text", ["a\0b", "\ud800", b"bytes", None])
def test_questions_that_no_store_can_keep(ledger: Ledger, ann: Account, text: str) -> None:
    grant(ledger, ann, 1, 0)
    with pytest.raises(ParameterError, match="question must be a text"):
        ledger.reserve(ann, ZERO, text)
    assert ledger.count == 2


def test_threads_share_a_ledger(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, 0)
    granted: list[int] = []

    def many() -> None:
        for _ in range(10):
            try:
                granted.append(ledger.reserve(ann, charge("0.05"), "{}").number)
            except BudgetError:
                granted.append(0)

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(bool, granted)) == [False] * 20 + [True] * 20
    assert ledger.verify() == []
