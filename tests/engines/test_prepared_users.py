"""Numbers of users in prepared data: drawn, so that for a fixed key nobody's choices hang on who else is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dpselect.aggregates.value_counts import Grid
from dpselect.draws import distinct
from dpselect.engines.duckdb.engine import DuckDBEngine
from dpselect.engines.duckdb.preparing import codes
from dpselect.engines.port import PerUser
from dpselect.engines.preparation import prepare
from dpselect.engines.prepared import users
from dpselect.engines.prepared.reading import current
from dpselect.errors import DataError

NAMES = [f"u{number:02}" for number in range(40)]
NEW = "u17b"  # who comes between others
KEPT = 3
GRID = Grid.of((0, 30), 1)
Found = dict[str, Counter[object]]


def rows(names: list[str]) -> dict[str, list[Any]]:
    """Everybody has 12 items of their own, in two or three of five groups."""
    of = [(name, (int(name[1:3]) * 5 + step) % 30) for name in names for step in range(12)]
    return {"user": [name for name, _ in of], "item": [item for _, item in of], "g": [item // 6 for _, item in of]}


def numbers(path: Path) -> list[int]:
    """The numbers of users, in the order of their names."""
    parts = [pq.read_table(path / "_parts" / part.name) for part in current(str(path)).users]
    named = {row["v0"]: row["u"] for one in parts for row in one.to_pylist()}
    return [named[name] for name in sorted(named)]


def counted(path: Path) -> Found:
    """What every question finds that keeps some of what a user has, with one key."""
    found: Found = {}
    given: dict[str, Any] = {"user": "user", "item": "item", "key": b"key"}
    with DuckDBEngine(path, max_items_per_user=KEPT, **given) as engine:
        top = engine.top(100)
        found["items"] = Counter({top.label(group, 0): int(count) for group, count in enumerate(top.counts)})
    with DuckDBEngine(path, **given) as engine:
        at = engine.users_at(GRID, PerUser.RANDOM)
        found["values"] = Counter(dict(zip(at.places.tolist(), at.users.tolist(), strict=True)))
    with DuckDBEngine(path, by=("g",), **given) as engine:
        groups = engine.top_by(100, 1, users=True)
        places = np.arange(len(groups.sizes))
        found["groups"] = Counter(dict(zip(groups.groups(places), groups.users(places).tolist(), strict=True)))
    with DuckDBEngine(path, **given) as engine:
        pairs = engine.pairs()
        weights = pairs.weigh(np.ones(KEPT, dtype=np.int64), b"key")
        pairs.release(np.arange(weights.sizes.sum()))
        users_of = pairs.users(KEPT, b"key").tolist()
        found["weights"] = Counter(dict(zip(pairs.names(), users_of, strict=True)))
    return found


def one_more(folder: Path, monkeypatch: pytest.MonkeyPatch, drawn: Any) -> dict[str, list[int]]:
    """By how much each question's counts move when somebody comes, whatever the others' numbers are."""
    found = []
    for names in (NAMES, sorted([*NAMES, NEW])):
        monkeypatch.setattr(codes, "numbers_of", lambda *_, names=names: drawn(names))
        prepare(rows(names), user="user", item="item", keep="g", to=folder / str(len(names)))
        found.append(counted(folder / str(len(names))))
    before, after = found
    return {
        one: sorted(after[one][label] - before[one][label] for label in {*after[one], *before[one]}) for one in before
    }


def test_with_a_fixed_key_one_more_user_moves_nobody_else(tmp_path, monkeypatch):
    drawn = dict(zip([*NAMES, NEW], distinct(len(NAMES) + 1, np.empty(0, np.int64)).tolist(), strict=True))
    moved = one_more(tmp_path, monkeypatch, lambda names: np.array([drawn[name] for name in names]))
    own = {"items": KEPT, "values": 1, "groups": 1, "weights": KEPT}
    assert {one: [by for by in found if by] for one, found in moved.items()} == {one: [1] * n for one, n in own.items()}


def test_a_hash_of_places_would_be_refused(tmp_path, monkeypatch):
    moved = one_more(tmp_path, monkeypatch, lambda names: np.arange(len(names)))
    assert all(min(found) < 0 for found in moved.values())


def test_numbers_are_drawn_once_and_stay(tmp_path):
    prepare(rows(NAMES), user="user", item="item", to=tmp_path / "data")
    before = dict(zip(NAMES, numbers(tmp_path / "data"), strict=True))
    prepare(rows([NAMES[3], NEW]), to=tmp_path / "data", add=True)
    after = dict(zip(sorted([*NAMES, NEW]), numbers(tmp_path / "data"), strict=True))
    assert len(set(after.values())) == len(NAMES) + 1
    assert {name: after[name] for name in NAMES} == before
    prepare(rows(NAMES), user="user", item="item", to=tmp_path / "again")
    assert numbers(tmp_path / "again") != list(before.values())


def test_more_users_than_numbers_suffice_for_are_refused(monkeypatch):
    monkeypatch.setattr(users, "MOST", 3)
    assert len(users.numbers_of(2, np.array([5]))) == 2
    with pytest.raises(DataError, match="users"):
        users.numbers_of(3, np.array([5]))
