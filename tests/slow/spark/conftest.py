"""One Spark for all of this folder, in which the tests of tests/engines that are imported here hold their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests import spark as local_spark
from tests.engines.conftest import hold_in, judge, new_database, own_duckdb
from tests.engines.every_engine import Hold

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
