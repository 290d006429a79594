"""The Spark engine says what the DuckDB engine says, to the bit; a hash in Spark bounds what a user has."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import dpselect as dps
from dpselect._ground.domain import UNSEEN, Column, Listed, Size, Span
from dpselect.aggregates.value_counts import Grid
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.port import PerUser
from dpselect.engines.registry import open_engine
from dpselect.engines.spark import database as database_module
from dpselect.engines.spark.dialect import SPARK
from dpselect.engines.sql import questions
from dpselect.errors import ParameterError
from tests.engines.sources import AWKWARD, counts, table, user_items
from tests.engines.test_conformance import named, pairs

pytestmark = pytest.mark.usefixtures("as_spark_comes")

KEY = bytes(range(16))


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(AWKWARD, "user string, item string, age int")


def engine(source, *, user="user", item="item", **more):
    return open_engine(source, user=user, item=item, **({"key": KEY} | more))


def duckdb_engine(**more):
    return DuckDBEngine(table(AWKWARD), user="user", key=KEY, **({"item": "item"} | more))


def test_counts_and_ties(frame):
    with engine(frame) as found:
        for most in (0, 3, 1000):  # the tie behind the first item is cut
            assert pairs(found.top(most)) == counts(AWKWARD)[:most]
        groups = found.grouped()
        assert pairs(groups)[:8] == counts(AWKWARD)[:8]
        assert [*np.repeat(groups.counts, groups.sizes)] == [count for _, count in counts(AWKWARD)]


DOMAINS = {
    "listed": Listed(("tie b", "popular", "nobody has it", None)),
    "column": Column({"c": ["tie a", "Case", "x"]}, "c"),
    "size": Size(100),
}


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=list(DOMAINS))
def test_domains(frame, domain):
    with engine(frame) as found, duckdb_engine() as wanted:
        ours, theirs = found.grouped(domain), wanted.grouped(domain)
        assert (ours.counts.tolist(), list(ours.sizes)) == (theirs.counts.tolist(), list(theirs.sizes))
        last = len(ours.sizes) - 1, ours.sizes[-1] - 1
        assert (ours.label(0, 0), ours.label(*last)) == (theirs.label(0, 0), theirs.label(*last))
        assert (theirs.label(*last) is UNSEEN) == isinstance(domain, Size)


def test_a_span_of_numbers(frame):
    with engine(frame, item="age") as found, duckdb_engine(item="age") as wanted:
        ours, theirs = found.grouped(Span(20, 60)), wanted.grouped(Span(20, 60))
        assert (ours.counts.tolist(), list(ours.sizes)) == (theirs.counts.tolist(), list(theirs.sizes))
        last = len(ours.sizes) - 1
        assert [ours.label(last, member) for member in (0, 5)] == [theirs.label(last, member) for member in (0, 5)]
    with engine(frame, item="age") as found, pytest.raises(ParameterError, match="domain must"):
        found.grouped(Listed(("twenty",)))


@pytest.mark.parametrize("per_user", PerUser)
def test_values_on_a_grid(frame, per_user):
    grid = Grid.of((20, 60), 4)
    with engine(frame, item="age") as found, duckdb_engine(item="age") as wanted:
        ours, theirs = found.users_at(grid, per_user), wanted.users_at(grid, per_user)
        assert ours.users.sum() == theirs.users.sum() == len(user_items(AWKWARD))
        if per_user is not PerUser.RANDOM:
            assert (ours.places.tolist(), ours.users.tolist()) == (theirs.places.tolist(), theirs.users.tolist())


def test_a_bound_keeps_so_many_items_of_a_user(frame):
    most = 2
    with engine(frame, max_items_per_user=most) as found:
        kept = pairs(found.top(1000))
        assert kept == pairs(found.top(1000))
    assert sum(count for _, count in kept) == sum(min(most, len(items)) for items in user_items(AWKWARD))
    with engine(frame, max_items_per_user=most, key=KEY[::-1]) as found:
        assert pairs(found.top(1000)) != kept
    everything = Counter(dict(counts(AWKWARD)))
    assert not Counter(dict(kept)) - everything


def test_few_kept_rows_are_read_by_one_task(frame, monkeypatch):
    with engine(frame) as found:
        database = found._database
        for few, tasks in ((database_module.FEW, 1), (-1, 2)):
            monkeypatch.setattr(database_module, "FEW", few)
            kept = database.keep(questions.kept(found._rows, SPARK))
            assert frame.sparkSession.table(kept).rdd.getNumPartitions() == tasks


def test_kept_pairs_lie_by_user_and_in_their_order(frame, monkeypatch):
    """What is asked of each user moves and sorts no row, where rows are many; without the hints it would do both."""
    monkeypatch.setattr(database_module, "FEW", -1)
    with engine(frame) as found:
        database = found._database
        work = []
        for dialect in (SPARK, replace(SPARK, by_user="", in_order="")):
            kept = database.keep(questions.kept(found._rows, dialect))
            sql = f"SELECT count(*) OVER (PARTITION BY u) FROM {kept}"
            plan = frame.sparkSession.sql(sql)._jdf.queryExecution().executedPlan().toString()
            work.append([step in plan.partition("InMemoryRelation")[0] for step in ("Exchange", "Sort")])
    assert work == [[False, False], [True, True]]


def test_sets_of_users(frame):
    with engine(frame) as found:
        assert named(found.contributions()) == user_items(AWKWARD)


def test_pairs_that_stay_there(frame):
    shares = np.array([6, 3, 2])
    with engine(frame) as found, duckdb_engine() as wanted:
        ours, theirs = found.pairs(), wanted.pairs()
        assert ours.lengths(4)[0].tolist() == theirs.lengths(4)[0].tolist()
        assert ours.lengths(4)[1].tolist() == theirs.lengths(4)[1].tolist()
        weighed = ours.weigh(shares, KEY)
        total = int((weighed.weights * weighed.sizes).sum())
        assert total == sum(6 for _ in user_items(AWKWARD))
        ours.release(np.array([0, 1]))
        assert len(ours.names()) == 2
        again = ours.weigh(shares, KEY)
        assert again.sizes.sum() < len(counts(AWKWARD)) - 1
        users = dict(zip(ours.names(), ours.users(100, KEY).tolist(), strict=True))
        assert users == {item: dict(counts(AWKWARD))[item] for item in users}


@pytest.mark.parametrize("where", ["age > 22 AND item <> 'popular'", "user LIKE 'u%' OR item = 'comma, it''s'"])
def test_filters(frame, where):
    with engine(frame, where=where) as found, duckdb_engine(where=where) as wanted:
        assert pairs(found.top(1000)) == pairs(wanted.top(1000))


def test_parts(spark):
    rows = [("u", "a|b|"), ("v", "b||c"), ("v", "b")]
    source = spark.createDataFrame(rows, "user string, item string")
    with engine(source, split="|") as found:
        assert pairs(found.top(9)) == [("b", 2), ("a", 1), ("c", 1)]


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
    found = data.union(epsilon=1000, delta=1e-3, max_items_per_user=20, in_engine=True)
    assert set(names(found)) <= {item for item, _ in counts(AWKWARD)}
    assert "popular" in names(found)


def test_an_address_of_spark(spark, frame):
    frame.createOrReplaceTempView("awkward")
    data = dps.Dataset("spark:", user="user", item="item", table="awkward")
    assert names(data.choose(epsilon=1000, domain=["popular", "alone"])) == ["popular"]
    spark.catalog.dropTempView("awkward")
