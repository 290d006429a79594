"""Two Parquet files of one source: each row reads the same whatever type, and whatever value, another file has.

Every pair of types that a footer can declare, in every role, without and with one extreme row in the other file. Either
the rows of the first file read as they do alone, or the pair is refused from the footers, before anything is reserved.
"""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect._ground.periods import parse_periods
from dpselect.engines.duckdb.dialect import counted_type
from dpselect.engines.duckdb.spelling import DUCKDB_SPELLING
from dpselect.engines.duckdb.types import NULL_TYPE, duckdb_row_periods, filter_type, item_form, number_form, user_form
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.filters.values import column_value
from dpselect.engines.sources.files import find_files
from dpselect.engines.sources.scans.parquet import parquet_scan
from dpselect.engines.sources.scans.unions import common_type
from dpselect.errors import DataError, DpselectError, ParameterError, SourceError

UTC, D = dt.UTC, Decimal
DAY, NOW, LAST = dt.date(2026, 3, 31), dt.datetime(2026, 3, 31, 23, 30), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
# A type, values that rows have in most files, and one that few types can hold.
TYPES: dict[str, tuple[pa.DataType, list[Any], Any]] = {
    "int8": (pa.int8(), [1, -7], -128),
    "uint8": (pa.uint8(), [1, 7], 255),
    "int32": (pa.int32(), [1, -7], -(2**31)),
    "int64": (pa.int64(), [1, 2**53 + 1], 2**63 - 1),
    "uint64": (pa.uint64(), [1, 2**53 + 1], 2**64 - 1),
    "decimal(10,2)": (pa.decimal128(10, 2), [D("1"), D("7.19")], D("99999999.99")),
    "decimal(18,4)": (pa.decimal128(18, 4), [D("1"), D("7.1999")], D("99999999999999.9999")),
    "decimal(38,20)": (pa.decimal128(38, 20), [D("1"), D("7." + "1" * 20)], D("9" * 18 + "." + "9" * 20)),
    "decimal(38,0)": (pa.decimal128(38, 0), [D("1"), D("9" * 30)], D("9" * 38)),
    "float": (pa.float32(), [1.0, 0.1], float("inf")),
    "double": (pa.float64(), [1.0, 0.1], float("nan")),
    "bool": (pa.bool_(), [True, False], False),
    "text": (pa.string(), ["1", "2026-03-31"], "x" * 5000),
    "large text": (pa.large_string(), ["1", "2026-03-31"], "\U0010ffff"),
    "bytes": (pa.binary(), [b"1", b"\xff"], b"\x00" * 3000),
    "date": (pa.date32(), [DAY, dt.date(1969, 12, 31)], dt.date(9999, 12, 31)),
    "ms": (pa.timestamp("ms"), [NOW, dt.datetime(1969, 12, 31)], LAST.replace(microsecond=999000)),
    "us": (pa.timestamp("us"), [NOW, dt.datetime(1969, 12, 31)], LAST),
    "ns": (pa.timestamp("ns"), [1775000999999999999, -1], 2**63 - 1),
    "us, zone": (pa.timestamp("us", "UTC"), [NOW.replace(tzinfo=UTC)], LAST.replace(tzinfo=UTC)),
    "ns, zone": (pa.timestamp("ns", "UTC"), [1775000999999999999, -1], -(2**63) + 1),
    "time": (pa.time64("us"), [dt.time(23, 30)], dt.time(23, 59, 59, 999999)),
    "uuid": (pa.binary(16), [b"0" * 16], b"\xff" * 16),
    "nothing": (pa.null(), [None], None),
}  # fmt: skip
ROLES = ("user", "item", "where", "time", "weight", "measure", "group")
HARMLESS = [
    {"int8", "uint8", "int32", "int64", "uint64"}, {"text", "large text"}, {"ms", "us", "ns"}, {"us, zone", "ns, zone"},
    {"decimal(10,2)", "decimal(18,4)", "decimal(38,20)"}, {"bytes", "uuid"}, {"decimal(10,2)", "decimal(38,0)"},
]  # fmt: skip


