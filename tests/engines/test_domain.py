"""Domains: which items count, which are unseen, and that the domain alone decides what is an error."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect._ground.domain import UNSEEN, Column, Listed, Size, Span, parse_domain
from dpselect.engines.sources.scans.declarations import parse_type
from dpselect.errors import ParameterError
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import pairs

ROWS = {
    "user": np.array([1, 1, 2, 2, 3, 3, 3, 4]),
    "number": np.array([5, 9, 5, 12, 5, 9, -3, 100]),
    "word": np.array(["b", "a", "b", "d", "b", "a", "z", "q"]),
}


def grouped(domain: object, item: str = "number", source: object = ROWS, **more: object) -> list[tuple[object, int]]:
    with DuckDBEngine(source, user="user", item=item, key=b"k", **more) as engine:
        return pairs(engine.grouped(domain))


def test_listed_items_only_and_unseen_ones_too():
    assert grouped(Listed((9, 5, 7, 9, None, 8))) == [(5, 3), (9, 2), (7, 0), (8, 0)]
    assert grouped(Listed(("b", "", "zz", "a")), "word") == [("b", 3), ("a", 2), ("", 0), ("zz", 0)]


def test_a_domain_without_any_row():
    assert grouped(Listed((70, 60))) == [(60, 0), (70, 0)]
    assert grouped(Span(20, 23)) == [(20, 0), (21, 0), (22, 0)]


def test_span_names_unseen_numbers_without_listing_them():
    seen = Counter({5: 3, 9: 2, 12: 1, -3: 1})
    assert grouped(Span(-4, 13)) == [
        *sorted(seen.items(), key=lambda pair: (-pair[1], pair[0])),
        *((number, 0) for number in range(-4, 13) if number not in seen),
    ]
    assert grouped(Span(5, 6)) == [(5, 3)]


def test_a_huge_span():
    with DuckDBEngine(ROWS, user="user", item="number", key=b"k") as engine:
        histogram = engine.grouped(Span(0, 10**12))
        assert list(histogram.counts) == [3, 2, 1, 0]
        assert histogram.sizes[3] == 10**12 - 4
        assert [histogram.label(3, r) for r in (0, 4, 5, 7, 8, 9)] == [0, 4, 6, 8, 10, 11]
        assert histogram.label(3, 10**12 - 5) == 10**12 - 1
        whole = engine.grouped(Span(-(2**63), 2**63))
        assert whole.label(3, whole.sizes[3] - 1) == 2**63 - 1
        assert whole.label(3, 0) == -(2**63)
        with pytest.raises(IndexError):
            histogram.label(3, 10**12 - 4)
        with pytest.raises(IndexError):
            histogram.label(4, 0)


@pytest.mark.parametrize("span", [Span(-3, 8), Span(0, 8), Span(-(2**63), 2**63), Span(-9, 0), Span(-9, 1)])
def test_a_large_number_of_128_bits_without_a_sign_is_outside_of_a_span(span):
    with duckdb.connect() as connection:
        large = "VALUES (7::UHUGEINT), (0::UHUGEINT), (340282366920938463463374607431768211455::UHUGEINT)"
        connection.execute(f"CREATE TABLE rows AS SELECT 1 AS user, i AS item FROM ({large}) AS t (i)")
        with DuckDBEngine(connection, user="user", item="item", table="rows", key=b"k") as engine:
            found = engine.grouped(span)
            seen = [found.label(0, r) for r in range(found.sizes[0])] if found.counts[0] else []
    assert seen == [n for n in (0, 7) if span.start <= n < span.stop]


def test_a_span_over_text_counts_what_is_a_whole_number_once_it_is_declared(tmp_path):
    (tmp_path / "rows.csv").write_text(
        "user,item\n1,5\n2,5\n3,05\n4,+5\n5,5.0\n6, 5\n7,-1\n8,x\n9,99999999999999999999\n10,7\n"
    )
    with pytest.raises(ParameterError, match="types must declare column 'item'"):
        grouped(Span(-1, 8), "item", tmp_path / "rows.csv")
    found = grouped(Span(-1, 8), "item", tmp_path / "rows.csv", types={"item": parse_type("item", "BIGINT")})
    assert found == [(5, 6), (-1, 1), (7, 1), *((n, 0) for n in (0, 1, 2, 3, 4, 6))]


def test_a_span_over_whole_numbers_of_another_type_names_the_type_to_declare():
    ages = {"user": [1, 2, 3], "age": np.array([19.0, 19.0, 20.0])}
    with pytest.raises(ParameterError, match=r"DOUBLE(.|\n)*hint: declare whole numbers: types={...: \"BIGINT\"}"):
        grouped(Span(19, 21), "age", ages)
    declared = {"age": parse_type("age", "BIGINT")}
    assert grouped(Span(19, 21), "age", ages, types=declared) == [(19, 2), (20, 1)]


def test_only_a_size():
    with DuckDBEngine(ROWS, user="user", item="word", key=b"k") as engine:
        histogram = engine.grouped(Size(10**12))
        assert histogram.sizes == [1, 1, 3, 10**12 - 5]
        assert histogram.label(3, 12345) is UNSEEN
        assert histogram.label(2, 2) == "z"
        assert str(UNSEEN) == "(unseen item)"
        assert engine.grouped(Size(5)).sizes == [1, 1, 3]
        assert engine.grouped(Size(2)).sizes == [1, 1, 3]  # the caller's promise was wrong: no error, no unseen item


def test_a_column_of_another_source(tmp_path):
    (tmp_path / "catalogue.csv").write_text("id,name\n5,b\n7,a\n5,b\n,\n")
    pl.DataFrame({"id": [5, 7, None]}).write_parquet(tmp_path / "catalogue.parquet")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE c AS SELECT unnest([5, 7]) AS id").fetchall()
    sources = [
        Column(tmp_path / "catalogue.csv", "id"),
        Column(str(tmp_path / "catalogue.parquet"), "id"),
        Column(pd.DataFrame({"id": [5, 7, 7]}), "id"),
        Column(pl.LazyFrame({"id": [5, 7]}), "id"),
        Column({"id": [5, 7]}, "id"),
        Column(connection, "id", table="c"),
        Column(connection.table("c"), "id"),
    ]
    for domain in sources:
        assert grouped(domain) == [(5, 3), (7, 0)], domain
    assert grouped(Column(tmp_path / "catalogue.csv", "name"), "word") == [("b", 3), ("a", 2)]


def test_rows_and_domain_in_one_database(tmp_path):
    with duckdb.connect(tmp_path / "one.duckdb") as connection:
        connection.execute("CREATE TABLE rows AS SELECT 1 AS user, 'a' AS item").fetchall()
        connection.execute("CREATE TABLE names AS SELECT unnest(['a', 'b']) AS name").fetchall()
    path = tmp_path / "one.duckdb"
    assert grouped(Column(path, "name", table="names"), "item", path, table="rows") == [("a", 1), ("b", 0)]


def test_users_spend_their_bound_inside_the_domain():
    rows = {"user": np.repeat(np.arange(50), 20), "item": np.tile(np.arange(20), 50)}
    with DuckDBEngine(rows, user="user", item="item", max_items_per_user=2, key=b"key") as engine:
        assert dict(pairs(engine.counts_of(Listed((3, 4))))) == {3: 50, 4: 50}
        assert engine.counts_of(Span(0, 10)).counts.sum() == 100


VALUES = [
    (pa.int32(), [1, 2], ["1", 2.0, decimal.Decimal(2)]),
    (pa.float64(), [1.5, -0.0], [1.5, 0, "0"]),
    (pa.decimal128(10, 2), [decimal.Decimal("1.50"), decimal.Decimal("2.00")], ["1.5", 2]),
    (pa.string(), ["1", "a"], ["1", "a"]),
    (pa.date32(), [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], ["2024-01-01", "2024-01-02"]),
    (pa.date32(), [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], [datetime.date(2024, 1, 1), None]),
    (pa.timestamp("us"), [datetime.datetime(2024, 1, 1, 5)], [datetime.datetime(2024, 1, 1, 5)]),
    (pa.bool_(), [True, False], [True]),
    (pa.binary(), [b"\xff", b"a"], [b"\xff"]),
]  # fmt: skip


@pytest.mark.parametrize(("item_type", "items", "domain"), VALUES, ids=str)
def test_values_are_read_as_the_item_columns_type(item_type, items, domain):
    rows = pa.table({"user": list(range(len(items))), "item": pa.array(items, item_type)})
    for value in domain:
        if value is not None:
            ((label, count),) = grouped(Listed((value,)), "item", rows)
            assert count == 1
            assert label in items
            assert type(label) in {type(item) for item in items}


def test_moments_of_a_time_zone():
    noon = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    rows = pa.table({"user": [1], "item": pa.array([noon], pa.timestamp("us", tz="Asia/Tokyo"))})
    east = datetime.timezone(datetime.timedelta(hours=3))
    assert grouped(Listed((noon.astimezone(east), "2024-01-01 12:00:00+00")), "item", rows) == [(noon, 1)]


def test_identifiers_are_text():
    one = uuid.UUID(int=1)
    relation = duckdb.connect().sql(f"SELECT 1 AS user, '{one}'::UUID AS item")
    assert grouped(Listed((one, uuid.UUID(int=2))), "item", relation) == [(str(one), 1), (str(uuid.UUID(int=2)), 0)]


@pytest.mark.parametrize(
    "wrong",
    [
        ("a",),
        (1, "x"),
        (1.5,),
        (2**70,),
        (datetime.date(2024, 1, 1),),
        ("1.5x",),
        ("1", "1.5"),
        ("9007199254740993.4",),
    ],
    ids=str,
)
def test_a_value_that_does_not_fit_is_the_callers_mistake(wrong):
    with DuckDBEngine(ROWS, user="user", item="number", key=b"k") as engine:
        for ask in (engine.check, engine.grouped):
            with pytest.raises(ParameterError, match="domain must hold values that are BIGINT"):
                ask(Listed(wrong))


ROUNDED = [
    ("DECIMAL(10, 2)", "1.25", "1.254", ["1.250", "125e-2"]),
    ("DATE", "2024-01-01", "2024-01-01 23:59", ["2024-01-01 00:00"]),
    ("TIMESTAMP_S", "2024-01-01 05:00:01", "2024-01-01 05:00:01.6", ["2024-01-01 05:00:01.0"]),
]


@pytest.mark.parametrize(("item_type", "item", "wrong", "equal"), ROUNDED, ids=str)
def test_a_text_that_would_be_rounded_is_another_value(item_type, item, wrong, equal):
    """DuckDB 2.0 rounds texts that it casts, and cuts a time off a date: they would be counted as what they are not."""
    rows = duckdb.connect().sql(f"SELECT 1 AS user, '{item}'::{item_type} AS item")
    for text in (item, *equal):
        assert [count for _, count in grouped(Listed((text,)), "item", rows)] == [1]
    with DuckDBEngine(rows, user="user", item="item", key=b"k") as engine:
        for listed in ((wrong,), (item, wrong)):
            with pytest.raises(ParameterError, match="domain must hold values that are"):
                engine.check(Listed(listed))
            with pytest.raises(ParameterError, match="exclude must hold values that are"):
                engine.leave_out(Listed(listed))


def test_a_domain_is_read_once():
    domain = Column({"name": ["a", "b", "z"]}, "name")
    with DuckDBEngine(ROWS, user="user", item="word", key=b"k") as engine:
        engine.check(domain)
        object.__setattr__(domain, "source", None)
        assert pairs(engine.grouped(domain)) == [("b", 3), ("a", 2), ("z", 1)]


@pytest.mark.parametrize("domain", [Column({"name": ["a", "b", "b", None]}, "name"), Listed(("a", "b"))], ids=repr)
def test_more_items_than_the_domain_has_are_refused_before_they_are_paid(domain):
    """How many a column holds is known when it is read, and it was counted when the question was paid."""
    with DuckDBEngine(ROWS, user="user", item="word", key=b"k") as engine:
        engine.check(domain, k=2)
        with pytest.raises(ParameterError, match="k must be at most the number of items in the domain, got 3"):
            engine.check(domain, k=3)
    budget = dps.Budget(epsilon=1)
    with pytest.raises(ParameterError, match="k must be at most the number of items in the domain"):
        dps.Dataset(ROWS, user="user", item="word", budget=budget).top_k(3, domain=domain, epsilon=1)
    assert budget.left == 1


def test_a_span_needs_numbers():
    rows = pa.table({"user": [1], "item": pa.array([datetime.date(2024, 1, 1)])})
    with pytest.raises(ParameterError, match="domain must fit the item column, which is DATE"):
        grouped(Span(0, 3), "item", rows)


def test_a_column_that_is_not_there():
    with pytest.raises(
        ParameterError, match="domain must be a column of the source, got 'nme'\nhint: did you mean name"
    ):
        grouped(Column({"name": [1]}, "nme"))
    with pytest.raises(ParameterError, match="domain must hold at least one item"):
        grouped(Column({"name": [None, None]}, "name"))


def test_what_a_caller_may_write():
    assert parse_domain(10**6) == Size(10**6)
    assert parse_domain(np.int64(5)) == Size(5)
    assert parse_domain(range(3, 9)) == Span(3, 9)
    assert parse_domain(["a", "b", None]).items == ("a", "b", None)
    assert parse_domain(np.array([1, 2])).items == (1, 2)
    assert [type(item) for item in parse_domain(np.array([1, 2])).items] == [int, int]
    assert parse_domain(pd.Series(["a"])).items == ("a",)
    assert parse_domain(pl.Series([1.5])).items == (1.5,)
    assert parse_domain(Size(3)) == Size(3)
    assert repr(Listed(("secret",))) == "Listed(1 items)"
    assert repr(Column("x.csv", "name")) == "Column('name')"


@pytest.mark.parametrize(
    "wrong", ["abc", b"abc", 0, -1, 1.5, True, None, Ellipsis, {"a": 1}, [], [None], range(0), range(0, 9, 2),
              [Ellipsis], [[1]], range(-(2**64), 0), range(2**63 + 1)], ids=repr
)  # fmt: skip
def test_what_a_caller_may_not_write(wrong):
    with pytest.raises(ParameterError, match=r"^domain"):
        parse_domain(wrong)


def test_a_domain_that_no_mechanism_could_count_is_refused():
    assert parse_domain(2**128).items == 2**128
    with pytest.raises(ParameterError, match=f"^domain must be a whole number from 1 to {2**128}"):
        parse_domain(10**500)
