"""Polars counts what both engines count alike: the same histogram as DuckDB's, and anything else is left to DuckDB."""

from __future__ import annotations

import datetime
from decimal import Decimal

import polars as pl
import pytest

from dpselect.engines.sources.polars_counts import count_users
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import kept, pairs

DAYS = [datetime.date(2024, 2, day) for day in (3, 1, 2)]
COUNTED = {
    pl.String: ["b", "", "\uffff"], pl.Boolean: [True, False, True], pl.Date: DAYS,
    pl.Int8: [-1, 1, 0], pl.Int64: [2**62, -(2**62), 0], pl.UInt64: [2**64 - 1, 1, 0],
}  # fmt: skip
LEFT = {
    pl.Float64: [-0.0, 0.0, float("nan")], pl.Decimal(9, 2): [Decimal("1.10"), Decimal("1.1"), Decimal(2)],
    pl.Categorical: ["b", "a", "c"], pl.Datetime("ns"): [datetime.datetime(2024, 2, day) for day in (3, 1, 2)],
    pl.Binary: [b"b", b"a", b""],
}  # fmt: skip


def frame(values: list[object], dtype: object) -> pl.LazyFrame:
    """Users and items of a type, ties and nulls of both among them."""
    one, two, three = values
    users = [one, two, three, one, two, None, None, one, one]
    items = [one, one, two, two, three, three, one, None, one]
    return pl.LazyFrame({"user": pl.Series(users, dtype=dtype), "item": pl.Series(items, dtype=dtype)}, strict=False)


@pytest.mark.parametrize("dtype", [*COUNTED, *LEFT], ids=str)
def test_both_ways_count_the_same(dtype):
    rows = frame((COUNTED | LEFT)[dtype], dtype)
    found = []
    for where in (None, "true"):  # with a filter DuckDB counts
        with DuckDBEngine(rows, user="user", item="item", where=where, key=b"k") as engine:
            top, groups = engine.top(10), engine.grouped()
            found.append([(type(item), item, n) for one in (top, groups) for item, n in pairs(one)])
            assert [pairs(engine.top(most)) for most in range(4)] == [pairs(top)[:most] for most in range(4)]
    assert found[0] == found[1]


def test_which_types_are_counted_by_polars():
    assert all(count_users(frame(values, dtype), 0, 1) is not None for dtype, values in COUNTED.items())
    assert all(count_users(frame(values, dtype), 0, 1) is None for dtype, values in LEFT.items())
    assert count_users(pl.LazyFrame({"user": [1], "item": [None]}), 0, 1) is None


@pytest.mark.parametrize("most", [0, 1, 2, 3, 9])
def test_items_that_cannot_be_among_the_first_stay_in_polars_and_ties_of_the_last_do_not(most):
    rows = pl.LazyFrame({"user": [1, 2, 1, 2, 1, 2, 1], "item": ["d", "d", "c", "c", "b", "b", "a"]})
    left = count_users(rows, 0, 1, most).sort("i").rows()
    assert left == {0: [], 9: [("a", 1), ("b", 2), ("c", 2), ("d", 2)]}.get(most, [("b", 2), ("c", 2), ("d", 2)])


def test_a_bound_and_a_split_are_not_forgotten():
    rows = pl.LazyFrame({"user": [1, 1, 1], "item": ["a", "b", "c d"]})
    with DuckDBEngine(rows, user="user", item="item", max_items_per_user=2, key=b"k") as engine:
        assert len(kept(engine)) == 2
    with DuckDBEngine(rows, user="user", item="item", split=" ", key=b"k") as engine:
        assert pairs(engine.top(10)) == [("a", 1), ("b", 1), ("c", 1), ("d", 1)]


def test_a_column_of_nothing():
    rows = pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "none": [None, None]})
    for names in ({"user": "user", "item": "none"}, {"user": "none", "item": "item"}):
        with DuckDBEngine(rows, **names, key=b"k") as engine:
            assert list(engine.top(5).counts) == []
    with DuckDBEngine(rows, user="user", item="item", by=("none",), key=b"k") as engine:
        assert len(engine.top_by(5, 1).sizes) == 0


def test_a_polars_that_is_too_old_for_a_type_reads_the_others(monkeypatch):
    """Every frame failed with a polars from before 16-bit floats, which the extra allows."""
    monkeypatch.delattr(pl, "Float16")
    with DuckDBEngine(pl.DataFrame({"user": [1, 2], "item": ["a", "a"]}), user="user", item="item", key=b"k") as engine:
        assert pairs(engine.top(5)) == [("a", 2)]
