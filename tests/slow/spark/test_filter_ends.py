"""Numbers at the ends of their types under every operation on Spark: the value that is meant, and no failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from dpselect.engines.filters import values
from dpselect.engines.filters.operations import Compiler
from dpselect.engines.filters.spelling import Spelling
from dpselect.engines.filters.values import Value
from dpselect.engines.spark.dialect import quoted as spark_quoted
from dpselect.engines.spark.dialect import spark_type
from dpselect.engines.spark.spelling import SPARK_SPELLING
from tests.engines.filter_ends import COLUMNS, ONLY_DUCKDB, ROWS
from tests.engines.test_filter_ends import SOME, Engine, Rows, on_duckdb, wrong

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["on_duckdb"]


@pytest.fixture(scope="module", params=["true", "false"], ids=["ansi", "not ansi"])
def on_spark(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[Engine]:
    """With Spark's own rules and with those of Hive, by which a number that does not fit is null."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", request.param)
    names = (f"{name} STRING" for name in COLUMNS)
    texts = session.createDataFrame([(at, *row) for at, row in enumerate(ROWS)], f"id INT, {', '.join(names)}")
    shared = {name: of.replace("VARCHAR", "STRING") for name, of in COLUMNS.items() if name[:2] not in ONLY_DUCKDB}
    casts = (f"CAST({name} AS {of}) AS {name}" for name, of in shared.items())
    frame = texts.coalesce(1).selectExpr("id", *casts).cache()
    frame.createOrReplaceTempView("ends")
    types = {field.name: spark_type(field) for field in frame.schema.fields[1:]}

    def ask(sql: str) -> Rows:
        return [tuple(row)[1:] for row in session.sql(f"SELECT id, {sql} FROM ends ORDER BY 1").collect()]

    yield Engine(types, spark_quoted, SPARK_SPELLING, "STRING", ask)
    frame.unpersist()


def test_spark_has_the_values_that_are_meant(on_duckdb, on_spark):
    assert wrong(on_spark, SOME, on_duckdb) == []


# ---- broken twins: what was written before, and where Spark fails with it or has another value ------------


def widest(_: Compiler, sql: str, most: int, scale: int) -> Value:
    """A result in whatever type the engine gives it."""
    return Value("exact", sql, max_magnitude=most, scale=scale)


def of_38(_: int, scale: int, spelling: Spelling) -> str:
    """A type that holds all of them."""
    return spelling.decimal(values.MAX_EXACT_DIGITS, scale)


TWINS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "its own abs, which rounds to 34 digits": (
        "abs(d36_2a) = -d36_2a", lambda patch: patch.setitem(SPARK_SPELLING.functions, "ABS", "abs({0})")
    ),
    "its own sign, which does too": (
        "abs(d38_0a) > 0", lambda patch: patch.setitem(SPARK_SPELLING.functions, "ABS", "greatest({0}, -{0})")
    ),
    "a product of more digits than its type keeps": (
        "d36_18a * 0.01", lambda patch: patch.setattr(values, "SPARK_EXACT_DIGITS", 38)
    ),
    "a difference in a type of one digit more": (
        "-d36_2a = d38_4b", lambda patch: patch.setattr(Compiler, "_exact_result", widest)
    ),
    "a cast in a wider type than its bound": (
        "floor(tia)::DECIMAL(38,0) = 0.5", lambda patch: patch.setattr(values, "exact_type", of_38)
    ),
    "a remainder in a wider type than its bound": (
        "d38_0a % 7 = 0.5", lambda patch: patch.setattr(values, "exact_type", of_38)
    ),
    "a BIGINT beside 19 digits after the point": (
        "bia = d38_19b", lambda patch: patch.setattr(values, "_BIGINT_DIGITS", 0)
    ),
}  # fmt: skip


@pytest.mark.parametrize(("expression", "broken"), TWINS.values(), ids=list(TWINS))
def test_spark_without_the_care_is_noticed(on_spark, monkeypatch, expression, broken):
    from pyspark.errors import PySparkException

    assert wrong(on_spark, [expression]) == []
    broken(monkeypatch)
    try:
        found = wrong(on_spark, [expression])
    except PySparkException:  # a number out of range
        found = [expression]
    assert found == [expression]
