"""k items that together reach most users, as a user asks for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dpselect as dps
from dpselect.checking.finding import Verdict
from dpselect.checking.promise import promised
from dpselect.errors import ParameterError
from dpselect.queries.top_k import TopKQuery

TERMS = {"epsilon": 8, "delta": "1e-9", "method": "hitting-set"}


def rows():
    """The same 900 users have three items, 300 others one, and 200 yet another."""
    kinds = [("news", "weather", "sport")] * 900 + [("chess",)] * 300 + [("opera",)] * 200 + [("rare",)]
    pairs = [(user, item) for user, items in enumerate(kinds) for item in items]
    return {"user": [user for user, _ in pairs], "item": [item for _, item in pairs]}


def data(**more):
    return dps.Dataset(rows(), user="user", item="item", **more)


@pytest.mark.parametrize("settings", [{}, {"max_items_per_user": 1}, {"max_items_per_user": 3}], ids=str)
def test_items_that_together_reach_most_users(settings):
    release = data(**settings).top_k(3, **TERMS)
    assert release.labels[0] in ("news", "weather", "sport")
    assert release.labels[1:] == ["chess", "opera"]
    assert [item.rank for item in release] == [1, 2, 3]
    assert (release.privacy.mechanism, release.kind, release.counted) == ("HittingSet", "ranking", False)
    assert "3 items that together reach many users" in str(release)
    assert "best first" not in str(release)
    found = promised(release)
    assert [one.verdict for one in found] == [Verdict.FOLLOWS, Verdict.STATED]
    assert "users not yet reached" in found[0].sentence


def test_a_release_that_says_too_little_is_refused():
    release = data(max_items_per_user=3).top_k(3, **TERMS)
    used = dict(release.privacy.parameters)
    used["epsilon_per_pick"] *= 2
    again = replace(release, privacy=replace(release.privacy, parameters=used))
    assert Verdict.FAILS in [one.verdict for one in promised(again)]


def test_all_come_back_where_no_more_were_found_and_none_where_nothing_was():
    release = data(max_items_per_user=3).top_k(50, **TERMS)
    assert set(release.labels) == {"news", "weather", "sport", "chess", "opera"}
    assert not release.complete
    few = dps.Dataset({"user": [1, 2], "item": ["a", "a"]}, user="user", item="item", max_items_per_user=2)
    assert few.top_k(3, **TERMS).labels == []


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"in_engine": True}, "in_engine"),  # what ranks there picks by all users, at another price
        ({"counts": True}, "counts"),
        ({"measures": ["users"]}, "counts"),
        ({"k_bar": 100}, "k_bar"),
        ({"by": "country"}, "method"),
        ({"domain": ["a", "b", "c", "d"]}, "method"),
        ({"by_weight": "minutes", "at_most": 5}, "method"),
        ({"within": 50, "epsilon": None}, "method"),
    ],
    ids=str,
)
def test_what_does_not_go_with_it(more, name):
    with pytest.raises(ParameterError) as refused:
        TopKQuery(**{"k": 3, **TERMS, **more})
    assert refused.value.parameter == name
