"""Keys of several columns in every kind of source that DuckDB reads: the same tuples, value by value."""

from __future__ import annotations

import csv
import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpselect._ground.domain import Listed
from dpselect.engines.sources.csv_form import CsvForm
from dpselect.errors import DataError
from tests.engines.every_engine import KEY
from tests.engines.opened import open_engine
from tests.engines.test_conformance import pairs


def test_values_without_a_declared_type_are_each_their_own() -> None:
    """1, 1.0 and Decimal("1.00") are one number in each column; "1" and True are others."""
    values = [1, 1.0, Decimal("1.00"), "1", True, None, float("nan"), datetime.date(2026, 1, 1), "2026-01-01"]
    rows = {"user": list(range(81)), "a": [a for a in values for _ in values], "b": values * 9}
    with open_engine(rows, user="user", item=("a", "b"), key=KEY) as engine:
        found = {tuple((type(x).__name__, x) for x in label): count for label, count in pairs(engine.top(1000))}
        number = ("int", 1)
        assert found[number, number] == 9
        assert found[number, ("str", "1")] == found[("bool", True), number] == 3
        assert sum(found.values()) == 49
        assert len(found) == 25
        listed = Listed(((1.0, Decimal(1)), ("1", 1), (True, "1"), ("x", 1)))
        domain = {tuple((type(x).__name__, x) for x in label): n for label, n in pairs(engine.grouped(listed))}
        expected = {(number, number): 9, (("str", "1"), number): 3, (("bool", True), ("str", "1")): 1}
        assert domain == {**expected, (("str", "x"), number): 0}
    with open_engine(rows, user=("a", "b"), item="user", key=KEY) as engine:
        assert engine.contributions().users == 25


def test_zeros_are_one_user_and_what_cannot_be_an_item_is_refused_in_a_key() -> None:
    rows = pa.table({"f": [0.0, -0.0, float("nan"), None], "t": ["x"] * 4, "i": ["a", "b", "c", "d"]})
    with open_engine(rows, user=("f", "t"), item="i", key=KEY) as engine:
        assert engine.contributions().users == 1
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT [1, 2] AS l, INTERVAL 1 DAY AS s, 'x' AS t, 'i' AS i").fetchall()
    with open_engine(connection, user="s", item="i", table="t", key=KEY) as engine:
        assert pairs(engine.top(1)) == [("i", 1)]  # by itself most types that can be grouped will do
    for name in ("l", "s"):
        with pytest.raises(DataError, match="cannot name"):
            open_engine(connection, user=(name, "t"), item="i", table="t", key=KEY)


def test_newlines_in_values_of_a_key(tmp_path: Path) -> None:
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["u", "a", "b"], *([n, "one\ntwo,", "x"] for n in range(3)), [9, "one", "\ntwo,x"]])
    asked = {"user": "u", "item": ("a", "b"), "csv": CsvForm(newlines_in_values=True), "key": KEY}
    with open_engine(tmp_path / "rows.csv", **asked) as engine:
        assert pairs(engine.top(9)) == [(("one\ntwo,", "x"), 3), (("one", "\ntwo,x"), 1)]


def test_a_filter_and_a_key_may_speak_of_the_same_objects() -> None:
    rows = {"user": [1, 2, 3], "a": [1, 1.0, "1"], "b": np.array([1, 1, 1])}
    with open_engine(rows, user="user", item=("a", "b"), where="a = '1'", key=KEY) as engine:
        assert pairs(engine.top(9)) == [((1, 1), 2), (("1", 1), 1)]
