"""A text or bytes value of more than 1 MiB is missing in Spark, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.engines.test_long_values import CASES, check
from tests.replay.kinds import Kind
from tests.replay.server_kinds import Servers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("kind", "sort"), [case for case in CASES if case[0].needs == "spark"], ids=lambda one: getattr(one, "name", one)
)
def test_every_source(kind: Kind, sort: str, tmp_path: Path, spark: SparkSession):
    Servers.spark = spark
    check(kind, sort, tmp_path)
