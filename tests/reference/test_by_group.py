"""Top k by group, from a data set to a release: what is shown, what it costs, every form of it, and what is refused."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect._ground.privacy import PureDP, Steps
from dpselect.accounting.composition import basic
from dpselect.errors import ParameterError
from dpselect.queries.plan import Plan
from dpselect.queries.top.group_bound import ChosenGroups
from dpselect.release.archive import archive_release, restore_release
from tests.by_names import by_names, plan_of

COUNTRIES = ("DE", "FR", "LI")


def rows(users: int = 3000) -> dict[str, list]:
    """Every user is in one country; in LI there are three."""
    people = np.arange(users)
    country = [COUNTRIES[2] if u < 3 else COUNTRIES[u % 2] for u in people]
    return {
        "user": [int(u) for u in people for _ in range(3)],
        "country": [c for c in country for _ in range(3)],
        "year": [2020 + int(u) % 2 for u in people for _ in range(3)],
        "item": [f"{country[u]} {(u * j) % 4}" for u in people for j in (0, 1, 2)],
    }


@pytest.fixture(scope="module")
def data() -> dps.Dataset:
    return dps.Dataset(pa.table(rows()), user="user", item="item")


@pytest.fixture(scope="module")
def found(data: dps.Dataset) -> dps.Release:
    return by_names(data).top_k(2, epsilon=8, by="country", counts=True, users=True)


def test_every_group_that_can_be_told_is_shown_with_its_own_items(found):
    assert [(item.group, item.rank) for item in found] == [(("DE",), 1), (("DE",), 2), (("FR",), 1), (("FR",), 2)]
    assert all(item.item.startswith(item.group[0]) for item in found)
    assert [group.values for group in found.groups.shown] == [("DE",), ("FR",)]
    assert all(abs(group.users - 1498) < 60 for group in found.groups.shown)
    assert all(item.low <= item.count <= item.high for item in found)
    assert found.complete
    assert "LI" not in found.text


def test_several_columns(data):
    found = data.top_k(1, epsilon=8, by=["year", "country"])
    assert found.groups.columns == ("year", "country")
    assert [group.values for group in found.groups.shown] == [(2020, "DE"), (2021, "FR")]
    listed = by_names(data).top_k(1, epsilon=8, by=["year", "country"], groups=[(2020, "DE"), (2020, "FR")])
    assert [(group.values, group.complete) for group in listed.groups.shown] == [
        ((2020, "DE"), True),
        ((2020, "FR"), False),
    ]


def test_listed_groups_are_shown_in_any_case(data):
    found = by_names(data).top_k(2, epsilon=8, by="country", groups=["LI", "DE", "XX"], users=True)
    assert [group.values[0] for group in found.groups.shown] == ["DE", "LI", "XX"]
    assert [group.complete for group in found.groups.shown] == [True, False, False]
    assert not found.complete
    assert "2 with no item that could be released: LI, XX" in found.text
    unlisted = data.top_k(2, epsilon=8, by="country")
    assert ["groups need not be known" in one.privacy.sentences[0] for one in (found, unlisted)] == [False, True]


def test_a_union_by_group_is_that_of_pairs(data):
    found = by_names(data).union(epsilon=8, by="country", max_items_per_user=3, counts=True)
    pairs = dps.Dataset(pa.table(rows()), user="user", item=["country", "item"])
    both = by_names(pairs).union(epsilon=8, max_items_per_user=3, counts=True)
    assert sorted((*item.group, item.item) for item in found) == sorted(both.labels)
    assert [group.values for group in found.groups.shown] == [("DE",), ("FR",)]
    assert list(found.to_columns()) == ["country", "item", "counted_users", "low", "high"]
    assert dps.Release.from_json(found.to_json()) == found
    assert "item" not in found.privacy.parameters
    inside = by_names(data).union(epsilon=8, by="country", max_items_per_user=3, in_engine=True)
    assert [item.group for item in inside] == [item.group for item in found]
    said = json.loads(json.dumps(Plan.from_dict({"verb": "union", "epsilon": "8", "by": ["country"]}).to_dict()))
    assert data.ask(Plan.from_dict(said)).groups.columns == ("country",)


def test_discovery_by_group(data):
    found = by_names(data).top_k(2, epsilon=8, by="country", method="discover", counts=True, groups=["FR", "XX", "DE"])
    assert [(item.group, item.rank) for item in found] == [(("DE",), 1), (("DE",), 2), (("FR",), 1), (("FR",), 2)]
    assert all(item.item.startswith(item.group[0]) for item in found)
    assert [group.values for group in found.groups.shown] == [("DE",), ("FR",), ("XX",)]
    assert [group.complete for group in found.groups.shown] == [True, True, False]
    assert restore_release(archive_release(found)) == found
    alone = data.top_k(2, epsilon=8, by=["year", "country"], method="discover")
    assert {item.group for item in alone} == {(2020, "DE"), (2021, "FR")}
    with pytest.raises(ParameterError, match="users must be left out for discover"):
        by_names(data).top_k(2, epsilon=8, by="country", method="discover", users=True)


@pytest.mark.parametrize(
    ("asked", "method"),
    [
        ({"k": 10, "epsilon": 1}, "limited-domain"),
        ({"k": 10, "epsilon": "0.3"}, "discover"),
        ({"k": 10, "epsilon": 1, "max_groups_per_user": 3}, "discover"),
        ({"k": 50, "epsilon": 1}, "discover"),
        ({"k": 50, "epsilon": 1, "k_bar": 100}, "limited-domain"),
        ({"k": 50, "epsilon": 1, "users": True}, "limited-domain"),
        ({"k": 5, "epsilon": "0.1"}, "limited-domain"),
    ],
)
def test_the_method_is_taken_by_public_facts(asked, method):
    query = plan_of("top_k", by="g", delta="1e-6", **asked)
    found = query.selection.selection_with(1) if isinstance(query.selection, ChosenGroups) else query.selection
    assert found.method == method
    large = "It was chosen because k and the groups of a user are large for epsilon."
    assert found.reason.endswith(large) is (method == "discover")


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("method", ["limited-domain", "discover"])
def test_groups_that_do_not_fit_are_refused_before_a_budget_pays(method, most):
    budget = dps.Budget(epsilon=1, delta="1e-6")
    paid = dps.Dataset(pa.table(rows(300)), user="user", item="item", budget=budget)
    with pytest.raises(ParameterError, match="types must declare column 'country'"):
        by_names(paid).top_k(
            2, epsilon=1, delta="1e-6", by="country", groups=[1, 2], max_groups_per_user=most, method=method
        )
    assert budget.left == 1


def test_a_bound_on_groups_that_is_chosen_promises_what_may_fail():
    promised = plan_of("top_k", k=3, epsilon=1, delta="1e-6", by="g").price
    assert (promised.failure, promised.zcdp) == (Fraction(1, 10**6), None)


def test_columns_of_groups_that_a_table_has_itself():
    given = rows(600)
    given["rank"] = given.pop("country")
    found = dps.Dataset(given, user="user", item="item").top_k(1, epsilon=8, by="rank")
    assert list(found.to_columns()) == ["group_rank", "rank", "item"]


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("asked", [{}, {"counts": True}, {"counts": True, "users": True}, {"users": True}], ids=str)
@pytest.mark.parametrize("most", [None, 2])
def test_what_an_outcome_costs(groups, asked, most):
    query = plan_of(
        "top_k", k=4, epsilon=2, delta="1e-6", by="g", max_groups_per_user=groups, max_items_per_user=most, **asked
    )
    picks, *counts = query.price.steps
    assert picks.times == 4 * groups
    told, counter = asked.get("users", False), query.selection.counter
    pick = picks.value.epsilon
    if told:
        assert counts[0] == Steps(PureDP(pick / 2), groups)
    if counter is not None:
        assert tuple(counts[told:]) == counter.steps_of(*[4] * groups)

    def spent(*found: int) -> Fraction:
        largest = sorted(found, reverse=True)[:groups]
        unseen = groups - len(largest)
        taken = sum(min(4, n + 1) for n in largest) + unseen
        noisy = Fraction(0) if counter is None else basic(counter.steps_of(*largest))
        return min(Fraction(2), pick * taken + pick / 2 * told * len(largest) + noisy)

    for found in [(), (1,), (4, 4, 4, 4), (1, 2, 1), (3,), (4, 1)]:
        cost = query.selection.cost_at(SimpleNamespace(found=found), None).whole
        assert (cost.epsilon, cost.failure) == (spent(*found), query.price.delta)


def test_a_bound_on_items_is_about_counts_below_k_alone():
    asked = {"k": 4, "epsilon": 2, "delta": "1e-6", "by": "g", "max_groups_per_user": 2}
    for more, most in (({}, 1), ({"counts": True}, 4)):
        bounded, free = (plan_of("top_k", **asked, **more, max_items_per_user=one).selection for one in (most, None))
        assert bounded == free
    bounded, free = (plan_of("top_k", **asked, counts=True, max_items_per_user=one).selection for one in (1, None))
    assert bounded.selector.epsilon_per_pick == free.selector.epsilon_per_pick
    assert bounded.count_width < free.count_width


def test_listed_groups_tell_a_number_of_users_each():
    asked = {"k": 4, "epsilon": 2, "delta": "1e-6", "by": "g", "users": True}
    plan = plan_of("top_k", **asked, groups=["a", "b"], max_groups_per_user=5).selection
    assert plan.selector.max_groups_per_user == 2  # there are no more
    assert sum(one.times for one in plan.steps(SimpleNamespace(found=()))) == 4  # two bottoms, and two numbers of users
    assert (
        sum(one.times for one in plan_of("top_k", **asked).selection.selection_with(1).steps(SimpleNamespace(found=())))
        == 1
    )


def test_one_group_costs_what_a_top_k_costs():
    alone = plan_of("top_k", k=7, epsilon=1, delta="1e-6", k_bar=100)
    grouped = plan_of("top_k", k=7, epsilon=1, delta="1e-6", by="g", max_groups_per_user=1)
    assert grouped.price == alone.price
    assert grouped.selection.selector.epsilon_per_pick == alone.selection.selector.epsilon_per_pick


@pytest.fixture(scope="module")
def alike() -> dps.Dataset:
    """Groups that Python takes for equal: 1 and True, a float and the decimal that it is."""
    groups = [True, 1, 0.1, Decimal.from_float(0.1)]
    people = range(4000)
    rows = {
        "user": np.array(people),
        "item": np.array([f"{u % 4} {u // 4 % 2}" for u in people], dtype=object),
        "g": np.array([groups[u % 4] for u in people], dtype=object),
    }
    return dps.Dataset(rows, user="user", item="item")


@pytest.mark.parametrize("method", ["limited-domain", "discover"])
def test_groups_that_python_takes_for_equal_are_not_one(alike, method):
    found = by_names(alike).top_k(
        2, epsilon=40, by="g", max_groups_per_user=4, method=method, users=method != "discover"
    )
    assert len(found.groups.shown) == 4
    assert found.found == (2, 2, 2, 2)
    first = {item.item[0]: repr(item.group) for item in found}
    assert first == {"0": "(True,)", "1": "(1,)", "2": "(0.1,)", "3": repr((Decimal.from_float(0.1),))}
    assert len({item.item for item in found}) == 8
    for again in (restore_release(archive_release(found)), dps.Release.from_json(found.to_json())):
        assert again.found == found.found
        assert again.groups == found.groups
    if method != "discover":
        users = dict(zip(found.to_columns()["item"], found.to_columns()["counted_group_users"], strict=True))
        assert [users[item.item] for item in found] == [one.users for one in found.groups.shown for _ in range(2)]
        assert (
            plan_of("top_k", k=2, epsilon=40, by="g", max_groups_per_user=4, method=method).steps(found)[0].times == 8
        )


def test_a_union_by_group_keeps_groups_apart_that_python_takes_for_equal(alike):
    found = by_names(alike).union(epsilon=40, by="g", max_items_per_user=1)
    assert len(found.groups.shown) == 4
    assert found.found == (2, 2, 2, 2)


def test_other_listed_groups_are_another_question_also_where_a_frame_lists_them(tmp_path):
    from dpselect.ledger import Ledger

    pq.write_table(pa.table(rows(600)), tmp_path / "rows.parquet")
    with Ledger.create(tmp_path / "budget.sqlite") as ledger:
        ledger.data("default", epsilon=10, delta="1e-3")
        ledger.grant(dps.ledger.Account(dataset="default", analyst="ann"), epsilon=10, delta="1e-3")
    budget = dps.Budget.open(tmp_path / "budget.sqlite", analyst="ann")
    data = dps.Dataset(tmp_path / "rows.parquet", user="user", item="item", budget=budget)
    for country in ("DE", "FR"):
        listed = dps.Column(pa.table({"country": [country]}), "country")
        found = by_names(data).top_k(1, epsilon=1, by="country", groups=listed)
        assert [group.values for group in found.groups.shown] == [(country,)]


def test_parts_of_a_text_by_group():
    user = np.arange(1200)
    rows = {"user": user, "item": ["a b", "b c"] * 600, "g": np.array(["x", "y"])[user // 600]}
    data = dps.Dataset(rows | {"h": user // 600}, user="user", item=dps.Split("item", " "), max_items_per_user=2)
    for by in ("g", ["g", "h"]):
        groups = [("x",), ("y",)] if by == "g" else [("x", 0), ("y", 1)]
        best = data.top_k(1, epsilon=8, by=by, method="limited-domain")
        assert [(item.group, item.item) for item in best] == [(group, "b") for group in groups]
        found = data.top_k(3, epsilon=8, by=by, method="discover")
        assert [item.item for item in found if item.rank == 1] == ["b", "b"]
        for answer in (found, data.union(epsilon=8, by=by)):
            assert {(item.group, item.item) for item in answer} == {(g, part) for g in groups for part in "abc"}


def test_columns_that_a_table_by_group_has_itself():
    given = {"user": np.arange(400), "group_users": ["a", "b"] * 200, "item": ["c", "d"] * 200, "year": [2026] * 400}
    data = dps.Dataset(given, user="user", item=["group_users", "item"])
    found = by_names(data).top_k(2, epsilon=8, by="year", users=True)
    assert sorted(found.to_columns()["item_group_users"]) == ["a", "b"]
    assert found.to_columns()["counted_group_users"] == [found.groups.shown[0].users] * 2
    assert found.text.split("\n\n")[1].splitlines()[1].startswith("2026 ")


def test_moments_with_and_without_a_zone_in_a_union():
    moment = datetime.datetime(2026, 10, 1)
    moments = [moment, moment.replace(tzinfo=datetime.UTC)]
    rows = {"user": np.arange(400), "item": ["a"] * 400, "at": np.array(moments * 200, dtype=object)}
    found = by_names(dps.Dataset(rows, user="user", item="at")).union(epsilon=8, max_items_per_user=1)
    assert found.labels == moments
    found = by_names(dps.Dataset(rows, user="user", item="item")).union(epsilon=8, max_items_per_user=1, by="at")
    assert [group.values for group in found.groups.shown] == [(one,) for one in moments]


BAD = {
    "by must be columns other than user and item": {"by": "item"},
    "by must be columns other than user and item, got 'user'": {"by": ["user"]},
    "by must be a column of the source, got 'cuontry'\nhint": {"by": "cuontry"},
    "by must be the name of a column, or a list": {"by": 3},
    "by must name each column once": {"by": ["country", "country"]},
    "by must be given for groups": {"groups": ["DE"]},
    "by must be given for groups, got nothing": {"max_groups_per_user": 2},
    "max_groups_per_user must be a whole number of at least 1": {"by": "country", "max_groups_per_user": 0},
    "max_groups_per_user must be a whole number from": {"by": "country", "max_groups_per_user": 10**9},
    "groups must hold at least one item": {"by": "country", "groups": []},
    "groups must be a list": {"by": "country", "groups": 4},
    "types must declare column 'country'": {"by": "country", "groups": [1, 2]},
    "groups must list single values": {"by": "country", "groups": [("DE", 1)]},
    "domain must be left out if by is given": {"by": "country", "domain": ["a"]},
    "method must be auto, limited-domain or discover": {"by": "country", "method": "limited-domain-sparse"},
    "method must be one that ranks": {"by": "country", "method": "set"},
    "k_bar must be at least k": {"by": "country", "k_bar": 1},
}


@pytest.mark.parametrize("said", BAD)
def test_bad_input(data, said):
    with pytest.raises(ParameterError) as error:
        by_names(data).top_k(2, epsilon=1, **BAD[said])
    assert str(error.value).startswith(said)


def test_within_is_refused_by_group(data):
    with pytest.raises(ParameterError, match="within must be left out if by is given"):
        by_names(data).top_k(2, within=50, by="country")


LISTED = {
    "top_k": {"k": 1, "counts": True},
    "quantile": {"bounds": [0, 9], "step": 1},
    "choose": {"domain": ["a", "b"]},
    "users": {},
}


@pytest.mark.parametrize("verb", LISTED)
def test_without_a_bound_a_user_is_paid_for_in_all_listed_groups(verb):
    """Every question that lists groups is the same question with a bound of as many, and has its noise."""
    asked = {"by": ["g"], "groups": ["x", "y", "z"], "epsilon": 6, **LISTED[verb]}
    usual, of_three, of_one = (plan_of(verb, **asked, **more) for more in ({}, *map(bound, (3, 1))))
    assert usual.price == of_three.price
    assert [plan.key["max_groups_per_user"] for plan in (usual, of_three, of_one)] == [3, 3, 1]
    assert usual.price.steps != of_one.price.steps


def bound(groups):
    return {"max_groups_per_user": groups}


@pytest.mark.parametrize("verb", [verb for verb in LISTED if verb != "top_k"])
def test_groups_of_an_unknown_number_need_a_bound(verb, tmp_path):
    (tmp_path / "groups.csv").write_text("g\n")
    asked = {"by": ["g"], "groups": dps.Column(str(tmp_path / "groups.csv"), "g"), "epsilon": 6, **LISTED[verb]}
    with pytest.raises(ParameterError, match="max_groups_per_user must be given if only reading the list tells"):
        plan_of(verb, **asked)
    assert plan_of(verb, **asked, **bound(2)).price.epsilon == 6


def test_a_top_k_chooses_a_bound_for_groups_of_an_unknown_number():
    query = plan_of("top_k", by=["g"], groups=dps.Column("groups.csv", "g"), epsilon=6)
    assert isinstance(query.selection, ChosenGroups)


def test_a_bound_that_the_price_does_not_allow_is_refused_before_rows_could_choose_it():
    """Its delta allows bounds up to 4 only. Planned when it is chosen, a larger one would fail for some rows."""
    delta = Fraction(404, 2**900)
    query = plan_of("top_k", k=1, by="g", epsilon=1, delta=delta, method="limited-domain")
    assert isinstance(query.selection, ChosenGroups)
    assert query.selection.selection_with(4).method == "limited-domain"
    with pytest.raises(ParameterError, match="delta must leave more than"):
        query.bind_draw(SimpleNamespace())
