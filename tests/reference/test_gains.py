"""What rose most, as a user asks for it: words, refusals, JSON, and who pays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpselect as dps
from dpselect.checking.finding import Verdict
from dpselect.errors import BudgetError, ParameterError
from dpselect.flat import dataset_of
from dpselect.ledger import Account
from tests.by_names import by_names, plan_of
from tests.judge.both import check

MONTHS = {"time": "at", "period": "month", "during": "2026-10"}
OLD = "2026-09"
USERS = {("tea", 9): 500, ("soup", 9): 100, ("tea", 10): 520, ("soup", 10): 400, ("new", 10): 200, ("gone", 9): 300}
ROWS: dict[str, Any] = {
    name: np.concatenate(columns)
    for name, columns in {
        "user": [np.arange(users) for users in USERS.values()],
        "item": [np.repeat(item, users) for (item, _), users in USERS.items()],
        "at": [np.repeat(np.datetime64(f"2026-{month:02}-07"), users) for (_, month), users in USERS.items()],
    }.items()
}


def dataset(**more: Any) -> dps.Dataset:
    """The rows of October."""
    return dataset_of(ROWS, user="user", item="item", **{**MONTHS, **more})


ITEMS = ("tea", "soup", "new", "gone")
METHODS: list[dict[str, Any]] = [
    {},
    {"method": "limited-domain"},
    {"method": "limited-domain-sparse"},
    {"method": "discover", "in_engine": True},
    {"domain": ["tea", "soup", "new", "gone", "nobody's"]},
    {"domain": 10**6},
    {"domain": ["tea", "soup", "new", "gone"], "method": "canonical-set"},
    {"exclude": ["tea"]},
]


@pytest.mark.parametrize("asked", METHODS, ids=str)
def test_the_items_that_gained_most_come_back(asked: dict[str, Any], tmp_path: Path) -> None:
    release = by_names(dataset()).top_k(2, epsilon=12, counts=True, compared_with=OLD, **asked)
    assert [item.item for item in sorted(release.items, key=lambda one: -(one.count or 0))] == ["soup", "new"]
    columns = release.to_columns()
    assert "count" not in columns
    assert np.abs(np.sort(columns["gain"]) - [200, 300]).max() < 60  # type: ignore[call-overload]
    assert release.privacy.unit == "user in one month"
    assert "items by gained users from 2026-09 to 2026-10" in str(release)
    said = " ".join(release.privacy.sentences)
    assert "in 2026-10 less that in 2026-09, or 0" in said
    assert "sum" not in said
    again = dps.Release.from_json(release.to_json())
    assert again == release
    release.to_json(tmp_path / "release.json")
    assert check(tmp_path / "release.json").verdict is Verdict.FOLLOWS


def test_the_other_way_round_it_is_what_fell_most() -> None:
    release = by_names(dataset(during=OLD)).top_k(1, epsilon=8, compared_with="2026-10")
    assert release.labels == ["gone"]


def test_what_no_item_gained_is_an_answer() -> None:
    release = by_names(dataset(where="item = 'gone'")).top_k(2, epsilon=8, compared_with=OLD)
    assert release.labels == []
    told = "0 of at most 2 items by gained users from 2026-09 to 2026-10: none could be released, though there may be"
    assert " ".join(str(release).split()).startswith(told)


def test_auto_discovers_where_there_is_a_union() -> None:
    for asked, mechanism in (({"k_bar": 50}, "LimitedDomain"), ({"epsilon": "0.01"}, "LimitedDomain")):
        small = by_names(dataset()).top_k(**{"k": 2, "epsilon": 1, "compared_with": OLD, **asked})  # type: ignore[arg-type]
        assert small.privacy.mechanism == mechanism
    release = by_names(dataset(max_items_per_user=2)).top_k(2, epsilon=1, compared_with=OLD)
    assert release.privacy.mechanism == "DiscoverThenPeel"
    assert "in_engine" not in release.privacy.parameters
    assert "ranked by what they gained" in " ".join(release.privacy.sentences)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"compared_with": "2026-10"}, "compared_with must differ from during, got 2026-10"),
    ({"compared_with": "2026-08..2026-09"}, "compared_with must be as many months as during, 1, got 2"),
    ({"compared_with": "2026"}, "compared_with must name a month"),
    ({"compared_with": 9}, "compared_with must be the name of a period"),
    ({"compared_with": []}, "compared_with must be the name of a period"),
    ({"by": "at"}, "by must be left out if compared_with is given"),
    ({"by_weight": "user", "at_most": 1}, "compared_with must be left out if by_weight is given"),
    ({"measures": "mean(user, 0, 1)"}, "measures must be left out if compared_with is given"),
    ({"within": 5, "epsilon": None}, "within must be left out if compared_with is given"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_does_not_go_together_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        by_names(dataset()).top_k(2, **{"epsilon": 1, "compared_with": OLD, **asked})


def test_a_user_with_all_rows_is_no_unit_for_it() -> None:
    data = dps.Dataset(ROWS, user="user", item="item")
    with pytest.raises(ParameterError, match="compared_with must go with data that have a time"):
        by_names(data).top_k(2, epsilon=1, compared_with=OLD)
    budget = dps.Budget(epsilon=9, delta="1e-5")
    with pytest.raises(ParameterError, match="compared_with must be left out if the promise is to whole users"):
        by_names(dataset(budget=budget)).top_k(2, epsilon="0.1", compared_with=OLD)
    assert budget.left == 1


def by_month(folder: Path) -> dps.Ledger:
    """A ledger with a budget for every month."""
    ledger = dps.Ledger.create(folder / "ledger")
    ledger.data("plays", 1, "1e-5", period="month", time="at")
    ledger.grant(Account("plays", "ann"), 1, "1e-5")
    return ledger


def test_both_periods_pay_the_whole_price(tmp_path: Path) -> None:
    with by_month(tmp_path) as ledger:
        budget = dps.Budget.open(ledger, data="plays", analyst="ann", snapshot="all")
        first = by_names(dataset(budget=budget)).top_k(1, epsilon="0.6", domain=["tea", "soup"], compared_with=OLD)
        charges = [*ledger.entries()][-1].parts
        assert set(charges) == {OLD, "2026-10"}
        assert {charge.epsilon for charge in charges.values()} == {first.privacy.epsilon}
        for during, other in (("2026-10", "2026-08"), ("2026-08", "2026-10"), ("2026-08", OLD)):
            with pytest.raises(BudgetError):  # the twin that charges one side alone would pay some of these
                by_names(dataset(during=during, budget=budget)).top_k(
                    1, epsilon="0.6", domain=["tea", "soup"], compared_with=other
                )
        assert dataset(during="2026-08", budget=budget).top_k(1, epsilon="0.6", domain=["tea", "soup"]).labels


def test_what_is_left_for_it_is_what_is_left_on_both_sides(tmp_path: Path) -> None:
    with by_month(tmp_path) as ledger:
        budget = dps.Budget.open(ledger, data="plays", analyst="ann")
        dataset(during=OLD, budget=budget).top_k(1, epsilon="0.5", domain=["tea", "soup"])
        asked = {"k": 1, "epsilon": "0.1", "domain": ["tea", "soup"]}
        alone, both = plan_of("top_k", **asked), plan_of("top_k", **asked, compared_with=OLD)  # type: ignore[arg-type]
        assert budget.left_for(both, during="2026-10") == budget.left_for(alone, during=OLD)
        assert budget.left_for(both, during="2026-10") < budget.left_for(alone, during="2026-10")
        release = by_names(dataset(budget=budget)).top_k(**asked, compared_with=OLD)  # type: ignore[arg-type]
        assert budget.left_for(release, during="2026-10") == budget.left_for(both, during="2026-10")


@pytest.mark.parametrize("asked", METHODS, ids=str)
def test_the_items_that_lost_most_come_back_in_words_of_losses(asked: dict[str, Any], tmp_path: Path) -> None:
    """`gone` lost 300 users, `tea` and `soup` lost none; a gain swapped by hand would say that they were gained."""
    release = by_names(dataset()).top_k(1, epsilon=24, counts=True, compared_with=OLD, lost=True, **asked)
    assert [item.item for item in release.items] == ["gone"]
    columns = release.to_columns()
    assert abs(columns["loss"][0] - 300) < 60  # type: ignore[operator]
    said, printed = " ".join(release.privacy.sentences), " ".join(str(release).split())
    assert "by lost users from 2026-09 to 2026-10" in printed
    assert release.unit == "users lost"
    assert "The loss of an item is its number of distinct users in 2026-09 less that in 2026-10, or 0" in said
    assert "gain" not in printed.replace("an item that lost nothing or gained users", "") + said
    assert "a row's true loss is from low to high" in printed
    release.to_json(tmp_path / "lost.json")
    assert dps.Release.from_json(tmp_path / "lost.json") == release
    assert check(tmp_path / "lost.json").verdict is Verdict.FOLLOWS
    assert dps.Question.from_dict({"verb": "top_k", "compared_with": [OLD], "lost": True}) == dps.TopK(
        score=dps.Gain(OLD, lost=True)
    )


def test_losses_are_the_gains_of_the_other_side() -> None:
    lost = by_names(dataset()).top_k(3, epsilon=900, counts=True, compared_with=OLD, lost=True, domain=[*ITEMS])
    gained = by_names(dataset(during=OLD)).top_k(3, epsilon=900, counts=True, compared_with="2026-10", domain=[*ITEMS])
    assert [(item.item, item.count) for item in lost if item.count] == [("gone", 300)]
    assert [item.count for item in lost] == [item.count for item in gained]


def test_losses_go_with_periods_that_are_compared() -> None:
    with pytest.raises(ParameterError, match="compared_with must be given for gains"):
        dps.Question.from_dict({"verb": "top_k", "lost": True})
