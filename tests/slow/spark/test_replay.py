"""No row speaks for another in Spark, and whole calls on neighbours do the same (docs/replay.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.replay.cells import KINDS, Bench, Values, value_cells
from tests.replay.server_kinds import Servers
from tests.replay.test_calls import check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def _running(spark: SparkSession) -> None:
    Servers.spark = spark


@pytest.mark.usefixtures("asked_once")
@pytest.mark.parametrize("cell", [cell for cell in value_cells() if cell.kind.needs == "spark"], ids=str)
def test_awkward_rows(cell: Values):
    bench = Bench()
    assert bench.run(cell) is None
    assert bench.before(cell).failed is None


@pytest.mark.parametrize("verb", ["top k, bound", "union in the engine", "quantile"])
def test_a_call_on_a_neighbour(verb: str):
    check(KINDS["spark frame"], verb)
