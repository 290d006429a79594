"""Quantiles on every engine: one place of every user, and one meaning of numbers that are written as text."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from dpselect.aggregates.unbounded import Points, Unbounded
from dpselect.aggregates.value_counts import Grid
from dpselect.engines.port import PerUser
from dpselect.errors import DataError
from tests.engines.every_engine import Held, Hold
from tests.engines.test_values import RULES, histogram
from tests.engines.test_values import WRITTEN as NUMBER
from tests.engines.typed_rows import AWKWARD, EMPTY, NUMBERS, VALUES, WRITTEN

GRIDS = [Grid.parse((-10, 50), "0.5"), Grid.parse(("-0.1", "33.3"), "0.1"), Grid.parse((-(10**20), 10**20))]
EACH = pa.table({"user": [f"user {n}" for n in range(len(WRITTEN))], "text": WRITTEN})
# Halves between points, which one engine must not round otherwise than another; few values of many users.
CROWD = pa.table(
    {
        "user": [n % 97 for n in range(2000)],
        "real": [(n * 7919 % 1201) / 20 - 15 for n in range(2000)],
        "whole": [n * 7919 % 61 - 5 for n in range(2000)],
        "written": [f"{(n * 7919 % 1201) / 20 - 15}" for n in range(2000)],
    }
)

# Of every size, at the edges of all tenfolds, and the two infinities.
SIZES = [
    sign * x for n in range(-14, 24) for x in (10.0**n, 10.0**n * 9.999996, 4.56789e-3 * 10.0**n) for sign in (1, -1)
]
SIZES += [float("inf"), float("-inf"), 0.0, 0.3, -2.5, 999999.5, 1234567.0, 1e300, 5e-324, -5e-324, 1e-310]
WIDE = pa.table({"user": list(range(len(SIZES))), "real": SIZES})


def at(held: Held, grid: Points, which: PerUser, item: str, **more: object) -> dict[int, int]:
    with held.engine(item=item, **more) as engine:
        return histogram(engine.users_at(grid, which))


def check_text(held: Held) -> None:
    """Text that is written in plain decimal notation is that number, and other text is missing: judged by Python."""
    for grid in GRIDS:
        numbers = [float(text) for text in WRITTEN if NUMBER.fullmatch(text) and len(text) < 1000]
        assert at(held, grid, PerUser.MIN, "text") == Counter(grid.nearest_indices(np.array(numbers)).tolist())


def test_text_that_is_written_as_a_number(hold: Hold) -> None:
    check_text(hold(EACH))


def test_the_judge_knows_what_is_no_number() -> None:
    for text in ("1_000", "inf", "-Infinity", "nan", "0x10", "1d", "", "1e1000", "\t5", "5\n", "+-5", "\u0663", "0b1"):
        assert text in WRITTEN
        assert not NUMBER.fullmatch(text)


def places_of(rows: pa.Table, grid: Grid, item: str) -> list[list[int]]:
    """Every user's places, from the rows that hold a number."""
    found: dict[object, list[int]] = {}
    for user, value in zip(rows.column("user").to_pylist(), rows.column(item).to_pylist(), strict=True):
        is_text = isinstance(value, str)
        there = NUMBER.fullmatch(value) and len(value) < 1000 if is_text else value is not None and value == value
        if user is not None and there:
            found.setdefault(user, []).extend(grid.nearest_indices(np.array([float(value)])).tolist())
    return list(found.values())


def check_rules(held: Held, rows: pa.Table, item: str) -> None:
    """Least, largest and mean are those of plain Python to the place; a random one is one of the user's own."""
    for grid in GRIDS:
        users = places_of(rows, grid, item)
        for which, rule in RULES.items():
            assert at(held, grid, which, item) == Counter(map(rule, users))
    found = at(held, grid, PerUser.RANDOM, item)
    assert sum(found.values()) == len(users)
    assert set(found) <= {place for places in users for place in places}


@pytest.mark.parametrize("item", NUMBERS)
def test_one_place_of_every_user(hold: Hold, item: str) -> None:
    check_rules(hold(AWKWARD), AWKWARD, item)


@pytest.mark.parametrize("item", ["real", "whole", "written"])
def test_one_place_of_every_user_of_many(hold: Hold, item: str) -> None:
    check_rules(hold(CROWD), CROWD, item)


def check_wide(held: Held) -> None:
    """A value of any size has the place that it has in an array, also one that no width divides."""
    for points in (Unbounded.parse(), Unbounded.parse("0.5"), Unbounded.parse(1000), Grid.parse((0, 5000), 10)):
        assert at(held, points, PerUser.MIN, "real") == Counter(points.indices_of(SIZES).tolist())


def test_places_without_bounds(hold: Hold) -> None:
    check_wide(hold(WIDE))


def test_the_key_decides_which_place_is_taken_at_random(hold: Hold) -> None:
    first, again, other = (
        at(hold(CROWD), GRIDS[0], PerUser.RANDOM, "whole", key=key) for key in (b"k" * 16, b"k" * 16, b"o" * 16)
    )
    assert first == again != other


def test_no_rows_are_an_outcome(hold: Hold) -> None:
    for which in PerUser:
        assert at(hold(EMPTY), GRIDS[0], which, "whole") == {}


@pytest.mark.parametrize("item", [name for name in VALUES if name not in (*NUMBERS, "text")])
def test_what_holds_no_numbers_is_refused(hold: Hold, item: str) -> None:
    with hold(AWKWARD).engine(item=item) as engine, pytest.raises(DataError, match=r"holds no numbers\nhint: cast it"):
        engine.check_values()
