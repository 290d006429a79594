"""Spark Connect: the same questions of a real server of this machine, its refusals, and what is left on it."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import dpselect as dps
from dpselect.engines.spark import connect
from dpselect.engines.spark.database import SparkDatabase
from dpselect.errors import DataError, ParameterError, SourceError
from tests import spark as local_spark
from tests.engines import test_every_engine
from tests.engines.every_engine import Held, Hold, spark_frame
from tests.engines.opened import open_engine
from tests.engines.sources import AWKWARD as AWKWARD_PAIRS
from tests.engines.sources import counts
from tests.engines.test_conformance import pairs
from tests.engines.test_counts_of import test_numbers_of_a_span  # noqa: F401 - tests run here too
from tests.engines.test_periods import test_one_period_is_a_filter  # noqa: F401
from tests.engines.test_weights import (  # noqa: F401
    test_rows_that_are_there_twice_and_rows_without_user_or_item_change_nothing,
)
from tests.engines.typed_rows import AWKWARD
from tests.slow.spark.test_database import opened
from tests.slow.spark.test_names import ORDER, PLANTED, ROWS, TRUE, answers, plant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TYPES = ("text", "whole", "price", "real", "flag", "day", "moment", "zoned", "raw")


@pytest.fixture(scope="module")
def remote(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose settings would change answers if they could."""
    with local_spark.connected(spark) as session:
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        yield session


SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}


@pytest.fixture(scope="module")
def hold(remote: SparkSession) -> Hold:
    """Holds rows in the session; they need no copy."""
    known: dict[int, tuple[pa.Table, Held]] = {}

    def put(rows: pa.Table) -> Held:
        if id(rows) not in known:
            known[id(rows)] = rows, Held("spark", spark_frame(remote, rows), None)
        return known[id(rows)][1]

    return put


def kept(spark: SparkSession) -> set[int]:
    """The numbers of what Spark keeps: copies, and stored results."""
    java: Any = spark
    return set(java.sparkContext._jsc.getPersistentRDDs())


def happens(event: Callable[[], bool]) -> bool:
    """Whether something happens on the server in the next seconds."""
    return any(event() or time.sleep(0.1) for _ in range(300))


def views(remote: SparkSession) -> list[str]:
    return [row.tableName for row in remote.sql("SHOW TABLES").collect() if row.tableName.startswith("dpselect_")]


# ---- the questions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", TYPES)
def test_counts_of_every_type(hold: Hold, item: str) -> None:
    test_every_engine.check_counts(hold(AWKWARD), AWKWARD, "user", item, tie=(0, 3))


@pytest.mark.parametrize("item", ["zoned", "price"])
def test_users_and_sets(hold: Hold, item: str) -> None:
    test_every_engine.test_users_of_every_type(hold, item)
    test_every_engine.test_sets_of_users(hold, item)


@pytest.mark.parametrize("drawn", [False, True])
def test_a_question_leaves_nothing_behind(spark: SparkSession, remote: SparkSession, drawn: bool) -> None:
    """Rows that are drawn are copied. Spark deletes a copy as garbage, once it has done some other work."""
    before, settings = kept(spark), {name: remote.conf.get(name) for name in SETTINGS}
    frame = spark_frame(remote, pa.table({"user": [f"u{n % 60}" for n in range(300)], "item": ["a", "b", "c"] * 100}))
    data = dps.Dataset(frame.where("rand() < 2") if drawn else frame, user="user", item="item", max_items_per_user=3)
    assert sorted(item.item for item in data.union(epsilon=50, delta="1e-6")) == ["a", "b", "c"]
    assert bool(kept(spark) - before) == drawn
    assert views(remote) == []
    assert {name: remote.conf.get(name) for name in SETTINGS} == settings
    assert happens(lambda: collected(spark, remote) <= before)


def collected(spark: SparkSession, remote: SparkSession) -> set[int]:
    """What Spark keeps after some other work and a look for garbage."""
    java: Any = spark
    gc.collect()
    for number in range(20):
        remote.range(number).count()
    java._jvm.System.gc()
    return kept(spark)


