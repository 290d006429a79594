"""Sums by group, from the question to the release: what is said and in which unit, what it costs, what checks it."""

from __future__ import annotations

import json
from fractions import Fraction

import pyarrow as pa
import pytest

import dpselect as dps
from dpselect.checking.finding import Verdict
from dpselect.queries.plan import Plan
from dpselect.release.archive import archived, restored
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of
from tests.judge.both import check

USERS = 900
ROWS = {
    "user": [u for u in range(USERS) for _ in range(3)],
    "item": [f"{'DE' if u % 3 else 'FR'} {n}" for u in range(USERS) for n in range(3)],
    "country": ["DE" if u % 3 else "FR" for u in range(USERS) for _ in range(3)],
    "minutes": [m for u in range(USERS) for m in (20.25, 90.0, 0.3)],
}
WEIGHTS = {"by_weight": "minutes", "at_most": 60, "weight_unit": "0.5"}


@pytest.fixture(scope="module")
def data() -> dps.Dataset:
    return dps.Dataset(pa.table(ROWS), user="user", item="item")


@pytest.fixture(scope="module")
def found(data) -> dps.Release:
    asked = {"epsilon": 60, "delta": "1e-6", "by": "country", "counts": True, "users": True}
    return by_names(data).top_k(2, **asked, **WEIGHTS, draws=SeededDraws(1))


def test_sums_are_in_the_unit_of_the_column_and_users_are_users(found):
    assert found.labels == ["DE 1", "DE 0", "FR 1", "FR 0"]
    for item, true in zip(found, (36_000, 600 * 20.5, 18_000, 300 * 20.5), strict=True):
        assert Fraction(item.count) % Fraction(1, 2) == 0
        width = found.accuracy.numbers["width_of_counts"]
        assert abs(item.count - true) <= 5 * width  # whatever the draws: the width holds 95 times of 100
        assert (item.low, item.high) == (item.count - width, item.count + width)
    for group, true in zip(found.groups.shown, (600, 300), strict=True):
        assert abs(group.users - true) <= 5 * found.accuracy.numbers["width_of_group_users"]
    assert all(type(group.users) is int for group in found.groups.shown)
    assert found.accuracy.numbers["width_of_counts"] > 60 * found.accuracy.numbers["width_of_group_users"]
    assert list(found.to_columns()) == ["country", "rank", "item", "counted_sum", "low", "high", "counted_group_users"]


def test_what_is_said_is_checked_and_comes_back(found, data, tmp_path):
    said = " ".join(found.text.split())
    assert "A user has only the groups in which they give an item a unit" in said
    assert "bottom, which stands" in said
    assert "of minutes above the sum of rank k_bar + 1 = 101 of its group" in said
    secure = by_names(data).top_k(2, epsilon=1, delta="1e-6", by="country", counts=True, users=True, **WEIGHTS)
    (tmp_path / "release.json").write_text(secure.to_json())
    assert check(tmp_path / "release.json").verdict is Verdict.FOLLOWS
    assert dps.Release.from_json(found.to_json()) == found
    assert restored(archived(found)) == found


def test_the_price_is_that_of_counts_and_the_width_that_of_the_cap():
    asked = {"k": 3, "epsilon": 1, "delta": "1e-6", "by": "g", "max_groups_per_user": 2, "counts": True, "users": True}
    of_users, of_sums = (plan_of("top_k", **asked, method="limited-domain", **more).selection for more in ({}, WEIGHTS))
    assert of_sums.privacy == of_users.privacy
    assert of_sums.selector.each.terms.rate * 120 == of_users.selector.each.terms.rate
    assert of_sums.counter.rate * 120 == of_users.counter.rate
    assert of_sums.of_groups == of_users.of_groups
    assert of_sums.height() == pytest.approx(120 * of_users.height())


def test_the_automatic_method_is_the_one_that_can():
    asked = {"k": 50, "epsilon": 1, "delta": "1e-6", "by": "g"}
    assert plan_of("top_k", **asked).selection.method == "discover"
    assert plan_of("top_k", **asked, **WEIGHTS).selection.method == "limited-domain"


def test_another_weight_is_another_question(data):
    asked = {"k": 2, "epsilon": 1, "delta": "1e-6", "by": "country"}
    keys = [plan_of("top_k", **asked, **more).key for more in ({}, WEIGHTS, WEIGHTS | {"at_most": 30})]
    assert all(keys[a] != keys[b] for a, b in ((0, 1), (0, 2), (1, 2)))
    said = json.loads(json.dumps(plan_of("top_k", **asked, **WEIGHTS, groups=["DE"]).to_dict()))
    assert [group.values for group in data.ask(Plan.from_dict(said)).groups.shown] == [("DE",)]
