"""Spark with its own settings, which compiles and plans: how it reads and keeps rows, its verbs and some questions."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dpselect as dps
from dpselect.engines.spark import database as database_module
from dpselect.engines.spark.dialect import SPARK
from dpselect.engines.sql import questions
from tests.by_names import by_names
from tests.engines.opened import open_engine
from tests.engines.sources import AWKWARD, counts
from tests.engines.test_every_engine import (  # noqa: F401 - tests run here too
    test_no_rows_are_an_outcome,
    test_the_key_and_a_users_own_rows_decide_which,
)
from tests.engines.test_users import test_users, test_users_of_groups  # noqa: F401
from tests.engines.test_weights import (  # noqa: F401
    test_users_of_released_items_and_lengths,
    test_what_was_released_leaves_everybody,
)

pytestmark = pytest.mark.usefixtures("as_spark_comes")

KEY = bytes(range(16))


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(AWKWARD, "user string, item string, age int")


def engine(source, *, user="user", item="item", **more):
    return open_engine(source, user=user, item=item, **({"key": KEY} | more))


def test_few_kept_rows_are_read_by_one_task(frame, monkeypatch):
    with engine(frame) as found:
        database = found._database
        for few, tasks in ((database_module.MAX_ROWS_PER_TASK, 1), (-1, 2)):
            monkeypatch.setattr(database_module, "MAX_ROWS_PER_TASK", few)
            kept = database.keep(questions.pairs_to_keep(found._rows, SPARK))
            assert frame.sparkSession.table(kept).rdd.getNumPartitions() == tasks


def test_kept_pairs_lie_by_user_and_in_their_order(frame, monkeypatch):
    """What is asked of each user moves and sorts no row, where rows are many; without the hints it would do both."""
    monkeypatch.setattr(database_module, "MAX_ROWS_PER_TASK", -1)
    with engine(frame) as found:
        database = found._database
        work = []
        for dialect in (SPARK, replace(SPARK, user_hint="", reread_order="")):
            kept = database.keep(questions.pairs_to_keep(found._rows, dialect))
            sql = f"SELECT count(*) OVER (PARTITION BY u) FROM {kept}"
            plan = frame.sparkSession.sql(sql)._jdf.queryExecution().executedPlan().toString()
            work.append([step in plan.partition("InMemoryRelation")[0] for step in ("Exchange", "Sort")])
    assert work == [[False, False], [True, True]]


def names(release):
    return [one.item for one in release.items]


def test_through_the_front_door(frame):
    """With a budget that leaves no doubt, every verb says what is there."""
    data = dps.Dataset(frame, user="user", item="item")
    assert repr(frame) not in repr(data)
    assert "Spark" in repr(data)
    best = data.choose(epsilon=1000, domain=["popular", "tie a", "alone"])
    assert names(best) == ["popular"]
    assert names(data.top_k(1, epsilon=1000, delta=1e-6)) == ["popular"]
    ages = dps.Dataset(frame, user="user", item="age")
    assert 20 <= names(ages.quantile(0.5, bounds=(0, 100), step=1, epsilon=1000))[0] <= 30
    found = by_names(data).union(epsilon=1000, delta=1e-3, max_items_per_user=20, in_engine=True)
    assert set(names(found)) <= {item for item, _ in counts(AWKWARD)}
    assert "popular" in names(found)


def test_an_address_of_spark(spark, frame):
    frame.createOrReplaceTempView("awkward")
    data = dps.Dataset(dps.Table("spark:", "awkward"), user="user", item="item")
    assert names(data.choose(epsilon=1000, domain=["popular", "alone"])) == ["popular"]
    spark.catalog.dropTempView("awkward")
