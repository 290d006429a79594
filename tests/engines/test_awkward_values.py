"""What odd values of lists and frames are; that they speak for nobody else is in tests/replay."""

from __future__ import annotations

import datetime
import decimal
import uuid

import numpy as np

from dpselect.aggregates.value_counts import Grid
from dpselect.engines.port import PerUser
from dpselect.engines.sources.objects import encode_values
from tests.engines.opened import DuckDBEngine
from tests.engines.test_conformance import pairs
from tests.replay.odd_values import ANY

KEY = b"k" * 16


def answers(source: object, user: str = "user", item: str = "item", **more: object) -> list[tuple[str, object, int]]:
    """Every item with its type and count."""
    with DuckDBEngine(source, user=user, item=item, key=KEY, **more) as engine:
        return [(type(label).__name__, label, count) for label, count in pairs(engine.top(1000))]


def test_numbers_of_a_list_are_numbers_for_a_quantile():
    rows = {"user": list(range(60)), "item": [n % 7 for n in range(20)] * 3}
    odd = {"user": [*rows["user"], *[99] * len(ANY)], "item": [*rows["item"], *(odd.value for odd in ANY)]}
    grid = Grid.parse((-10, 10), 1)
    for which in PerUser:
        plain, more = (_places(source, grid, which) for source in (rows, odd))
        assert sum(more.values()) - sum(plain.values()) == 1
        assert all(more[place] - n in (0, 1) for place, n in plain.items())


def _places(source: object, grid: Grid, which: PerUser) -> dict[int, int]:
    with DuckDBEngine(source, user="user", item="item", key=KEY) as engine:
        engine.check_values()
        found = engine.users_at(grid, which)
    return dict(zip(found.indices.tolist(), found.users.tolist(), strict=True))


def test_durations_are_missing_in_every_unit():
    spans = [np.timedelta64(5, unit) for unit in ("Y", "D", "s", "us", "ns", "as", "generic")]
    assert encode_values([*spans, np.timedelta64("NaT")]).tolist() == [None] * 8


def test_a_list_names_what_stands_in_it():
    items = [1, 1.0, True, "1", b"1", 2.5, decimal.Decimal("2.50"), 2**70, 1e300, datetime.date(2024, 1, 1), -3, 10, 9]
    items.append(uuid.UUID(int=0))
    found = answers({"user": list(range(len(items))), "item": items, "other": items})
    assert [(kind, label, n) for kind, label, n in found if n > 1] == [("int", 1, 2), ("float", 2.5, 2)]
    assert {(kind, label) for kind, label, _ in found} == {
        ("int", 1), ("bool", True), ("str", "1"), ("bytes", b"1"), ("float", 2.5), ("int", 2**70), ("int", 10**300),
        ("date", datetime.date(2024, 1, 1)), ("int", -3), ("int", 10), ("int", 9), ("str", str(uuid.UUID(int=0))),
    }  # fmt: skip
    numbers = [label for kind, label, _ in answers({"user": [1] * 12, "item": list(range(12)), "other": [0] * 12})]
    assert numbers == list(range(12))  # in the order of numbers, not of their texts


def test_people_are_told_apart_by_value_whatever_others_are():
    users = [2**63 + n for n in range(3)] + [float("nan"), None, 2**53, 2**53 + 1, "7", 7, 7.0]
    assert answers({"user": users, "item": ["a"] * len(users), "other": users}) == [("str", "a", 7)]


def test_what_a_list_holds_is_plain_text_for_a_filter_and_for_split():
    rows = {"user": [1, 2, 3, 4, 5], "item": ["a b", "a", 12, b"a", "\x01"], "n": [1, "x", 2.5, 10, None]}
    assert answers(rows, where="TRY_CAST(n AS DOUBLE) > 2") == [("bytes", b"a", 1), ("int", 12, 1)]
    assert answers(rows, where="n = 'x' OR item = '12'") == [("int", 12, 1), ("str", "a", 1)]
    assert answers(rows, split=" ") == [("str", "a", 2), ("str", "\x01", 1), ("str", "12", 1), ("str", "b", 1)]