def is_harmless(one: str, other: str) -> bool:
    """Do metadata alone prove that one type holds all values of both? Of decimals 38 digits must do."""
    if {one, other} == {"decimal(10,2)", "decimal(38,0)"}:
        return False
    if {one, other} == {"decimal(18,4)", "decimal(38,20)"}:
        return True
    return one == other or "nothing" in (one, other) or any({one, other} <= kinds for kinds in HARMLESS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each type a file, one with an extreme row more, and of either one with the same rows of other users."""
    folder = tmp_path_factory.mktemp("types")
    for place, (kind, usual, extreme) in enumerate(TYPES.values()):
        for name, values in (("usual", usual), ("extreme", [*usual, extreme])):
            for who, of in ((name, ""), ("other", "other-")):
                rows = {"x": pa.array(values, kind), "who": [f"{who}{n}" for n in range(len(values))]}
                rows["what"] = ["tea"] * len(values)
                pq.write_table(pa.table(rows), folder / f"{of}{place}-{name}.parquet")
    return folder


def forms(sql_type: str) -> Iterator[str]:
    """The SQL of what each role makes of the column x of a type; a role that refuses the type has none."""
    asked = parse_periods("x", "month", "2026-03..2026-04", "Europe/Berlin")
    yield from (f"list_sort(list(DISTINCT {form}))" for form in _forms(sql_type, asked))


def _inside(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 'inside' ELSE 'outside' END"


def _forms(sql_type: str, asked: Any) -> Iterator[str]:
    roles = (
        lambda: user_form("x", sql_type) if "ZONE" not in sql_type else "epoch_us(x)",
        lambda: item_form("x", sql_type),
        lambda: column_value("x", "x", filter_type(sql_type), DUCKDB_SPELLING).operand_sql,
        lambda: _inside(duckdb_row_periods(asked, {"x": sql_type}, "x").condition_in_periods),
        lambda: number_form("x", sql_type),
    )
    for role in roles:
        try:
            yield role()
        except DpselectError:
            yield "NULL"


def read(workspace: Workspace, paths: list[Path]) -> list[object] | None:
    """What each role makes of the rows of the first file; None where the footers are refused."""
    scan = parquet_scan(workspace, find_files([str(path) for path in paths]))
    try:
        sql_type = scan.types(workspace, ["x", "who"])["x"]
    except SourceError as error:
        refusal = str(error)
        sql_type = ""
    if not sql_type:
        assert all(path.name in refusal for path in paths)
        return None
    mine = scan.footers[0][1][0] if len(paths) == 1 else str(paths[0])
    assert mine == str(paths[0])
    with scan.rows(workspace, ["x", "who"]) as rows:
        kept = f"(SELECT * FROM {rows} WHERE starts_with(who, 'usual'))"
        return list(workspace.fetch(f"SELECT {', '.join(forms(sql_type))} FROM {kept}")[0])


PAIRS = [*itertools.product(TYPES, repeat=2)]


@pytest.mark.parametrize("one", TYPES)
def test_rows_read_the_same_whatever_another_file_has(files: Path, one: str) -> None:
    workspace, names = Workspace(), [*TYPES]
    mine = files / f"{names.index(one)}-usual.parquet"
    alone = read(workspace, [mine])
    assert alone is not None
    for other in TYPES:
        for extreme in ("usual", "extreme"):
            found = read(workspace, [mine, files / f"other-{names.index(other)}-{extreme}.parquet"])
            assert (found is not None) == is_harmless(one, other), (one, other)
            if found is not None and one != "nothing":
                assert found == alone, (one, other, extreme)
    workspace.close()


def ask(role: str, source: list[str], budget: dps.Budget) -> object:
    """A whole question in which the column x has a role."""
    given: dict[str, Any] = {"user": "who", "item": "what"}
    price: dict[str, Any] = {"epsilon": 30}
    if role == "user":
        return dps.Dataset(source, user="x", item="what", budget=budget).histogram(["tea"], **price)
    if role == "item":
        return dps.Dataset(source, user="who", item="x", budget=budget).top_k(9, **price, delta="1e-6")
    if role == "where":
        return dps.Dataset(source, **given, where="x IS NOT NULL", budget=budget).histogram(["tea"], **price)
    if role == "time":
        timed = dps.Dataset(source, **given, time=dps.Time("x", period="month"), budget=budget)
        return timed.during("2026-03").histogram(["tea"], **price)
    data = dps.Dataset(source, **given, budget=budget)
    if role == "weight":
        return data.top_k(1, domain=["tea"], score=dps.Total("x", at_most=9), **price)
    if role == "measure":
        return data.top_k(1, domain=["tea"], measures=[dps.Mean("x", 0, 9)], **price)
    return data.top_k(1, by=dps.By("x", max_groups_per_user=1), **price, delta="1e-6")


@pytest.mark.usefixtures("one_duckdb")
def test_a_row_of_one_file_makes_no_question_fail(files: Path) -> None:
    """Without and with the extreme row: both are answered, or both refused, and a refusal costs nothing."""
    names = [*TYPES]
    answered = 0
    for place, (one, other) in enumerate(random.Random(3).sample(PAIRS, 200)):
        role, outcomes = ROLES[place % len(ROLES)], []
        for extreme in ("usual", "extreme"):
            mine, theirs = names.index(one), names.index(other)
            paths = [str(files / f"{mine}-usual.parquet"), str(files / f"{theirs}-{extreme}.parquet")]
            budget = dps.Budget(epsilon=30, delta="1e-6")
            outcomes.append("answered")
            try:
                ask(role, paths if mine != theirs or extreme == "extreme" else paths[:1], budget)
            except (ParameterError, DataError) as error:
                outcomes[-1] = type(error).__name__
            assert budget.left == 1 or outcomes[-1] == "answered", (one, other, role)
        assert len({*outcomes}) == 1, (one, other, role, outcomes)
        answered += outcomes[0] == "answered"
        if not is_harmless(one, other):
            assert outcomes[0] != "answered", (one, other, role)
    assert answered > 20


def test_the_common_type_of_several_is_the_same_in_any_order() -> None:
    kinds = [
        "TINYINT",
        "UINTEGER",
        "UBIGINT",
        "HUGEINT",
        "UHUGEINT",
        "DECIMAL(10,2)",
        "DECIMAL(38,30)",
        "VARCHAR",
        NULL_TYPE,
    ]
    kinds += ["TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE", "DATE", "DOUBLE", "FLOAT", "BLOB"]
    for some in itertools.combinations(kinds, 3):
        assert len({common_type(order) for order in itertools.permutations(some)}) == 1
    assert counted_type(common_type(["UBIGINT", "TINYINT"]) or "").name == "HUGEINT"
    assert common_type(["UHUGEINT", "TINYINT"]) is None
    assert common_type(["DECIMAL(10,2)", "DECIMAL(38,30)"]) == "DECIMAL(38,30)"
    assert common_type(["DECIMAL(10,2)", "DECIMAL(38,31)"]) is None
