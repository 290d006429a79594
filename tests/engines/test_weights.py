"""Weights added up by an engine: judged by a plain loop over users' sets, and what it keeps to itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from dpselect.draws import fresh_key
from dpselect.engines import memory
from dpselect.engines.duckdb.dialect import DUCKDB, secret_key_sql
from dpselect.engines.sql import pairs as sql_pairs
from dpselect.mechanisms import CountLaplace
from dpselect.mechanisms.set_union.by_weight import release_elsewhere, rounds_of
from tests.engines.every_engine import judge
from tests.engines.opened import DuckDBEngine
from tests.engines.typed_rows import AWKWARD, VALUES, counts, in_order

USERS = {"u1": "abc", "u2": "ab", "u3": "a", "u4": "ca", "u5": "z"}
SHARES = np.array([12, 6, 4], dtype=np.int64)
TWO_LISTS = np.array([[10, 6, 4], [1, 5, 3]], dtype=np.int64)


def rows_of(users):
    pairs = [(user, item) for user, items in users.items() for item in items]
    return pa.table({"user": [user for user, _ in pairs], "item": [item for _, item in pairs]})


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


# ---- on every engine --------------------------------------------------------------------------------------

TABLE = rows_of(USERS)
AGAIN = pa.concat_tables([TABLE, TABLE, pa.table({"user": [None, "u9"], "item": ["a", None]})])
BACKWARDS = rows_of(dict(reversed(USERS.items())))


def check_weights(held):
    with held.engine() as engine:
        # a: 4 + 6 + 12 + 6, b: 4 + 6, c: 4 + 6, z: 12
        assert in_pairs(engine.pairs().weigh(SHARES, b"k")) == [(28, 1), (12, 1), (10, 2)]
        assert everything(engine.pairs(), SHARES) == {"a": 28, "z": 12, "b": 10, "c": 10}


def test_weights_are_the_shares_of_every_users_items(hold):
    check_weights(hold(TABLE))


def test_of_several_lists_of_shares_an_item_has_a_weight_by_each(hold):
    """a, z, and b and c, which have the same by both lists; z has it by the first alone."""
    with hold(TABLE).engine() as engine:
        pairs = engine.pairs()
        groups = pairs.weigh(TWO_LISTS, b"k")
        found = np.repeat(groups.weights, groups.sizes, axis=0)
        assert sorted(found.tolist()) == [[10, 1], [10, 8], [10, 8], [26, 14]]
        pairs.release(np.flatnonzero(found[:, 1] == 8)[1:])
        assert pairs.names() == ["c"]


def test_rows_that_are_there_twice_and_rows_without_user_or_item_change_nothing(hold):
    check_weights(hold(AGAIN))


def check_released(held):
    with held.engine() as engine:
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


def test_what_was_released_leaves_everybody(hold):
    check_released(hold(TABLE))


def test_items_of_one_weight_stand_in_their_own_order_wherever_their_rows_stood(hold):
    for rows in (TABLE, BACKWARDS):
        with hold(rows).engine() as engine:
            pairs = engine.pairs()
            pairs.weigh(SHARES, b"k")
            pairs.release(np.array([2]))
            assert pairs.names() == ["b"]


def check_users(held):
    with held.engine() as engine:
        pairs = engine.pairs()
        assert [array.tolist() for array in pairs.user_set_sizes(9)] == [[1, 2, 3], [2, 2, 1]]
        assert [array.tolist() for array in pairs.user_set_sizes(2)] == [[1, 2], [2, 3]]
        assert pairs.released_item_counts(9, b"k").tolist() == []
        pairs.weigh(SHARES, b"k")
        pairs.release(np.array([0, 1, 2]))
        assert pairs.names() == ["a", "b", "z"]
        assert pairs.released_item_counts(9, b"k").tolist() == [4, 2, 1]
        assert sum(pairs.released_item_counts(1, b"k").tolist()) == 5
        assert [array.tolist() for array in pairs.user_set_sizes(9)] == [[1, 2, 3], [2, 2, 1]]  # released or not


def test_users_of_released_items_and_lengths(hold):
    check_users(hold(TABLE))


FORTY = rows_of({f"u{v}": [f"i{n}" for n in range(40)] for v in range(3)})


def check_bound_of_weights(held):
    found = []
    with held.engine() as engine:
        for key in (b"k" * 16, b"k" * 16, b"o" * 16):
            groups = (pairs := engine.pairs()).weigh(np.array([9, 7, 5]), key)
            assert int((groups.weights * groups.sizes).sum()) == 3 * 3 * 5
            pairs.release(np.arange(groups.sizes.sum()))
            found.append(pairs.names())
    assert found[0] == found[1] != found[2]


def test_of_a_user_the_bound_keeps_so_many_and_the_key_says_which(hold):
    check_bound_of_weights(hold(FORTY))


ALONE = {"u0": [f"i{n}" for n in range(20)]}
OTHERS = {f"v{v}": [f"h{n}" for n in range(v)] for v in range(2, 9)}
BY_ITSELF, AMONG_OTHERS = rows_of(ALONE), rows_of({**OTHERS, **ALONE})


def kept_of_u0(held):
    """The items that u0 keeps: nobody else has any of them."""
    with held.engine() as engine:
        pairs = engine.pairs()
        groups = pairs.weigh(SHARES, b"k" * 16)
        pairs.release(np.arange(groups.sizes.sum()))
        return {item for item in pairs.names() if item.startswith("i")}


def test_what_a_user_keeps_depends_on_nobody_else(hold):
    found = kept_of_u0(hold(BY_ITSELF))
    assert len(found) == 3
    assert kept_of_u0(hold(AMONG_OTHERS)) == found


@pytest.mark.parametrize("name", [name for name in VALUES if name != "written"])
def test_items_of_every_type(hold, name):
    with hold(AWKWARD).engine(item=name) as engine:
        pairs = engine.pairs()
        groups = pairs.weigh(np.ones(99, dtype=np.int64), b"k")
        pairs.release(np.arange(groups.sizes.sum()))
        found = dict(zip(pairs.names(), pairs.released_item_counts(99, b"k").tolist(), strict=True))
        assert pairs.weigh(SHARES, b"k").weights.tolist() == []
    right = dict(counts(AWKWARD, "user", name))
    assert list(found) == sorted(right, key=in_order)
    assert found == right
    assert {type(value) for value in found} == {type(value) for value in right}


BIG = 2**53 + 1
MANY = pa.table({"user": np.arange(300), "item": ["a"] * 299 + ["b"]})


def test_sums_above_what_floats_hold_are_exact(hold):
    with hold(MANY).engine() as engine:
        assert engine.pairs().weigh(np.array([BIG]), b"k").weights.tolist() == [299 * BIG, BIG]


def test_neither_groups_nor_pairs_show_anything(hold):
    with hold(TABLE).engine() as engine:
        pairs = engine.pairs()
        assert repr(pairs.weigh(SHARES, b"k")) == "WeightGroups(private)"
        assert repr(pairs) == "SqlPairs(private)"


# ---- on DuckDB --------------------------------------------------------------------------------------------


KEPT = sql_pairs.kept_items


def by_number(pairs, most, key, dialect):
    """A twin: the hash is of an item's number among all items, which others change."""
    numbered = f"(SELECT u, i, dense_rank() OVER (ORDER BY i) AS c FROM {pairs})"
    return KEPT(
        numbered, most, key, replace(dialect, keyed_hash=lambda key, user, _: dialect.keyed_hash(key, user, "c"))
    )


