"""One suite on every kind of source: awkward rows in, the same histogram out, judged by a plain Python count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpselect._ground.domain import Listed
from dpselect.aggregates.count_groups import CountGroups
from dpselect.aggregates.user_sets import UserSets
from dpselect.engines import Engine
from tests.engines.opened import DuckDBEngine
from tests.engines.sources import AWKWARD, KINDS, READERS, Row, counts, user_items

KEY = bytes(range(16))


@contextmanager
def opened(kind: str, rows: Sequence[Row], folder: Path, **more: object) -> Iterator[DuckDBEngine]:
    folder.mkdir(exist_ok=True)
    source, table = KINDS[kind](rows, folder)
    with DuckDBEngine(source, user="user", item="item", table=table, key=KEY, **more) as engine:
        yield engine


def pairs(histogram: CountGroups) -> list[tuple[object, int]]:
    """All items with their counts, in the order of the histogram."""
    return [
        (histogram.label(group, member), int(count))
        for group, count in enumerate(histogram.counts)
        for member in range(histogram.sizes[group])
    ]


def kept(engine: Engine, items: Sequence[object] | None = None) -> dict[object, int]:
    """Of all items, or of some: how many users keep each, where a bound lets them keep few."""
    labels = [label for label, _ in pairs(engine.top(10**6))] if items is None else list(items)
    return {label: number for label, number in zip(labels, engine.scores_of(labels), strict=True) if number}


def named(sets: UserSets) -> list[list[object]]:
    """Every user's items by their labels, in the order of the codes."""
    labels = sets.labels(range(sets.size))
    ends = zip(sets.offsets[:-1], sets.offsets[1:], strict=True)
    return [[labels[code] for code in sets.codes[start:stop]] for start, stop in ends]


def in_order(kind: str, users: list[list[Any]]) -> list[list[Any]]:
    """What users have, in the order of the engine; prepared data have them by their tags, which were drawn."""
    return sorted(users) if kind.startswith("prepared") else users


NOBODY: list[Row] = [(None, "a", 1), ("u", None, 1), (None, None, 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_sets(kind, tmp_path):
    with opened(kind, AWKWARD, tmp_path) as engine:
        assert pairs(engine.top(1000)) == counts(AWKWARD)
        for most in range(5):  # the tie behind the first item is cut at each of its places
            assert pairs(engine.top(most)) == counts(AWKWARD)[:most]
        groups = engine.grouped()
        assert pairs(groups) == counts(AWKWARD)
        assert list(groups.counts) == sorted({count for _, count in counts(AWKWARD)}, reverse=True)
        sets = engine.contributions()
        assert in_order(kind, named(sets)) == in_order(kind, user_items(AWKWARD))
        of_item = dict(zip(sets.labels(range(sets.size)), np.bincount(sets.codes).tolist(), strict=True))
        assert of_item == dict(counts(AWKWARD))


@pytest.mark.parametrize("kind", READERS)
def test_order_of_rows_and_names_of_users_change_nothing(kind, tmp_path):
    other = [(user and f"x{user[::-1]}", item, age) for user, item, age in AWKWARD[::-1] * 2]
    with opened(kind, other, tmp_path) as engine:
        assert pairs(engine.top(1000)) == counts(AWKWARD)
        assert sorted(named(engine.contributions())) == sorted(user_items(AWKWARD))


@pytest.mark.parametrize(("kind", "rows"), list(zip(READERS, cycle(([], NOBODY)), strict=False)))
def test_no_rows_are_an_outcome(kind, rows, tmp_path):
    with opened(kind, rows, tmp_path) as engine:
        assert pairs(engine.top(10)) == []
        assert pairs(engine.grouped()) == []
        assert pairs(engine.grouped(Listed(("a", "b")))) == [("a", 0), ("b", 0)]
        sets = engine.contributions()
        assert (sets.users, sets.size, sets.offsets.tolist(), sets.codes.tolist()) == (0, 0, [0], [])
        assert sets.labels([]) == []


# What is asked of rows once they are there goes one way for all readers; these hold them in the most different forms.
SOME = ("parquet", "csv", "duckdb connection", "polars lazy", "dict of lists")


@pytest.mark.parametrize("kind", SOME)
def test_filter(kind, tmp_path):
    kept = [row for row in AWKWARD if row[2] > 22 and row[1] != "alone"]
    age = "age" if "json" in kind else "AGE"  # the keys of a JSON record are told apart by letter case
    where = f"{age}::INT > 22 AND (item <> 'alone' OR item = '\"')"
    with opened(kind, AWKWARD, tmp_path, where=where) as engine:
        assert pairs(engine.top(1000)) == counts(kept)
        assert in_order(kind, named(engine.contributions())) == in_order(kind, user_items(kept))


@pytest.mark.parametrize("kind", SOME)
def test_bound_and_domain(kind, tmp_path):
    items: dict[str, set[str]] = {}
    for user, item, _ in AWKWARD:
        if user is not None and item is not None:
            items.setdefault(user, set()).add(item)
    domain = ("popular", "tie a", "tie b", "\U0001f600", "", "never seen", "CASE")
    with opened(kind, AWKWARD, tmp_path, max_items_per_user=2) as engine:
        bounded = kept(engine)
        assert sum(bounded.values()) == sum(min(2, len(of_user)) for of_user in items.values())
        assert all(count <= dict(counts(AWKWARD))[item] for item, count in bounded.items())
        inside = dict(pairs(engine.counts_of(Listed(domain))))
        assert set(inside) == set(domain)
        assert {item: number for item, number in inside.items() if number} == kept(engine, domain)
        assert sum(inside.values()) == sum(min(2, len(of_user & set(domain))) for of_user in items.values())
