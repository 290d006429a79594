"""Decimal numbers of Spark as texts that sort as they do, in keys of several columns."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

import pyarrow as pa
import pytest

from dpselect import Budget, Dataset
from dpselect.errors import DataError
from tests.engines.every_engine import KEY
from tests.engines.opened import open_engine
from tests.engines.test_conformance import pairs

pytestmark = pytest.mark.usefixtures("asked_once")

LONG_DECIMALS = {pa.decimal128(38, 30): "1e-30", pa.decimal128(20, 10): "1e-10", pa.decimal128(5, 5): "1e-5"}


@pytest.mark.parametrize("sort", LONG_DECIMALS, ids=str)
def test_decimals_of_spark(spark: object, sort: pa.Decimal128Type) -> None:
    least = Decimal(LONG_DECIMALS[sort])
    values = [least * n for n in (0, 1, -1, 7, -7, 10, -10, 99, 1234, -1234)]
    texts = ["\x00", "", "\x00\x01", "a\x00", "a"] * 2
    rows = pa.table({"who": range(len(values)), "n": pa.array(values, sort), "t": texts})
    frame = spark.createDataFrame(rows)  # type: ignore[attr-defined]
    for item, place in ((("n", "t"), 0), (("t", "n"), 1)):
        with open_engine(frame, user="who", item=item, key=KEY) as engine:
            labels = [label for label, _ in pairs(engine.top(100))]
        assert {label[place] for label in labels} == set(values)
        assert labels == sorted(labels)


def test_decimals_that_spark_cannot_write_exactly_are_refused(spark: object) -> None:
    rows = pa.table({"who": [1], "n": pa.array([Decimal("1e-38")], pa.decimal128(38, 38)), "t": ["x"]})
    frame = spark.createDataFrame(rows)  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="cannot be one of several"):
        open_engine(frame, user="who", item=("n", "t"), key=KEY)
    budget = Budget(epsilon=2, delta=1e-6)
    data = Dataset(frame, user="who", item="t", budget=budget)
    for ask in (data.union, partial(data.top_k, 3, method="discover")):
        with pytest.raises(DataError, match="cannot be one of several"):
            ask(epsilon=1, by="n")
    assert budget.left == 1
