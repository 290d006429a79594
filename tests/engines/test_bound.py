"""The contribution bound: exact, a function of the key and the user's own rows, and even between items."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.engines.duckdb.engine import DuckDBEngine
from tests.engines.test_conformance import pairs


def bounded(source: object, most: int, key: bytes = b"key", **more: object) -> dict[object, int]:
    with DuckDBEngine(source, user="user", item="item", max_items_per_user=most, key=key, **more) as engine:
        return dict(pairs(engine.grouped()))


@pytest.mark.parametrize("most", [1, 7, 199, 200, 5000])
def test_one_user_who_holds_everything_in_many_files_and_many_times(tmp_path, most):
    for number in range(4):
        items = [f"item {n}" for n in range(200) for _ in range(1 + n % 3)]
        pq.write_table(pa.table({"user": ["u"] * len(items), "item": items}), tmp_path / f"{number}.parquet")
    kept = bounded(tmp_path, most)
    assert len(kept) == min(most, 200)
    assert set(kept.values()) == {1}


def test_no_user_changes_what_another_keeps():
    """Neighbours: with one more user, whoever they are, the counts of the others stay as they were."""
    user, item = np.repeat(np.arange(60), 25), np.tile(np.arange(25), 60)
    order = np.argsort((np.arange(user.size) * 7919) % user.size)
    without = bounded({"user": user, "item": item}, 4)
    for extra in (np.arange(25), np.arange(1000), np.array([3])):
        rows = {"user": np.append(user[order], np.full(extra.size, 999)), "item": np.append(item[order], extra)}
        changed = bounded(rows, 4)
        moved = {name: changed.get(name, 0) - without.get(name, 0) for name in {*changed, *without}}
        assert sorted(set(moved.values()) - {0}) == [1]
        assert sum(moved.values()) == min(4, extra.size)


def test_every_item_of_a_user_is_as_likely_to_stay():
    """80,000 users hold the same 20 items and keep 5: each item stays for a quarter of them.

    The key is fixed, so this never fails by chance; its band of 6 standard deviations would fail for a random
    key once in 25 million runs over the 20 items. A mask instead of a hash (see Bound.pairs) is far outside.
    """
    users, items, most = 80_000, 20, 5
    rows = {"user": np.repeat(np.arange(users), items), "item": np.tile(np.arange(items), users)}
    share = most / items
    band = 6 * (users * share * (1 - share)) ** 0.5
    kept = bounded(rows, most)
    assert sum(kept.values()) == users * most
    assert max(abs(count - users * share) for count in kept.values()) < band


def test_the_filter_comes_before_the_bound():
    rows = {"user": np.repeat(np.arange(50), 20), "item": np.tile(np.arange(20), 50)}
    assert bounded(rows, 2, where="item IN (3, 4)") == {3: 50, 4: 50}
