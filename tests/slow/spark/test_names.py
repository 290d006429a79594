"""A session's own functions answer for no name that we call: Spark's do, or nothing is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from dpselect._ground.domain import Listed, Span
from dpselect.engines.spark.jobs import LookedUpNames, called_functions
from dpselect.errors import DataError, ParameterError
from tests.engines.opened import open_engine
from tests.engines.test_conformance import pairs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

ROWS = [(f"u{n}", item, n) for n in range(12) for item in ("tea b", "Tea", "milk")[: 1 + n % 3]]
TRUE = [[("tea b", 12), ("Tea", 8), ("milk", 4)], 12, [("Tea", 8), ("none", 0)], [(10, 1), (11, 1)]]
PLANTED = ("count", "xxhash64", "row_number", "between", "=", "coalesce", "make_valid_utf8")
ORDER = "spark.sql.functionResolution.sessionOrder"


def answers(session: SparkSession) -> list[object]:
    """What four kinds of question find."""

    def ask(question: Callable[[object], object], **more: object) -> object:
        words = {"user": "user", "item": "item", "table": "t", "key": b"k"} | more
        with open_engine(session, **words) as engine:
            return question(engine)

    return [
        ask(lambda engine: pairs(engine.top(5))),
        ask(lambda engine: sum(engine.scores_of(["tea b", "Tea", "milk"])), max_items_per_user=1),
        ask(lambda engine: sorted(pairs(engine.grouped(Listed(("Tea", "none")))))),
        ask(lambda engine: sorted(pairs(engine.grouped(Span(10, 12)))), item="age"),
    ]


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session of its own, with the rows."""
    found = spark.newSession()
    found.createDataFrame(ROWS, "user string, item string, age long").createOrReplaceTempView("t")
    return found


def plant(session: SparkSession, *names: str) -> None:
    """Functions of the session's own, which come first."""
    for name in names:
        session.udf.register(name, lambda *_: False, "boolean")
    session.conf.set(ORDER, "first")


def test_functions_that_do_not_come_first_change_nothing(session):
    plant(session, *PLANTED)
    session.conf.set(ORDER, "second")
    assert answers(session) == TRUE


@pytest.mark.parametrize("name", PLANTED)
def test_a_session_with_a_function_before_ours_is_refused(session, name):
    plant(session, name)
    with pytest.raises(ParameterError, match="Spark's own functions keep their names, got one with") as caught:
        answers(session)
    assert f"called '{name}'" in str(caught.value)
    assert caught.value.__context__ is None


def test_without_the_look_it_would_be_noticed(session, monkeypatch):
    """A twin that does not look up names fails the check above."""
    plant(session, "count", "between", "coalesce")
    monkeypatch.setattr(LookedUpNames, "check", lambda *_: None)
    with pytest.raises((AssertionError, DataError, TypeError)):
        assert answers(session) == TRUE


def test_a_path_that_begins_elsewhere_is_refused(session):
    session.conf.set("spark.sql.path.enabled", "true")
    assert answers(session) == TRUE
    session.sql("SET PATH = spark_catalog.default, system.builtin, system.session")
    with pytest.raises(ParameterError, match=r"path begins with system.builtin, got 'spark_catalog.default,"):
        answers(session)


def test_what_a_statement_calls():
    sql = "SELECT hex(u), CAST(i AS DECIMAL(38,0)) FROM `count(1)` WHERE i IN (1) AND x = 'max(' AND Length(y) < 3"
    assert called_functions(sql) == {"hex", "cast", "decimal", "length"}
