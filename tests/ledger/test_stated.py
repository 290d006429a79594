"""Prices that are stated for what another library does: charged whole, for the unit of the account, and on record."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

import dpselect as dps
from dpselect.audit.report import report
from dpselect.command.report_page import render_page
from dpselect.ledger import ZERO, Account, Charge, EntryKind, Ledger
from dpselect.ledger.ledger import Ledger as WholeLedger
from tests.ledger.test_forks import in_a_child

USER = {"unit": "one user", "neighbors": "add-remove", "note": "OpenDP mean"}
PRICE = {"epsilon": "0.01", "delta": "1e-9", **USER}
DONE = [EntryKind.HOLD, EntryKind.READ, EntryKind.SETTLE]


@pytest.fixture
def budget(ledger: Ledger, ann: Account) -> dps.Budget:
    """What ann may use: half of (1, 1e-6)."""
    ledger.data(ann.dataset, 1, "1e-6")
    ledger.grant(ann, "0.5", "1e-7")
    return dps.Budget.open(ledger, data=ann.dataset, analyst=ann.analyst)


def kinds(ledger: Ledger) -> list[EntryKind]:
    """Of the questions."""
    return [entry.kind for entry in ledger.entries() if entry.kind not in (EntryKind.DATA, EntryKind.GRANT)]


def response(epsilon: Fraction, order: int) -> mpmath.mpf:
    """The divergence of randomised response."""
    with mpmath.workdps(60):
        p = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator))
        return mpmath.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.01", "1e-9"), ("0.3", "0"), ("1/8", "1e-7")])
def test_all_of_it_is_charged_once(ledger: Ledger, ann: Account, budget: dps.Budget, epsilon: str, delta: str) -> None:
    order = ledger.data_account(ann.dataset).promise.order
    assert order is not None
    with budget.spend(**{**PRICE, "epsilon": epsilon, "delta": delta}):
        held = ledger.standing(ann).own.reserved
        assert kinds(ledger) == DONE[:2]
    spent = ledger.standing(ann).own.spent
    assert spent == held
    assert (spent.epsilon, spent.delta) == (Fraction(epsilon), Fraction(delta))
    with mpmath.workdps(60):
        least = response(Fraction(epsilon), order)
        assert 0 <= mpmath.mpf(spent.renyi.numerator) / spent.renyi.denominator - least < mpmath.mpf(10) ** -25
    assert spent.renyi < spent.epsilon
    assert kinds(ledger) == DONE
    assert ledger.verify() == []


def test_an_account_that_adds_up_counts_epsilons(ledger: Ledger, ann: Account) -> None:
    ledger.data(ann.dataset, 1, 0)
    ledger.grant(ann, 1, 0)
    with dps.Budget.open(ledger, data=ann.dataset, analyst=ann.analyst).spend(**{**PRICE, "delta": 0}):
        pass
    assert ledger.standing(ann).own.spent == Charge.round_up(Fraction(1, 100), Fraction(0))
    assert ledger.verify() == []


def test_in_memory_it_is_charged_once_too() -> None:
    budget = dps.Budget(epsilon=1, delta="1e-6")
    same = dps.Budget(epsilon=1, delta="1e-6")
    with budget.spend(epsilon="0.25", delta="2.5e-7", **USER):
        assert budget.left == pytest.approx(0.5)  # of the half of delta that is for failures
    with pytest.raises(KeyError), same.spend(epsilon="0.25", delta="2.5e-7", **USER):
        raise KeyError
    assert budget.left == same.left == 0.5
    votes = {"user": [*range(50)], "item": ["ant"] * 50}
    with pytest.raises(dps.BudgetError):
        dps.Dataset(votes, user="user", item="item", budget=budget).top_k(1, epsilon=1, delta="2.6e-7")


def test_many_small_prices_compose(budget: dps.Budget) -> None:
    """By adding, 50 fit."""
    for _ in range(80):
        budget.spend(**{**PRICE, "delta": 0}).__exit__()
    assert budget.left > 0


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit])
def test_however_the_block_ends(ledger: Ledger, ann: Account, budget: dps.Budget, kind: type[BaseException]) -> None:
    with pytest.raises(kind), budget.spend(**PRICE):
        raise kind
    assert ledger.standing(ann).own.spent.epsilon == Fraction(1, 100)
    assert kinds(ledger) == DONE


def test_what_cannot_begin_is_given_back(
    ledger: Ledger, ann: Account, budget: dps.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise dps.LedgerError("the disk is full")

    monkeypatch.setattr(WholeLedger, "start", full)
    with pytest.raises(dps.LedgerError, match="the disk is full"):
        budget.spend(**PRICE)
    assert ledger.standing(ann).own.reserved == ledger.standing(ann).own.spent == ZERO
    assert kinds(ledger) == [EntryKind.HOLD, EntryKind.RETURN]


def test_without_a_block_it_stays_reserved(ledger: Ledger, ann: Account, budget: dps.Budget) -> None:
    """Whoever forgets `with` has paid: the other library may have run."""
    budget.spend(**PRICE)
    assert ledger.standing(ann).own.reserved.epsilon == Fraction(1, 100)
    (dead,) = ledger.pending()
    assert dead.may_have_read


@pytest.mark.parametrize("durable", [True, False])
def test_it_pays_for_one_block(budget: dps.Budget, durable: bool) -> None:
    paid = budget.spend(**PRICE) if durable else dps.Budget(epsilon=1).spend(**PRICE)
    with paid:
        pass
    with pytest.raises(dps.BudgetError, match="a stated price pays for one block"), paid:
        raise AssertionError("it ran again")
    with pytest.raises(TypeError):
        paid(lambda: None)  # type: ignore[operator] # as a decorator it would pay once for many calls


@pytest.mark.parametrize("durable", [True, False])
def test_no_child_copy_or_late_block_runs_for_it(where: str, ann: Account, durable: bool) -> None:
    """Each would draw an answer of its own, for one price."""
    with Ledger.create(where) as made:
        made.data(ann.dataset, 1, "1e-6")
        made.grant(ann, 1, "1e-6")
    budget = dps.Budget.open(where, data=ann.dataset, analyst=ann.analyst) if durable else dps.Budget(epsilon=1)
    paid = budget.spend(**PRICE)
    ran: list[str] = []

    def block() -> None:
        with paid:
            ran.append("it ran")
            raise AssertionError("it ran in a child")

    assert "belongs to the process that reserved it" in in_a_child(block)
    with pytest.raises(dps.BudgetError, match="cannot be copied"):
        copy.copy(paid)
    paid.__exit__()
    with pytest.raises(dps.BudgetError, match="pays for one block"):
        block()
    assert ran == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"unit": "one row"},
            "unit must be 'one user', which the budget protects, got 'one row'\nhint: if the library protects single",
        ),
        ({"unit": "one user in one month"}, "unit must be 'one user'"),
        ({"unit": None}, "unit must be a text"),
        ({"neighbors": "replace-one"}, "neighbors must be add-remove if a budget pays"),
        ({"neighbors": "rows"}, "neighbors must be one of add-remove"),
        ({"epsilon": 0}, "epsilon must be "),
        ({"epsilon": "inf"}, "epsilon must be "),
        ({"delta": 1}, "delta must be "),
        ({"delta": None}, "delta must be "),
        ({"note": ""}, "note must be "),
        ({"note": "a\u202eb"}, "note must be "),
        ({"during": "2026-10"}, "during must be left out, because the data have no periods"),
    ],
)
def test_what_makes_no_sense_costs_nothing(
    ledger: Ledger, budget: dps.Budget, wrong: dict[str, object], message: str
) -> None:
    memory = dps.Budget(epsilon=1)
    for one in (budget, memory):
        with pytest.raises(dps.ParameterError, match=message):
            one.spend(**{**PRICE, **wrong})  # type: ignore[arg-type]
    assert kinds(ledger) == []
    assert memory.left == 1


def test_a_price_in_rho_alone_is_none(budget: dps.Budget) -> None:
    with pytest.raises(TypeError):
        budget.spend(rho="0.01", **USER)  # type: ignore[call-arg]


def test_a_delta_that_is_too_large_is_told_the_largest(ledger: Ledger, budget: dps.Budget) -> None:
    with pytest.raises(dps.BudgetError, match=r"delta of 2e-07, and the quota of .* has 1e-07 left for that"):
        budget.spend(**{**PRICE, "delta": "2e-7"})
    assert kinds(ledger) == [EntryKind.REFUSED]
    with budget.spend(**{**PRICE, "delta": "1e-7"}):
        pass
    with pytest.raises(dps.BudgetError, match="has 0 left for that"):
        budget.spend(**{**PRICE, "delta": "1e-30"})
    made = dps.Budget(epsilon=1)
    made.spend(**{**PRICE, "delta": 0})
    with pytest.raises(dps.BudgetError, match="delta of 6e-07, and the budget has 5e-07 left"):
        made.spend(**{**PRICE, "delta": "6e-7"})


def test_a_budget_of_pairs_is_about_pairs() -> None:
    rows = {"user": [*range(300)], "day": [1] * 300, "item": ["ant"] * 300}
    budget = dps.Budget(epsilon=50)
    dps.Dataset(rows, user=("user", "day"), item="item", budget=budget).top_k(1, epsilon=10)
    with pytest.raises(dps.ParameterError, match=r"unit must be 'one \(user, day\) pair'"):
        budget.spend(**PRICE)
    with budget.spend(**{**PRICE, "unit": "one (user, day) pair"}):
        pass
    of_users = dps.Budget(epsilon=50)
    with of_users.spend(**PRICE):
        pass
    with pytest.raises(dps.ParameterError, match="user must be one column, as in the first question"):
        dps.Dataset(rows, user=("user", "day"), item="item", budget=of_users).top_k(1, epsilon=10)


def test_all_periods_that_were_read_are_charged(ledger: Ledger, ann: Account) -> None:
    ledger.data(ann.dataset, 1, "1e-6", user="who", period="month", time="at", timezone="Europe/Berlin")
    ledger.grant(ann, 1, "1e-6")
    budget = dps.Budget.open(ledger, data=ann.dataset, analyst=ann.analyst)
    with pytest.raises(dps.ParameterError, match="unit must be 'one user in one month'"):
        budget.spend(**PRICE, during="2026-10")  # type: ignore[call-arg]
    month = {**PRICE, "unit": "one user in one month"}
    with pytest.raises(dps.ParameterError, match="period must be month"):
        budget.spend(**month)
    with pytest.raises(dps.ParameterError, match="during"):
        budget.spend(**month, during="sometime")  # type: ignore[call-arg]
    for during in ("2026-09..2026-10", ["2026-10"]):
        with budget.spend(**month, during=during):  # type: ignore[call-arg]
            pass
    found = {standing.period: standing.all.spent for standing in ledger.standings(ann)}
    assert {period: (one.epsilon, one.delta) for period, one in found.items()} == {
        "2026-09": (Fraction(1, 100), Fraction(1, 10**9)),
        "2026-10": (Fraction(2, 100), Fraction(2, 10**9)),
    }
    assert ledger.verify() == []


def test_an_account_that_is_about_others_meanwhile_is_not_charged(
    ledger: Ledger, ann: Account, budget: dps.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner changes whom the promise is about between a look at the account and the reservation."""
    reserve = WholeLedger.reserve

    def late(self: Ledger, *args: object, **options: object) -> object:
        self.data(ann.dataset, 1, "1e-6", unit="one household")
        return reserve(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(WholeLedger, "reserve", late)
    with pytest.raises(dps.ParameterError, match="unit must be 'one household'"):
        budget.spend(**PRICE)
    assert kinds(ledger) == []


def test_the_record_says_that_it_was_stated_and_by_whom(ledger: Ledger, ann: Account, budget: dps.Budget) -> None:
    with budget.spend(**{**PRICE, "note": "a <b>mean</b>"}):
        pass
    said = "price stated by ann: a <b>mean</b>, at epsilon 0.01 and delta 1e-09"
    found = report(ledger, ann.dataset)
    (asked,) = found["questions"]
    assert (asked["analyst"], asked["question"], asked["state"]) == ("ann", said, "answered")
    assert "price stated by ann: a &lt;b&gt;mean&lt;/b&gt;" in render_page(found)
    (hold,) = [entry for entry in ledger.entries() if entry.kind is EntryKind.HOLD]
    body = json.loads(hold.question or "")
    assert body["data"] == {"neighbors": "add-remove", "unit": "one user"}
    assert body["asked"]["stated_by"] == "ann"


def test_a_note_is_no_question(ledger: Ledger, budget: dps.Budget) -> None:
    """The same price twice is two prices: nothing was stored that could be given again."""
    for _ in range(2):
        with budget.spend(**PRICE):
            pass
    assert kinds(ledger) == DONE * 2


def test_a_child_settles_nothing(tmp_path: object, ann: Account) -> None:
    where = f"{tmp_path}/budget.sqlite"
    with Ledger.create(where) as made:
        made.data(ann.dataset, 1, "1e-6")
        made.grant(ann, 1, "1e-6")
    for budget in (dps.Budget.open(where, data=ann.dataset, analyst=ann.analyst), dps.Budget(epsilon=1)):
        with budget.spend(**PRICE) as _:
            paid = budget.spend(**PRICE)
            assert "process" in in_a_child(lambda paid=paid: paid.__exit__())  # type: ignore[misc]
    with Ledger(where) as ledger:
        assert ledger.standing(ann).own.reserved.epsilon == Fraction(1, 100)
        assert ledger.verify() == []


def test_what_an_old_ledger_spent_is_carried_into_a_new_one(tmp_path: Path) -> None:
    """As docs/budgets.md has it: sums of charges and of open reservations, which never cost less than before."""
    rows = {"user": [*range(300)], "item": ["a"] * 300}
    used: dict[str, Fraction] = {}
    for name in ("old", "new"):
        with dps.Ledger.create(tmp_path / name) as ledger:
            ledger.data("plays", epsilon=3, delta="1e-5")
            ledger.grant(dps.Account("plays", "ann"), epsilon=2, delta="5e-6")
            budget = dps.Budget.open(ledger, data="plays", analyst="ann")
            if name == "old":
                for epsilon in ("0.1", "0.2", "0.3"):
                    dps.Dataset(rows, user="user", item="item", budget=budget).top_k(2, epsilon=epsilon)
                (standing,) = ledger.all_standings()
                spent = standing.own.total
            else:
                with budget.spend(
                    epsilon=spent.epsilon, delta=spent.delta, unit="one user", neighbors="add-remove", note="old"
                ):
                    pass
            standing = ledger.standing(dps.Account("plays", "ann"))
            used[name] = standing.data.promise.limits.part(standing.all.total.as_spent)
    assert 0 < used["old"] < used["new"] < 1
    assert spent.epsilon < Fraction("0.6")
