"""A forecast of groups: priced as the real question, as good as the real answer on data that are as it imagined."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dpselect as dps
from dpselect.errors import ParameterError
from dpselect.forecast import plan
from dpselect.forecast.by_group import imagined
from dpselect.forecast.population import Zipf, expected_counts
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of

SIZES = [6000, 2000, 300]
ASKED = {"k": 3, "groups": SIZES, "items": 40, "items_per_user": 3, "epsilon": [1, 4]}


@pytest.fixture(scope="module")
def found() -> dps.forecast.Forecast:
    return plan("top_k", **ASKED, groups_per_user=2, counts=True, draws=SeededDraws(1))


def test_each_number_of_groups_is_priced_as_the_question(found):
    assert [(row.max_groups_per_user, row.epsilon) for row in found] == [(1, 1), (1, 4), (2, 1), (2, 4)]  # of 3 groups
    for row in found:
        asked = {"k": 3, "delta": "1e-6", "by": "g", "counts": True, "method": "limited-domain"}
        real = plan_of("top_k", epsilon=row.epsilon, max_groups_per_user=row.max_groups_per_user, **asked).selection
        assert row.threshold == real.height()
        assert row.width == real.counter.width(0.05)
        assert row.method == real.method
        assert row.smallest_count is None
    one, _, two, _ = found
    assert one.threshold < two.threshold
    assert one.width < two.width


def test_users_who_do_not_count_are_missing_in_their_groups():
    shares = np.array([0.5, 0.25, 0.001])
    counts, true, sizes = imagined(shares, np.array([1000.0, 100.0]), 0.5, 2)
    assert (counts.tolist(), true.tolist(), sizes.tolist()) == ([250, 125, 25, 12], [500, 250, 50, 25], [2, 2])
    counts, _, sizes = imagined(shares, np.array([1000.0, 100.0]), 1.0, 3)
    assert (counts.tolist(), sizes.tolist()) == ([500, 250, 1, 50, 25], [3, 2])


def test_an_answer_is_as_good_as_its_forecast():
    """Of rows that have the imagined counts, and of users in one group each. The draws are fixed on both sides."""
    shares = expected_counts(Zipf(users=1, items=40, items_per_user=3, skew=1.1), None)
    counts = {size: np.rint(size * shares).astype(int) for size in SIZES}
    users = [np.arange(n) + 10**5 * place for place, size in enumerate(SIZES) for n in counts[size]]
    rows = {
        "user": np.concatenate(users),
        "item": np.repeat(np.tile(np.arange(40), 3), list(map(len, users))),
        "g": np.repeat(np.repeat(np.arange(3), 40), list(map(len, users))),
    }
    data = dps.Dataset(rows, user="user", item="item")
    for row in plan("top_k", **ASKED, max_groups_per_user=1, draws=SeededDraws(1)):
        real = by_names(data).top_k(3, epsilon=row.epsilon, delta="1e-6", by="g", draws=SeededDraws(2))
        assert abs(len(real) - row.items) <= 1
        assert abs(len(real.groups.shown) - row.groups) <= 1


def test_it_says_where_auto_would_take_another_way():
    said = str(plan("top_k", k=40, groups=[50], epsilon=1, max_groups_per_user=1))
    assert '"auto" takes discover' in said
    assert "auto" not in str(plan("top_k", k=5, groups=[50], epsilon=1, max_groups_per_user=1))


def test_its_forms(found):
    assert "smallest count" not in str(found)
    assert "max groups per user" in str(found)
    told = json.loads(found.to_json())
    assert told["assumed"]["groups"] == SIZES
    assert "users" not in told["assumed"]
    assert told["rows"][0]["groups"] == found.rows[0].groups
    assert list(found.to_columns())[-3:] == ["max_groups_per_user", "groups", "width"]
    assert found.plot().names[0] == "limited-domain, 1"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": []}, "groups must be numbers of users"),
        ({"groups": "DE"}, "groups must be numbers of users"),
        ({"groups": [0]}, "groups must be a whole number"),
        ({"groups": [5] * 1001}, "at most 1,000, got 1,001"),
        ({"groups": [5], "users": 5}, "users must be left out where groups are given"),
        ({"groups": [5], "like": [3]}, "like must be left out where groups are given"),
        ({"groups": [5], "within": 9, "epsilon": None}, "within must be left out where groups are given"),
        ({"groups": [5], "domain_known": True}, "domain_known must be left out where groups are given"),
        ({"groups": [5], "methods": "discover"}, "methods must be left out where groups are given"),
        ({"groups": [5], "groups_per_user": 2}, "groups_per_user must be from 1 to the 1 groups"),
        ({"groups": [5], "max_groups_per_user": []}, "max_groups_per_user must be a whole number or several"),
        ({"groups": [5], "max_groups_per_user": 0}, "max_groups_per_user must be a whole number"),
        ({"groups_per_user": 2}, "groups must be given where groups_per_user is"),
        ({"max_groups_per_user": 2}, "groups must be given where max_groups_per_user is"),
    ],
)
def test_bad_input(given, message):
    with pytest.raises(ParameterError, match=message):
        plan("top_k", **{"epsilon": 1, **given})


def test_a_union_has_no_bound_on_groups():
    for name in ("groups", "groups_per_user", "max_groups_per_user"):
        with pytest.raises(ParameterError, match=f"{name} must be left out for a union"):
            plan("union", epsilon=1, **{name: 2})
