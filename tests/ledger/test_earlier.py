"""Ledgers of earlier versions are brought up: nothing they promised, charged or answered is lost, or becomes more."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.accounting.promise import Promise
from dpselect.errors import BudgetError, LedgerError, ParameterError
from dpselect.ledger import ZERO, Account, Balance, Charge, Kind, Ledger, Reservation
from dpselect.ledger.account import EVERYBODY
from dpselect.ledger.standing import USER, Used
from tests.house.pace import examples
from tests.ledger.amounts import ask, charge
from tests.ledger.earlier import NOTHING, Amount, Earlier, Kept, amount, balance_cells

ANN, BOB, SALES = Account("plays", "ann"), Account("plays", "bob"), Account("sales", "ann")
LEAST = Charge(Fraction(1, 10**30), Fraction(0))
FORMS = [(1, 1), (2, 1), (2, 2)]


def fill(old: Earlier) -> None:
    """Three analysts' budgets: answers, a refusal, a repeat, and questions that are at work or died."""
    old.grant(ANN, "1", "1e-5")
    old.grant(BOB, "1", "0")
    old.grant(ANN, "1", "1e-5")
    old.grant(SALES, "0.5", "1e-6")
    answered = old.ask(ANN, amount("0.5", "1e-6"), "answered", "[1]")
    old.ask(BOB, amount("0.125"), "bob's", None)
    assert old.reserve(BOB, amount("1"), "too much") is None
    old.repeat(ANN, "answered", answered)
    number = old.reserve(ANN, amount("0.25", "1e-6"), "at work")
    assert number is not None
    old.start(number)
    if old.form == 2:
        for question in ("unread", "returned"):
            number = old.reserve(ANN, amount("0.125"), question)
        assert number is not None
        old.give_back(number)


@pytest.fixture(params=FORMS, ids=["form 1", "form 2, born in form 1", "form 2"])
def old(where: str, request: pytest.FixtureRequest) -> Iterator[Earlier]:
    """A ledger of an earlier version, which a process of that version has open."""
    form, born = request.param
    made = Earlier(where, form, born=born)
    fill(made)
    yield made
    made.store.close()


def as_charge(of: Amount) -> Charge:
    return Charge(*of)


def as_used(*of: Kept) -> Used:
    """Together."""
    spent, reserved = (
        sum(map(as_charge, parts), start=ZERO) for parts in ([b.spent for b in of], [b.reserved for b in of])
    )
    return Used(spent, reserved)


# ---- what is there afterwards -----------------------------------------------------------------------------


def test_every_balance_becomes_a_quota_and_what_was_used_of_it(old: Earlier, where: str) -> None:
    before = {account: old.balance(account) for account in (ANN, BOB, SALES)}
    with Ledger(where) as ledger:
        assert ledger.balances() == [
            Balance(account, as_charge(b.granted), as_charge(b.spent), as_charge(b.reserved))
            for account, b in before.items()
        ]
        plays, sales = ledger.data_accounts()
        assert plays[1] == {"": as_used(before[ANN], before[BOB])}
        assert sales[1] == {"": as_used(before[SALES])}


@pytest.mark.usefixtures("old")
def test_the_account_of_the_data_is_the_sum_and_adds_up(where: str) -> None:
    with Ledger(where) as ledger:
        (plays, _), (sales, _) = ledger.data_accounts()
    assert plays.promise == Promise(Fraction(3), Fraction(2, 10**5), None, Fraction(0))
    assert sales.promise == Promise(Fraction(1, 2), Fraction(1, 10**6), None, Fraction(0))
    assert [(one.dataset, one.unit, one.keep, one.period) for one in (plays, sales)] == [
        ("plays", USER, 0, None),
        ("sales", USER, 0, None),
    ]


def test_entries_stay_as_they_were_and_the_chain_goes_on(old: Earlier, where: str) -> None:
    head, count = old.head, old.count
    digests = [row[0] for row in old.store.run("SELECT digest FROM entry ORDER BY number")]
    with Ledger(where) as ledger:
        entries = list(ledger.entries())
        assert [entry.digest for entry in entries[:count]] == digests
        assert [(entry.kind, entry.account) for entry in entries[count:]] == [
            (Kind.DATA, Account.kept(name, EVERYBODY)) for name in ("plays", "sales")
        ]
        assert entries[count].previous == head
        assert ledger.verify() == ledger.verify(head) == ledger.verify(ledger.head) == []
        ask(ledger, ANN, charge("0.25"), "another")
        assert ledger.verify(head) == []
    with Ledger(where) as ledger:  # brought up once
        assert ledger.count == count + 5


