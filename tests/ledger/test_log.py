"""Entries, releases given again, heads, and opening what is there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from dpselect.errors import LedgerError
from dpselect.ledger import ZERO, Account, Charge, EntryKind, Ledger, entry, sql
from dpselect.ledger.terms import format_data_terms
from tests.ledger.amounts import ask, charge, grant, rest, started

QUESTION = '{"k": 10}'


def test_a_release_is_given_again(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, 0)
    assert ledger.repeat(ann, QUESTION) is None
    ask(ledger, ann, charge("0.1"), QUESTION, "[1]")
    ask(ledger, ann, charge("0.1"), QUESTION, "[2]")
    ask(ledger, ann, charge("0.1"), QUESTION, None)
    before = ledger.standing(ann)
    assert ledger.repeat(ann, QUESTION) == "[2]"
    assert ledger.standing(ann) == before
    last = list(ledger.entries())[-1]
    assert (last.kind, last.charge, last.question, last.refers_to) == (EntryKind.REPEAT, ZERO, QUESTION, 8)
    assert ledger.verify() == []


def test_only_the_same_question_of_the_same_data(ledger: Ledger, ann: Account) -> None:
    bob, sales = Account("plays", "bob"), Account("sales", "ann")
    for account in (ann, bob, sales):
        grant(ledger, account, 1, 0)
    ask(ledger, ann, charge("0.1"), QUESTION, "[1]")
    ledger.reserve(ann, charge("0.1"), "not settled")
    count = ledger.count
    for account, question in [(sales, QUESTION), (ann, QUESTION + " "), (bob, "not settled"), (ann, "not settled")]:
        assert ledger.repeat(account, question) is None
    assert ledger.count == count


def test_what_one_analyst_paid_is_free_for_all_who_have_a_quota_of_the_data(ledger: Ledger, ann: Account) -> None:
    bob, eve = Account("plays", "bob"), Account("plays", "eve")
    for account in (ann, bob):
        grant(ledger, account, 1, 0)
    ask(ledger, ann, charge("1"), QUESTION, "[1]")
    grant(ledger, bob, 0, "1e-6", total=True)  # he could not pay for it
    assert ledger.repeat(bob, QUESTION) == "[1]"
    assert ledger.standing(bob).own.total == ZERO
    last = list(ledger.entries())[-1]
    assert (last.account, last.charge, last.refers_to) == (bob, ZERO, 6)
    count = ledger.count
    for stranger in (eve, Account("sales", "bob")):
        with pytest.raises(LedgerError, match="has no budget for the data set"):
            ledger.repeat(stranger, QUESTION)
    assert ledger.count == count
    assert ledger.verify() == []


def test_entries_say_what_happened(ledger: Ledger, ann: Account) -> None:
    grant(ledger, ann, 1, "1e-6")
    start = ledger.head
    ledger.settle(started(ledger, ann, charge("0.5"), QUESTION), charge("0.25"), "[1]")
    promised, granted, hold, read, settle = ledger.entries()
    assert (promised.kind, promised.charge, promised.number) == (EntryKind.DATA, charge("1000", "0.1"), 1)
    assert promised.account == Account.for_everybody("plays")
    assert (granted.kind, granted.charge, granted.number, granted.digest) == (
        EntryKind.GRANT,
        charge("1", "1e-6"),
        2,
        start,
    )
    assert (hold.kind, hold.charge, hold.question) == (EntryKind.HOLD, charge("0.5"), QUESTION)
    assert (read.kind, read.charge, read.refers_to) == (EntryKind.READ, ZERO, 3)
    assert (settle.kind, settle.charge, settle.refers_to, settle.release) == (
        EntryKind.SETTLE,
        charge("0.25"),
        3,
        "[1]",
    )
    assert (hold.previous, read.previous, settle.previous) == (granted.digest, hold.digest, read.digest)
    assert (promised.terms, granted.terms, hold.terms) == (format_data_terms(ledger.data_account("plays")), None, None)
    assert (ledger.head, ledger.count) == (settle.digest, 5)


def test_many_entries_come_in_pages(ledger: Ledger, ann: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENTRIES", "ENTRIES_OF"):
        monkeypatch.setattr(sql, name, getattr(sql, name).replace(f"LIMIT {sql.PAGE_SIZE}", "LIMIT 2"))
    for analyst in ("ann", "bob", "ann", "ann", "bob", "ann", "ann"):
        grant(ledger, Account("plays", analyst), 1, 0)
    assert [one.number for one in ledger.entries()] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [one.number for one in ledger.entries(ann)] == [2, 4, 5, 7, 8]
    assert ledger.verify() == []


def test_it_is_there_when_opened_again(where: str, ann: Account) -> None:
    with Ledger.create(where) as ledger:
        grant(ledger, ann, 1, 0)
        open_one = started(ledger, ann, charge("0.5"), QUESTION)
        head = ledger.head
    with Ledger(where) as ledger:
        assert ledger.head == head
        assert ledger.settle(open_one, charge("0.5"), "[1]").left == Fraction(1, 2)
        assert rest(ledger.standing(ann)) == charge("0.5")
        assert ledger.verify(head) == []
        assert ledger.verify(ledger.head) == []


def test_a_noted_head_is_looked_for(ledger: Ledger, ann: Account) -> None:
    empty = ledger.head
    grant(ledger, ann, 1, 0)
    assert ledger.verify(empty) == []
    assert "no entry has the digest that was noted" in ledger.verify("0" * 64)[0]


def test_two_ledgers_have_no_head_in_common(where: str, tmp_path: object) -> None:
    with Ledger.create(where) as one, Ledger.create(f"{tmp_path}/other") as other:
        assert one.head != other.head


def test_nothing_is_overwritten(where: str, ann: Account) -> None:
    with Ledger.create(where) as ledger:
        grant(ledger, ann, 1, 0)
    with pytest.raises(LedgerError, match="is already there\nhint: a ledger is never overwritten"):
        Ledger.create(where)
    with Ledger(where) as ledger:
        assert ledger.count == 2


def test_a_closed_ledger_says_so(where: str, ann: Account) -> None:
    ledger = Ledger.create(where)
    ledger.close()
    ledger.close()
    for use in (ledger.all_standings, ledger.verify, lambda: ledger.head, lambda: grant(ledger, ann, 1, 0)):
        with pytest.raises(LedgerError, match=r"is closed\nhint: open it again"):
            use()


def test_a_clock_that_goes_back_changes_nothing(ledger: Ledger, ann: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    grant(ledger, ann, 1, 0)
    ask(ledger, ann, charge("0.1"), QUESTION, "[1]")
    monkeypatch.setattr(entry, "now", lambda: "1970-01-01T00:00:00+00:00")
    ask(ledger, ann, charge("0.1"), QUESTION, "[2]")
    assert ledger.repeat(ann, QUESTION) == "[2]"
    assert ledger.standing(ann).own.spent == charge("0.2")
    assert ledger.verify() == []


def test_no_password_is_shown(where: str) -> None:
    with Ledger.create(where) as ledger:
        assert "dpselect@" not in repr(ledger)


# ---- charges ----------------------------------------------------------------------------------------------


def test_charges_are_rounded_up() -> None:
    third = Charge.round_up(Fraction(1, 3), Fraction(1, 10**40))
    assert third.epsilon == Fraction(10**30 // 3 + 1, 10**30)
    assert third.delta == Fraction(1, 10**30)
    assert Charge.round_up(third.epsilon, third.delta) == third


def test_charges_add_up() -> None:
    assert charge("0.1", "0.2") + charge("0.3") - charge("0.2", "0.2") == charge("0.2")
    assert charge("0.1", "0.2").fits(charge("0.1", "0.2"))
    assert not charge("0.1", "0.2").fits(charge("1", "0.1"))
    assert not charge("0.1").fits(charge("0.09", "1"))
    assert str(charge("100", "1e-6")) == "epsilon 100 and delta 0.000001"


@pytest.mark.parametrize("parts", [(Fraction(-1), Fraction(0)), (Fraction(0), Fraction(1, 3))])
def test_charges_that_are_none(parts: tuple[Fraction, Fraction]) -> None:
    with pytest.raises(ValueError, match="never negative and lies on the grid"):
        Charge(*parts)
    with pytest.raises(ValueError, match="never negative"):
        charge("0.1") - charge("0.2")


def test_what_every_question_looks_for_is_found_by_an_index(tmp_path: Path) -> None:
    """A search of all entries would make each question of an old ledger slower than the one before it."""
    path = tmp_path / "budget.ledger"
    Ledger.create(path).close()
    searches = (sql.RELEASED, sql.FOLLOWERS, sql.ONE_ENTRY, sql.CHAIN_END, sql.QUOTA_AND_DATA, sql.TWO_USED)
    with closing(sqlite3.connect(path)) as connection:
        for statement in (*searches, sql.PENDING):
            plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", ["1"] * statement.count("?")).fetchall()
            assert plan
            assert not [step for *_, step in plan if step.startswith("SCAN")], statement
