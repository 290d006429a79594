"""Tags of users in prepared data: drawn, so that for fixed tags and keys nobody's choices hang on who else is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from dpselect.aggregates.value_counts import Grid
from dpselect.draws import distinct
from dpselect.engines.port import PerUser
from dpselect.engines.prepared import preparing
from dpselect.errors import DataError
from dpselect.flat import prepare
from tests.engines.opened import DuckDBEngine

NAMES = [f"u{number:02}" for number in range(40)]
NEW = "u17b"  # who comes between others, with an item before all of theirs
KEPT = 3
GRID = Grid.parse((0, 30), 1)
ITEMS = [*range(-31, 0), *range(30)]
Found = dict[str, Counter[object]]
Drawn = Callable[[list[str]], Any]


def rows(names: list[str], items: int = 12) -> dict[str, list[Any]]:
    """Everybody has 12 items of their own, in two or three of five groups."""
    of = [(name, (int(name[1:3]) * 5 + step) % 30 - (name == NEW) * 31) for name in names for step in range(items)]
    return {"user": [name for name, _ in of], "item": [item for _, item in of], "g": [item % 30 // 6 for _, item in of]}


def tags(path: Path) -> dict[str, int]:
    """The tags of users, by their names."""
    with duckdb.connect(str(path), read_only=True) as connection:
        return dict(connection.execute("SELECT v0, u FROM users").fetchall())


def counted(path: Path) -> Found:
    """What every question finds that keeps some of what a user has, with one key."""
    found: Found = {}
    given: dict[str, Any] = {"user": "user", "item": "item", "key": b"key"}
    with DuckDBEngine(path, max_items_per_user=KEPT, **given) as engine:
        found["items"] = Counter(dict(zip(ITEMS, engine.scores_of(ITEMS), strict=True)))
    with DuckDBEngine(path, **given) as engine:
        at = engine.users_at(GRID, PerUser.RANDOM)
        found["values"] = Counter(dict(zip(at.indices.tolist(), at.users.tolist(), strict=True)))
    with DuckDBEngine(path, by=("g",), **given) as engine:
        groups = engine.top_by(100, 1, users=True)
        places = np.arange(len(groups.sizes))
        found["groups"] = Counter(dict(zip(groups.groups(places), groups.users(places).tolist(), strict=True)))
    with DuckDBEngine(path, by=("g",), max_items_per_user=KEPT, **given) as engine:
        won = [((group,), item) for item in ITEMS for group in found["groups"]]
        found["won"] = Counter(dict(zip(won, engine.scores_by(won, 1), strict=True)))
    with DuckDBEngine(path, **given) as engine:
        pairs = engine.pairs()
        weights = pairs.weigh(np.ones(KEPT, dtype=np.int64), b"key")
        pairs.release(np.arange(weights.sizes.sum()))
        users_of = pairs.released_item_counts(KEPT, b"key").tolist()
        found["weights"] = Counter(dict(zip(pairs.names(), users_of, strict=True)))
    return found


def one_more(folder: Path, monkeypatch: pytest.MonkeyPatch, drawn: Drawn) -> dict[str, list[int]]:
    """By how much each question's counts move when somebody comes, whatever the others' tags are."""
    found = []
    for names in (NAMES, sorted([*NAMES, NEW])):
        monkeypatch.setattr(preparing, "distinct", lambda *_, names=names: drawn(names))
        to = folder / f"{len(names)}.prepared"
        prepare(rows(names), user="user", item="item", keep="g", to=to)
        found.append(counted(to))
    before, after = found
    return {
        one: sorted(after[one][label] - before[one][label] for label in {*after[one], *before[one]}) for one in before
    }


def fixed() -> Drawn:
    """Tags that are drawn once for all names."""
    drawn = dict(zip([*NAMES, NEW], distinct(len(NAMES) + 1, np.empty(0, np.int64)).tolist(), strict=True))
    return lambda names: np.array([drawn[name] for name in names])


def test_with_a_fixed_key_one_more_user_moves_nobody_else(tmp_path, monkeypatch):
    moved = one_more(tmp_path, monkeypatch, fixed())
    own = {"items": KEPT, "values": 1, "groups": 1, "won": KEPT, "weights": KEPT}
    assert {one: [by for by in found if by] for one, found in moved.items()} == {one: [1] * n for one, n in own.items()}


def test_a_hash_of_places_would_be_refused(tmp_path, monkeypatch):
    moved = one_more(tmp_path, monkeypatch, lambda names: np.arange(len(names)))
    assert all(min(found) < 0 for found in moved.values())


def test_whatever_the_tags_are_one_more_user_moves_own_counts_alone(tmp_path, monkeypatch):
    """All assignments of three tags to two users and to one more beside them, also where rows come in two parts."""
    few, possible = ["u01", "u02"], [3, 5, 2**31 - 1]

    def kept(names: list[str], of: dict[str, int], parts: list[list[str]]) -> dict[int, Counter[object]]:
        """What is counted where a user keeps one item, and where two."""
        to = tmp_path / f"{len(names)} {len(parts)} {list(of.values())}.prepared"
        for at, part in enumerate(parts):
            monkeypatch.setattr(
                preparing,
                "distinct",
                lambda _, taken, part=part: np.array([of[name] for name in sorted(part) if of[name] not in taken]),
            )
            prepare(rows(part, 4), user="user", item="item", to=to, add=at > 0)
        found = {}
        for most in (1, 2):
            with DuckDBEngine(to, user="user", item="item", max_items_per_user=most, key=b"key") as engine:
                found[most] = Counter(dict(zip(ITEMS, engine.scores_of(ITEMS), strict=True)))
        return found

    alone = {two: kept(few, dict(zip(few, two, strict=True)), [few]) for two in permutations(possible, 2)}
    for most in (1, 2):
        assert len({str(sorted(found[most].items())) for found in alone.values()}) > 1  # the tags tell
    for three in permutations(possible, 3):
        of = dict(zip([*few, NEW], three, strict=True))
        for parts in ([[*few, NEW]], [[NEW], few]):
            for most, moved in kept([*few, NEW], of, parts).items():
                moved.subtract(alone[three[:2]][most])
                assert sorted(by for by in moved.values() if by) == [1] * most


def test_tags_are_drawn_once_and_stay(tmp_path):
    path = tmp_path / "data.prepared"
    prepare(rows(NAMES), user="user", item="item", to=path)
    before = tags(path)
    prepare(rows([NAMES[3], NEW]), to=path, add=True)
    after = tags(path)
    assert len(set(after.values())) == len(NAMES) + 1
    assert {name: after[name] for name in NAMES} == before
    prepare(rows(NAMES), user="user", item="item", to=tmp_path / "again.prepared")
    assert tags(tmp_path / "again.prepared") != before


def test_more_users_than_tags_suffice_for_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(preparing, "MAX_USERS", 3)
    prepare(rows(NAMES[:2]), user="user", item="item", to=tmp_path / "data.prepared")
    with pytest.raises(DataError, match="users"):
        prepare(rows(NAMES[2:4]), to=tmp_path / "data.prepared", add=True)
