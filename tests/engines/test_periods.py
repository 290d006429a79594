"""Periods on every engine: a row's period is that of plain Python, and a user in one period is the user everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect._ground.domain import Listed
from dpselect._ground.periods import Periods, parse_periods
from dpselect.aggregates.value_counts import Grid
from dpselect.engines import Engine
from dpselect.engines.port import PerUser
from dpselect.engines.row_periods import RowPeriods
from dpselect.engines.sources.scans.declarations import parse_type
from dpselect.errors import ParameterError
from dpselect.flat import dataset_of
from dpselect.texts.tokenizer import Tokenizer
from tests.engines.every_engine import Held, Hold, judge
from tests.engines.test_conformance import kept as kept_of
from tests.engines.test_conformance import named, pairs
from tests.engines.timed_rows import ITEMS, TIMED, counts_of, period_of, rows_of, sets_of

BERLIN, SANTIAGO, TOKYO = "Europe/Berlin", "America/Santiago", "Asia/Tokyo"
EVERY_MONTH = [f"{year}-{month:02}" for year in (1969, 2024, 2026, 2027) for month in range(1, 13)]

# The column of times, the sort of period, which ones, and the time zone.
CASES: dict[str, tuple[str, str, list[str], str]] = {
    "months of moments": ("zoned", "month", EVERY_MONTH, BERLIN),
    "days with other midnights": ("zoned", "day", ["2026-04-03..2026-04-05", "2026-09-04..2026-09-08"], SANTIAGO),
    "weeks of clocks": ("naive", "week", ["2024-W52", "2025-W01", "2026-W40..2026-W53", "2027-W01"], TOKYO),
    "quarters of days": ("day", "quarter", ["2026-Q1..2027-Q1"], SANTIAGO),
    "moments, with many gaps": ("zoned", "day", [f"2026-{n:02}-{n // 3 % 2 * 24 + 1:02}" for n in range(1, 13)], "UTC"),
    "one month": ("zoned", "month", ["2026-10"], TOKYO),
}  # fmt: skip

WRITTEN: dict[str, tuple[str, str, list[str], str]] = {
    "years of texts": ("written", "year", ["1969", "2024", "2026..2027", "9998"], BERLIN),
    "days of texts": ("written", "day", ["2026-10-01..2026-10-31"], "UTC"),
    "texts, with gaps": ("written", "day", ["2026-10-01", "2026-10-05", "2026-10-31", "2027-01-03"], BERLIN),
}
"""The same of texts, once their column is declared."""
CLOCKS = {"written": parse_type("written", "TIMESTAMP")}


def periods(case: str) -> Periods:
    """The periods of a case."""
    column, sort, during, timezone = (CASES | WRITTEN)[case]
    return parse_periods(column, sort, during, timezone)


def right(case: str, user: str = "user", item: str = "item", rows: pa.Table = TIMED) -> list[tuple[object, ...]]:
    """Who has what in which period."""
    column, sort, _, timezone = (CASES | WRITTEN)[case]
    return rows_of(rows, (user, item, column), sort, timezone, periods(case).names)


def check_counts(engine: Engine, case: str, user: str = "user") -> None:
    """All users in one period of every item."""
    assert pairs(engine.top(100)) == counts_of(right(case, user))


@pytest.mark.parametrize("case", CASES)
def test_the_period_of_every_row(hold: Hold, case: str) -> None:
    assert len(right(case)) > 5
    with hold(TIMED).engine(periods=periods(case)) as engine:
        check_counts(engine, case)


@pytest.mark.parametrize("case", WRITTEN)
def test_the_period_of_every_text(case: str) -> None:
    assert len(right(case)) > 5
    with judge(TIMED).engine(periods=periods(case), types=CLOCKS) as engine:
        check_counts(engine, case)


def test_texts_that_nobody_declared_tell_no_time(hold: Hold) -> None:
    with pytest.raises(ParameterError, match="types must declare column 'written', which is text, to be used as times"):
        hold(TIMED).engine(periods=periods("days of texts"))


@pytest.mark.parametrize("user", ["real", "zoned"])
def test_users_of_other_types(hold: Hold, user: str) -> None:
    with hold(TIMED).engine(user, periods=periods("quarters of days")) as engine:
        check_counts(engine, "quarters of days", user)


def check_everywhere(held: Held, case: str = "quarters of days") -> None:
    """A user in one period is the user in bounds, values, sets, weights and texts."""
    rows = right(case)
    theirs = sets_of(rows)
    people = theirs.total()
    with held.engine(periods=periods(case), max_items_per_user=2) as engine:
        assert sum(kept_of(engine).values()) == sum(min(2, len(items)) * users for items, users in theirs.items())
    with held.engine(periods=periods(case)) as engine:
        expected = counts_of(rows)
        assert pairs(engine.grouped()) == expected
        assert dict(pairs(engine.grouped(Listed((*ITEMS, "nobody's"))))) == {"nobody's": 0, **dict(expected)}
        assert Counter(map(frozenset, named(engine.contributions()))) == theirs
        found = engine.pairs()
        lengths = dict(zip(*(one.tolist() for one in found.user_set_sizes(2)), strict=True))
        assert lengths == Counter(min(2, len(items)) for items in theirs.elements())
        weighed = found.weigh(np.array([1]), b"k" * 16)  # of each user one item
        assert (weighed.weights * weighed.sizes).sum() == people
        tokens = engine.tokens(Tokenizer()).sets()
        assert Counter(map(frozenset, named(tokens))) == theirs
    check_values(held, case)


def check_gains(held: Held, case: str = "quarters of days") -> None:
    """How many more users in one period an item has in some quarters than in others, which lie before and after."""
    column, sort, _, timezone = (CASES | WRITTEN)[case]
    names, few = periods(case).names, "number < 2"
    asked = parse_periods(column, sort, [names[1], names[4]], timezone).compared_with([names[2], names[0]])
    rows: list[tuple[Any, object, Any]] = [row for row in right(case) if row[2] < 2]  # type: ignore[operator]
    now, before = (
        Counter(dict(counts_of([row for row in rows if row[0][1] in some.names])))
        for some in (asked.current, asked.baseline)
    )
    gains = now - before  # those above 0
    assert 0 < len(gains) < len(now)
    domain = Listed((*ITEMS, "nobody's"))
    with held.engine(periods=asked, where=few) as engine:
        assert Counter(dict(pairs(engine.top(100)))) == gains
        assert Counter(dict(pairs(engine.grouped()))) == gains
        assert dict(pairs(engine.grouped(domain))) == {name: gains[name] for name in domain.items}
        found = engine.pairs()
        weighed = found.weigh(np.array([1]), b"k" * 16)  # of each user one item, in the quarters that are asked about
        people = {row[0] for row in rows if row[0][1] in asked.current.names}
        assert (weighed.weights * weighed.sizes).sum() == len(people)
        while weighed.sizes.sum():
            found.release(np.arange(weighed.sizes.sum()))
            weighed = found.weigh(np.array([1]), b"k" * 16)
        users = dict(zip(found.names(), found.released_item_counts(9, b"k" * 16).tolist(), strict=True))
        assert users == {name: gains[name] for name in now}
    with held.engine(periods=asked, where=few, max_items_per_user=9, split="|") as engine:
        assert Counter(dict(pairs(engine.top(100)))) == gains
    since_nobody = parse_periods(column, sort, [names[1], names[4]], timezone).compared_with(["1999-Q1", "1999-Q2"])
    with held.engine(periods=since_nobody, where=few, max_items_per_user=1) as engine:
        assert sum(kept_of(engine).values()) == len(people)


def test_what_items_gained(hold: Hold) -> None:
    check_gains(hold(TIMED))


def check_values(held: Held, case: str) -> None:
    """One value of every user in one period."""
    values: dict[object, list[int]] = {}
    for user, _, number in right(case, item="number"):
        values.setdefault(user, []).append(int(number))  # type: ignore[call-overload]
    grid = Grid.parse((0, 13), 1)
    with held.engine(item="number", periods=periods(case)) as engine:
        for which, one in ((PerUser.MIN, min), (PerUser.MAX, max)):
            at = engine.users_at(grid, which)
            assert dict(zip(at.indices.tolist(), at.users.tolist(), strict=True)) == Counter(map(one, values.values()))
        assert engine.users_at(grid, PerUser.RANDOM).users.sum() == len(values)
        assert engine.users_at(grid, PerUser.MEAN).users.sum() == len(values)


def test_a_user_in_one_period_is_the_user_everywhere(hold: Hold) -> None:
    check_everywhere(hold(TIMED))


ONE_QUARTER = ["2026-Q4"]
IN_IT = pa.array([period_of(day, "quarter", "UTC") in ONE_QUARTER for day in TIMED.column("day").to_pylist()])
PARTS = {"all": TIMED, "one quarter": TIMED.filter(IN_IT), "the others": TIMED.filter(pc.invert(IN_IT))}


def test_what_a_user_keeps_in_one_period_hangs_on_no_other(hold: Hold) -> None:
    """Of the rows of a quarter the same is kept whether the others are there or not."""
    asked = periods("quarters of days")
    kept: dict[str, Counter[object]] = {}
    for name, rows in PARTS.items():
        with hold(rows).engine(periods=asked, max_items_per_user=1) as engine:
            kept[name] = Counter(kept_of(engine))
    assert min(len(one) for one in kept.values()) > 0
    assert kept["all"] == kept["one quarter"] + kept["the others"]


def test_one_period_is_a_filter(hold: Hold) -> None:
    asked = periods("one month")
    plain = "zoned >= '2026-09-30 15:00' AND zoned < '2026-10-31 15:00'"
    for more in ({}, {"max_items_per_user": 1}):
        found = []
        for how in ({"periods": asked}, {"where": plain}):
            with hold(TIMED).engine(**how, **more) as engine:
                found.append(kept_of(engine))
        assert found[0] == found[1] != {}


def test_where_and_periods_hold_together(hold: Hold) -> None:
    case = "quarters of days"
    with hold(TIMED).engine(periods=periods(case), where="item <> 'x' OR number < 4") as engine:
        kept = [row for row in right(case) if row[1] != "x" or row[2] < 4]  # type: ignore[operator]
        assert pairs(engine.top(100)) == counts_of(kept) != counts_of(right(case))


FAR = ["infinity", "-infinity", "0044-03-15 (BC)", "99999-01-01", "2026-10-05", None]


def _far_postgres(address: str) -> tuple[object, str]:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute('CREATE TABLE t ("user" text, item text, day date, naive timestamp, zoned timestamptz)')
        for n, text in enumerate(FAR):
            value = None if text is None else text.replace("(BC)", "BC")
            connection.execute(
                "INSERT INTO t VALUES (%s, 'x', %s::date, %s::timestamp, %s::timestamptz)",
                (f"u{n}", value, value, value),
            )
    return address, "t"


def _far_duckdb() -> object:
    connection = duckdb.connect()
    listed = ", ".join("NULL" if text is None else f"'{text}'" for text in FAR)
    connection.execute(
        f"CREATE TABLE t AS SELECT 'u' || x AS \"user\", 'x' AS item, x::DATE AS day, x::TIMESTAMP AS naive, "
        f"x::TIMESTAMPTZ AS zoned FROM (SELECT unnest([{listed}]) AS x)"
    ).fetchall()
    return connection


@pytest.mark.parametrize("where", ["duckdb", "postgres"])
@pytest.mark.parametrize("column", ["day", "naive", "zoned"])
def test_times_beyond_every_calendar(where: str, column: str, request: pytest.FixtureRequest) -> None:
    """They are in no period, and make nothing fail."""
    if where == "postgres":
        source, table = _far_postgres(request.getfixturevalue("new_database")())
    else:
        source, table = _far_duckdb(), "t"
    for during in ("2026-10", "1000-01..1000-03", ["2026-09..2026-10", "9998-12"]):
        with Held(where, source, table).engine(periods=parse_periods(column, "month", during, BERLIN)) as engine:
            assert pairs(engine.top(9)) == ([] if during[0] == "1" else [("x", 1)])


def test_all_days_of_a_year_of_texts() -> None:
    """The time is read once, so that what is written stays short."""
    asked = parse_periods("written", "day", "2026-01-01..2027-05-15", "UTC")
    assert len(asked.all) == 500
    with judge(TIMED).engine(periods=asked, types=CLOCKS) as engine:
        assert pairs(engine.top(10)) == counts_of(
            rows_of(TIMED, ("user", "item", "written"), "day", "UTC", asked.names)
        )


# ---- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["number", "real"])
def test_a_column_that_tells_no_time(hold: Hold, column: str) -> None:
    with pytest.raises(ParameterError, match="time must be a column of dates or timestamps, got a column"):
        hold(TIMED).engine(periods=parse_periods(column, "month", "2026-10", "UTC"))


def test_a_column_that_is_not_there(hold: Hold) -> None:
    with pytest.raises(ParameterError, match="time must be a column of the source, got 'zone'"):
        hold(TIMED).engine(periods=parse_periods("zone", "month", "2026-10", "UTC"))


def test_moments_whose_zone_is_lost() -> None:
    rows = {name: TIMED.column(name).to_pylist() for name in ("user", "item", "naive")}
    with pytest.raises(ParameterError, match="timezone must be UTC if a column of times has no declared type"):
        Held("duckdb", rows, None).engine(periods=parse_periods("naive", "month", "2026-10", BERLIN))


# ---- broken twins -----------------------------------------------------------------------------------------


def refused(check: Callable[[], None]) -> bool:
    try:
        check()
    except AssertionError:
        return True
    return False


def test_the_user_of_all_periods_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the periods, and a user of them all in bounds and numbers."""
    held = judge(TIMED)
    monkeypatch.setattr(RowPeriods, "has_several", False)
    assert refused(lambda: check_everywhere(held))
    assert refused(lambda: check_values(held, "quarters of days"))
    with held.engine(periods=periods("quarters of days")) as engine:
        assert refused(lambda: check_counts(engine, "quarters of days"))