def test_a_ledger_without_entries(where: str) -> None:
    old = Earlier(where, 1)
    head = old.head
    with Ledger(where) as ledger:
        assert (ledger.count, ledger.data_accounts(), ledger.balances()) == (0, [], [])
        ledger.data("plays", 1, "1e-6")
        ledger.grant(ANN, 1, "1e-6")
        ask(ledger, ANN, charge("0.5", "1e-7"))
        assert ledger.verify(head) == []
    old.store.close()


def test_who_opens_it_at_the_same_time_brings_it_up_once(old: Earlier, where: str) -> None:
    gate, counts = threading.Barrier(4), list[int]()

    def open_it() -> None:
        gate.wait(60)
        with Ledger(where) as ledger:
            counts.append(ledger.count)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for one in threads:
        one.start()
    before = old.count
    for one in threads:
        one.join()
    assert before <= counts[0]
    with Ledger(where) as ledger:
        assert counts == [ledger.count] * 4
        assert [entry.kind for entry in ledger.entries()].count(Kind.DATA) == 2
        assert ledger.verify() == []


# ---- what is paid and refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("account", [ANN, BOB, SALES], ids=str)
def test_it_refuses_what_the_earlier_version_refused_to_the_last_digit(
    old: Earlier, where: str, account: Account
) -> None:
    left = old.balance(account).left
    with Ledger(where) as ledger:
        for too_much in (as_charge(left) + LEAST, as_charge(left) + Charge(Fraction(0), LEAST.epsilon)):
            with pytest.raises(BudgetError):
                ledger.reserve(account, too_much, "{}")
        ask(ledger, account, as_charge(left))
        assert ledger.balance(account).left == ZERO
        with pytest.raises(BudgetError):
            ledger.reserve(account, LEAST, "{}")
        assert ledger.verify() == []


prices = st.tuples(
    st.fractions(min_value=0, max_value=1, max_denominator=10**3).map(lambda e: Fraction(round(e * 1000), 1000)),
    st.integers(0, 40).map(lambda d: Fraction(d, 10**6)),
)


