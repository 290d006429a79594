"""Filters on Spark: the rows are those that DuckDB keeps, patterns mean what LIKE means, long texts are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from dpselect.engines.address import Address
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.row_filter import parse
from dpselect.engines.spark.database import SparkDatabase
from dpselect.engines.spark.dialect import quoted as spark_quoted
from dpselect.engines.spark.dialect import spark_type
from dpselect.engines.spark.spelling import SPARK_SPELLING
from dpselect.engines.sql.database import ReadRequest
from dpselect.errors import ParameterError
from tests.engines import filter_rows, filter_words
from tests.engines.filter_rows import COLUMNS, CONDITIONS, OTHERS
from tests.engines.test_filter_patterns import differing
from tests.slow.engines.test_filter_cost import TEXTS, missing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMES = ("id", *COLUMNS)


def asked(frame: DataFrame) -> ReadRequest:
    """All of its columns, as if they were of numbers."""
    return ReadRequest("id", "id", numbers=tuple(("measures", name) for name in frame.columns))


def written(database: SparkDatabase, where: str) -> str:
    found = parse(where)
    types = {name: database.types[name] for name in found.needs(NAMES)}
    return f"({found.sql(types, spark_quoted, SPARK_SPELLING)})"


@pytest.fixture(scope="module")
def finite_rows() -> Iterator[Workspace]:
    """Spark has no infinite dates."""
    workspace = filter_rows.filled(infinite=False)
    yield workspace
    workspace.close()


@pytest.fixture(scope="module")
def on_spark(finite_rows: Workspace, spark: SparkSession) -> Iterator[Callable[..., dict[str, list[int]]]]:
    """The same rows in a session far from UTC; DuckDB hands them over. A query of Spark's is slow: it takes several.

    A filter that is refused is not there.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    rows = finite_rows.connection.sql("FROM t").to_arrow_table()
    frame = session.createDataFrame(rows, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))
    database = SparkDatabase(Address.parse(frame), asked(frame))

    def keep(*wheres: str) -> dict[str, list[int]]:
        conditions = {}
        for where in wheres:
            with suppress(ParameterError):
                conditions[where] = written(database, where)
        rows = database.rows(f"SELECT {', '.join(['id', *conditions.values()])} FROM {database.source} ORDER BY id")
        return {where: [row[0] for row in rows if row[place]] for place, where in enumerate(conditions, 1)}

    yield keep
    database.close()


def test_spark_keeps_the_same_rows(finite_rows, on_spark):
    every = [*CONDITIONS, *OTHERS]
    for some in (every[start : start + 30] for start in range(0, len(every), 30)):
        kept = on_spark(*some)
        assert [where for where in some if kept.get(where) != filter_rows.kept(finite_rows, where)] == []


# A WHERE may be taken apart, and pushed into the reading of a file whose groups of rows know their ends.
PUSHED = [
    "double > 1e300",  # in a group whose others are not, the NaN is
    "double = 0",
    "big IN (0, 7, 2.0)",
    "money BETWEEN 0 AND 2.5",
    "text NOT IN ('a', '')",
    "text LIKE 'a%'",
    "yes IS NULL AND no IS NOT NULL",
    "(text = 'a' OR text IS NULL) AND (NOT (small < 5 OR no))",
    "day BETWEEN '1970-01-01' AND DATE '2024-02-29'",
    "zone = '2024-01-31'",
    "written::INT = 5",
    "1 / ints = -1",
]


def test_a_where_of_a_file_keeps_the_same_rows(finite_rows, spark, tmp_path):
    """The other tests ask for conditions as columns: a WHERE for each of them would take far longer."""
    rows = finite_rows.connection.sql("FROM t").to_arrow_table()
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=6)
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    database = SparkDatabase(Address.parse(frame), asked(frame))
    questions = " UNION ALL ".join(
        f"SELECT {place} AS place, id FROM {database.source} WHERE {written(database, where)}"
        for place, where in enumerate(PUSHED)
    )
    kept = database.rows(questions)
    database.close()
    found = [sorted(row[1] for row in kept if row[0] == place) for place in range(len(PUSHED))]
    meant = [filter_rows.kept(finite_rows, where) for where in PUSHED]
    assert [where for where, one, other in zip(PUSHED, found, meant, strict=True) if one != other] == []


def test_any_filter_keeps_the_same_rows_on_spark(finite_rows, on_spark):
    """One query asks all of them, so none is made smaller: what fails is shown as it was made."""
    wheres = []

    @settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much])  # whatever the words come from
    @given(where=filter_words.ANY)
    def write(where: str) -> None:
        wheres.append(where)

    write()
    assert len({*wheres}) > 10
    kept = on_spark(*wheres)
    assert len(kept) > 5
    for where, rows in kept.items():
        with suppress(ParameterError):
            assert (where, rows) == (where, filter_rows.kept(finite_rows, where))


def test_a_pattern_means_what_like_means_on_spark(spark):
    session = spark.newSession()  # whose views are its own

    def ask(sql: str, texts: list[str]) -> list[tuple[Any, ...]]:
        session.createDataFrame([(text,) for text in [*texts, None]], "x string").createOrReplaceTempView("matched")
        return [tuple(row) for row in session.sql(f"SELECT x, {sql} FROM matched").collect()]

    assert differing(SPARK_SPELLING, "x", ask) == []


def test_long_texts_are_missing_on_spark(spark):
    session = spark.newSession()  # whose views are its own
    frame = session.createDataFrame([(text, 1) for text in TEXTS], "t string, n bigint")

    def ask(sql: str, _: Sequence[str]) -> list[tuple[Any, ...]]:
        frame.createOrReplaceTempView("long_texts")
        return [(row[0], tuple(row[1:])) for row in session.sql(f"SELECT t, {sql} FROM long_texts").collect()]

    missing(SPARK_SPELLING, {field.name: spark_type(field) for field in frame.schema}, spark_quoted, ask)