def test_gaps_that_count_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = "moments, with many gaps"
    assert len(periods(case).runs) == len(periods(case).all) == 12
    monkeypatch.setattr(RowPeriods, "where_in_no_gap", "")
    with judge(TIMED).engine(periods=periods(case)) as engine:
        assert refused(lambda: check_counts(engine, case))


def test_the_clock_of_utc_for_that_of_a_zone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Periods.midnight
    monkeypatch.setattr(Periods, "midnight", lambda self, day, **_: inner(self, day, in_utc=False))
    with judge(TIMED).engine(periods=periods("months of moments")) as engine:
        assert refused(lambda: check_counts(engine, "months of moments"))


# ---- ends of what the engine converts ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked", [{"time": "at", "period": "month", "during": "2026-09..2026-10"}, {"where": "at > '2026-01-01'"}]
)
@pytest.mark.parametrize("odd", [-(2**63), -(2**63) + 2, -9223372022400000001, -9223372022400000000, -(2**63) + 1])
def test_a_moment_before_the_first_that_the_engine_converts_makes_no_question_fail(
    tmp_path: Path, odd: int, asked: dict[str, str]
) -> None:
    """Parquet holds any number of microseconds; the last one here is -infinity."""
    moments = pa.array([odd, 1788566400000000], pa.int64()).cast(pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"user": ["odd", "ann"], "item": ["tea", "tea"], "at": moments}), tmp_path / "x.parquet")
    with dataset_of(tmp_path / "x.parquet", user="user", item="item", **asked).engine() as engine:
        assert engine.top(2).counts.tolist() == [1]
    with dps.Dataset(tmp_path / "x.parquet", user="user", item="item", where="at < '2026-01-01'").engine() as engine:
        before = engine.top(2).counts.tolist()
    assert before == ([1] if odd in (-9223372022400000000, -(2**63) + 1) else [])


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_moments_of_nanoseconds_with_a_zone(kind: str) -> None:
    """As pandas and polars make them: to the nearest microsecond, and the ends of their range make nothing fail."""
    nanoseconds = [-(2**63) + 1, 1790805600000000000, 1790805599999999000, 1793487600000000000, 2**63 - 1]
    table = pa.table(
        {
            "user": ["before", "first", "late", "next", "after"],
            "item": ["tea"] * 5,
            "at": pa.array(nanoseconds, pa.int64()).cast(pa.timestamp("ns", "UTC")),
        }
    )
    source = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "arrow": lambda: table}[kind]()
    for during, users in (("2026-10", 1), ("2026-09..2026-10", 2), ("2026-09, 2026-11".split(", "), 2)):
        times = {"time": "at", "period": "month", "during": during, "timezone": BERLIN}
        with dataset_of(source, user="user", item="item", **times).engine() as engine:
            assert engine.top(2).counts.tolist() == [users]
