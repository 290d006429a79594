"""Dataset.union(in_engine=True): the same answers as in memory where they are all but certain, and what is refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import dpselect as dps
from dpselect._ground.methods import methods, names
from dpselect.aggregates.user_sets import UserSets
from dpselect.engines import memory
from dpselect.errors import ParameterError
from dpselect.queries.union.bound import ITEM_BOUNDS, count_places
from dpselect.release.answers.union_sentences import ADDED_IN_ENGINE
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of
from tests.engines.opened import DuckDBEngine
from tests.reference.test_unions import MANY, SOME, dataset

ABLE = [one.name for one in methods("union") if one.in_engine]
PRICE = {"epsilon": 8, "delta": "1e-9"}
COLUMNS = {"user": "user", "item": "item", "key": b"k"}


@pytest.mark.parametrize("method", ["auto", *ABLE])
def test_every_method_finds_what_many_share_and_nothing_of_one(method):
    most = 1 if method == "truncated-geometric" else 3
    release = by_names(dataset()).union(**PRICE, max_items_per_user=most, method=method, in_engine=True)
    assert release.labels == ["much", "some"]
    assert release.secure
    assert method in (release.privacy.parameters["method"], "auto")
    assert release.privacy.parameters["in_engine"] is True
    assert release.privacy.sentences[-2] == ADDED_IN_ENGINE
    assert (release.privacy.epsilon, release.privacy.delta) == (8, Fraction(1, 10**9))


def test_methods_are_those_whose_users_do_not_look():
    assert set(ABLE) == set(names("union")) - {"greedy-geometric"}


def test_the_statement_without_it_does_not_speak_of_engines():
    release = by_names(dataset()).union(**PRICE, max_items_per_user=3)
    assert "in_engine" not in release.privacy.parameters
    assert ADDED_IN_ENGINE not in release.privacy.sentences


@pytest.mark.parametrize("most", [1, 2, None])
def test_counts_are_users_each_of_whom_counts_for_so_many(most):
    release = by_names(dataset()).union(
        epsilon=200, delta="1e-9", method="weighted-gaussian", counts=True, max_items_per_user=most, in_engine=True
    )
    counts = {item.item: item.count for item in release.items}
    bound = release.privacy.parameters["max_items_per_user"]
    assert release.labels == ["much", "some"]  # the larger count first, in all three
    total = MANY if bound == 1 else MANY + SOME
    assert sum(counts.values()) == pytest.approx(total, abs=12)
    assert counts["much"] == pytest.approx(MANY - (SOME / 2 if bound == 1 else 0), abs=40 if bound == 1 else 10)


def test_users_stand_at_the_places_of_bounds_as_in_memory():
    lengths = [1, 1, 2, 7, 9, 9, 10, 11, 500, 501, 1000, 4000]
    capped, users = np.unique(np.minimum(lengths, ITEM_BOUNDS[-1]), return_counts=True)
    found = count_places(capped.astype(np.int64), users.astype(np.int64), ITEM_BOUNDS)
    each = [next(place for place, bound in enumerate(ITEM_BOUNDS) if bound >= min(t, 1000)) for t in lengths]
    assert dict(zip(found.indices.tolist(), found.users.tolist(), strict=True)) == Counter(each)


def test_the_bound_is_chosen_as_in_memory():
    lengths = [*range(1, 200), 4000]
    sets = UserSets.from_sets([[(v, i) for i in range(t)] for v, t in enumerate(lengths)])
    rows = [(v, i) for v, t in enumerate(lengths) for i in range(t)]
    terms = plan_of("union", epsilon="9999", delta="1e-9", method="weighted-gaussian")
    with DuckDBEngine(dict(zip(("user", "item"), zip(*rows, strict=True), strict=True)), **COLUMNS) as engine:
        found = terms.bound_choice.of_pairs(engine.pairs(), SeededDraws(1))
    assert found == terms.bound_choice.of_sets(sets, SeededDraws(2)) == 200


@pytest.mark.parametrize("method", sorted(set(names("union")) - set(ABLE)))
def test_methods_whose_users_look_are_refused_before_a_row_is_read(method):
    with pytest.raises(ParameterError, match="in_engine must be left out for"):
        by_names(dataset()).union(**PRICE, max_items_per_user=3, method=method, in_engine=True)


def test_what_else_is_refused():
    with pytest.raises(ParameterError, match="at most 1000000"):
        by_names(dataset()).union(**PRICE, max_items_per_user=10**6 + 1, method="weighted-gaussian", in_engine=True)
    with pytest.raises(ParameterError, match="in_engine"):
        by_names(dataset()).union(**PRICE, in_engine=1)
    with pytest.raises(ParameterError, match="in_engine must be left out if popular is given"):
        by_names(dataset()).union(**PRICE, popular=["much"], in_engine=True)
    texts = dps.Dataset({"user": [1, 2], "note": ["a b", "b"]}, user="user", item=dps.Text("note"))
    with pytest.raises(ParameterError, match="in_engine must be left out if the items are those of a text"):
        by_names(texts).union(**PRICE, in_engine=True)


def test_data_larger_than_the_memory_are_answered(monkeypatch):
    monkeypatch.setenv(memory.MEMORY_VARIABLE, "40MB")
    users = np.arange(600_000) // 3
    data = dps.Dataset({"user": users, "item": np.arange(600_000) % 3000}, user="user", item="item")
    ask = {"epsilon": 3, "delta": "1e-6", "max_items_per_user": 3}
    assert len(by_names(data).union(**ask)) == 3000
    assert len(by_names(data).union(**ask, in_engine=True)) == 3000


# ---- a top k of what a union finds ------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 3, None])
def test_the_best_of_what_was_found_in_the_engine(most):
    release = by_names(dataset(max_items_per_user=most)).top_k(
        5, epsilon=200, delta="1e-9", method="discover", counts=True, in_engine=True
    )
    assert release.labels == ["much", "some"]
    assert [item.count for item in release.items] == pytest.approx([MANY, SOME], abs=12)  # all users, whatever `most`
    assert release.privacy.parameters["in_engine"] is True
    assert release.privacy.sentences[-2] == ADDED_IN_ENGINE
    assert release.privacy.mechanism == "DiscoverThenPeel"


def test_nothing_found_in_the_engine_is_an_answer():
    rows = dps.Dataset({"user": [1, 2], "item": ["a", "b"]}, user="user", item="item", max_items_per_user=2)
    assert by_names(rows).top_k(5, epsilon=1, delta="1e-9", method="discover", counts=True, in_engine=True).labels == []


@pytest.mark.parametrize("more", [{"method": "limited-domain"}, {"by": "country"}, {"method": "peeling"}], ids=str)
def test_what_is_not_left_in_the_engine(more):
    domain = {"domain": ["a", "b"]} if more.get("method") == "peeling" else {}
    with pytest.raises(ParameterError, match="in_engine must be left out"):
        plan_of("top_k", k=1, epsilon=1, in_engine=True, **more, **domain)


def test_auto_leaves_there_what_it_discovers_and_the_ledger_knows_it_by_that():
    keys = [plan_of("top_k", k=k, epsilon=1, in_engine=there).key for k in (1, 80) for there in (False, True)]
    assert keys[0] == keys[1]
    assert keys[2] | {"in_engine": True} == keys[3]
