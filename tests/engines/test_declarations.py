"""Declarations of types: one text form, what each reads exactly, and what it leaves out."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines.sources.scans.declarations import parse_type, time_type
from dpselect.engines.sources.scans.reading import read_value
from dpselect.engines.sources.scans.unions import common_type, refuse_unequal
from dpselect.errors import DataError, ParameterError
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import pairs

Z = dt.UTC


def read(values: list[object], declared: str, kind: pa.DataType | None = None) -> list[object]:
    """What each value of a column is as the declared type; None where it is missing."""
    rows = pa.table({"user": range(len(values)), "item": pa.array(values, kind)})
    types = {"item": parse_type("item", declared)}
    found = []
    for place in range(len(values)):
        with DuckDBEngine(rows.slice(place, 1), user="user", item="item", key=b"k", types=types) as engine:
            found += [label for label, _ in pairs(engine.top(1))] or [None]
    return found


def moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=Z)


TEXTS: dict[str, dict[str, object]] = {
    "BIGINT": {
        "19": 19, "19.0": 19, " -7. ": -7, "+5": 5, "007": 7, "9223372036854775807": 2**63 - 1,
        "9223372036854775808": None,
        "19.5": None, "19.00000000000000000000001": None, "0x10": None, "1_000": None, "1e3": None, "": None, "x": None,
        "19,0": None, "\t5": None, "5\n": None, "inf": None, "true": None, "\u0663": None,
    },
    "UTINYINT": {"255": 255, "256": None, "-1": None},
    "DECIMAL(6,2)": {
        "7.19": Decimal("7.19"), "7.1": Decimal("7.10"), "7.190": Decimal("7.19"), "7.195": None,
        "9999.99": Decimal("9999.99"),
        "10000": None, "1e2": None, "nan": None,
    },
    "DOUBLE": {"7.5": 7.5, ".5": 0.5, "1e3": 1000.0, "-0": 0.0, "1e999": None, "nan": None, "inf": None, "7,5": None},
    "BOOLEAN": {"true": True, "F": False, "1": True, "0": False, "yes": None, "2": None},
    "DATE": {"2026-02-28": dt.date(2026, 2, 28), "2026-02-29": None, "2026-2-1": None, "2026-02-28 00:00": None},
    "TIMESTAMP": {
        "2026-03-31 23:59:59.999999999": dt.datetime(2026, 3, 31, 23, 59, 59, 999999),
        "2026-03-31T23:30": dt.datetime(2026, 3, 31, 23, 30), "2026-03-31": dt.datetime(2026, 3, 31),
        "2026-03-31 23:30Z": None, "2026-03-31 23:30:00+00": None, "2026-03-31 24:00": None, "epoch": None, "now": None,
        "infinity": None, "2026-03-31 23:30:61": None,
    },
    "TIMESTAMPTZ": {
        **dict.fromkeys(
            ("2026-04-10 00:30Z", "2026-04-10T00:30:00.000Z", "2026-04-10 00:30:00 UTC", "2026-04-10 00:30:00+0000",
             "2026-04-10 00:30:00+00", "2026-04-10 00:30:00+00:00", "2026-04-10 02:30:00 +02:00",
             "2026-04-09 19:00-0530"),
            moment("2026-04-10 00:30"),
        ),
        "2026-03-31 23:59:59.999999999Z": moment("2026-03-31 23:59:59.999999"), "2026-04-10 00:30": None,
        "2026-04-10Z": None, "2026-04-10-05": None, "2026-04-10 00:30 CET": None, "2026-04-10 00:30+25": None,
    },
    "TIME(zone='Europe/Berlin')": {
        "2026-03-31 23:30": moment("2026-03-31 21:30"), "2026-03-31 23:30Z": moment("2026-03-31 23:30"),
        "2026-03-31": moment("2026-03-30 22:00"), "31.03.2026": None,
    },
    "TIME(format='%d.%m.%Y %H:%M')": {
        "31.03.2026 23:30": dt.datetime(2026, 3, 31, 23, 30), "1.4.2026 1:05": dt.datetime(2026, 4, 1, 1, 5),
        "31.02.2026 23:30": None, "31.03.26 23:30": None, "31.03.2026": None, "31.03.2026 23:30:00": None,
        " 31.03.2026 23:30": None,
    },
    "TIME(format='%d%m%Y')": {"01112026": dt.datetime(2026, 11, 1), "1112026": None, "31022026": None},
    "TIME(format='%d.%m%Y %H:%M')": {"1.112026 1:05": dt.datetime(2026, 11, 1, 1, 5), "11.12026 01:05": None},
    "TIME(zone='Europe/Berlin', format='%m/%d/%Y %I:%M %p')": {
        "3/31/2026 11:30 PM": moment("2026-03-31 21:30"), "3/31/2026 12:05 am": moment("2026-03-30 22:05"),
        "31/3/2026 1:00 PM": None,
    },
    "TIME(format='%Y-%m-%d %H:%M:%S.%f%z')": {"2026-04-10 02:30:00.5+02:00": moment("2026-04-10 00:30:00.500000"),
        "2026-04-10 02:30:00.5": None},
    "TIME(unit='ms')": {"1775781000000": moment("2026-04-10 00:30"), "-1": moment("1969-12-31 23:59:59.999"),
        "1.5": None, "9" * 25: None},
    "TIME(unit='ns')": {"-1": moment("1969-12-31 23:59:59.999999"), "1999": moment("1970-01-01 00:00:00.000001")},
    "NUMBER(decimal=',', thousands='.')": {"7.719,34": 7719.34, "7719,34": 7719.34, "7.71,3": None, "1.200": 1200.0,
        "7,5": 7.5, "7.5": None, "0.005": None, "01.200": None, "0,005": 0.005},
    "NUMBER(type='DECIMAL(18,2)', decimal=',')": {"3,51": Decimal("3.51"), "3,515": None, "3.51": None},
    "NUMBER(type='BIGINT', thousands=' ')": {"1 200": 1200, "1 200.0": 1200, "12 00": None},
    "VARCHAR": {"19.0": "19.0", "": ""},
}  # fmt: skip


@pytest.mark.parametrize("declared", TEXTS)
def test_a_text_is_exactly_of_its_type_or_missing(declared: str) -> None:
    assert dict(zip(TEXTS[declared], read([*TEXTS[declared]], declared, pa.string()), strict=True)) == TEXTS[declared]


D = Decimal
VALUES: list[tuple[pa.DataType, str, dict[object, object]]] = [
    (pa.float64(), "BIGINT", {19.0: 19, 19.7: None, 2.0**63: None, -0.0: 0}),
    (pa.float64(), "DECIMAL(18,2)", {0.1: D("0.10"), 19.999999999999996: D("20.00"), 1e300: None}),
    (pa.float32(), "DOUBLE", {0.1: 0.1, 16777216.0: 16777216.0}),
    (pa.int64(), "DOUBLE", {2**53: float(2**53), 2**53 + 1: None}),
    (pa.int64(), "INTEGER", {7: 7, 2**31: None}),
    (pa.int64(), "BOOLEAN", {1: True, 0: False, 2: None}),
    (pa.decimal128(38, 20), "BIGINT", {D("7"): 7, D("7.5"): None}),
    (pa.decimal128(10, 3), "DECIMAL(6,2)", {D("1.230"): D("1.23"), D("1.235"): None, D("99999"): None}),
    (pa.decimal128(38, 20), "DOUBLE", {D("3.14"): 3.14}),
    (pa.int64(), "VARCHAR", {7: "7"}),
    (pa.binary(), "VARCHAR", {b"caf\xc3\xa9": "caf\u00e9", b"\xff": None}),
    (pa.int64(), "TIME(unit='s')", {0: moment("1970-01-01"), 2**62: None}),
    (pa.timestamp("ns"), "TIMESTAMP", {-1: dt.datetime(1969, 12, 31, 23, 59, 59, 999999)}),
    (pa.timestamp("us"), "DATE", {0: dt.date(1970, 1, 1), 1: None}),
    (pa.timestamp("us"), "TIME(zone='Europe/Berlin')", {0: moment("1969-12-31 23:00")}),
    (pa.date32(), "TIMESTAMP", {dt.date(2026, 4, 1): dt.datetime(2026, 4, 1)}),
    (pa.null(), "BIGINT", {None: None}),
]


@pytest.mark.parametrize(("kind", "declared", "values"), VALUES, ids=[f"{one[0]} as {one[1]}" for one in VALUES])
def test_a_value_with_a_type_is_exactly_of_the_declared_one(
    kind: pa.DataType, declared: str, values: dict[object, object]
) -> None:
    assert dict(zip(values, read([*values], declared, kind), strict=True)) == values


@pytest.mark.parametrize(
    ("kind", "declared", "hint"),
    [
        (pa.float64(), "VARCHAR", "7.0 and 7 would be two values"),
        (pa.timestamp("us"), "TIMESTAMPTZ", "zone=..."),
        (pa.timestamp("us", "UTC"), "TIMESTAMP", ""),
        (pa.date32(), "BIGINT", ""),
        (pa.bool_(), "BIGINT", ""),
        (pa.int64(), "TIME(format='%d.%m.%Y')", ""),
    ],
)
def test_types_of_which_no_value_is_one_are_refused(kind: pa.DataType, declared: str, hint: str) -> None:
    with pytest.raises(ParameterError, match="types must be a type that values of") as error:
        read([None], declared, kind)
    assert hint in str(error.value)


SAME = {
    "int": "INTEGER", " Decimal( 18 , 2 ) ": "DECIMAL(18,2)", "timestamptz": "TIMESTAMPTZ", "text": "VARCHAR",
    "timestamp with time zone": "TIMESTAMPTZ", "NUMBER()": "DOUBLE", "number( decimal = ',' )": "NUMBER(decimal=',')",
    "TIME(unit='ms')": "TIME(unit='ms')", "NUMERIC(5,0)": "DECIMAL(5,0)",
}  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_each_declaration_has_one_text(text: str) -> None:
    assert parse_type("x", text).text == SAME[text]
    assert parse_type("x", SAME[text]) == parse_type("x", text)


def test_values_of_python_have_the_same_text() -> None:
    for value, text in (
        (dps.NumberText(decimal=",", thousands="'"), "NUMBER(decimal=',', thousands='''')"),
        (dps.NumberText("DECIMAL(18,2)", decimal=","), "NUMBER(type='DECIMAL(18,2)', decimal=',')"),
        (dps.TimeText(zone="Europe/Berlin", format="%d.%m.%Y"), "TIME(zone='Europe/Berlin', format='%d.%m.%Y')"),
    ):
        assert value.declared.text == text
        assert parse_type("x", text) == value.declared


WRONG = [
    "", "DECIMAL", "DECIMAL(39,2)", "DECIMAL(2,3)", "DECIMAL(0,0)", "FLOATY", "VARCHAR(5)", "INTEGER[]",
    "NUMBER(x='1')",
    "NUMBER(decimal=',', decimal='.')", "NUMBER(decimal='5')", "NUMBER(decimal=',', thousands=',')",
    "NUMBER(decimal='')", "NUMBER(decimal=' ')",
    "NUMBER(type='DATE')", "TIME()", "TIME(zone='Berlin')", "TIME(unit='h')", "TIME(unit='s', zone='UTC')",
    "TIME(format='%Y')",
    "TIME(format='%d.%m.%Y %c')", "TIME(format='%d.%m.%Y %Y')", "TIME(format='%d.%m.%Y %I:%M')",
    "TIME(zone='UTC'); DROP", 5, None,
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_declaration_is_refused(text: object) -> None:
    with pytest.raises(ParameterError):
        dps.Dataset({"u": [1], "i": [1]}, user="u", item="i", types={"i": text})  # type: ignore[dict-item]


def test_a_question_keeps_its_key_unless_its_own_columns_are_declared(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("user,item,other\n1,2,3\n")

    def declared(**types: str) -> object:
        with dps.Dataset(path, user="user", item="item", types=types).engine() as engine:
            return engine.source.declared

    assert declared() == declared(other="BIGINT") == {}
    assert declared(item="int") == declared(item=" INTEGER ") == {"types": {"item": "INTEGER"}}


def test_a_column_that_is_not_there_cannot_be_declared(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item\n1,2\n")
    with pytest.raises(ParameterError, match="types must name columns of the source, got 'Item'"):
        dps.Dataset(tmp_path / "x.csv", user="user", item="item", types={"Item": "BIGINT"}).users(epsilon=1)


def test_values_of_a_column_of_objects_have_their_own_types() -> None:
    data = dps.Dataset({"u": [1, 2], "i": [1, "x"]}, user="u", item="i", types={"i": "BIGINT"})
    with pytest.raises(ParameterError, match="types must be left out for 'i', each of whose values has a type"):
        data.top_k(1, epsilon=1)


def test_ids_of_json_are_one_user_once_they_are_declared(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(f'{{"user": {user}, "item": "tea"}}\n' for user in ("7", "7.0", "7e0", '"7"', "7.5")))
    for types, users in (({}, 3), ({"user": "BIGINT"}, 1)):
        with dps.Dataset(path, user="user", item="item", types=types).engine() as engine:
            assert pairs(engine.top(2)) == [("tea", users)]


def test_tables_and_relations_of_duckdb_are_declared_too(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as base:
        base.execute("CREATE TABLE t AS SELECT 1 AS user, '19.0' AS item")
    with duckdb.connect() as base:
        for source in (dps.Table(tmp_path / "x.duckdb", "t"), base.sql("SELECT 1 AS user, '19.0' AS item")):
            with dps.Dataset(source, user="user", item="item", types={"item": "BIGINT"}).engine() as engine:
                assert pairs(engine.top(2)) == [(19, 1)]


def test_a_number_beyond_all_times_changes_no_other(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as base:
        base.execute("CREATE TABLE t (user VARCHAR, item UHUGEINT)")
        base.execute(f"INSERT INTO t VALUES ('a', 1775781000), ('b', 1775781000), ('c', '{2**128 - 1}')")
    types: dict[str, str | dps.NumberText | dps.TimeText] = {"item": dps.TimeText(unit="s")}
    with dps.Dataset(dps.Table(tmp_path / "x.duckdb", "t"), user="user", item="item", types=types).engine() as engine:
        assert pairs(engine.top(2)) == [(moment("2026-04-10 00:30"), 2)]


def test_a_column_that_is_declared_as_text_is_no_time_and_no_number(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item,at\na,19,2026-03-31T23:30Z\n")
    types: dict[str, str | dps.NumberText | dps.TimeText] = {"item": "VARCHAR", "at": "VARCHAR"}
    data = dps.Dataset(tmp_path / "x.csv", user="user", item="item", types=types)
    with pytest.raises(ParameterError, match="types must declare column 'item', which is text, to be used as numbers"):
        data.quantile(0.5, bounds=(0, 30), epsilon=1)
    with pytest.raises(ParameterError, match="to be used as whole numbers"):
        data.exclude([19]).top_k(1, epsilon=1)
    timed = dps.Dataset(tmp_path / "x.csv", user="user", item="item", types=types, time=dps.Time("at", period="month"))
    with pytest.raises(ParameterError, match="types must declare column 'at', which is text, to be used as times"):
        timed.during("2026-03").users(epsilon=1)


def test_rows_without_a_declared_column_are_not_added(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item,w\na,1,2\n")
    data = dps.Dataset(tmp_path / "x.csv", user="user", item="item", types={"w": "BIGINT"})
    data.prepare(tmp_path / "x.prepared", weights="w")
    pq.write_table(pa.table({"user": ["a"], "item": ["1"]}), tmp_path / "y.parquet")
    with pytest.raises(ParameterError, match="weights must be a column of the source, got 'w'"):
        dps.Dataset(tmp_path / "y.parquet", user="user", item="item").prepare(tmp_path / "x.prepared", add=True)


def test_a_proposed_declaration_can_be_given() -> None:
    kinds = "BIGINT DOUBLE FLOAT DECIMAL(18,2) VARCHAR BLOB DATE TIMESTAMP TIMESTAMP_NS TIME UUID BOOLEAN".split()
    proposed = 0
    for pair in combinations([*kinds, "TIMESTAMP WITH TIME ZONE", "INTEGER[]", "STRUCT(x INTEGER)"], 2):
        if common_type(pair) is None:
            with pytest.raises(ParameterError) as error:
                refuse_unequal("v", dict(zip(pair, ("x.parquet", "y.parquet"), strict=True)))
            if declared := re.fullmatch('types={"v": "(.+?)"} declares it.*', error.value.hint or ""):
                proposed += 1
                for held in pair:
                    read_value("v", held, parse_type("v", declared[1]), "v")
    assert proposed == 20


def test_prepared_data_know_what_was_declared(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item,w\n" + "".join(f"u{n},{n % 3}.0,{n}.5\n" for n in range(30)))
    rows = dps.Dataset(tmp_path / "x.csv", user="user", item="item", types={"item": "BIGINT"})
    data = rows.prepare(tmp_path / "x.prepared", keep="w")
    with data.engine() as engine:
        assert sorted(pairs(engine.top(3))) == [(0, 10), (1, 10), (2, 10)]
        assert engine.source.declared == {}
    with pytest.raises(ParameterError, match="types must be BIGINT for 'item', as these data declare it"):
        dps.Dataset(tmp_path / "x.prepared", types={"item": "DOUBLE"}).users(epsilon=1)
    with pytest.raises(ParameterError, match="types must declare column 'w'"):
        dps.Dataset(tmp_path / "x.prepared", item="w").quantile(0.5, bounds=(0, 30), step=1, epsilon=9)
    declared = dps.Dataset(tmp_path / "x.prepared", item="w", types={"w": "DOUBLE"})
    assert declared.quantile(0.5, bounds=(0, 30), step=1, epsilon=99).labels[0] in range(12, 18)
    with pytest.raises(ParameterError, match="types must be left out for the user of prepared data"):
        dps.Dataset(tmp_path / "x.prepared", types={"user": "VARCHAR"}).users(epsilon=1)


def test_declared_items_of_prepared_data_are_counted_as_such(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,item\n" + "".join(f"u{n % 9},{('7', '7.0')[n % 2]}\n" for n in range(18)))
    dps.Dataset(tmp_path / "x.csv", user="user", item="item").prepare(tmp_path / "x.prepared")
    with dps.Dataset(tmp_path / "x.prepared", types={"item": "BIGINT"}).engine() as engine:
        assert pairs(engine.top(3)) == [(7, 9)]
        assert engine.source.declared == {"types": {"item": "BIGINT"}}


def test_a_file_that_is_written_again_after_its_footer_was_read_is_refused(tmp_path: Path) -> None:
    path, table = tmp_path / "x.parquet", pa.table({"user": ["a"], "item": ["tea"]})
    pq.write_table(table, path)
    budget = dps.Budget(epsilon=1)
    data = dps.Dataset(path, user="user", item="item", budget=budget)
    with data.engine() as engine:
        pq.write_table(table.append_column("more", pa.array([1])), path)
        with pytest.raises(DataError, match="has changed while it was opened"):
            engine.check_unchanged()
        with pytest.raises(DataError, match="has changed while it was opened"):
            engine.top(1)


def test_a_zone_beside_a_format_with_zones_is_refused() -> None:
    message = "zone must be left out if format has %z, got 'Europe/Berlin'\nhint: TimeText(format='%Y-%m-%d %z')"
    with pytest.raises(ParameterError, match=re.escape(message)):
        dps.TimeText(format="%Y-%m-%d %z", zone="Europe/Berlin")
    with pytest.raises(ParameterError, match=re.escape(message)):
        parse_type("at", "TIME(zone='Europe/Berlin', format='%Y-%m-%d %z')")


def test_a_unit_that_is_no_text_is_refused() -> None:
    for unit in (["s"], {}, 1):
        with pytest.raises(ParameterError, match="unit must be one of s, ms, us, ns, got"):
            time_type(unit=unit)


def test_a_percent_sign_before_z_is_no_zone() -> None:
    declared = "TIME(zone='Europe/Berlin', format='%Y-%m-%d %H:%M %%z')"
    assert read(["2026-07-01 02:00 %z"], declared) == [moment("2026-07-01 00:00")]
