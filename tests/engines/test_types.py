"""Types: every value counts in one form and comes back as a plain Python value, or the column is refused."""

from __future__ import annotations

import datetime
import decimal
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpselect.errors import DataError, SourceError
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import pairs

TOKYO = datetime.timezone(datetime.timedelta(hours=9))
NOON = datetime.datetime(2024, 1, 1, 12)


def top(source: object, **more: object) -> list[tuple[object, int]]:
    """Items with their counts; groups, sets and weights name the same ones."""
    with DuckDBEngine(source, user="user", item="item", key=b"k", **more) as engine:
        found = pairs(engine.top(100))
        assert pairs(engine.grouped()) == found
        sets, kept = engine.contributions(), engine.pairs()
        labels = sets.labels(range(sets.size))
        kept.release(np.arange(kept.weigh(np.ones(100, dtype=np.int64), b"k").sizes.sum()))
        assert list(map(repr, kept.names())) == list(map(repr, labels))
        assert sorted(map(repr, labels)) == sorted(repr(label) for label, _ in found)
    return found


def items(values: list[object], arrow_type: pa.DataType | None = None) -> list[object]:
    """The labels of a column of which the first value has most users."""
    column = pa.array([value for n, value in enumerate(values) for _ in range(len(values) - n)], arrow_type)
    return [label for label, _ in top(pa.table({"user": list(range(len(column))), "item": column}))]


COLUMNS = {
    "text": (["b", "a", ""], pa.string()),
    "large text": (["b", "a", ""], pa.large_string()),
    "text view": (["b", "a long text that is not inlined"], pa.string_view()),
    "int8": ([3, -1], pa.int8()),
    "int64": ([2**63 - 1, -(2**63)], pa.int64()),
    "uint64": ([2**64 - 1, 0], pa.uint64()),
    "float32": ([1.5, 0.25], pa.float32()),
    "float64": ([0.1, 1.7e308, -1e300], pa.float64()),
    "decimal": ([decimal.Decimal("1.10"), decimal.Decimal("-2.00")], pa.decimal128(10, 2)),
    "bool": ([True, False], pa.bool_()),
    "date": ([datetime.date(2024, 2, 29), datetime.date(1, 1, 1)], pa.date32()),
    "timestamp s": ([NOON], pa.timestamp("s")),
    "timestamp us": ([NOON + datetime.timedelta(microseconds=1)], pa.timestamp("us")),
    "time": ([datetime.time(1, 2, 3)], pa.time64("us")),
    "bytes": ([b"\xff\x00", b""], pa.binary()),
}


@pytest.mark.parametrize(("values", "arrow_type"), COLUMNS.values(), ids=list(COLUMNS))
def test_labels_are_plain_python_values(values, arrow_type):
    found = items(values, arrow_type)
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


def test_huge_integers():
    relation = duckdb.connect().sql(
        "SELECT 1 AS user, 2::HUGEINT ** 0 * 170141183460469231731687303715884105727::HUGEINT AS item"
    )
    ((label, _),) = top(relation)
    assert label in (2**127 - 1, float(2**127 - 1))


def test_moments_of_a_zone_come_back_in_utc():
    zoned = [NOON.replace(tzinfo=TOKYO)]
    assert items(zoned, pa.timestamp("us", tz="Asia/Tokyo")) == zoned
    assert items(zoned, pa.timestamp("us", tz="Asia/Tokyo"))[0].tzinfo == datetime.UTC


def test_what_python_cannot_hold_is_text(tmp_path):
    assert items([1704110400000000001], pa.timestamp("ns")) == ["2024-01-01 12:00:00.000000001"]
    file = str(tmp_path / "bits.duckdb")
    with duckdb.connect(file) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS user, '101'::BIT AS item").fetchall()
    assert top(file, table="t") == [("101", 1)]