@examples(30)
@given(
    st.lists(st.tuples(st.sampled_from(["grant", "reserve", "ask"]), st.sampled_from([ANN, BOB]), prices), max_size=8),
    st.lists(st.tuples(st.sampled_from([ANN, BOB]), prices), min_size=1, max_size=6),
)
def test_whatever_happened_before_it_refuses_what_the_earlier_version_refused(
    life: list[tuple[str, Account, Amount]], asked: list[tuple[Account, Amount]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        where = str(Path(folder) / "x")
        old = Earlier(where, 2)
        for account in (ANN, BOB):
            old.grant(account, "0.5", "1e-5")
        for what, account, price in life:
            if what == "grant":
                old.grant(account, str(price[0]), str(price[1]))
            else:
                number = old.reserve(account, price, "{}")
                if number is not None and what == "ask":
                    old.start(number)
                    old.settle(number, (price[0] / 2, price[1]), "[]")
        known = {account: old.balance(account) for account in (ANN, BOB)}
        old.store.close()
        with Ledger(where) as ledger:
            for account, price in asked:
                before = known[account]
                try:
                    ledger.reserve(account, as_charge(price), "{}")
                except BudgetError:
                    assert not before.affords(price)
                else:
                    assert before.affords(price)
                    reserved = (before.reserved[0] + price[0], before.reserved[1] + price[1])
                    known[account] = replace(before, reserved=reserved)
            assert ledger.verify() == []


def test_a_question_that_was_open_is_settled_or_stays_spent(old: Earlier, where: str) -> None:
    head, before = old.head, old.balance(ANN)
    with Ledger(where) as ledger:
        at_work, *unread = ledger.pending()
        assert (at_work.entry.question, at_work.may_have_read) == ("at work", True)
        assert [(one.entry.question, one.may_have_read) for one in unread] == [("unread", False)] * (old.form == 2)
        with pytest.raises(LedgerError, match="rows may have been read"):
            ledger.give_back(at_work)
        reservation = Reservation.of(at_work.entry)
        assert reservation.ceiling.renyi == reservation.ceiling.epsilon
        with pytest.raises(ValueError, match="must not cost more"):
            ledger.settle(reservation, charge("0.25", "1e-6") + LEAST, "[2]")
        after = ledger.settle(reservation, charge("0.125", "1e-6"), "[2]")
        assert after.own.spent == as_charge(before.spent) + charge("0.125", "1e-6")
        assert after.own.reserved == as_charge(before.reserved) - charge("0.25", "1e-6")
        assert after == ledger.standing(ANN)
        with pytest.raises(LedgerError, match="was settled already"):
            ledger.settle(reservation, ZERO, None)
        for one in unread:
            ledger.give_back(one)
        assert ledger.balance(ANN).reserved == ZERO
        assert list(ledger.pending()) == []
        assert ledger.repeat(ANN, "at work") == "[2]"
        assert ledger.verify(head) == []


@pytest.mark.usefixtures("old")
def test_what_was_settled_or_returned_is_closed(where: str) -> None:
    with Ledger(where) as ledger:
        entries = {entry.question: entry for entry in ledger.entries() if entry.kind in (Kind.RESERVE, Kind.HOLD)}
        for question, said in {"answered": "settled already", "returned": "given back already"}.items():
            if question in entries:
                with pytest.raises(LedgerError, match=said):
                    ledger.settle(Reservation.of(entries[question]), ZERO, None)


@pytest.mark.usefixtures("old")
def test_stored_answers_are_found(where: str) -> None:
    with Ledger(where) as ledger:
        before = ledger.balances()
        assert ledger.repeat(ANN, "answered") == ledger.repeat(BOB, "answered") == "[1]"
        assert ledger.repeat(BOB, "bob's") is None  # which had no release
        assert ledger.repeat(SALES, "answered") is None
        assert ledger.balances() == before
        assert ledger.verify() == []


# ---- programs of the earlier version that have it open ------------------------------------------------------


def number_of(old: Earlier, question: str) -> int:
    rows = old.store.run("SELECT number FROM entry WHERE question = ? AND kind IN ('hold', 'reserve')", (question,))
    return int(str(rows[0][0]))


ACTS: dict[str, Callable[[Earlier], object]] = {
    "grants": lambda old: old.grant(ANN, "9", "0"),
    "grants to another": lambda old: old.grant(Account("plays", "eve"), "9", "0"),
    "reserves": lambda old: old.reserve(ANN, amount("0.125"), "{}"),
    "reserves for nothing": lambda old: old.reserve(ANN, NOTHING, "{}"),
    "is refused": lambda old: old.reserve(ANN, amount("9"), "{}"),
    "settles": lambda old: old.settle(number_of(old, "at work"), NOTHING, "[]"),
    "gives back": lambda old: old.give_back(number_of(old, "at work")),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_a_process_of_the_earlier_version_can_spend_no_more(
    old: Earlier, where: str, act: Callable[[Earlier], object]
) -> None:
    with Ledger(where) as ledger:
        head, balances = ledger.head, ledger.balances()
        with pytest.raises(LedgerError, match="its tables are not there"):
            act(old)
        assert (ledger.head, ledger.balances()) == (head, balances)
        ask(ledger, ANN, charge("0.25"))
        assert ledger.verify(head) == []


def test_what_such_a_process_starts_is_never_answered(where: str) -> None:
    """It may still say that it reads rows; what it would answer cannot be settled, and stays reserved."""
    old = Earlier(where, 2)
    fill(old)
    with Ledger(where) as ledger:
        number = number_of(old, "unread")
        old.start(number)
        with pytest.raises(LedgerError, match="its tables are not there"):
            old.settle(number, NOTHING, "[]")
        (entry,) = (one.entry for one in ledger.pending() if one.entry.question == "unread")
        with pytest.raises(LedgerError, match="rows may have been read"):
            ledger.give_back(Reservation.of(entry))
        assert ledger.balance(ANN).reserved == charge("0.375", "1e-6")
        assert ledger.verify() == []
    old.store.close()


# ---- composing from now on ----------------------------------------------------------------------------------


def test_an_account_begins_to_compose_with_what_was_spent_by_its_epsilon(old: Earlier, where: str) -> None:
    head, before = old.head, as_used(old.balance(ANN), old.balance(BOB))
    with Ledger(where) as ledger:
        made = ledger.data("plays", 3, "1e-4")
        assert made.promise == Promise.of(Fraction(3), Fraction(1, 10**4))
        assert made.promise.order is not None
        assert made.promise.renyi is not None
        ((_, used), _) = ledger.data_accounts()
        assert used == {"": before}
        assert (used[""].spent.renyi, used[""].reserved.renyi) == (before.spent.epsilon, before.reserved.epsilon)
        # Questions of small divergence now fit, many more of them than by adding: until the divergences are full.
        ledger.grant(ANN, 10, 0)
        small = Charge.up(Fraction(1, 2), Fraction(0), Fraction(1, 100))
        fits = (made.promise.renyi - before.total.renyi) // small.renyi
        assert fits > 30
        for _ in range(int(fits)):
            ask(ledger, ANN, small)
        with pytest.raises(BudgetError, match="what is promised of 'plays'"):
            ledger.reserve(ANN, small, "{}")
        assert ledger.verify(head) == []


@pytest.mark.parametrize(("delta", "begins"), [("3e-6", False), ("3.9999e-6", False), ("4e-6", True)])
def test_an_account_stays_additive_where_what_was_spent_leaves_no_room(where: str, delta: str, begins: bool) -> None:
    """Half of delta is set apart for composing; (2e-6) is used already."""
    old = Earlier(where, 2)
    old.grant(ANN, "2", "2e-6")
    old.ask(ANN, amount("1", "2e-6"), "{}", "[]")
    with Ledger(where) as ledger:
        promise = ledger.data("plays", 2, delta).promise
        assert (promise.order is not None) == begins
        assert promise.apart == (Fraction(delta) / 2 if begins else 0)
        small = Charge.up(Fraction(11, 10), Fraction(0), Fraction(1, 1000))
        ledger.grant(ANN, 2, 0)
        if begins:
            ask(ledger, ANN, small)
        else:
            with pytest.raises(BudgetError):
                ledger.reserve(ANN, charge("1.1"), "{}")
        assert ledger.verify() == []
    old.store.close()


@pytest.mark.usefixtures("old")
def test_how_it_composes_is_settled_once_it_began(where: str) -> None:
    with Ledger(where) as ledger:
        begun = ledger.data("plays", 3, "1e-4").promise
        more = ledger.data("plays", 30, "1e-3").promise
        assert (more.order, more.apart) == (begun.order, begun.apart)
        with pytest.raises(ParameterError, match="delta must be at least"):
            ledger.data("plays", 30, "1e-5")
        assert ledger.verify() == []


@pytest.mark.usefixtures("old")
def test_a_total_below_what_was_used_is_refused(where: str) -> None:
    with Ledger(where) as ledger:
        used = ledger.standing(ANN).all.total
        for total in ((used.epsilon - LEAST.epsilon, "0.5e-5"), (3, used.delta - LEAST.epsilon)):
            with pytest.raises(
                ParameterError, match=r"be at least the .* that is used or set apart|cover what is used, by adding"
            ):
                ledger.data("plays", *total)
        promise = ledger.data("plays", used.epsilon, used.delta).promise
        assert (promise.order, promise.epsilon, promise.delta) == (None, used.epsilon, used.delta)
        assert ledger.verify() == []


# ---- damage -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        "granted_epsilon = '9.000000000000000000000000000000'",
        "spent_epsilon = '0.000000000000000000000000000000'",
        "reserved_delta = '0.000000000000000000000000000001'",
        "analyst = 'eve'",
        "seal = ''",
    ],
)
def test_a_damaged_balance_is_not_brought_up(old: Earlier, where: str, change: str) -> None:
    head = old.head
    with old.store.transaction():
        old.store.run(f"UPDATE balance SET {change} WHERE analyst = 'bob'")
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"is damaged: a balance cannot be trusted: .* seal\nhint: take it from"):
            Ledger(where)
    assert old.head == head  # nothing was changed, also not in part
    assert old.store.run("SELECT version FROM meta") == [(old.form,)]
    old.ask(ANN, amount("0.125"), "the earlier version goes on", "[]")


def test_a_balance_that_its_entries_do_not_add_up_to_is_named(old: Earlier, where: str) -> None:
    """With a sound seal, as somebody writes it who knows how."""
    with old.store.transaction():
        old.store.run("DELETE FROM balance WHERE analyst = 'bob'")
    richer = Kept(amount("9"), NOTHING, NOTHING)
    with old.store.transaction():
        old.store.run("INSERT INTO balance VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", balance_cells(BOB, richer))
    with Ledger(where) as ledger:
        problems = "\n".join(ledger.verify())
    assert "the quota of 'bob' on 'plays' is epsilon 9 and delta 0, its entries add up to epsilon 1 and" in problems
    assert "what is used of 'bob' on 'plays' is epsilon 0 and delta 0 spent" in problems


def test_a_balance_that_is_missing_is_named(old: Earlier, where: str) -> None:
    with old.store.transaction():
        old.store.run("DELETE FROM balance WHERE analyst = 'bob'")
    with Ledger(where) as ledger:
        problems = "\n".join(ledger.verify())
    assert "the quota of 'bob' on 'plays' is missing or damaged" in problems
