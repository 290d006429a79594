"""Scores by weights: every engine adds up the same integers, whatever stands in a row and in which order rows come."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect._ground.domain import Listed, Span
from dpselect.aggregates.totals import Totals
from dpselect.engines.sources.scans.declarations import parse_type
from dpselect.errors import ParameterError
from tests.engines.every_engine import Hold
from tests.engines.measured_rows import number
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import kept, pairs
from tests.engines.weighed_rows import AWKWARD, Weighed, given, scores, table, typed

KEY = bytes(range(16))
MINUTES = Totals.parse("w", 60)
CAPS = [
    MINUTES,
    Totals.parse("w", 3),
    Totals.parse("w", "2.5", "0.1"),
    Totals.parse("w", 60, "1/7"),
    Totals.parse("w", 10**8, 10**8),
]
SHAPES = {
    "double": pa.float64(),
    "float": pa.float32(),
    "whole": pa.int64(),
    "small": pa.int32(),
    "decimal": pa.decimal128(12, 3),
}
ROWS = {name: typed(of) for name, of in SHAPES.items()}
TABLES = {name: table(ROWS[name], of) for name, of in SHAPES.items()}


def test_the_judge_says_what_stands_beside_the_rows():
    units = {user: items.get("x", 0) for user, items in given(AWKWARD, MINUTES).items()}
    assert [units.get(user, 0) for user in "abcdefghijklm"] == [1, 0, 4, 60, 60, 2, 3, 7, 0, 60, 2, 2, 0]
    assert [label for label, _ in scores(AWKWARD, MINUTES)] == ["x", "once", "y", "", "tie a", "tie b", "tie c"]


# ---- on every engine --------------------------------------------------------------------------------------


@pytest.mark.parametrize("totals", CAPS, ids=lambda totals: f"{totals.at_most} by {totals.unit}")
def test_sums_and_ties(hold: Hold, totals: Totals) -> None:
    held, expected = hold(TABLES["double"]), scores(AWKWARD, totals)
    with held.engine(totals=totals) as engine:
        assert pairs(engine.top(1000)) == expected
        if totals is MINUTES:
            assert pairs(engine.grouped()) == expected
            assert pairs(engine.top(5)) == expected[:5]  # the last of them is one of two of one sum


@pytest.mark.parametrize("name", SHAPES)
def test_types_of_weights(hold: Hold, name: str) -> None:
    with hold(TABLES[name]).engine(totals=Totals.parse("w", 60, "0.5")) as engine:
        assert pairs(engine.top(1000)) == scores(ROWS[name], Totals.parse("w", 60, "0.5"))


def test_domains(hold: Hold) -> None:
    expected = dict(scores(AWKWARD, MINUTES))
    listed = ("x", "tie b", "zero", "nobody's", "")
    with hold(TABLES["double"]).engine(totals=MINUTES) as engine:
        assert dict(pairs(engine.grouped(Listed(listed)))) == {item: expected.get(item, 0) for item in listed}


NUMBERED: list[Weighed] = [(f"u{n}", str(n % 4), n / 3) for n in range(40)]
NUMBERS = table(NUMBERED, pa.float64())
WHOLE_ITEMS = NUMBERS.set_column(1, "item", NUMBERS.column("item").cast(pa.int64()))


def test_a_range_as_the_domain(hold: Hold) -> None:
    expected = dict(scores(NUMBERED, MINUTES))
    with hold(WHOLE_ITEMS).engine(totals=MINUTES) as engine:
        found = engine.grouped(Span(1, 6))
        assert sorted(found.counts.tolist()) == sorted({0, *(expected[str(n)] for n in (1, 2, 3))})


def test_items_without_a_unit_use_up_no_bound(hold: Hold) -> None:
    """Each user keeps one item: of few, any; of the others always the one to which they give most, for all are 0."""
    with hold(TABLES["double"]).engine(totals=Totals.parse("w", 60, 60), max_items_per_user=1) as engine:
        found = kept(engine)
    units = given(AWKWARD, Totals.parse("w", 60, 60))
    assert all(len(items) == 1 for user, items in units.items() if user != "a")
    assert sum(found.values()) == len(units)
    with hold(TABLES["double"]).engine(totals=MINUTES, max_items_per_user=2) as engine:
        bounded = kept(engine)
    whole = dict(scores(AWKWARD, MINUTES))
    assert all(n <= whole[item] for item, n in bounded.items())
    assert sum(bounded.values()) < sum(whole.values())


def test_columns_that_hold_no_numbers_are_refused(hold: Hold) -> None:
    for column in ("user", "item"):
        with pytest.raises(ParameterError, match=f"types must declare column '{column}'"):
            hold(TABLES["double"]).engine(totals=Totals.parse(column, 60))
    with pytest.raises(ParameterError, match="by_weight must be a column of the source, got 'ww'"):
        hold(TABLES["double"]).engine(totals=Totals.parse("ww", 60))


# ---- what one user can do ---------------------------------------------------------------------------------


def test_one_user_moves_few_sums_upwards_and_by_no_more_than_the_cap():
    draw, totals = random.Random(5), Totals.parse("w", 3, "0.5")
    rows = [(f"u{draw.randrange(9)}", f"i{draw.randrange(6)}", draw.choice([0.2, 0.5, 1, 4, -1])) for _ in range(120)]

    def found(users: set[str]) -> dict[object, int]:
        some = [row for row in rows if row[0] in users] or [(None, None, 0.0)]
        with DuckDBEngine(
            table(some, pa.float64()), user="user", item="item", totals=totals, max_items_per_user=3, key=KEY
        ) as engine:
            return kept(engine)

    everybody = {f"u{n}" for n in range(9)}
    for user in ("u0", "u3", "u8"):
        for others in (everybody - {user}, set()):
            before, after = found(others), found(others | {user})
            moved = [after.get(item, 0) - before.get(item, 0) for item in {*before, *after}]
            assert min(moved) >= 0
            assert max(moved) <= totals.max_units == 6
            assert 0 < sum(map(bool, moved)) <= 3


def test_the_order_of_rows_and_files_changes_nothing(tmp_path: Path) -> None:
    """Floats added up in another order are another sum: 0.1, 0.2 and 1e16 in any order; integers are not."""
    rows = [(f"u{n % 7}", f"i{n % 3}", w) for n, w in enumerate([0.1, 0.2, 1e16, -1e16, 0.3, 1 / 3] * 200)]
    expected = scores(rows, Totals.parse("w", 40, "0.01"))
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        for part in range(3):
            pq.write_table(table(rows[part::3], pa.float64()), tmp_path / f"{part}.parquet")
        with DuckDBEngine(tmp_path, user="user", item="item", totals=Totals.parse("w", 40, "0.01"), key=KEY) as engine:
            assert pairs(engine.grouped()) == expected


# ---- kinds of sources -------------------------------------------------------------------------------------


TEXTS = [
    "8",
    " 8 ",
    "+1.5E+1",
    "inf",
    "nan",
    "abc",
    "",
    "1_000",
    "0x10",
    "1e400",
    "-1e400",
    "7.",
    ".5",
    "1\n",
    "9" * 999,
]


def test_weights_in_letters(tmp_path: Path) -> None:
    rows = [(f"u{n}", f"i{n % 4}", text) for n, text in enumerate(TEXTS)]
    lines = [f'{user},{item},"{text}"' for user, item, text in rows if "\n" not in text]
    (tmp_path / "rows.csv").write_text("user,item,w\n" + "\n".join(lines) + "\n", "utf-8")
    asked = {"user": "user", "item": "item", "totals": MINUTES, "types": {"w": parse_type("w", "DOUBLE")}}
    finite = [row for row in rows if "\n" not in str(row[2]) and not math.isinf(number(row[2]) or 0.0)]
    with DuckDBEngine(tmp_path / "rows.csv", **asked, key=KEY) as engine:
        assert pairs(engine.grouped()) == scores(finite, MINUTES)


def test_weights_of_any_type_in_one_column() -> None:
    values = [*TEXTS, 1, 2.5, Decimal("3.7"), Decimal("1e500"), 10**400, -(10**400), True, None, b"5", float("nan")]
    values += [float("inf"), float("-inf"), Decimal("NaN"), Decimal("Infinity"), Decimal("sNaN")]
    rows = [(f"u{n}", f"i{n % 4}", value) for n, value in enumerate(values)]
    users, items, weights = zip(*rows, strict=True)
    source = {"user": list(users), "item": list(items), "w": list(weights)}
    none = [w for w in values if isinstance(w, str) or (isinstance(w, Decimal) and w.is_nan())]
    judged = [(u, i, None if any(w is one for one in none) else w) for u, i, w in rows]
    with DuckDBEngine(source, user="user", item="item", totals=MINUTES, key=KEY) as engine:
        assert pairs(engine.grouped()) == scores(judged, MINUTES)
