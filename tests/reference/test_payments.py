"""Questions that are paid: what is reserved, settled, repeated, refused, and in which order."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

import dpselect as dps
from dpselect._ground.budget_parts import percent, rounded_part
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.ledger import Charge
from dpselect.ledger.budget import LedgerBudget
from dpselect.ledger.standing import Usage
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of
from tests.ledger.amounts import charge, grant, rest

ROWS = {
    "user": [*range(300), *range(200), *range(100)],
    "item": ["ant"] * 300 + ["bee"] * 200 + ["cat"] * 100,
}
ANN = dps.Account("default", "ann")


@pytest.fixture
def votes(ledger):
    return dps.Dataset(ROWS, user="user", item="item", budget=dps.Budget.open(ledger, analyst="ann", snapshot="one"))


def kinds(ledger):
    return [str(entry.kind) for entry in ledger.entries()]


def test_an_answer_is_reserved_settled_and_kept(votes, ledger):
    release = votes.top_k(2, epsilon=4, delta="1e-6")
    assert kinds(ledger) == ["data", "grant", "hold", "read", "settle"]
    assert ledger.standing(ANN).own.spent.epsilon == 4
    assert rest(ledger.standing(ANN)).epsilon == 6
    order = ledger.data_account("default").promise.order
    query = plan_of("top_k", k=2, epsilon=4, delta="1e-6")
    standing, charged = ledger.standing(ANN), release.charged.numbers
    assert standing.own == standing.all == Usage(Charge.from_spent(query.price_at(order).whole))
    assert (charged["epsilon"], charged["renyi"], charged["delta"]) == (4, standing.own.spent.renyi, Fraction(1, 10**6))
    assert charged["share"] == round(1 - rounded_part(standing.left), 6) < 0.4  # less than by adding
    assert charged["questions_left"] == standing.left_for(query.price_at(order)) == 1
    left = rounded_part(standing.left)
    assert charged["left"] == left == votes.budget.left
    told = f"{percent(charged['share'], up=True)} of the budget of ann (epsilon 4); {percent(left)} left; at least"
    assert f"charged: {told} {charged['questions_left']} more like it fits now" in " ".join(str(release).split())
    assert release.to_dict()["charged"]["epsilon"] == 4.0


def test_the_same_question_is_answered_from_the_ledger(votes, ledger):
    first = votes.top_k(3, epsilon=2, delta="1e-6", counts=True)
    again = votes.top_k(3, epsilon="2.0", delta=Fraction(1, 10**6), counts=True, method="limited-domain")
    assert again.items == first.items  # the noise too
    assert again.privacy == first.privacy
    assert again.charged.numbers["repeated"] is True
    assert kinds(ledger) == ["data", "grant", "hold", "read", "settle", "repeat"]
    assert ledger.standing(ANN).own.spent.epsilon == 2
    paid = by_names(votes).top_k(3, epsilon=2, delta="1e-6", counts=True, fresh=True)
    assert paid.charged.numbers["repeated"] is False
    assert ledger.standing(ANN).own.spent.epsilon == 4


@pytest.mark.parametrize(
    "other",
    [{"k": 2}, {"epsilon": 3}, {"delta": "2e-6"}, {"counts": True}, {"k_bar": 50}],
    ids=str,
)
def test_another_question_is_paid(votes, ledger, other):
    usual = {"k": 3, "epsilon": 2, "delta": "1e-6"}
    by_names(votes).top_k(**usual)
    by_names(votes).top_k(**usual | other)
    assert kinds(ledger)[5:] == ["hold", "read", "settle"]


def test_other_rows_another_data_set_or_no_snapshot_are_paid(votes, ledger):
    votes.top_k(1, epsilon=1, delta="1e-6")
    grant(ledger, dps.Account("votes", "ann"), 1, "1e-6")
    for who, where in (
        ({"analyst": "ann", "snapshot": "one", "data": "votes"}, None),
        ({"analyst": "ann", "snapshot": "two"}, None),
        ({"analyst": "ann"}, None),
        ({"analyst": "ann"}, None),
        ({"analyst": "ann", "snapshot": "one"}, "user::INT > 5"),
    ):
        budget = dps.Budget.open(ledger, **who)
        found = dps.Dataset(ROWS, user="user", item="item", where=where, budget=budget).top_k(1, epsilon=1)
        assert found.charged.numbers["repeated"] is False


def test_an_answer_that_another_analyst_paid_is_free(votes, ledger):
    bob = dps.Account("default", "bob")
    first = votes.top_k(1, epsilon=1, delta="1e-6")
    asked = dps.Dataset(ROWS, user="user", item="item", budget=dps.Budget.open(ledger, analyst="bob", snapshot="one"))
    with pytest.raises(dps.LedgerError, match="'bob' has no budget for the data set 'default'"):
        asked.top_k(1, epsilon=1, delta="1e-6")
    ledger.grant(bob, "0.01", 0)  # which could not pay for it
    found = asked.top_k(1, epsilon=1, delta="1e-6")
    assert found.items == first.items
    assert found.charged.numbers["repeated"] is True
    told = r"nothing: this is the stored answer to the same question; 100 % left; no more like it fits now.*"
    assert re.fullmatch(told, found.charged.sentence)
    assert ledger.standing(bob).own.total == charge("0")
    with pytest.raises(dps.BudgetError):
        by_names(asked).top_k(1, epsilon=1, delta="1e-6", fresh=True)
    assert kinds(ledger)[5:] == ["grant", "repeat", "refused"]


def test_who_paid_nothing_reads_that_the_quota_is_whole_and_what_all_share_is_not(tmp_path):
    with dps.Ledger.create(tmp_path / "b.sqlite") as ledger:
        ledger.data("default", 4, 0)
        data = []
        for name in ("ann", "bob"):
            ledger.grant(dps.Account("default", name), 4, 0)
            budget = dps.Budget.open(ledger, analyst=name, snapshot="one")
            data.append(dps.Dataset(ROWS, user="user", item="item", budget=budget))
        paid, free = (one.choose(domain=["a", "b"], epsilon=1).charged for one in data)
    assert paid.sentence == "25 % of the budget of ann (epsilon 1); 75 % left; at least 3 more like it fit now"
    assert free.sentence.endswith(
        "; of the quota 100 % is left, of what all share 75 %; at least 3 more like it fit now"
    )
    assert free.numbers["left"] == 0.75


def test_a_short_answer_is_charged_for_its_picks_only(ledger):
    few = dps.Dataset(
        {"user": [1, 2], "item": ["x", "y"]}, user="user", item="item", budget=dps.Budget.open(ledger, analyst="ann")
    )
    release = few.top_k(10, epsilon=1, delta="1e-6")
    assert len(release) == 0
    pick = release.privacy.parameters["epsilon_per_pick"]
    spent = ledger.standing(ANN).own.spent
    assert pick <= spent.epsilon < pick + Fraction(1, 10**29)
    assert spent.delta == Fraction(1, 10**6)
    assert ledger.standing(ANN).own.reserved.epsilon == 0


def test_what_does_not_fit_is_refused_before_a_row_is_read(votes, ledger, monkeypatch):
    monkeypatch.setattr(DuckDBEngine, "top", None)  # whoever asked for data now would fail otherwise
    with pytest.raises(
        dps.BudgetError,
        match=r"must reserve up to [0-9.,]+ % of the quota of 'ann' on 'default' while it runs, but only 100 % is left",
    ):
        votes.top_k(1, epsilon=11, delta="1e-6")
    with pytest.raises(dps.BudgetError, match=r"needs a delta of 0\.001, and the quota of 'ann' .* has 0\.0001 left"):
        votes.top_k(1, epsilon=1, delta="1e-3")
    assert kinds(ledger) == ["data", "grant", "refused", "refused"]
    assert rest(ledger.standing(ANN)).epsilon == 10


def test_a_bad_question_costs_nothing(votes, ledger):
    missing = dps.Column({"item": ["a"]}, "other")
    for bad in ({"k": 0}, {"epsilon": 0}, {"domain": missing, "delta": 0}, {"domain": []}, {"fresh": 1}):
        with pytest.raises((dps.ParameterError, dps.DataError)):
            by_names(votes).top_k(**{"k": 1, "epsilon": 1, "delta": "1e-6"} | bad)
    assert kinds(ledger) == ["data", "grant"]


def test_an_error_after_the_reservation_leaves_the_ceiling_reserved(votes, ledger, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise dps.DataError("the disk is gone")

    monkeypatch.setattr(DuckDBEngine, "top", broken)
    with pytest.raises(dps.DataError, match="gone"):
        votes.top_k(1, epsilon=3, delta="1e-6")
    standing = ledger.standing(ANN)
    assert (standing.own.spent.epsilon, standing.own.reserved.epsilon, rest(standing).epsilon) == (0, 3, 7)
    assert ledger.verify() == []


def test_an_answer_that_cannot_be_recorded_does_not_come_out(votes, ledger, monkeypatch):
    def full(*_: object) -> None:
        raise dps.LedgerError("the disk is full")

    monkeypatch.setattr(dps.Ledger, "settle", full)
    with pytest.raises(dps.LedgerError, match="full"):
        votes.top_k(1, epsilon=3, delta="1e-6")
    assert ledger.standing(ANN).own.reserved.epsilon == 3


def test_choosing_is_paid_too(votes, ledger):
    release = votes.choose(domain=["ant", "bee"], epsilon=1, method="permute-and-flip")
    assert release.labels == ["ant"]
    assert votes.choose(domain=["bee", "ant"], epsilon=1, method="permute-and-flip").charged.numbers["repeated"]
    assert votes.choose(domain=["bee", "ant"], epsilon=1).charged.numbers["repeated"] is False
    unnamed, named = (dps.Budget.open(ledger, analyst="ann", snapshot=snapshot) for snapshot in (None, "s"))
    for _ in range(2):
        assert dps.choose([1, 900], epsilon=1, budget=unnamed).charged.numbers["repeated"] is False
    for repeated in (False, True):
        found = dps.choose({"a": 1, "b": 900}, epsilon=1, budget=named)
        assert found.charged.numbers["repeated"] is repeated
    assert ledger.standing(ANN).own.spent.epsilon == 5


def test_draws_for_tests_never_answer_for_real_ones(votes, ledger):
    assert by_names(votes).top_k(1, epsilon=1, delta="1e-6", draws=SeededDraws(1)).secure is False
    assert votes.top_k(1, epsilon=1, delta="1e-6").secure is True
    assert votes.top_k(1, epsilon=1, delta="1e-6").secure is True
    assert kinds(ledger)[-1] == "repeat"


def test_the_ledger_holds_nothing_of_the_rows_but_answers(votes, ledger):
    votes.top_k(1, epsilon=4, delta="1e-6")
    texts = " ".join(f"{e.question} {e.release}" for e in ledger.entries())
    assert "ant" in texts.split("items", 1)[1]
    for private in ("bee", "cat", "300", "600"):
        assert private not in texts


BAD = [
    (lambda: dps.Budget.open(5, analyst="ann"), "budget must be a Budget, a file"),
    (lambda: 5, "budget must be a Budget, a file"),
    (lambda: dps.Budget.open("x.sqlite", analyst=""), "analyst must be a text"),
    (lambda: dps.Budget.open("x.sqlite", analyst="ann", data="a\nb"), "data must be a text"),
    (lambda: dps.Budget.open("x.sqlite", analyst="ann", snapshot=""), "snapshot must be a name"),
    (lambda: dps.Budget(epsilon=0), "epsilon must be"),
    (lambda: dps.Budget(epsilon=1, delta=1), "delta must be"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[m for _, m in BAD])
def test_a_budget_says_which_parameter_is_wrong(make, message):
    with pytest.raises(dps.ParameterError, match=f"^{message}"):
        dps.Dataset(ROWS, user="user", item="item", budget=make())


def test_a_missing_ledger_is_told_when_it_is_needed(tmp_path):
    votes = dps.Dataset(ROWS, user="user", item="item", budget=dps.Budget.open(tmp_path / "none.sqlite", analyst="ann"))
    with pytest.raises(dps.LedgerError, match="none"):
        votes.top_k(1, epsilon=1, delta="1e-6")


@pytest.mark.usefixtures("ledger")
def test_a_budget_opens_the_ledger_by_path(tmp_path):
    with LedgerBudget(tmp_path / "budget.sqlite", analyst="ann").ledger() as opened:
        assert opened.standing(ANN).granted.epsilon == 10
