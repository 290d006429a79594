"""A forecast of groups: priced as the real question, as good as the real answer on data that are as it imagined."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dpselect as dps
from dpselect.errors import ParameterError
from dpselect.forecast.by_group import imagine_groups
from dpselect.forecast.crowds import Zipf, expected_counts
from dpselect.testing import SeededDraws
from tests.by_names import by_names, drawn, plan_of

SIZES = [6000, 2000, 300]


def plan(question, groups_per_user=1):
    people = dps.Population(items=40, items_per_user=3, groups=SIZES, groups_per_user=groups_per_user)
    return drawn(SeededDraws(1), lambda: question.forecast(people, epsilon=[1, 4]))


@pytest.fixture(scope="module")
def found() -> dps.Forecast:
    return plan(dps.TopK(3, by="country", counts=True), groups_per_user=2)


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
    counts, true, sizes = imagine_groups(shares, np.array([1000.0, 100.0]), 0.5, 2)
    assert (counts.tolist(), true.tolist(), sizes.tolist()) == ([250, 125, 25, 12], [500, 250, 50, 25], [2, 2])
    counts, _, sizes = imagine_groups(shares, np.array([1000.0, 100.0]), 1.0, 3)
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
    for row in plan(dps.TopK(3, by=dps.By("country", max_groups_per_user=1))):
        real = by_names(data).top_k(3, epsilon=row.epsilon, delta="1e-6", by="g", draws=SeededDraws(2))
        assert abs(len(real) - row.items) <= 1
        assert abs(len(real.groups.shown) - row.groups) <= 1


def test_it_says_where_auto_would_take_another_way():
    by = dps.By("country", max_groups_per_user=1)
    for k, discovered in ((40, True), (5, False)):
        said = str(dps.TopK(k, by=by).forecast(dps.Population(groups=[50]), epsilon=1))
        assert ('"auto" takes discover' in said) is discovered


def test_its_forms(found):
    assert "smallest count" not in str(found)
    assert "max groups per user" in str(found)
    told = json.loads(found.to_json())
    assert told["assumed"]["groups"] == SIZES
    assert "users" not in told["assumed"]
    assert told["rows"][0]["groups"] == found.rows[0].groups
    assert list(found.to_columns())[-3:] == ["max_groups_per_user", "groups", "width"]
    assert found.plot().names[0] == "limited-domain, 1"


GROUPS = dps.Population(groups=[5])


@pytest.mark.parametrize(
    ("like", "given", "message"),
    [
        (None, {}, "groups must be given in a Population where the question has by"),
        (dps.Population(), {}, "groups must be given in a Population where the question has by"),
        ([3], {}, "groups must be given in a Population where the question has by"),
        (GROUPS, {"within": 9}, "within must be left out if the question has by, got 9"),
        (GROUPS, {"methods": "discover"}, "methods must be among limited-domain here, got 'discover'"),
    ],
)
def test_bad_input(like, given, message):
    with pytest.raises(ParameterError, match=message):
        dps.TopK(by="country").forecast(like, **given)


def test_only_limited_domain_is_tried():
    for asked in (dps.Method("limited-domain", k_bar=20), None):
        question = dps.TopK(by=dps.By(["country", "city"], max_groups_per_user=7), method=asked)
        assert [row.max_groups_per_user for row in question.forecast(GROUPS, epsilon=1)] == [7]
    with pytest.raises(ParameterError, match="method must be among limited-domain here, got 'discover'"):
        dps.TopK(by="country", method="discover").forecast(GROUPS)