def test_what_is_drawn_is_the_same_in_all_of_a_question(remote: SparkSession) -> None:
    """Its users are new at each read: without a copy two results of one question have none in common.

    The session is not the first of this process, which PySpark takes copies to be of.
    """
    database = opened(remote.newSession().sql("SELECT uuid() AS user, 'i' AS item FROM range(20)"))
    first, second = (database.keep(f"SELECT user, {number} AS n FROM {database.source} AS s") for number in (1, 2))
    assert database.rows(f"SELECT count(*) FROM {first} AS a JOIN {second} AS b ON a.user = b.user") == [(20,)]
    database.close()


STABLE = [
    "SELECT user, item FROM rows",
    "SELECT CAST(user AS STRING) AS user, item FROM rows WHERE item IS NOT NULL AND user <> 'a'",
    "SELECT user, item FROM rows UNION ALL SELECT user, item FROM rows",
    "SELECT a.user, b.item FROM rows AS a JOIN rows AS b ON a.user = b.user",
]
UNSTABLE = [
    "SELECT user, uuid() AS item FROM rows",
    "SELECT user, item FROM rows WHERE rand() < 2",
    "SELECT user, item FROM rows LIMIT 3",
    "SELECT user, item FROM rows WHERE user IN (SELECT user FROM rows LIMIT 2)",
    "SELECT user, first(item) AS item FROM rows GROUP BY user",
    "SELECT user, item FROM rows TABLESAMPLE (50 PERCENT)",
    "SELECT user, CAST(current_timestamp() AS STRING) AS item FROM rows",
    "SELECT user, item, " + ", ".join(f"user AS c{n}" for n in range(30)) + ", rand() AS r FROM rows",
    "SELECT user, item FROM rows WHERE user <> 'x\n== Optimized Logical Plan ==' AND rand() < 2",
]


@pytest.mark.parametrize("sql", STABLE + UNSTABLE)
def test_what_is_copied(remote: SparkSession, sql: str) -> None:
    rows = spark_frame(remote, pa.table({"user": ["u"] * 5, "item": ["a", "b", "c", "d", "e"]}))
    rows.createOrReplaceTempView("rows")
    frame = remote.sql(sql)
    assert connect.needs_copy(frame) == (sql in UNSTABLE)
    frame.createOrReplaceTempView("view")  # which is seen through
    assert connect.needs_copy(remote.table("view")) == (sql in UNSTABLE)
    remote.catalog.dropTempView("view")


def test_no_function_of_python_is_taken_for_a_cast(remote: SparkSession) -> None:
    """Its call is written as one."""
    from pyspark.sql.connect.functions import udf

    def cast(_value):  # type: ignore[no-untyped-def] # PySpark reads types
        return "a"

    rows = spark_frame(remote, pa.table({"user": ["u"], "item": ["a"]}))
    frame = rows.withColumn("item", udf(cast, "string").asNondeterministic()(rows["user"]))  # type: ignore[operator]
    assert connect.needs_copy(frame)


def test_tables_and_files_need_no_copy(remote: SparkSession, tmp_path: Any) -> None:
    """Of many columns, too. Names of folders are text, also where the server read them as numbers before."""
    many = ", ".join(f"id AS c{n}" for n in range(40))
    rows = remote.sql(f"SELECT id AS user, '01' AS item, {many} FROM range(9)")
    rows.write.partitionBy("item").parquet(str(tmp_path / "rows"))
    rows.write.saveAsTable("wide")
    try:
        assert remote.read.parquet(str(tmp_path / "rows")).schema["item"].dataType.simpleString() == "int"
        for table in (str(tmp_path / "rows"), "wide"):
            database = opened(remote, table=table)
            assert database._uncopied_view is None
            assert database.rows(f"SELECT DISTINCT item FROM {database.source} AS s") == [("01",)]
            database.close()
        assert not connect.needs_copy(remote.table("wide"))
    finally:
        remote.sql("DROP TABLE wide")


# ---- refusals: nothing is charged -------------------------------------------------------------------------------


def budget_of(source: object, **more: Any) -> tuple[dps.Budget, Callable[[], object]]:
    """A budget, and a question that it pays."""
    budget = dps.Budget(epsilon=1)
    data = dps.Dataset(source, user="user", item="item", budget=budget, **more)
    return budget, lambda: data.top_k(1, epsilon="0.5")


