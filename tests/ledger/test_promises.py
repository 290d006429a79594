"""The account of the data is the promise, quotas are caps in it, and both are reserved at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpselect as dps
from dpselect._ground.periods import Periods, parse_periods
from dpselect.accounting.prices import Price, Spent
from dpselect.accounting.promise import Promise, how_many
from dpselect.audit.sums import Sums
from dpselect.errors import BudgetError, LedgerError, ParameterError
from dpselect.flat import dataset_of
from dpselect.ledger import Account, Charge, DataAccount, EntryKind, Ledger, Reservation
from dpselect.ledger.charge import Ceiling
from dpselect.ledger.entry import Draft, chain_entry
from dpselect.ledger.standing import Standing, Usage
from dpselect.ledger.terms import format_data_terms, format_parts, parse_data_terms
from tests.by_names import plan_of
from tests.ledger.amounts import charge, started

ANN, BOB, EVE = (Account("plays", name) for name in ("ann", "bob", "eve"))
TOP = plan_of("top_k", k=10, epsilon="0.1", delta="1e-9", method="limited-domain")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "x") as made:
        yield made


def price(ledger: Ledger, query: Any = TOP) -> tuple[Price, int | None]:
    order = ledger.data_account("plays").promise.order
    return query.price_at(order), order


def ask(ledger: Ledger, account: Account, query: Any = TOP, during: Periods | None = None) -> Standing:
    """A question that costs its ceiling."""
    asked, order = price(ledger, query)
    reservation = ledger.reserve(account, asked, "{}", order=order, during=during)
    ledger.start(reservation)
    return ledger.settle(reservation, asked, "[]")


def paid(ledger: Ledger, account: Account, query: Any = TOP) -> int:
    """How many are paid until one is refused."""
    count = 0
    while True:
        try:
            ask(ledger, account, query)
        except BudgetError:
            return count
        count += 1


# ---- the account ------------------------------------------------------------------------------------------


def test_no_quota_without_an_account(where: str) -> None:
    with Ledger.create(where) as ledger:
        with pytest.raises(LedgerError, match=r"there is no promise for the data 'plays'\nhint: the owner makes"):
            ledger.grant(ANN, 1, 0)
        ledger.data("sales", 1, 0)
        with pytest.raises(LedgerError, match=r"for the data 'plays'\nhint: "):
            ledger.grant(ANN, 1, 0)
        assert ledger.all_standings() == []


def test_one_account_pays_what_its_promise_pays(ledger: Ledger) -> None:
    """111 of 0.1 where adding pays 10, for one analyst or shared by two."""
    ledger.data("plays", 1, "1e-6")
    for who in (ANN, BOB):
        ledger.grant(who, 1, "1e-6")
    made = ledger.data_account("plays").promise
    assert made == Promise.for_account(Fraction(1), Fraction(1, 10**6))
    assert how_many(made, TOP.price_at(made.order)) == 111
    for _ in range(40):
        standing = ask(ledger, BOB)
    assert standing.left_for(price(ledger)[0]) == 71
    assert paid(ledger, ANN) == 71
    with pytest.raises(
        BudgetError,
        match=r"must reserve up to .* % of what is promised of 'plays' while it runs, but only 0\.\d+ % is left",
    ):
        ask(ledger, BOB)
    assert ledger.verify() == []


def test_a_quota_is_a_share_in_both_currencies(ledger: Ledger) -> None:
    """A tenth by adding is one question; a tenth of what the account composes is eleven."""
    ledger.data("plays", 1, "1e-6")
    ledger.grant(ANN, "0.1", "1e-6")
    assert paid(ledger, ANN) == 11
    with pytest.raises(BudgetError, match=r"of the quota of 'ann' on 'plays' while it runs"):
        ask(ledger, ANN)
    ledger.grant(BOB, 1, "3e-9")
    assert paid(ledger, BOB) == 4  # adding is over, so that what composing has of delta is not charged
    with pytest.raises(BudgetError, match=r"needs a delta of \S+, and the quota of 'bob' .* has \S+ left for"):
        ask(ledger, BOB)
    ledger.grant(BOB, "0.01", "1e-9", total=True)
    with pytest.raises(BudgetError):
        ask(ledger, BOB)
    assert ledger.verify() == []


def test_quotas_may_add_up_to_more_and_a_share_is_kept_back(ledger: Ledger) -> None:
    ledger.data("plays", 1, "1e-6", keep="50%")
    for who in (ANN, BOB, EVE):
        ledger.grant(who, "0.4", "1e-6")
    # four tenths of the divergence, then what is left of half of it
    assert [paid(ledger, who) for who in (ANN, BOB, EVE)] == [44, 11, 0]
    ledger.data("plays", 1, "1e-6", keep=0)
    assert [paid(ledger, who) for who in (ANN, BOB, EVE)] == [0, 33, 23]
    assert ledger.verify() == []


def test_open_questions_count_with_their_ceilings(ledger: Ledger) -> None:
    ledger.data("plays", 1, 0)
    for who in (ANN, BOB):
        ledger.grant(who, 1, 0)
    first = ledger.reserve(ANN, charge("0.6"), "{}")
    with pytest.raises(BudgetError):
        ledger.reserve(BOB, charge("0.5"), "{}")
    ledger.give_back(first)
    ledger.start(second := ledger.reserve(BOB, charge("0.9"), "{}"))
    with pytest.raises(BudgetError):
        ledger.reserve(ANN, charge("0.2"), "{}")
    ledger.settle(second, charge("0.3"), None)
    assert ledger.reserve(ANN, charge("0.7"), "{}")
    assert ledger.verify() == []


def test_an_answer_is_settled_at_the_price_that_was_held(ledger: Ledger) -> None:
    """The capped epsilon goes with all of delta, the sum of the steps with less; never one with the other."""
    two = Price(Fraction("0.3"), Fraction("0.1"), Fraction("1e-9"), Fraction("1e-8"), Fraction("0.8"))
    less = replace(two, epsilon=Fraction("0.1"), renyi=Fraction("0.05"), added=Fraction("0.2"))
    ledger.data("plays", 1, "1e-5")
    ledger.grant(ANN, 1, "1e-5")
    order = ledger.data_account("plays").promise.order
    capped = ledger.reserve(ANN, two, "{}", order=order)
    assert capped.ceiling == Charge(Fraction("0.3"), Fraction("1.1e-8"), Fraction("0.1"))
    ledger.start(capped)
    after = ledger.settle(capped, less, None)
    assert after.all.spent == Charge(Fraction("0.1"), Fraction("1.1e-8"), Fraction("0.05"))
    ledger.start(much := ledger.reserve(ANN, Charge(Fraction(1), Fraction(0), Fraction(0)), "{}"))
    ledger.settle(much, Charge(Fraction(1), Fraction(0), Fraction(0)), None)  # adding is over
    added = ledger.reserve(ANN, two, "{}", order=order)
    assert added.ceiling == Charge(Fraction("0.8"), Fraction("1e-9"), Fraction("0.1"))
    ledger.start(added)
    after = ledger.settle(added, less, None)
    assert after.all.spent == Charge(Fraction("1.3"), Fraction("1.2e-8"), Fraction("0.1"))
    assert ledger.verify() == []


def test_a_price_of_another_order_is_none_of_this_account(ledger: Ledger) -> None:
    ledger.data("plays", 1, "1e-6")
    ledger.grant(ANN, 1, "1e-6")
    asked, order = price(ledger)
    assert order is not None
    for other in (None, order + 1):
        with pytest.raises(LedgerError, match=r"'plays' was changed meanwhile\nhint: ask again"):
            ledger.reserve(ANN, asked, "{}", order=other)
    assert list(ledger.pending()) == []


def test_where_epsilons_add_up_a_divergence_counts_by_its_epsilon(ledger: Ledger) -> None:
    """What was spent there must count in both currencies once the account begins to compose."""
    ledger.data("plays", 1, 0)
    ledger.grant(ANN, 1, 0)
    with pytest.raises(ValueError, match="a divergence counts by its epsilon where epsilons add up"):
        ledger.reserve(ANN, Charge(Fraction("0.5"), Fraction(0), Fraction("0.1")), "{}")
    ask(ledger, ANN, plan_of("top_k", k=1, domain=["a", "b"], epsilon="0.5"))
    begun = ledger.data("plays", 2, "1e-6").promise
    assert begun.order is not None
    ((_, used),) = ledger.data_accounts()
    assert used[""].spent.renyi == Fraction("0.5")
    assert ledger.verify() == []


# ---- what may change, and what may not --------------------------------------------------------------------


def test_a_total_changes_and_the_way_it_composes_stays(ledger: Ledger) -> None:
    made = ledger.data("plays", 1, "1e-6").promise
    ledger.grant(ANN, 3, "1e-5")
    for _ in range(5):
        ask(ledger, ANN)
    more = ledger.data("plays", 3, "1e-5").promise
    assert (more.order, more.apart) == (made.order, made.apart)
    assert Promise.for_account(Fraction(3), Fraction("1e-5")).order != made.order
    assert (more.epsilon, more.delta) == (3, Fraction("1e-5"))
    with pytest.raises(ParameterError, match="delta must be at least 5e-07, set aside for good"):
        ledger.data("plays", 3, "4e-7")
    with pytest.raises(ParameterError, match=r"delta must be at least the 0\.000000505 that is used or reserved"):
        ledger.data("plays", 3, "5.04e-7")
    ledger.data("plays", "0.5", "1e-6")  # five tenths, by adding
    with pytest.raises(
        ParameterError, match=r"epsilon must cover what is used, by sum or by Rényi divergence, got 0\.4"
    ):
        ledger.data("plays", "0.4", "1e-6")
    assert [kind for kind in (entry.kind for entry in ledger.entries()) if kind is EntryKind.DATA] == [
        EntryKind.DATA
    ] * 3
    assert ledger.verify() == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"unit": "one household"}, r"unit must stay 'one user', because questions were asked under it"),
        ({"user": "device"}, r"user must stay left out, because questions were asked under it, got 'device'"),
        ({"period": "month", "time": "day", "unit": "one user"}, r"period must stay left out"),
    ],
)
def test_whom_a_promise_is_about_is_settled_by_the_first_question(
    ledger: Ledger, given: dict[str, Any], message: str
) -> None:
    ledger.data("plays", 1, 0)
    ledger.data("plays", 1, 0, unit="one device", keep="0.1")
    assert ledger.data("plays", 1, 0, unit="one user").keep == Fraction("0.1")
    ledger.grant(ANN, 1, 0)
    ledger.reserve(ANN, charge("0.1"), "{}")
    with pytest.raises(ParameterError, match=message):
        ledger.data("plays", 1, 0, **given)
    assert ledger.data("plays", 2, 0, unit="one user").promise.epsilon == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keep": 1}, "keep must be a share from 0 to 1, 1 excluded"),
        ({"keep": -0.5}, "keep must be a share"),
        ({"keep": "100%"}, "keep must be a share"),
        ({"keep": "a fifth"}, "keep must be a share"),
        ({"period": "monthly"}, "period must be one of day, week, month, quarter, year"),
        ({"timezone": "UTC"}, "timezone must be left out if no period is given"),
        ({"time": "day"}, "time must be left out if no period is given"),
        ({"period": "month"}, "time must name the column of times if a period is given"),
        ({"user": " "}, "user must be the name of a column"),
        ({"period": "month", "time": "t", "timezone": "Mars"}, "timezone must be the name of a time zone"),
        ({"unit": "a\nb"}, "unit must be a text of 1 to 200 visible characters"),
        ({"dataset": ""}, "data must be a text of 1 to 200 visible characters"),
    ],
)
def test_promises_that_make_no_sense(ledger: Ledger, given: dict[str, Any], message: str) -> None:
    said: dict[str, Any] = {"dataset": "plays", "epsilon": 1, "delta": 0} | given
    with pytest.raises(ParameterError, match=message):
        ledger.data(**said)
    assert (ledger.count, ledger.data_accounts()) == (0, [])


# ---- periods ----------------------------------------------------------------------------------------------


def months(names: str, zone: str = "Europe/Berlin") -> Periods:
    return parse_periods("day", "month", names, zone)


def test_a_question_is_charged_in_each_of_its_periods_or_in_none(where: str) -> None:
    with Ledger.create(where) as ledger:
        made = ledger.data("plays", 1, 0, period="month", time="day", timezone="Europe/Berlin")
        assert made.unit == "one user in one month"
        for who in (ANN, BOB):
            ledger.grant(who, 1, 0, every="month")
        used = {"2026-09": Fraction(0), "2026-10": Fraction(0), "2026-11": Fraction(0)}
        for names, epsilon in (("2026-09", "0.3"), ("2026-10..2026-11", "0.6"), ("2026-09..2026-10", "0.4")):
            ledger.start(one := ledger.reserve(ANN, charge(epsilon), "{}", during=months(names)))
            ledger.settle(one, charge(epsilon), "[]")
            for name in months(names).names:
                used[name] += Fraction(epsilon)
        ((_, found),) = ledger.data_accounts()
        assert {period: one.total.epsilon for period, one in found.items()} == used
        assert max(used.values()) == 1
        for names in ("2026-09..2026-11", "2026-08,2026-10".split(",")):
            with pytest.raises(BudgetError, match=r"in 2026-10 while it runs, but only 0 % is left"):
                ledger.reserve(BOB, charge("0.2"), "{}", during=months(names))  # type: ignore[arg-type]
        ((_, after),) = ledger.data_accounts()
        assert after == found
        assert ledger.standing(ANN, "2026-12").left == 1
        assert ledger.verify() == []


def test_periods_must_be_those_of_the_account(ledger: Ledger) -> None:
    ledger.data("plays", 1, 0, period="month", time="day", timezone="Europe/Berlin")
    with pytest.raises(ParameterError, match=r"every must be month, as the data have, got 'week'"):
        ledger.grant(ANN, 1, 0, every="week")
    ledger.grant(ANN, 1, 0)
    weeks, utc = parse_periods("day", "week", "2026-W40", "Europe/Berlin"), months("2026-10", "UTC")
    other = parse_periods("changed_at", "month", "2026-10", "Europe/Berlin")  # would put a row into two periods
    for during, message in (
        (None, "period must be month .* got nothing"),
        (weeks, "got 'week'"),
        (utc, "got 'UTC'"),
        (other, "time must be day as in the account of 'plays', got 'changed_at'"),
    ):
        with pytest.raises(ParameterError, match=message):
            ledger.reserve(ANN, charge("0.1"), "{}", during=during)
    ledger.data("sales", 1, 0)
    with pytest.raises(ParameterError, match="every must be left out, because the data have no periods"):
        ledger.grant(Account("sales", "ann"), 1, 0, every="month")


def test_what_is_left_for_a_question_in_the_periods_that_it_is_about(ledger: Ledger) -> None:
    ledger.data("plays", 1, 0, period="month", time="day")
    ledger.grant(ANN, 1, 0)
    budget = dps.Budget.open(ledger, data="plays", analyst="ann")
    query = dps.Plan.from_dict({"verb": "choose", "domain": ["a", "b"], "epsilon": "0.2"})
    ledger.reserve(ANN, charge("0.5"), "{}", during=months("2026-09", "UTC"))
    found = {names: budget.left_for(query, during=names) for names in ("2026-09", "2026-10", "2026-09..2026-10")}
    assert found == {"2026-09": 2, "2026-10": 5, "2026-09..2026-10": 2}
    ledger.data("sales", 1, 0)
    ledger.grant(Account("sales", "ann"), 1, 0)
    with pytest.raises(
        ParameterError, match="during must be left out, because the data have no periods, got '2026-09'"
    ):
        dps.Budget.open(ledger, data="sales", analyst="ann").left_for(query, during="2026-09")


def test_a_receipt_says_what_fits_in_all_periods_of_its_question(ledger: Ledger) -> None:
    """In September most of delta is gone, in October half of the epsilon: a pure question needs none of the former."""
    ledger.data("plays", 1, "1e-6", period="month", time="day")
    ledger.grant(ANN, 1, "5e-7")
    for names, amount in (("2026-09", charge("0.01", "4e-7")), ("2026-10", charge("0.5"))):
        ledger.reserve(ANN, amount, "{}", during=months(names, "UTC"))
    budget = dps.Budget.open(ledger, data="plays", analyst="ann")
    rows = {"user": [1, 2, 3], "item": ["a", "a", "b"], "day": ["2026-10-01", "2026-09-01", "2026-10-05"]}
    data = dps.Dataset(rows, user="user", item="item", time=dps.Time("day", period="month"), budget=budget).during(
        "2026-09..2026-10"
    )
    release = data.choose(domain=["a", "b"], epsilon="0.2")
    assert release.charged is not None
    assert budget.left_for(release, during="2026-09") > budget.left_for(release, during="2026-10")
    assert release.charged.numbers["questions_left"] == budget.left_for(release, during="2026-10")
    assert release.charged.numbers["left"] == budget.left


def test_a_promise_to_whole_users_pays_for_one_period_and_not_for_several(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "y") as ledger:
        ledger.data("plays", 1, "1e-6")
        ledger.grant(ANN, 1, "1e-6")
    rows = {"user": [1, 2, 3], "item": ["a", "a", "b"], "day": ["2026-10-01", "2026-11-01", "2026-10-05"]}
    budgets = [
        dps.Budget(epsilon=1, delta="1e-6"),
        dps.Budget.open(tmp_path / "y", data="plays", analyst="ann"),
    ]
    for budget in budgets:

        def ask_during(names: str, budget: dps.Budget = budget) -> dps.Release:
            times = {"time": "day", "period": "month", "during": names}
            data = dataset_of(rows, user="user", item="item", budget=budget, **times)
            return data.choose(domain=["a", "b"], epsilon="0.1")

        assert ask_during("2026-10").labels
        before = budget.left
        with pytest.raises(ParameterError, match="during must name one period if the promise is to whole users"):
            ask_during("2026-10..2026-11")
        assert budget.left == before


def test_a_question_takes_no_other_column_for_the_users(tmp_path: Path) -> None:
    """One row for each user would be a promise to rows."""
    with Ledger.create(tmp_path / "y") as ledger:
        ledger.data("plays", 1, "1e-6", user="user")
        ledger.grant(ANN, 1, "1e-6")
    budget = dps.Budget.open(tmp_path / "y", data="plays", analyst="ann")
    rows = {"user": [1, 1, 1], "item": ["a", "b", "b"], "row": [1, 2, 3]}
    with pytest.raises(ParameterError, match=r"user must be 'user', which the account of 'plays' is about, got 'row'"):
        dps.Dataset(rows, user="row", item="item", budget=budget).choose(domain=["a", "b"], epsilon="0.1")
    with pytest.raises(ParameterError, match=r"user must be 'user', .* got nothing"):
        dps.choose({"a": 1, "b": 2}, epsilon="0.1", budget=budget)
    assert budget.left == 1
    paid_ = dps.Dataset(rows, user="user", item="item", budget=budget).choose(domain=["a", "b"], epsilon="0.1")
    assert paid_.charged is not None


@pytest.mark.parametrize("written", ["1e999999999", "-1/2", "1/0", "0.5", "", "9" * 5000, None])
def test_terms_that_nobody_wrote_are_damage_and_take_no_time(written: str | None) -> None:
    said = {"unit": "one user", "order": 23, "apart": written, "keep": "0"} | dict.fromkeys(
        ("user", "period", "time", "timezone")
    )
    with pytest.raises(ValueError, match=r"no terms|no fraction"):
        parse_data_terms("plays", charge("1", "1e-6"), json.dumps(said))


IMPOSSIBLE = [{"order": 1}, {"order": True}, {"order": "23"}, {"order": None}, {"unit": None}, {"user": 3},
              {"keep": "3/2"}, {"apart": "1/2"}]  # fmt: skip


@pytest.mark.parametrize("one", IMPOSSIBLE, ids=str)
def test_terms_that_no_account_can_have_are_damage(ledger: Ledger, one: dict[str, object]) -> None:
    data = ledger.data("plays", 1, "1e-6")
    total, text = charge("1", "1e-6"), format_data_terms(data)
    assert parse_data_terms("plays", total, text) == data
    with pytest.raises(ValueError, match="no terms"):
        parse_data_terms("plays", total, json.dumps(json.loads(text) | one))


# ---- any life, against the rule itself --------------------------------------------------------------------

amount = st.fractions(min_value=0, max_value=2, max_denominator=10**4)
small = st.fractions(min_value=0, max_value=Fraction(1, 10**6), max_denominator=10**12)
prices = st.builds(lambda e, r, d, c, more: Price(e, min(r, e), d, c, e + more), amount, amount, small, small, amount)
lives = st.lists(st.tuples(st.sampled_from(["ask", "ask", "settle", "raise"]), st.integers(0, 2), prices), max_size=20)


@settings(max_examples=30)
@given(lives)
def test_any_life_is_that_of_the_rule(tmp_path_factory: pytest.TempPathFactory, life: list[Any]) -> None:
    """What is admitted is what the theorem's rule admits for the whole total, and each quota for its own."""
    quotas = [Fraction(3), Fraction(1), Fraction(1, 2)]
    promise = Promise.for_account(Fraction(2), Fraction("1e-5"))
    settled, pending, own = Spent(), Spent(), [Spent()] * 3
    open_ones: list[tuple[Reservation, int, Spent, Price]] = []
    with Ledger.create(tmp_path_factory.mktemp("life") / "x") as ledger:
        ledger.data("plays", 2, "1e-5")
        for who, quota in zip((ANN, BOB, EVE), quotas, strict=True):
            ledger.grant(who, quota, "1e-6")
        for what, who, asked in life:
            rounded = Ceiling.from_price(asked).price
            if what == "raise":
                promise = promise.granting(promise.epsilon + 1, promise.delta)
                ledger.data("plays", promise.epsilon, promise.delta)
            elif what == "ask":
                held = promise.charge(settled, rounded)
                cap = promise.cap(quotas[who], Fraction("1e-6"))
                fits = promise.admits(settled, pending, held) and cap.hold(own[who] + held)
                try:
                    made = ledger.reserve((ANN, BOB, EVE)[who], asked, "{}", order=promise.order)
                except BudgetError:
                    assert not fits
                else:
                    assert fits
                    assert made.ceiling.as_spent == held
                    pending, own[who] = pending + held, own[who] + held
                    open_ones.append((made, who, held, asked))
            elif open_ones:
                made, whose, held, ended = open_ones.pop(who % len(open_ones))
                less = replace(ended, epsilon=ended.epsilon / 2, renyi=ended.renyi / 2, added=(ended.added or 0) / 2)
                ledger.start(made)
                ledger.settle(made, less, None)
                cost = promise.settled_charge(held, Ceiling.from_price(less).price)
                pending, settled, own[whose] = pending - held, settled + cost, own[whose] - held + cost
        ((_, used),) = ledger.data_accounts()
        all_used = used.get("", Usage())
        assert (all_used.spent.as_spent, all_used.reserved.as_spent) == (settled, pending)
        assert ledger.verify(ledger.head) == []


