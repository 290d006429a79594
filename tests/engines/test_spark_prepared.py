"""Spark prepares data as DuckDB does, and reads what either has prepared: both answer as the rows themselves do."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect import prepare
from dpselect.aggregates.measures import Mean, Sum
from dpselect.aggregates.totals import Totals
from dpselect.engines.port import PerUser
from dpselect.engines.prepared.writing import Writing
from dpselect.engines.registry import open_engine
from dpselect.engines.spark import prepared_files
from dpselect.errors import DataError, ParameterError
from dpselect.periods import periods_of
from dpselect.testing import SeededDraws
from tests.engines.test_conformance import pairs
from tests.engines.test_prepared import GRID, KEY, answers
from tests.engines.typed_rows import AWKWARD, VALUES

pytestmark = pytest.mark.slow  # a JVM takes its time to start

KEPT = [name for name in VALUES if name not in ("price", "small", "moment")]
# Whatever a session is set to, the files and the answers are the same.
ODD = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.session.timeZone": "Asia/Tokyo",
}
MEASURES = (Sum("small", -5, 20), Mean("small", 0, 10))


@pytest.fixture(scope="module")
def odd(spark):
    """A session with settings of its own."""
    session = spark.newSession()
    for name, value in ODD.items():
        session.conf.set(name, value)
    return session


def framed(session: Any, rows: pa.Table) -> Any:
    """The rows in Spark; those without a zone show what the clocks did."""
    frame = session.createDataFrame(rows)
    return frame.withColumn("moment", frame.moment.cast("timestamp_ntz"))


@pytest.fixture(scope="module")
def prepared(odd, tmp_path_factory):
    """A folder that Spark prepared, at a path that could be taken for a pattern."""
    folder = tmp_path_factory.mktemp("spark") / "it's {a} [1] *?"
    rules = {"item": "price", "keep": KEPT, "weight": "small", "time": "moment", "period": "month"}
    found = prepare(framed(odd, AWKWARD), user="user", to=folder, **rules)
    assert found.rows == sum(user is not None for user in AWKWARD.column("user").to_pylist())
    assert found.values["flag"] == 3
    return folder


def top(source: object, **asked: Any) -> list[tuple[object, int]]:
    """All items and their numbers of users, or what these give."""
    with open_engine(source, **{"user": "user", "key": KEY} | asked) as engine:
        return pairs(engine.top(1000))


def several(source: object, **more: Any) -> list[object]:
    """Answers of every sort."""
    with open_engine(source, user="user", item="text", measures=MEASURES, key=KEY, **more) as engine:
        names = [label for label, _ in pairs(engine.top(5))]
        found: list[object] = [names, [[(one.total, one.users) for one in row] for row in engine.measured(names)]]
    with open_engine(source, user="user", item="whole", key=KEY, **more) as engine:
        at = engine.users_at(GRID, PerUser.MEAN)
        found.append((at.places.tolist(), at.users.tolist()))
    during = periods_of("moment", "quarter", ["2024-Q1", "1900-Q1"], "UTC")
    for asked in (
        {"item": "text", "totals": Totals.of("small", 10), "where": "whole > 8 AND NOT flag"},
        {"item": "price", "where": "zoned >= '2024-01-01 04:00' AND text <> 'popular'"},
        {"item": "price", "periods": during},
        {"item": ["text", "price"]},
    ):
        found.append(top(source, **{"user": "user"} | asked | more))
    return found


def test_spark_prepares_items_of_every_type(odd, prepared):
    for item in (*KEPT, "price"):
        expected = top(AWKWARD, item=item)
        assert [(type(label), label) for label, _ in top(prepared, item=item)] == [(type(x), x) for x, _ in expected]
        assert top(prepared, item=item) == expected
        if item in ("text", "short", "long", "day", "zoned", "raw", "price"):
            assert top(odd, item=item, table=str(prepared)) == expected, item


def test_spark_prepares_what_every_question_needs(odd, prepared):
    expected = several(AWKWARD)
    assert several(prepared) == expected
    assert several(odd, table=str(prepared)) == expected
    months = periods_of("moment", "month", ["2024-01", "1900-03"], "UTC")  # the numbers that were counted when prepared
    for during, where in ((None, "price > 1.2"), (months, "flag OR text = 'popular'"), (None, "'a' = 'b'")):
        asked = {"item": "price", "periods": during, "where": where}
        assert top(odd, table=str(prepared), **asked) == top(AWKWARD, **asked) == top(prepared, **asked), asked
        with open_engine(odd, user="user", table=str(prepared), key=KEY, **asked) as engine:
            assert " GROUP BY i) ON " in engine._counts(engine._rows)  # and not of the rows
    gained = {"item": "price", "periods": periods_of("moment", "month", "2024-01", "UTC").compared_with(["1900-03"])}
    assert top(odd, table=str(prepared), **gained) == top(AWKWARD, **gained) != []
    assert answers(prepared, item="price", where="flag") == answers(AWKWARD, item="price", where="flag")
    bounded = {"item": "text", "max_items_per_user": 2}  # by Spark's own hash of the same values
    assert top(odd, table=str(prepared), **bounded) == top(framed(odd, AWKWARD), **bounded)


def test_spark_reads_what_duckdb_prepared(odd, tmp_path):
    small = [None if one is None else one % 200 for one in AWKWARD.column("small").to_pylist()]
    rows = AWKWARD.append_column("byte", pa.array(small, pa.uint8())).append_column(
        "clock", pa.nulls(len(small), pa.time64("us"))
    )
    rules = {"item": "text", "keep": [*KEPT[1:], "price", "byte", "clock"], "weight": "small"}
    for place in range(2):
        given = {"add": True} if place else rules | {"time": "moment", "period": "month", "user": "user"}
        prepare(rows.take(pa.array(range(place, len(small), 2))), to=tmp_path / "p", **given)
    asked = {"table": str(tmp_path / "p")}
    assert several(odd, **asked) == several(AWKWARD)
    for item in ("byte", "day", "raw"):
        assert top(odd, item=item, **asked) == top(rows, item=item)
    with pytest.raises(DataError, match=r"a column of type TIME.*\n?hint: ask without Spark"):
        top(odd, item="clock", **asked)


def test_spark_names_the_state_it_reads_and_others_add(odd, tmp_path):
    folder, text = tmp_path / "p", {"item": "text"}
    first, second = AWKWARD.slice(0, 200), AWKWARD.slice(200)
    rules = {"user": "user", "item": "text", "keep": ["flag", "zoned", "short"], "weight": "price"}
    prepare(framed(odd, first), to=folder, time="moment", period="year", **rules)
    with open_engine(odd, user="user", key=KEY, table=str(folder), **text) as before:
        pq.write_table(second, tmp_path / "more.parquet")
        prepare(tmp_path / "more.parquet", to=folder, add=True)
        assert pairs(before.top(1000)) == top(first, **text)
        with open_engine(odd, user="user", key=KEY, table=str(folder), **text) as after:
            assert pairs(after.top(1000)) == top(AWKWARD, **text)
            assert before.fixed
            assert None is not before.state != after.state is not None
    year = periods_of("moment", "year", "2024", "UTC")
    for asked in ({"periods": year}, {"where": "flag"}, {"totals": Totals.of("price", 10)}):
        assert top(folder, **text, **asked) == top(AWKWARD, **text, **asked)
    asked = {"epsilon": 20, "delta": "0.2", "counts": True, "draws": SeededDraws(1)}
    said = dps.Dataset(odd, table=str(folder)).top_k(3, **asked)
    assert (
        said.items == dps.Dataset(AWKWARD, user="user", item="text").top_k(3, **asked | {"draws": SeededDraws(1)}).items
    )


def refused(call: Any, *given: Any, **more: Any) -> str:
    with pytest.raises((ParameterError, DataError)) as error:
        call(*given, **more)
    return str(error.value)


def test_spark_refuses_what_it_cannot_prepare_or_answer(odd, prepared, tmp_path, monkeypatch):
    frame = framed(odd, AWKWARD.slice(0, 9)).selectExpr("*", "array(1) AS list", "1 AS a", "2 AS a")
    given = {"user": "user", "item": "text", "to": tmp_path / "p"}
    assert "column of type array" in refused(prepare, frame, keep="list", **given)
    assert "keep must be one column of the source" in refused(prepare, frame, keep="a", **given)
    assert "weight must be a column of the source" in refused(prepare, frame, weight="smal", **given)
    assert "holds no numbers" in refused(prepare, frame, weight="raw", **given)
    assert "column of dates" in refused(prepare, frame, time="flag", period="day", **given)
    assert "memory must be left out" in refused(prepare, frame, memory="1GiB", **given)
    assert "add must be left out" in refused(prepare, frame, to=prepared, add=True)
    assert "source must be rows as they come" in refused(prepare, odd, table=str(prepared), **given)
    assert not (tmp_path / "p").exists()

    asked = {"table": str(prepared), "item": "price"}
    assert "user must be user, for whom" in refused(top, odd, **asked | {"user": "text"})
    assert "of which the month was" in refused(top, odd, where="moment > '2024-01-01'", **asked)
    days = periods_of("moment", "day", "2024-01-01", "UTC")
    assert "period must be month" in refused(top, odd, periods=days, **asked)

    # What the driver does not see is not there: here a file of rows is taken for one of none.
    monkeypatch.setattr(prepared_files, "_rows_in", lambda _: 0)
    assert "not all that Spark wrote" in refused(prepare, frame, **given)
    assert os.listdir(tmp_path / "p") == ["_parts"]
    assert os.listdir(tmp_path / "p" / "_parts") == []


def test_spark_finds_a_changed_byte_and_leaves_nothing_of_a_killed_process(odd, prepared, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(prepared, copy)
    left = copy / "_parts" / f"work-{'0' * 32}.new"
    (left / "_temporary").mkdir(parents=True)
    (left / "_temporary" / "part-0").write_text("what a process that was killed has left")
    assert top(copy, item="text") == top(AWKWARD, item="text")
    Writing(str(copy)).close()
    assert not left.exists()
    files = sorted((copy / "_parts").iterdir())
    kinds = {"cells", "items", "kept", "rows", "sets", "state", "sums", "totals", "users"}
    assert {re.sub("-.*", "", one.name) for one in files} == kinds
    assert {one.stat().st_mode & 0o777 for one in files} == {0o600}
    broken = next(one for one in files if one.name.startswith("users"))
    data = bytearray(broken.read_bytes())
    data[len(data) // 2] ^= 1
    broken.write_bytes(data)
    assert "are damaged" in refused(top, odd, table=str(copy), item="text")
    broken.unlink()
    assert "is missing" in refused(top, odd, table=str(copy), item="text")
    empty = tmp_path / "empty"
    prepare(framed(odd, AWKWARD).limit(0), user="user", item="text", keep="flag", time="moment", period="day", to=empty)
    assert top(empty, item="text", where="flag") == top(odd, table=str(empty), item="text") == []
    pq.write_table(AWKWARD, tmp_path / "rows.parquet")
    prepare(tmp_path / "rows.parquet", to=empty, add=True)
    assert top(empty, item="text", where="flag") == top(AWKWARD, item="text", where="flag")