def test_a_table_that_is_not_there(remote: SparkSession) -> None:
    remote.sql("SELECT 1 AS user, 2 AS item").createOrReplaceTempView("events")
    for wrong, message in (("event", "did you mean events"), ("a.b.c.d", "got 'a.b.c.d'"), ("/none.parquet", "exist")):
        budget, ask = budget_of(dps.Table(remote, wrong))
        with pytest.raises(DataError, match=message):
            ask()
        assert budget.left == 1
    remote.catalog.dropTempView("events")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 'u' AS user, array(1) AS item", "column 'item' of type array"),
        ("SELECT 'u' AS user, 'a' COLLATE UNICODE AS item", "text with the collation UNICODE"),
        ("SELECT 'u' AS user, 'a' AS Item", "item must be a column of the source"),
    ],
)
def test_columns_that_are_refused(remote: SparkSession, sql: str, message: str) -> None:
    budget, ask = budget_of(remote.sql(sql))
    with pytest.raises(ParameterError, match=message):
        ask()
    assert budget.left == 1


def test_a_stream_is_refused(remote: SparkSession) -> None:
    with pytest.raises(ParameterError, match="be rows that are there, got a stream"):
        opened(remote.readStream.format("rate").load(), user="value", item="timestamp")


def test_functions_before_ours(spark: SparkSession) -> None:
    """Operators that are SQL's own grammar are looked up by nobody."""
    with local_spark.connected(spark) as session:
        session.createDataFrame(ROWS, "user string, item string, age long").createOrReplaceTempView("t")
        for name in ("count", "between", "="):
            plant(session, name)
            with pytest.raises(ParameterError, match=f"one with a function of its own called '{name}'"):
                answers(session)
            session.sql(f"DROP TEMPORARY FUNCTION `{name}`")
        plant(session, *PLANTED)
        session.conf.set(ORDER, "second")
        assert answers(session) == TRUE


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("localCheckpoint", r'may copy, because they may differ.*\nhint: frame.write.saveAsTable\("rows"\)'),
        ("persist", r"can keep results, got one whose server refuses persist\(\)\nhint: pass frame.toArrow\(\)"),
    ],
)
def test_a_server_that_keeps_nothing(
    remote: SparkSession, monkeypatch: pytest.MonkeyPatch, method: str, message: str
) -> None:
    """As one without machines of its own says it; there is none to test with."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.connect.dataframe import DataFrame as Frame

    def refuse(_frame: DataFrame) -> DataFrame:
        raise AnalysisException(f"[NOT_SUPPORTED_WITH_SERVERLESS] {method} is not supported")

    monkeypatch.setattr(Frame, method, refuse)
    budget, ask = budget_of(remote.sql("SELECT uuid() AS user, 'a' AS item"))
    with pytest.raises(SourceError, match=message):
        ask()
    assert budget.left == 1


def test_what_is_not_spark_itself(remote: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import IllegalArgumentException

    kind = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})  # PySpark's own does not import pandas 3
    with pytest.raises(SourceError, match=r"got one of pandas on Spark\nhint: pass frame.to_spark\(\)"):
        opened(kind())
    monkeypatch.setitem(vars(remote), "version", "4.1.1")
    with pytest.raises(SourceError, match=r"4.2 or newer on Connect, got 4.1.1"):
        opened(remote.range(1))

    def sail(*_: object) -> DataFrame:  # what pysail 0.7.2 answers to this client, whatever it is asked
        raise IllegalArgumentException("invalid argument: unsupported PySpark version: 4.3.0")

    monkeypatch.setattr(type(remote), "sql", sail)
    with pytest.raises(SourceError, match="without COLLATE, such as Sail, which also wraps large sums"):
        opened(remote.range(1))


def test_a_client_alone_starts_no_session() -> None:
    """Its package has neither Py4J nor a context."""
    code = (
        "import sys, pyspark; sys.modules['py4j'] = None; del pyspark.SparkContext\n"
        "from dpselect.engines.spark.jobs import fixed_error\n"
        "assert 'lost' in str(fixed_error(ConnectionError(), 'Spark'))\n"
        "from dpselect.engines.spark.source import open_work\n"
        "open_work('spark:')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "DataError: spark: needs PySpark itself, not only its client\nhint: pass a session" in done.stderr


# ---- what fails later, and what is said -------------------------------------------------------------------------


def test_what_the_server_says_is_not_shown(remote: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    """It is after rows may have been read, so the price stays charged."""
    item = "CAST(raise_error(concat('sec', 'ret', id)) AS STRING)"
    frame = remote.sql(f"SELECT 'u' AS user, {item} AS item FROM range(3)")
    budget, ask = budget_of(frame)
    with pytest.raises(DataError, match="Spark: the table could not be read") as caught:
        ask()
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    written = capfd.readouterr()
    assert "secret" not in written.out + written.err
    assert budget.left < 1
    assert views(remote) == []


def test_a_question_is_stopped_at_once(spark: SparkSession, remote: SparkSession) -> None:
    """Ctrl-C, here from the report of progress: the server ends the job, and the session lives on."""
    database = opened(remote.sql("SELECT 'u' AS user, id AS item FROM range(1000000000000)"))
    tracker = spark.sparkContext.statusTracker()

    def interrupt(_done: object) -> None:
        if tracker.getActiveJobsIds():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database.rows(f"SELECT max(xxhash64(item, user)) FROM {database.source} AS t", progress=interrupt)
    assert happens(lambda: not tracker.getActiveJobsIds())
    assert database.rows("SELECT 1") == [(1,)]
    database.close()


def test_tags_of_the_caller_are_kept(spark: SparkSession, remote: SparkSession) -> None:
    """Whoever stops all that has a tag stops the question, too; its own tag is gone after it."""
    remote.addTag("mine")
    database = opened(remote.sql("SELECT 'u' AS user, id AS item FROM range(1000000000000)"))
    tracker = spark.sparkContext.statusTracker()

    def stop(_done: object) -> None:
        if tracker.getActiveJobsIds():
            remote.interruptTag("mine")

    with pytest.raises(DataError, match="the question was cancelled"):
        database.rows(f"SELECT max(xxhash64(item, user)) FROM {database.source} AS t", progress=stop)
    assert remote.getTags() == {"mine"}
    database.close()
    remote.removeTag("mine")


def test_a_session_that_ended(spark: SparkSession) -> None:
    """Before a question nothing is charged; during one its price stays charged, and the error says what was lost."""
    with local_spark.connected(spark) as session:
        frame = spark_frame(session, pa.table({"user": ["u"], "item": ["a"]}))
        session.stop()
        budget, ask = budget_of(frame)
        with pytest.raises(DataError, match="Spark was lost or stopped"):
            ask()
        assert budget.left == 1
    with local_spark.connected(spark) as session:
        budget, ask = budget_of(session.sql("SELECT CAST(id AS STRING) AS user, 'i' AS item FROM range(1000000000000)"))
        ended = threading.Thread(target=lambda: end_when_busy(spark, session))
        ended.start()
        with pytest.raises(DataError, match=r"Spark was lost or stopped|the question was cancelled"):
            ask()
        ended.join()
        assert budget.left < 1


def end_when_busy(spark: SparkSession, session: SparkSession) -> None:
    """End the session as its server does, once it works for it."""
    tracker = spark.sparkContext.statusTracker()
    while not tracker.getActiveJobsIds():
        time.sleep(0.05)
    remote: Any = session
    remote.client.release_session()


def test_a_copy_that_is_lost(spark: SparkSession, remote: SparkSession) -> None:
    """It is not made anew: its rows would be others."""
    java: Any = spark
    before = kept(spark)
    database = opened(remote.sql("SELECT uuid() AS user, 'i' AS item FROM range(20)"))
    count = f"SELECT count(DISTINCT user) FROM {database.source} AS s"
    assert database.rows(count) == [(20,)]
    for number in kept(spark) - before:
        java.sparkContext._jsc.getPersistentRDDs()[number].unpersist()
    with pytest.raises(DataError, match="Spark was lost or stopped during the query"):
        database.rows(count)
    database.close()


def test_an_open_engine_has_read_nothing(remote: SparkSession) -> None:
    """A frame that fails when it is read is opened, and its copy is made by the first question only."""
    frame = remote.sql("SELECT 'u' AS user, CAST(raise_error('x') AS STRING) AS item FROM range(3)")
    with open_engine(frame, user="user", item="item", key=b"k") as engine:
        assert isinstance(engine._database, SparkDatabase)
        assert engine._database._uncopied_view is not None
        with pytest.raises(DataError):
            engine.top(1)


def test_counts_of_awkward_pairs(remote: SparkSession) -> None:
    frame = remote.createDataFrame(AWKWARD_PAIRS, "user string, item string, age int")
    with open_engine(frame.where("rand() < 2"), user="user", item="item", key=b"k") as engine:
        assert Counter(dict(pairs(engine.top(50)))) == Counter(dict(counts(AWKWARD_PAIRS)))
