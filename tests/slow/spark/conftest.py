"""One Spark for all of this folder, in which the tests of tests/engines that are imported here hold their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dpselect.engines.spark import jobs
from dpselect.engines.spark.database import SparkDatabase
from tests import spark as local_spark
from tests.engines.conftest import hold_in, judge, new_database, own_duckdb
from tests.engines.every_engine import Hold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dpselect.aggregates.user_sets import Int64

MANY = 200
LOOKED_UP: set[str] = set()

__all__ = ["hold_in", "judge", "new_database", "own_duckdb"]


@pytest.fixture
def hold(hold_in: Callable[[str], Hold]) -> Hold:
    return hold_in("spark")


@pytest.fixture
def elsewhere(hold: Hold) -> Hold:
    return hold


@pytest.fixture(scope="module")
def as_spark_comes(spark: SparkSession) -> Iterator[None]:
    """Spark with its own settings, in place of those with which small questions are fast."""
    with local_spark.as_it_comes(spark):
        yield


@pytest.fixture
def asked_once(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    """What Spark is asked again and again is asked at once: whose functions are called, and each name of a histogram.

    The fixture is for tests of what is counted: a test that goes by the path does without.
    """
    at, refuse_foreign = SparkDatabase.names_at, jobs._refuse_foreign
    found: dict[tuple[SparkDatabase, str, str], list[object]] = {}

    def at_once(self: SparkDatabase, sql: str, order: str, places: Int64) -> list[object]:
        if (self, sql, order) not in found:
            found[self, sql, order] = at(self, sql, order, np.arange(MANY))
        known = found[self, sql, order]
        if max(places, default=0) >= len(known):
            return at(self, sql, order, places)
        return [known[place] for place in places]

    def once(session: SparkSession, called: Iterable[str]) -> None:
        if session is not spark or not LOOKED_UP.issuperset(called):
            refuse_foreign(session, called)
            LOOKED_UP.update(called if session is spark else ())

    monkeypatch.setattr(SparkDatabase, "names_at", at_once)
    monkeypatch.setattr(jobs, "_refuse_foreign", once)
