"""Values for quantiles: one place of every user, the same from every kind of source, judged by plain Python."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dpselect.aggregates.unbounded import Points, Unbounded
from dpselect.aggregates.value_counts import Grid, UsersAt
from dpselect.engines.port import PerUser
from tests.engines.measured_rows import WRITTEN
from tests.engines.opened import DuckDBEngine
from tests.engines.sources import KINDS, READERS, Row

KEY = bytes(range(16))
GRID = Grid.parse((-10, 50), "0.5")

ROWS: list[Row] = [
    *((f"u{n}", str(n * 0.7), n) for n in range(40)),
    *(("heavy", str(n % 13), n) for n in range(200)),
    ("two", "3", 5), ("two", "4.6", 5), ("two", "4.6", 7),
    ("bounds", "-1e400", -99), ("bounds", "1e9", 99), ("below", "-1e400", -11), ("above", "1e400", 1000),
    ("dropped", "-inf", 1), ("dropped", "Infinity", 1), ("dropped", "1_000", 1),
    ("dropped", "nan", 1), ("dropped", "NaN", 1), ("dropped", "abc", 1), ("dropped", "", 1), ("dropped", None, 1),
    ("mixed", "abc", 2), ("mixed", "7", 2), ("mixed", None, 2), ("mixed", "nan", 2),
    (None, "7", 3), (None, None, 3), ("zero", "-0", 0), ("space", " 8 ", 8), ("middle", "0.25", 1), ("", "9", 9),
]  # fmt: skip


def place(value: float) -> int:
    """The nearest point by the formula, in plain Python floats."""
    inside = min(max(value, float(GRID.low)), float(GRID.high))
    return min(math.floor((inside - float(GRID.low)) / float(GRID.step) + 0.5), GRID.points - 1)


def places_of(rows: Sequence[Row], column: int) -> dict[str, list[int]]:
    """Every user's places, from the rows that hold a number."""
    found: dict[str, list[int]] = {}
    for row in rows:
        text = str(row[column])
        if row[0] is not None and WRITTEN.fullmatch(text):
            found.setdefault(row[0], []).append(place(float(text)))
    return found


RULES = {
    PerUser.MIN: min,
    PerUser.MAX: max,
    PerUser.MEAN: lambda places: (2 * sum(places) + len(places)) // (2 * len(places)),
}


def histogram(users: UsersAt) -> dict[int, int]:
    assert (np.diff(users.indices) > 0).all()
    return dict(zip(users.indices.tolist(), users.users.tolist(), strict=True))


def asked(source: object, which: PerUser, *, key: bytes = KEY, grid: Points = GRID, **more: object) -> dict[int, int]:
    names = {"user": "user", "item": "item"} | more
    with DuckDBEngine(source, key=key, **names) as engine:
        return histogram(engine.users_at(grid, which))


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(("name", "column"), [("item", 1), ("age", 2)])
def test_one_value_of_every_user(kind: str, name: str, column: int, tmp_path: Path) -> None:
    source, table = KINDS[kind](ROWS, tmp_path)
    places = places_of(ROWS, column)
    assert len(places) == len({user for user, *_ in ROWS}) - (2 if column == 1 else 1)
    if column == 1 and kind in ("pandas objects", "dict of lists"):  # where only numbers are numbers
        places = {}
    for which, rule in RULES.items():
        assert asked(source, which, item=name, table=table) == Counter(rule(found) for found in places.values())
    some = asked(source, PerUser.RANDOM, item=name, table=table)
    assert sum(some.values()) == len(places)
    assert set(some) <= {one for found in places.values() for one in found}


def test_an_array_has_the_places_of_a_table():
    values = np.concatenate([np.random.default_rng(3).normal(20, 30, 5000), [np.inf, -np.inf, 1e300, -0.0, 0.25]])
    for grid in (
        GRID,
        Grid.parse((0, 1)),
        Grid.parse(("-0.1", "33.3"), "0.1"),
        Grid.parse((-(10**20), 10**20)),
        Grid.parse((0, 7), 3),
        Unbounded.parse(),
        Unbounded.parse(1),
    ):
        found = asked({"user": np.arange(len(values)), "item": values}, PerUser.MIN, grid=grid)
        assert found == histogram(UsersAt.counted(np.sort(grid.indices_of(values))))


def test_points_of_decimals_are_hit():
    grid = Grid.parse((0, 10), "0.1")
    assert grid.indices_of([n / 10 for n in range(101)]).tolist() == list(range(101))
    assert [grid.value(n) for n in range(101)] == [n / 10 for n in range(101)]


def test_the_key_and_the_user_alone_decide_which_value():
    rows = {"user": np.repeat(np.arange(300), 20), "item": np.tile(np.arange(20), 300)}
    first = asked(rows, PerUser.RANDOM)
    assert first == asked(rows, PerUser.RANDOM)
    assert first != asked(rows, PerUser.RANDOM, key=b"other")
    order = np.argsort((np.arange(6000) * 7919) % 6000)
    more = {"user": np.append(rows["user"][order], [999] * 3), "item": np.append(rows["item"][order], [1, 2, 3])}
    changed = asked(more, PerUser.RANDOM)
    moved = {p: changed.get(p, 0) - first.get(p, 0) for p in {*first, *changed}}
    assert sorted(n for n in moved.values() if n) == [1]
    often = {name: np.append(column, np.repeat(column[:20], 50)) for name, column in rows.items()}
    assert asked(often, PerUser.RANDOM) == first  # a value that comes often is no likelier


def test_the_random_value_is_even():
    users, values = 40_000, 10
    rows = {"user": np.repeat(np.arange(users), values), "item": np.tile(np.arange(values), users)}
    found = asked(rows, PerUser.RANDOM)
    band = 6 * (users * 0.1 * 0.9) ** 0.5
    assert len(found) == values
    assert all(abs(n - users / values) < band for n in found.values())


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, 2, None], pa.uint8()), [1, 2]),
        (pa.array([1.5, float("nan"), 2.5], pa.float32()), [1.5, 2.5]),
        (pa.array([Decimal("1.5"), Decimal("-2.5"), None], pa.decimal128(38, 10)), [1.5, -2.5]),
        (pa.array([2**63, 2**64 - 1, 3], pa.uint64()), [50, 50, 3]),
        (pa.array([None, None, None]), []),
        (pa.array(["1", "2", "x"]).dictionary_encode(), [1, 2]),
    ],
    ids=["uint8", "float", "decimal", "uint64", "nulls", "dictionary"],
)
def test_types_of_numbers(column: pa.Array, expected: list[float]) -> None:
    source = pa.table({"user": [1, 2, 3], "item": column})
    for which in PerUser:
        assert asked(source, which) == Counter(map(place, expected))
