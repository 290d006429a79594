"""Corners of prepared data: names that look like ours, columns with two parts to play, rows that are none."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect._ground.periods import parse_periods
from dpselect.aggregates.measures import Sum
from dpselect.aggregates.totals import Totals
from dpselect.dataset import Dataset
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.prepared.scan import unused_name
from dpselect.engines.values import TYPE_MARK
from dpselect.flat import prepare
from tests.slow.engines.test_prepared import answers, prepared

VALUES = {"user": [1, 2, 3, 1, 2, 4, 4], "item": [5, 6, 5, 7, 7, 5, 0], "kept": [1, 2, 0, 1, 2, 1, 2]}
DAYS = [datetime.date(2026, month, 1) for month in (1, 1, 2, 3, 1, 2, 2)]
EARLY = datetime.datetime(2026, 1, 5)
TIMED = pa.table(
    {
        "user": [1, 1, 1, None, 2],
        "item": ["a", "a", "a", "b", "b"],
        "minutes": [1, 1, 1, 1, 2],
        "at": [EARLY, EARLY, EARLY, EARLY, datetime.datetime(2026, 2, 3)],
    }
)


@pytest.mark.parametrize(
    ("role", "name"),
    [
        ("item", "I"),
        ("item", "n"),
        ("item", "number"),
        ("item", TYPE_MARK + "u"),
        ("kept", "c"),
        ("kept", TYPE_MARK + "u"),
    ],
)
def test_columns_by_names_of_ours(tmp_path, role, name):
    called = {"user": "somebody", "item": "something", "kept": "otherwise"} | {role: name}
    rows = pa.table({called[one]: values for one, values in VALUES.items()})
    rules = {"user": called["user"], "item": called["item"], "keep": called["kept"]}
    source, ours = prepared(rows, tmp_path, **rules)
    for where in (None, f"{quoted(called['item'])} >= 5", f"{quoted(called['kept'])} >= 1"):
        asked = {"user": called["user"], "item": called["item"], "where": where}
        assert answers(ours, **asked) == answers(source, **asked)


def test_a_name_of_ours_is_none_that_a_column_or_its_values_have():
    assert unused_name("u", ["user"]) == TYPE_MARK + "u"
    for taken in (["u"], [TYPE_MARK + "U"], [TYPE_MARK + "u", TYPE_MARK * 3 + "u"]):
        own = unused_name("u", taken).lower()
        assert own not in {one.lower() for name in taken for one in (name, TYPE_MARK + name)}


@pytest.mark.parametrize(
    "asked",
    [
        {"item": "user"},
        {"item": "day"},
        {"item": ("item", "day")},
        {"item": "item", "by": ("day",)},
        {"item": "item", "totals": Totals.parse("user", 10)},
        {"item": "item", "measures": (Sum("user", 0, 10),)},
        {"item": "item", "periods": parse_periods("day", "month", "2026-01", "UTC")},
        {"item": "item", "periods": parse_periods("day", "month", ["2026-01..2026-02"], "UTC")},
    ],
    ids=lambda asked: " ".join(map(str, asked)),
)
def test_columns_of_users_may_be_asked_for(tmp_path, asked):
    key = ("user", "day")
    source, ours = prepared(pa.table(VALUES | {"day": DAYS}), tmp_path, user=key, item="item")
    assert answers(ours, user=key, **asked) == answers(source, user=key, **asked)


@pytest.mark.parametrize("timed", [False, True], ids=["at once", "by month"])
def test_no_rows_are_added(tmp_path, timed):
    rules = {"time": "day", "period": "month"} if timed else {}
    rows = pa.table(VALUES | {"day": DAYS})
    source, ours = prepared(rows, tmp_path, user="user", item="item", keep="kept", **rules)
    before = [answers(ours, item="item", where=where) for where in (None, "kept > 1")]
    pq.write_table(rows.slice(0, 0), tmp_path / "none.parquet")
    prepare(tmp_path / "none.parquet", to=ours, add=True)
    assert [answers(ours, item="item", where=where) for where in (None, "kept > 1")] == before
    assert before[0] == answers(source, item="item")


def test_inspecting(tmp_path):
    _, ours = prepared(TIMED, tmp_path, user="user", item="item", keep="minutes")
    rows = {"rows: 4", "rows without an item: 0", "users: 2", "items: 2", "pairs of a user and an item: 2"}
    assert rows <= set(Dataset(ours).inspect().findings)
