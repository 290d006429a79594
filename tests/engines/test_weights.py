"""Weights added up by the engine: judged by a plain loop over users' sets, and what it keeps to itself."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from dpselect.draws import fresh_key
from dpselect.engines import duckdb_weights, memory
from dpselect.engines.duckdb_engine import DuckDBEngine
from dpselect.engines.duckdb_questions import keyed_hash
from dpselect.errors import DataError
from dpselect.mechanisms import SIPS, WeightedLaplace
from dpselect.mechanisms.set_union.grouped import release_elsewhere, rounds_of
from tests.engines.test_types import COLUMNS

USERS = {"u1": "abc", "u2": "ab", "u3": "a", "u4": "ca", "u5": "z"}
SHARES = np.array([12, 6, 4], dtype=np.int64)


def rows_of(users):
    pairs = [(user, item) for user, items in users.items() for item in items]
    return {"user": [user for user, _ in pairs], "item": [item for _, item in pairs]}


def opened(rows, **more):
    return DuckDBEngine(rows, user="user", item="item", key=b"k", **more)


def in_pairs(groups):
    return list(zip(groups.weights.tolist(), groups.sizes.tolist(), strict=True))


def everything(pairs, shares, key=b"k"):
    """Every item with its weight: all are released, place by place. For tests only."""
    groups = pairs.weigh(shares, key)
    found = {}
    for place, weight in enumerate(np.repeat(groups.weights, groups.sizes).tolist()):
        before = set(pairs.names())
        pairs.release(np.array([place]))
        (item,) = set(pairs.names()) - before
        found[item] = weight
    return found


def test_weights_are_the_shares_of_every_users_items():
    with opened(rows_of(USERS)) as engine:
        # a: 4 + 6 + 12 + 6, b: 4 + 6, c: 4 + 6, z: 12
        assert in_pairs(engine.pairs().weigh(SHARES, b"k")) == [(28, 1), (12, 1), (10, 2)]
    with opened(rows_of(USERS)) as engine:
        assert everything(engine.pairs(), SHARES) == {"a": 28, "z": 12, "b": 10, "c": 10}


def test_rows_that_are_there_twice_and_rows_without_user_or_item_change_nothing():
    rows = rows_of(USERS)
    more = {"user": [*rows["user"], *rows["user"], None, "u9"], "item": [*rows["item"], *rows["item"], "a", None]}
    with opened(pa.table(more)) as engine:
        assert in_pairs(engine.pairs().weigh(SHARES, b"k")) == [(28, 1), (12, 1), (10, 2)]


def test_what_was_released_leaves_everybody():
    with opened(rows_of(USERS)) as engine:
        pairs = engine.pairs()
        pairs.weigh(SHARES, b"k")
        pairs.release(np.array([0, 1]))  # a and z
        assert pairs.names() == ["a", "z"]
        # bc, b, -, c, -: b: 6 + 12, c: 6 + 12
        assert in_pairs(pairs.weigh(SHARES, b"k")) == [(18, 2)]
        pairs.release(np.array([1]))
        assert pairs.names() == ["a", "c", "z"]
        pairs.release(np.array([], dtype=np.int64))
        assert in_pairs(pairs.weigh(SHARES, b"k")) == [(24, 1)]


def test_items_of_one_weight_stand_in_their_own_order_wherever_their_rows_stood():
    for users in (USERS, dict(reversed(USERS.items()))):
        with opened(rows_of(users)) as engine:
            pairs = engine.pairs()
            pairs.weigh(SHARES, b"k")
            pairs.release(np.array([2]))
            assert pairs.names() == ["b"]


def test_of_a_user_the_bound_keeps_so_many_and_the_key_says_which():
    users = {f"u{v}": [f"i{n}" for n in range(40)] for v in range(3)}
    found = []
    with opened(rows_of(users)) as engine:
        for key in (b"k", b"k", b"other"):
            pairs = engine.pairs()
            weights = everything(pairs, np.array([9, 7, 5]), key)
            assert sum(weights.values()) == 3 * 3 * 5
            found.append(weights)
    assert found[0] == found[1] != found[2]


ALONE = {"u0": [f"i{n}" for n in range(20)]}
OTHERS = {f"v{v}": [f"h{n}" for n in range(v)] for v in range(2, 9)}


def kept_of_u0(users):
    """The items that u0 keeps: nobody else has any of them."""
    with opened(rows_of(users)) as engine:
        return {item for item in everything(engine.pairs(), SHARES) if item.startswith("i")}


def by_number(pairs, most, key):
    """A twin: the hash is of an item's number among all items, which others change."""
    numbered = f"(SELECT u, i, dense_rank() OVER (ORDER BY i) AS c FROM {pairs})"
    first = f"row_number() OVER (PARTITION BY u ORDER BY {keyed_hash(key, 'c')}, c) <= {most}"
    return f"SELECT i, least(count(*) OVER (PARTITION BY u), {most}) AS t FROM {numbered} QUALIFY {first}"


