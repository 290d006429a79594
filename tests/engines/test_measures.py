"""Measures of items that came back: every engine adds up the same integers, and finds the items by their labels."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect._ground.domain import UNSEEN, Listed, Size, Span
from dpselect.aggregates.measures import Mean, Sum
from dpselect.engines import Engine
from dpselect.errors import ParameterError
from tests.engines import typed_rows
from tests.engines.every_engine import Hold
from tests.engines.measured_rows import ALL, Row, judged, told
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import pairs
from tests.engines.test_totals import ROWS, SHAPES, TABLES
from tests.engines.weighed_rows import table

KEY = bytes(range(16))
ONE = [Sum("w", 0, 1)]  # of w = 1 everywhere: as many as there are users
ITEMS = ["x", "zero", "tie b", "nobody's", "", "once"]


def users_of(engine: Engine, items: Sequence[object]) -> list[int]:
    return [row[0].users for row in engine.measured(items)]


# ---- on every engine --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_sums_and_means(hold: Hold, name: str) -> None:
    with hold(TABLES[name]).engine(measures=ALL) as engine:
        assert told(engine.measured(ITEMS)) == judged(ALL, ROWS[name], ITEMS)


@pytest.mark.parametrize("item", typed_rows.VALUES)
def test_items_of_every_type_are_found_by_their_labels(hold: Hold, item: str) -> None:
    """Each item that comes back has as many users as were counted: whatever its type, no label is lost on the way."""
    rows = typed_rows.AWKWARD.append_column("w", pa.array([1.0] * len(typed_rows.AWKWARD)))
    with hold(rows).engine(item=item, measures=ONE) as engine:
        counted = pairs(engine.top(1000))
        assert len(counted) > 1
        assert users_of(engine, [label for label, _ in counted]) == [users for _, users in counted]


NUMBERED: list[Row] = [(f"u{n % 7}", str(n % 4), n / 3) for n in range(40)] + [("u1", "01", 1.0), ("u2", "x", 1.0)]
NUMBERS = table(NUMBERED, pa.float64())


def test_domains_and_items_that_were_never_seen(hold: Hold) -> None:
    with hold(NUMBERS).engine(measures=ALL) as engine:
        domain, items = Listed(("3", "x", "y")), ["y", "x", "3"]
        engine.check(domain)
        assert told(engine.measured(items, domain)) == judged(ALL, NUMBERED, items)
        assert told(engine.measured(["1", UNSEEN], Size(50))) == [*judged(ALL, NUMBERED, ["1"]), [(0, 0)] * len(ALL)]
        assert told(engine.measured([UNSEEN], Size(50))) == [[(0, 0)] * len(ALL)]


def test_numbers_of_a_range_that_the_column_cannot_hold(hold: Hold) -> None:
    """They have no users, and may come back: an answer must not fail by what it is."""
    rows = pa.table({"user": ["a", "b"], "item": pa.array([-3, 7], pa.int32()), "w": [1.0, 1.0]})
    with hold(rows).engine(measures=ONE) as engine:
        domain = Span(-(2**63), 2**63)
        engine.check(domain)
        found = engine.measured([-(2**63), -3, 7, 2**31, 2**63 - 1], domain)
        assert [row[0].users for row in found] == [0, 1, 1, 0, 0]


def test_a_bound_keeps_some_of_the_items_that_came_back(hold: Hold) -> None:
    """A ranking is of all users; of the winners everybody keeps two, and counts and measures are of the same users."""
    draw = random.Random(3)
    rows = [(f"u{draw.randrange(30)}", f"i{draw.randrange(9)}", 1.0) for _ in range(300)]
    held = hold(table(rows, pa.float64()))
    every, some = [f"i{n}" for n in range(9)], Listed(("i1", "i4", "i5", "i8"))
    of_all = Counter(item for _, item in {(user, item) for user, item, _ in rows})
    with held.engine(measures=ONE, max_items_per_user=2) as engine:
        assert dict(pairs(engine.top(1000))) == of_all
        engine.check(some)
        assert dict(pairs(engine.grouped(some))) == {item: of_all[item] for item in some.items}
        for items, domain in ((every, None), (every[:4], None), (["i8", "i1"], some), (["i5", "nobody's"], None)):
            kept = engine.scores_of(items, domain)
            assert kept == [row[0].users for row in engine.measured(items, domain)]
            had = Counter(user for user, item in {(user, item) for user, item, _ in rows} if item in items)
            assert sum(kept) == sum(min(2, number) for number in had.values())
            assert all(number <= of_all[item] for item, number in zip(items, kept, strict=True))
        assert engine.scores_of([UNSEEN, "i1"]) == [0, of_all["i1"]]
        assert told(engine.measured(every, bounded=False)) == judged(ONE, rows, every)
    with held.engine() as engine:
        assert engine.scores_of(every) == [of_all[item] for item in every]


def test_columns_that_hold_no_numbers_are_refused(hold: Hold) -> None:
    for column in ("user", "item"):
        with pytest.raises(ParameterError, match=f"types must declare column '{column}'"):
            hold(TABLES["double"]).engine(measures=[Mean(column, 0, 1)])
    with pytest.raises(ParameterError, match="measures must be a column of the source, got 'ww'"):
        hold(TABLES["double"]).engine(measures=[Mean("ww", 0, 1)])


# ---- what one user can do ---------------------------------------------------------------------------------


def test_one_user_moves_few_items_and_by_no_more_than_the_bounds():
    draw, measures = random.Random(5), [Sum("w", -2, "3.5", unit="0.5"), Mean("w", 0, 1)]
    values = [0.2, 0.5, 1, 4, -1, -9, None, float("nan"), float("inf")]
    rows = [(f"u{draw.randrange(9)}", f"i{draw.randrange(6)}", draw.choice(values)) for _ in range(120)]
    items = [f"i{n}" for n in range(6)]

    def found(users: set[str]) -> list[list[tuple[int, int]]]:
        some = [row for row in rows if row[0] in users]
        with DuckDBEngine(
            table(some, pa.float64()), user="user", item="item", measures=measures, max_items_per_user=3, key=KEY
        ) as engine:
            return told(engine.measured(items))

    everybody = {row[0] for row in rows}
    whole, reached = found(everybody), 0
    for one in everybody:
        moved = 0
        for before, after in zip(found(everybody - {one}), whole, strict=True):
            moved += before != after
            for (total, users), (other, more), measure in zip(before, after, measures, strict=True):
                assert abs(other - total) <= measure.sensitivity
                assert users <= more <= users + 1
                reached = max(reached, abs(other - total) if measure is measures[0] else 0)
        assert moved <= 3
    assert reached == measures[0].sensitivity == 7


@pytest.mark.parametrize("winners", [["i0", "i1", "i2", "i3"], ["i5", "i2"], [f"i{n}" for n in range(6)]])
@pytest.mark.parametrize("kept", ["of the winners", "all"])
def test_one_user_moves_few_counts_of_the_winners(winners: list[str], kept: str) -> None:
    """Each by one and upwards, with any key; numbers of all users, with noise for so few, would be refused."""
    draw, most = random.Random(7), 2
    rows = [(f"u{draw.randrange(12)}", f"i{draw.randrange(6)}", 1.0) for _ in range(60)]
    everybody, largest = sorted({row[0] for row in rows}), 0
    for key in (b"one", b"another"):

        def found(users: list[str], key: bytes = key) -> list[int]:
            some = table([row for row in rows if row[0] in users], pa.float64())
            bound = most if kept == "of the winners" else None
            with DuckDBEngine(some, user="user", item="item", max_items_per_user=bound, key=key) as engine:
                return list(engine.scores_of(winners))

        whole = found(everybody)
        for one in everybody:
            before = found([other for other in everybody if other != one])
            moved = [more - less for less, more in zip(before, whole, strict=True)]
            assert set(moved) <= {0, 1}
            largest = max(largest, sum(moved))
    assert (largest == most) if kept == "of the winners" else (largest > most or len(winners) == most)


# ---- files, frames and objects ----------------------------------------------------------------------------


ODD = [
    1,
    True,
    1.0,
    "1",
    2**70,
    Decimal("1.10"),
    b"\x01",
    datetime.date(2024, 1, 1),
    0.5,
    "",
    "\x01",
    "\x00",
    "\uec011",
]


def test_values_without_a_declared_type() -> None:
    """Items are found by their labels, and numbers among other values are read by themselves."""
    users = [f"u{n}" for n, _ in enumerate(ODD * 4)]
    with DuckDBEngine(
        {"user": users, "item": [one for one in ODD for _ in range(4)], "w": [1] * len(users)},
        user="user", item="item", measures=ONE, key=KEY,
    ) as engine:  # fmt: skip
        counted = pairs(engine.top(99))
        assert len(counted) >= len(ODD) - 2
        assert users_of(engine, [label for label, _ in counted]) == [users for _, users in counted]
    values = [None, "5", 5, 2.5, True, Decimal("1.5"), 10**400, -(10**400), float("nan"), "x", b"1", -7]
    rows = [(f"u{n}", "x", value) for n, value in enumerate(values)]
    columns = dict(zip(("user", "item", "w"), map(list, zip(*rows, strict=True)), strict=True))
    with DuckDBEngine(columns, user="user", item="item", measures=ALL, key=KEY) as engine:
        numbers = [(*row[:2], None if isinstance(row[2], str) else row[2]) for row in rows]
        assert told(engine.measured(["x"])) == judged(ALL, numbers, ["x"])


TYPES = {
    "DECIMAL(38, 10)": ["1234567890123456789012345678.0000000001", "0.0000000001", "-1.5"],
    "UHUGEINT": [str(2**128 - 1), str(2**127), "0"],
    "HUGEINT": [str(-(2**127) + 1), str(2**127 - 1), "7"],
    "BIGNUM": [str(10**60), "-1", "0"],
    "UUID": ["6f9619ff-8b86-d011-b42d-00cf4fc964ff", "00000000-0000-0000-0000-000000000000"],
    "BIT": ["0101", "1", "10"],
    "TIMESTAMP_NS": ["2024-01-01 00:00:00.123456789", "1999-12-31 23:59:59", "2024-01-01 00:00:00"],
    "TIMESTAMP_S": ["0001-01-01 00:00:00", "9999-12-31 23:59:59"],
    "TIMESTAMP_MS": ["2024-01-01 00:00:00.123", "2024-01-01 00:00:00"],
    "TIMESTAMPTZ": ["2024-01-01 00:00:00+14", "9999-12-31 23:59:59.999999+00", "2024-01-01 00:00:00+00"],
    "TIME": ["00:00:00", "23:59:59.999999"],
    "ENUM('b', 'a', '')": ["b", "a", ""],
    "JSON": ['{"a": 1}', "1", '"1"'],
    "FLOAT": ["0.1", "-0.0", "3.4e38", "16777216"],
    "BLOB": ["abc", "", "\\x00\\xFF"],
}


@pytest.mark.parametrize("sql_type", TYPES)
def test_items_of_every_type_of_duckdb(sql_type: str, tmp_path: Path) -> None:
    connection = duckdb.connect(tmp_path / "t.duckdb")
    connection.execute(f'CREATE TABLE t ("user" INTEGER, item {sql_type}, w INTEGER)')
    for place, text in enumerate(TYPES[sql_type]):
        for user in range(place + 1):
            connection.execute(f"INSERT INTO t SELECT ?, CAST(? AS {sql_type}), 1", [user, text])
    connection.close()
    with DuckDBEngine(tmp_path / "t.duckdb", table="t", user="user", item="item", measures=ONE, key=KEY) as engine:
        counted = pairs(engine.top(99))
        assert len(counted) == len(TYPES[sql_type])
        assert users_of(engine, [label for label, _ in counted]) == [users for _, users in counted]


def test_numbers_in_text_files_count_as_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    written = ["5", " 2.5 ", "x", "", "1e400", "-3", "NaN", "0x10"]
    path.write_text("user,item,w\n" + "".join(f"u{n},x,{text}\n" for n, text in enumerate(written)))
    rows = [(f"u{n}", "x", text) for n, text in enumerate(written)]
    data = dps.Dataset(path, user="user", item="item", types={"w": "DOUBLE"})
    rows = [(*row[:2], None if row[2] == "1e400" else row[2]) for row in rows]  # more than any double
    with data.engine(measures=ALL) as engine:
        assert told(engine.measured(["x"])) == judged(ALL, rows, ["x"])


def test_the_order_of_rows_changes_nothing() -> None:
    measures, rows = [Sum("w", -9, 9), Mean("w", 0, 1)], [(f"u{n % 3}", "x", n * 0.1 - 1) for n in range(60)]
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        with DuckDBEngine(table(rows, pa.float64()), user="user", item="item", measures=measures, key=KEY) as engine:
            found.append(told(engine.measured(["x"])))
    assert found == [judged(measures, rows, ["x"])] * 3