def test_moments_that_python_does_not_have_are_missing():
    moments = "'infinity', '-infinity', '290000-01-01', '0044-03-15 (BC)', '2024-01-01'"
    sql = f"SELECT 1 AS user, unnest([{moments}])::{{}} AS item"
    for name in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S"):
        ((label, _),) = top(duckdb.connect().sql(sql.format(name)))
        assert label.year == 2024


def test_nan_is_null_and_zero_has_no_sign():
    rows = {"user": np.array([1, 2, 3, 4, np.nan]), "item": np.array([0.0, -0.0, np.nan, -np.nan, 0.0])}
    ((label, count),) = top(rows)
    assert (str(label), count) == ("0.0", 2)
    assert str(top({"user": [1], "item": [-0.0]})[0][0]) == "0"


@pytest.mark.parametrize("sign", [1, -1])
def test_an_infinity_names_no_item(sign):
    infinite = sign * float("inf")
    users = [1, 2, 3, 4]
    for item in (
        np.array([infinite, 1.5, 1.5, 2]),
        np.array([infinite, 1.5, 1.5, 2], np.float32),
        [infinite, 1.5, 1.5, 2],
        [decimal.Decimal(infinite), 1.5, decimal.Decimal("1.5"), 2.0],
    ):
        assert top({"user": users, "item": item}) == [(1.5, 2), (2, 1)]
        with DuckDBEngine({"user": users, "item": item}, user="item", item="user", key=b"k") as engine:
            assert len(pairs(engine.top(9))) == 4  # who is never named may be anything


def test_users_who_are_floats_are_told_apart_by_value():
    assert top({"user": np.array([1.0, 1.0, -0.0, 0.0, np.nan]), "item": list("aaaaa")}) == [("a", 2)]


def test_case_of_a_collation_does_not_join_items():
    connection = duckdb.connect()
    connection.execute('CREATE TABLE t("user" VARCHAR COLLATE NOCASE, item VARCHAR COLLATE NOACCENT.NOCASE)').fetchall()
    connection.execute("INSERT INTO t VALUES ('u', 'a'), ('U', 'A'), ('u', '\u00e1'), ('U', 'a')").fetchall()
    assert top(connection.table("t")) == [("a", 2), ("A", 1), ("\u00e1", 1)]


def test_case_of_a_collation_does_not_join_users(tmp_path):
    with duckdb.connect(tmp_path / "rows.duckdb") as connection:
        connection.execute('CREATE TABLE t("user" VARCHAR COLLATE NOCASE, item VARCHAR)').fetchall()
        connection.execute("INSERT INTO t VALUES ('u', 'a'), ('U', 'a')").fetchall()
    with DuckDBEngine(tmp_path / "rows.duckdb", table="t", user="user", item="item", key=b"k") as engine:
        assert pairs(engine.top(1)) == [("a", 2)]


def test_categories_are_ordered_by_their_text():
    ordered = pd.Categorical(["z", "a", "m"], categories=["z", "m", "a", "unused"], ordered=True)
    assert top(pd.DataFrame({"user": [1, 1, 1], "item": ordered})) == [("a", 1), ("m", 1), ("z", 1)]
    enum = pl.Series(["z", "a", "m"], dtype=pl.Enum(["z", "m", "a"]))
    assert top(pl.DataFrame({"user": [1, 1, 1], "item": enum})) == [("a", 1), ("m", 1), ("z", 1)]
    relation = duckdb.connect().sql("SELECT 1 AS user, unnest(['z', 'a', 'm'])::ENUM('z', 'm', 'a') AS item")
    assert top(relation) == [("a", 1), ("m", 1), ("z", 1)]


REFUSED = {
    "LIST": "[1]", "STRUCT": "{'a': 'CANARY'}", "MAP": "MAP {'CANARY': 1}", "INTERVAL": "INTERVAL 1 MONTH",
    "UNION": "union_value(a := 1)",
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), REFUSED.items(), ids=list(REFUSED))
def test_types_that_cannot_name_an_item(name, value):
    relation = duckdb.connect().sql(f"SELECT 1 AS user, {value} AS item")
    with pytest.raises(DataError, match=rf"a column of type {name} cannot name items\nhint: (cast it|make .*SELECT)"):
        top(relation)


