"""One Spark for all of this folder, and the rows of every engine's tests in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests import spark as local_spark
from tests.engines.conftest import judge, new_database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["judge", "new_database"]


@pytest.fixture(scope="module")
def as_spark_comes(spark: SparkSession) -> Iterator[None]:
    """Spark with its own settings, in place of those with which small questions are fast."""
    with local_spark.as_it_comes(spark):
        yield