def test_a_hash_of_numbers_that_others_change_is_seen_through(monkeypatch):
    monkeypatch.setattr(sql_pairs, "kept_items", by_number)
    assert kept_of_u0(judge(AMONG_OTHERS)) != kept_of_u0(judge(BY_ITSELF))


def test_the_bound_is_the_first_by_the_keyed_hash():
    with opened(rows_of({"u": [f"i{n}" for n in range(20)]})) as engine:
        found = everything(engine.pairs(), np.array([1, 1, 1]), b"key")
        rows = "(SELECT 'u' AS u, 'i' || n AS i FROM range(20) t(n))"
        order = DUCKDB.keyed_hash(secret_key_sql(b"key"), "u", "i")
        first = engine._database.workspace.fetch(f"SELECT i FROM {rows} ORDER BY {order}, i LIMIT 3")
    assert set(found) == {item for (item,) in first}


def test_what_does_not_fit_into_memory_is_answered(monkeypatch):
    """40 MB do not hold the rows of 600,000 pairs: they spill."""
    monkeypatch.setenv(memory.MEMORY_VARIABLE, "40MB")
    rows = pa.table({"user": np.arange(600_000) // 3, "item": np.arange(600_000) % 1000})
    union = CountLaplace(epsilon=1, delta="1e-6", max_items_per_user=2)
    with opened(rows) as engine:
        assert engine.contributions().pairs == 600_000
    with opened(rows) as engine:
        pairs = engine.pairs()
        (one,) = rounds_of(union)
        groups = pairs.weigh(one.shares, fresh_key())
        assert Fraction(int((groups.weights * groups.sizes).sum()), one.unit) == 400_000
        release_elsewhere(union, pairs)
        assert pairs.names() == list(range(1000))