def test_what_a_user_keeps_depends_on_nobody_else(monkeypatch):
    found = kept_of_u0(ALONE)
    assert len(found) == 3
    assert kept_of_u0({**OTHERS, **ALONE}) == found
    monkeypatch.setattr(duckdb_weights, "kept", by_number)
    assert kept_of_u0({**OTHERS, **ALONE}) != kept_of_u0(ALONE), "the twin must be seen through"


def test_every_item_of_a_user_is_kept_about_equally_often():
    """One user of 10 items under 400 keys: each is kept about 3 in 10 times (six standard deviations allowed)."""
    with opened(rows_of({"u": "abcdefghij"})) as engine:
        rows = "(SELECT 'u' AS u, unnest(string_split('a b c d e f g h i j', ' ')) AS i)"
        times = Counter(
            item
            for n in range(400)
            for item, _ in engine._workspace.rows(duckdb_weights.kept(rows, 3, n.to_bytes(16, "big")))
        )
    assert len(times) == 10
    assert all(abs(n - 120) < 6 * (400 * 0.3 * 0.7) ** 0.5 for n in times.values())


def test_the_bound_is_the_first_by_the_keyed_hash():
    with opened(rows_of({"u": [f"i{n}" for n in range(20)]})) as engine:
        found = everything(engine.pairs(), np.array([1, 1, 1]), b"key")
        rows = "(SELECT 'u' AS u, 'i' || n AS i FROM range(20) t(n))"
        first = engine._workspace.fetch(f"SELECT i FROM {rows} ORDER BY {keyed_hash(b'key', 'i')}, i LIMIT 3")
    assert set(found) == {item for (item,) in first}


@pytest.mark.parametrize(("values", "arrow_type"), COLUMNS.values(), ids=list(COLUMNS))
def test_items_of_any_type(values, arrow_type):
    column = pa.array([*values, *values[:1], None], arrow_type)
    with opened(pa.table({"user": [1] * len(column), "item": column})) as engine:
        pairs = engine.pairs()
        groups = pairs.weigh(np.ones(len(values), dtype=np.int64), b"k")
        assert in_pairs(groups) == [(1, len(values))]
        pairs.release(np.arange(len(values)))
        found = pairs.names()
        assert pairs.weigh(SHARES, b"k").weights.tolist() == []
    assert found == sorted(values)
    assert {type(value) for value in found} == {type(value) for value in values}


def test_sums_above_what_floats_hold_are_exact():
    share = 2**53 + 1
    rows = {"user": np.arange(300), "item": ["a"] * 299 + ["b"]}
    with opened(rows) as engine:
        assert engine.pairs().weigh(np.array([share]), b"k").weights.tolist() == [299 * share, share]


def test_no_data_no_groups():
    with opened(rows_of(USERS), where="item = 'nobody'") as engine:
        pairs = engine.pairs()
        release_elsewhere(SIPS(epsilon=1, delta="1e-6", max_items_per_user=3), pairs)
        assert pairs.names() == []


def test_neither_groups_nor_pairs_show_anything():
    with opened(rows_of(USERS)) as engine:
        pairs = engine.pairs()
        assert repr(pairs.weigh(SHARES, b"k")) == "WeightGroups(private)"
        assert repr(pairs) == "DuckDBPairs(private)"


def test_what_does_not_fit_into_memory_is_answered(monkeypatch):
    """40 MB do not hold 600,000 pairs as arrays: `contributions` refuses, the engine answers."""
    monkeypatch.setenv(memory.VARIABLE, "40MB")
    rows = pa.table({"user": np.arange(600_000) // 3, "item": np.arange(600_000) % 1000})
    union = WeightedLaplace(epsilon=1, delta="1e-6", max_items_per_user=2)
    with opened(rows) as engine, pytest.raises(DataError, match="GiB of memory"):
        engine.contributions()
    with opened(rows) as engine:
        pairs = engine.pairs()
        (one,) = rounds_of(union)
        groups = pairs.weigh(one.shares, fresh_key())
        assert Fraction(int((groups.weights * groups.sizes).sum()), one.unit) == 200_000
        release_elsewhere(union, pairs)
        assert pairs.names() == list(range(1000))
