"""Sets of users on Spark: where the rows are few they are made of rows that came here, as if Spark had made them."""

from __future__ import annotations

import datetime
import decimal
from types import SimpleNamespace

import numpy as np
import pytest

import dpselect as dps
from dpselect.engines.spark import database as database_module
from dpselect.engines.spark.tables import compile_row_bytes, max_result_bytes
from dpselect.engines.sql import sets
from dpselect.errors import DataError
from tests.engines.opened import open_engine

TYPES = "user string, text string, real double, small float, whole bigint, amount decimal(20, 3), yes boolean"
TYPES += ", bytes binary, day date"
AMOUNTS = [decimal.Decimal("12345678901234567.125"), decimal.Decimal("-2.5"), None]
TEXTS = ["é", "z", "", "Z", "\U0001f600", "￿", None, "a" * 300]
ROWS = [
    (
        f"u{user % 7}" if user % 11 else None,
        TEXTS[user % len(TEXTS)],
        [0.0, -0.0, float("nan"), 1e300, -5.5, None][user % 6],
        [0.5, -0.0, None][user % 3],
        [2**60, -1, 0, None][user % 4],
        AMOUNTS[user % 3],
        [True, False, None][user % 3],
        [b"\xff\x00", b"", b"a", None][user % 4],
        [datetime.date(2026, 1, 1), datetime.date(2024, 2, 29), None][user % 3],
    )
    for user in range(200)
]


@pytest.fixture(scope="module")
def file(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rows") / "rows.parquet")
    spark.createDataFrame(ROWS, TYPES).write.parquet(path)
    return path


def opened(spark, file, item):
    return open_engine(spark.read.parquet(file), user="user", item=item, key=bytes(16))


def said(found):
    """All that sets say."""
    return found.offsets.tolist(), found.codes.tolist(), found.size, found.labels(np.arange(found.size))


ITEMS = ["text", "real", "small", "whole", "amount", "yes", "bytes", "day", ("text", "whole")]


@pytest.mark.parametrize("item", ITEMS, ids=str)
def test_both_ways_say_the_same(spark, file, item, monkeypatch):
    """Of a day Spark has the name; all else comes here."""
    numbered = []
    made = sets.number_user_sets
    monkeypatch.setattr(sets, "number_user_sets", lambda *given: numbered.append(1) or made(*given))
    with opened(spark, file, item) as engine:
        here = said(engine.contributions())
        assert bool(numbered) == (item == "day")
        there = said(made(engine._database, engine._rows, engine._item_type, None)[0])
    assert here == there
    assert here[2] >= 2


def test_no_rows(spark, file):
    with opened(spark, file, "text") as engine:
        engine._rows = f"(SELECT u, i FROM {engine._rows} AS t WHERE false)"
        found = engine.contributions()
    assert (found.users, found.size) == (0, 0)


def test_items_are_in_the_order_of_the_bytes_of_their_text(spark, file):
    with opened(spark, file, "text") as engine:
        found = engine.contributions()
        names = found.labels(np.arange(found.size))
    assert names == sorted((text for text in TEXTS if text is not None), key=str.encode)


@pytest.mark.parametrize("bound", ["MAX_EXPECTED_BYTES", "MAX_FETCHED_BYTES"])
def test_what_is_much_stays_there(spark, file, bound, monkeypatch):
    """By what Spark expects, or by what the rows turn out to have, long texts among them."""
    monkeypatch.setattr(database_module, bound, 500)
    with opened(spark, file, "text") as engine:
        assert fetched(engine) is None
        assert engine.contributions().size == len(TEXTS) - 1


def test_what_would_not_fit_stays_there(spark, file, monkeypatch):
    """Into what the session lets come, or into the memory here."""
    with opened(spark, file, "text") as engine:
        assert fetched(engine, 30_000) is not None
        assert fetched(engine, 500) is None
        monkeypatch.setattr(database_module, "max_result_bytes", lambda _: 500)
        assert fetched(engine) is None
        monkeypatch.undo()
        monkeypatch.setattr(sets, "available_bytes", lambda: 1000)
        with pytest.raises(DataError, match="memory"):  # of the pairs, which Spark would number
            engine.contributions()


def fetched(engine, most=2**40):
    return engine._database.fetch_if_small(f"SELECT u, i FROM {engine._rows} AS t", most)


@pytest.mark.parametrize("item", ["text", "whole", "amount", "bytes", "yes"])
def test_rows_are_counted_as_no_less_than_they_are(spark, file, item):
    with opened(spark, file, item) as engine:
        kept = engine._database.keep(f"SELECT u, i FROM {engine._rows} AS t")
        ((counted,),) = engine._database.rows(compile_row_bytes(spark.table(kept), kept))
        assert counted >= spark.table(kept).toArrow().nbytes


GB = 1 << 30


@pytest.mark.parametrize(
    ("written", "heap", "most"),
    [
        ("1g", 8 * GB, GB // 2),
        ("1g", GB, GB // 8),  # as a session comes
        ("512M", 8 * GB, GB // 4),
        ("3kb", 8 * GB, 1536),
        ("1000", 8 * GB, 500),
        ("2t", 8 * GB, GB),
        ("0", 8 * GB, GB),  # no bound
        ("1.5g", 8 * GB, 0),
        ("much", 8 * GB, 0),
        (None, 8 * GB, GB // 2),
    ],
)
def test_how_much_may_come(written, heap, most):
    """By the context's own setting, and the driver's heap."""
    runtime = SimpleNamespace(getRuntime=lambda: SimpleNamespace(maxMemory=lambda: heap))
    java = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(Runtime=runtime)))
    settings = {} if written is None else {"spark.driver.maxResultSize": written}
    session = SimpleNamespace(_jsparkSession=None, sparkContext=SimpleNamespace(_jvm=java, getConf=lambda: settings))
    assert max_result_bytes(session) == most


def test_nothing_is_left(spark, file):
    before = set(spark.sparkContext._jsc.getPersistentRDDs())  # of tests that ran before in this session
    data = dps.Dataset(spark.read.parquet(file), user="user", item="text", max_items_per_user=3)
    data.union(epsilon=1, delta="1e-6")
    assert [row for row in spark.sql("SHOW TABLES").collect() if row.tableName.startswith("dpselect_")] == []
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) == before