# ---- what verify says -------------------------------------------------------------------------------------


def said(ledger: Ledger) -> list[str]:
    """What the entries say against themselves."""
    sums = Sums()
    return [problem for entry in ledger.entries() for problem in sums.problems(entry)]


def changed(data: DataAccount, **how: Any) -> Draft:
    made = replace(data, **how)
    total = Charge(made.promise.epsilon, made.promise.delta)
    return Draft(EntryKind.DATA, Account.for_everybody("plays"), total, terms=format_data_terms(made))


def test_entries_that_break_the_promise_are_named(ledger: Ledger) -> None:
    data = ledger.data("plays", 1, "1e-6")
    ledger.data("adding", 1, 0)
    adding = Account("adding", "ann")
    for account in (ANN, adding):
        ledger.grant(account, 9, "1e-6")
    ledger.settle(started(ledger, ANN, charge("0.01"), "{}"), charge("0.01"), "[1]")
    answered = list(ledger.entries())[-1].number
    unread = ledger.reserve(ANN, charge("0.01"), "{}")
    ledger.start(open_one := ledger.reserve(ANN, charge("0.9"), "{}"))
    assert said(ledger) == []
    promise = data.promise
    broken = {
        "leaves 'ann' on 'plays' with more spent and reserved than its quota or the account allows": Draft(
            EntryKind.HOLD, ANN, charge("0.2"), "{}"
        ),
        "asks without a quota, or about data without a promise": Draft(EntryKind.HOLD, BOB, charge("0.01"), "{}"),
        "grants a quota in an account that does not exist": Draft(
            EntryKind.GRANT, Account("sales", "ann"), charge("1")
        ),
        "changes how an account composes, which is fixed when it is made": changed(
            data, promise=replace(promise, order=promise.order + 1 if promise.order else None)
        ),
        "changes the unit, user, period, time or timezone of a promise after questions were asked": changed(
            data, unit="one device"
        ),
        "promises less than was used of 'plays'": changed(data, promise=replace(promise, epsilon=Fraction("0.8"))),
        "asks about a period in an account without periods, or about none in an account with periods": Draft(
            EntryKind.HOLD, ANN, charge("0.01"), "{}", terms=format_parts({"2026-10": charge("0.01")})
        ),
        "settles for more than was reserved": Draft(
            EntryKind.SETTLE,
            ANN,
            Charge(Fraction("0.1"), Fraction(0), Fraction(1)),
            refers_to=open_one.number,
        ),
        "settles no open reservation": Draft(EntryKind.SETTLE, ANN, charge("0.1"), refers_to=answered),
        "settles a reservation of another account": Draft(
            EntryKind.SETTLE, BOB, charge("0.1"), refers_to=open_one.number
        ),
        "settles a question that was never marked as reading": Draft(
            EntryKind.SETTLE, ANN, charge("0.01"), refers_to=unread.number
        ),
        "repeats a release for somebody who may not have it": Draft(EntryKind.REPEAT, BOB, charge("0"), refers_to=99),
        "repeats a release that these data do not have": Draft(
            EntryKind.REPEAT, adding, charge("0"), refers_to=answered
        ),
        "repeats a release and charges for it": Draft(EntryKind.REPEAT, ANN, charge("0.01"), refers_to=answered),
        "counts a divergence below its epsilon where epsilons add up": Draft(
            EntryKind.HOLD, adding, Charge(Fraction("0.2"), Fraction(0), Fraction("0.1")), "{}"
        ),
        "marks a question as reading and charges for it": Draft(
            EntryKind.READ, ANN, charge("0.01"), refers_to=unread.number
        ),
        "marks as reading something other than an unmarked open reservation of this account": Draft(
            EntryKind.READ, ANN, charge("0"), refers_to=open_one.number
        ),
        "gives a reservation back and charges for it": Draft(
            EntryKind.RETURN, ANN, charge("0.01"), refers_to=unread.number
        ),
        "gives back something other than an open reservation of this account that read no row": Draft(
            EntryKind.RETURN, ANN, charge("0"), refers_to=open_one.number
        ),
    }
    entries = list(ledger.entries())
    for problem, draft in broken.items():
        sums = Sums()
        written = [*entries, chain_entry(draft, len(entries) + 1, entries[-1].digest)]
        assert problem in [one for entry in written for one in sums.problems(entry)], problem