ARRAYS = {
    "fixed text": (np.array(["b", "a"]), ["a", "b"]),
    "numpy text": (np.array(["b", "a"], dtype=np.dtypes.StringDType()), ["a", "b"]),
    "bytes": (np.array([b"b", b"a"]), [b"a", b"b"]),
    "days": (np.array(["2024-01-02", "2024-01-01"], "M8[D]"), [datetime.datetime(2024, 1, d) for d in (1, 2)]),
    "half floats": (np.array([2.5, 1.5], np.float16), [1.5, 2.5]),
    "long floats": (np.array([2.5, 1.5], np.longdouble), [1.5, 2.5]),
    "a long float among objects": ([np.longdouble(2.5), "a"], [2.5, "a"]),
    "strided": (np.array([2, 9, 1, 9])[::2], [1, 2]),
    "masked": (np.ma.masked_array([2, 1], mask=[False, True]), [2]),
    "list of text": (["b", "a"], ["a", "b"]),
    "tuple of numbers": ((2, 1), [1, 2]),
    "list with None": (["b", None], ["b"]),
    "pandas": (pd.Series(["b", "a"]), ["a", "b"]),
    "polars": (pl.Series([2, 1]), [1, 2]),
}


@pytest.mark.parametrize(("array", "labels"), ARRAYS.values(), ids=list(ARRAYS))
def test_a_dict_takes_what_numpy_takes(array, labels):
    assert [label for label, _ in top({"user": [1, 1], "item": array})] == labels


def test_a_dict_must_be_a_table():
    with pytest.raises(DataError, match="same length"):
        top({"user": [1], "item": [1, 2]})
    with pytest.raises(DataError, match="one-dimensional"):
        top({"user": [1], "item": np.array([[1, 2]])})


def test_columns_that_are_not_needed_are_not_touched():
    frame = pl.DataFrame({"user": [1], "item": ["a"], "other": pl.Series([[1]], dtype=pl.List(pl.Int8))})
    assert top(frame) == [("a", 1)]
    with pytest.raises(SourceError, match=r"column 'item' of type large_list\nhint: .*frame.explode\('item'\)"):
        top(frame.rename({"other": "item", "item": "was"}))


@pytest.mark.parametrize(
    "names",
    [
        ("user", "item"),
        ("User id", "select"),
        ('a"b', "c'd"),
        ("\u00fc \U0001f600", "%"),
        ("U", "I"),
        ("c1", "c0"),
        ("u", "i"),
    ],
)
def test_names_of_columns(names, tmp_path):
    user, item = names
    table = pa.table({"n": [7, 8, 9], item: ["a", "a", "b"], user: ["x", "y", "x"]})
    pl.from_arrow(table).write_csv(tmp_path / "rows.csv")
    pl.from_arrow(table).write_ndjson(tmp_path / "rows.jsonl")
    pl.from_arrow(table).write_parquet(tmp_path / "rows.parquet")
    where = "\"{}\" <> 'b'".format(item.replace('"', '""'))
    for source in (
        table,
        table.to_pandas(),
        pl.from_arrow(table),
        *(tmp_path / f"rows.{e}" for e in ("csv", "jsonl", "parquet")),
    ):
        with DuckDBEngine(source, user=user, item=item, where=where, key=b"k") as engine:
            assert pairs(engine.top(5)) == [("a", 2)]


def test_names_that_differ_in_case_only():
    with warnings.catch_warnings():
        frame = pd.DataFrame({"User": [1, 2], "user": [3, 3], "item": ["a", "a"]})
    with DuckDBEngine(frame, user="User", item="item", key=b"k") as engine:
        assert pairs(engine.top(1)) == [("a", 2)]
    with DuckDBEngine(frame, user="user", item="item", where="user = 3", key=b"k") as engine:
        assert pairs(engine.top(1)) == [("a", 1)]
