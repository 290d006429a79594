"""A bound on groups that is chosen, asked of rows: how good it is, what is paid and said, and what can be checked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpselect as dps
from dpselect.checking.finding import Verdict
from dpselect.queries.top.group_bound import GROUP_BOUNDS
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of
from tests.judge.both import check
from tests.judge.by_group import FOR_BOUND

FEW = {"k": 2, "epsilon": 8, "delta": "1e-6", "by": "group"}
MANY = {"k": 60, "epsilon": 12, "delta": "1e-6", "by": "group"}  # more picks than limited domain is good for


def rows(users: int = 400, groups: int = 5, items: int = 4) -> dict[str, np.ndarray]:
    """Every user in every group, with items whose numbers of users differ."""
    user, group, item = (each.ravel() for each in np.meshgrid(range(users), range(groups), range(items)))
    has = user % (item + 2) > 0
    return {"user": user[has], "group": group[has], "item": item[has], "other": item[has] * 10}


def data(**more: object) -> dps.Dataset:
    usual = {"source": rows(), "user": "user", "item": "item"}
    return dps.Dataset(**usual | more)  # type: ignore[arg-type]


def bound_of(release: dps.Release) -> object:
    return release.privacy.parameters["max_groups_per_user"]


def verdicts(*where: Path) -> set[Verdict]:
    """On all that is looked at in a file, and in a ledger."""
    return {finding.verdict for finding in check(*where).findings}


@pytest.mark.parametrize(("asked", "mechanism"), [(FEW, "LimitedDomainByGroup"), (MANY, "DiscoverThenPeel")])
def test_users_of_five_groups_count_in_six_and_of_one_in_one(asked, mechanism):
    assert 5 not in GROUP_BOUNDS
    release = by_names(data()).top_k(**asked, draws=SeededDraws(1))
    assert bound_of(release) == 6
    assert release.privacy.mechanism == mechanism
    assert {(item.group, type(item.item)) for item in release} == {((group,), int) for group in range(5)}
    alone = by_names(data(source=rows(groups=1))).top_k(**asked, draws=SeededDraws(1))
    assert bound_of(alone) == 1
    listed = by_names(data()).top_k(**asked, groups=[0, 1], draws=SeededDraws(1))
    assert bound_of(listed) == 2


def test_items_of_two_columns_stay_two_columns():
    """They are asked for behind the columns of groups, where pairs may be discovered."""
    of_two = data(item=["item", "other"])
    assert plan_of("top_k", **MANY).items_are_pairs
    assert plan_of("top_k", **FEW | {"k": 9}).items_are_pairs
    assert plan_of("top_k", **FEW | {"k": 9}).selection.selection_with(1).method == "limited-domain"
    for asked in (MANY, FEW | {"k": 9}):
        release = by_names(of_two).top_k(**asked, groups=[0, 1], draws=SeededDraws(1))
        assert {item.item for item in release} <= {(n, 10 * n) for n in range(4)}
        assert len(release) == 8


@pytest.mark.parametrize("asked", [FEW, MANY, FEW | {"k": 9}], ids=["limited domain", "discover", "either"])
def test_items_that_are_left_out_neither_come_back_nor_have_groups(asked):
    """Users are in four of five groups by that item only."""
    few = {name: values[(rows()["group"] == 0) | (rows()["item"] == 0)] for name, values in rows().items()}
    held = data(source=few)
    assert bound_of(by_names(held).top_k(**asked, draws=SeededDraws(1))) == 6
    release = by_names(held).top_k(**asked, exclude=[0], draws=SeededDraws(1))
    assert bound_of(release) == 1
    assert {item.item for item in release} <= {1, 2, 3}
    assert len(release) > 0
    assert "Rows of 1 item, which a public list names, do not count." in release.privacy.sentences


def test_the_question_of_the_bound_has_what_is_left():
    """The answer is that of the question with the bound, for nineteen twentieths of epsilon."""
    query = plan_of("top_k", **FEW)
    alone = plan_of("top_k", **FEW | {"epsilon": Fraction(38, 5), "max_groups_per_user": 6})
    assert query.selection.selection_with(6) == alone.selection
    assert query.price.epsilon == 8
    assert query.key["max_groups_per_user"] is None
    assert query.key["epsilon"] == 8
    assert dps.Plan.from_dict(query.to_dict()) == query


@pytest.mark.parametrize("asked", [FEW, MANY], ids=["limited domain", "discover"])
def test_it_is_paid_stored_and_checked(tmp_path, asked):
    """No more than the ceiling, the second time nothing, and all of it follows from what is said."""
    path = tmp_path / "budget.sqlite"
    with dps.Ledger.create(path) as ledger:
        ledger.data("default", 20, "1e-4")
        ledger.grant(dps.Account("default", "ann"), 20, "1e-5")
        held = data(budget=dps.Budget.open(ledger, analyst="ann", snapshot="one"))
        order = ledger.data_account("default").promise.order
        assert order is not None
        release = by_names(held).top_k(**asked)
        query = plan_of("top_k", **asked)
        cost, ceiling = query.cost_at(release, order), query.price_at(order)
        spent = ledger.standing(dps.Account("default", "ann")).own.spent
        assert spent.epsilon in (cost.whole.epsilon, cost.without_composition.epsilon)
        assert cost.whole.renyi <= ceiling.whole.renyi
        assert by_names(held).top_k(**asked).labels == release.labels
        assert ledger.standing(dps.Account("default", "ann")).own.spent == spent
        file = tmp_path / "release.json"
        file.write_text(release.to_json(), "utf-8")
    assert Verdict.FAILS not in verdicts(file, path)


@pytest.mark.parametrize("asked", [FEW, MANY], ids=["limited domain", "discover"])
def test_a_bound_whose_price_is_not_in_the_promise_does_not_follow(tmp_path, asked):
    release = by_names(data()).top_k(**asked, draws=SeededDraws(1))
    said = release.privacy
    for price in (Fraction(asked["epsilon"]) / 4, Fraction(asked["epsilon"])):
        false = replace(release, privacy=replace(said, parameters={**said.parameters, FOR_BOUND: price}))
        file = tmp_path / "release.json"
        file.write_text(false.to_json(), "utf-8")
        assert Verdict.FAILS in verdicts(file)