class QuotaAlone(Standing):
    """The broken twin: what all analysts together use is not looked at."""

    def admits(self, ceiling: Charge) -> bool:
        limits, used = self.limits[0]
        return limits.hold((used.total + ceiling).as_spent)


class OpenOnesForgotten(Standing):
    """The broken twin: what open questions may still cost is not looked at."""

    def admits(self, ceiling: Charge) -> bool:
        return all(limits.hold((used.spent + ceiling).as_spent) for limits, used in self.limits)


@pytest.mark.parametrize("twin", [QuotaAlone, OpenOnesForgotten])
def test_verify_finds_what_a_broken_twin_let_through(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, twin: type[Standing]
) -> None:
    ledger.data("plays", 1, "1e-6")
    ledger.grant(ANN, 9, "1e-6")
    real = Standing.admits
    monkeypatch.setattr(Standing, "admits", twin.admits)
    asked, order = price(ledger)
    try:
        for _ in range(150):
            ledger.reserve(ANN, asked, "{}", order=order)
    except BudgetError:
        pass
    monkeypatch.setattr(Standing, "admits", real)
    assert any(
        "with more spent and reserved than its quota or the account allows" in problem for problem in ledger.verify()
    )


def test_a_clock_that_goes_back_changes_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.data("plays", 1, 0, period="day", time="t")
    ledger.grant(ANN, 1, 0)
    for number, now in enumerate(("2030-01-01T00:00:00", "1999-01-01T00:00:00")):
        monkeypatch.setattr("dpselect.ledger.entry.now", lambda now=now: now)
        ledger.reserve(ANN, charge("0.5"), "{}", during=parse_periods("t", "day", "2026-10-05", "UTC"))
        assert ledger.standing(ANN, "2026-10-05").left == Fraction(1, 2) - Fraction(number, 2)
    assert ledger.verify() == []
