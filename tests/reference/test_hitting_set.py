"""k items that together reach most users, as a user asks for them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import dpselect as dps
from dpselect.accounting.hitting_set import hitting_divergence
from dpselect.accounting.renyi_prices import divergence
from dpselect.checking.finding import Verdict
from dpselect.checking.promise import promised
from dpselect.errors import ParameterError
from dpselect.privacy import ApproxDP, BoundedRange
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


DOMAIN = ["weather", "chess", "opera", "rare", "nobody", "none"]


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize("settings", [{}, {"max_items_per_user": 1}], ids=str)
def test_of_a_known_domain_exactly_k_come_back(settings, delta):
    terms = {**TERMS, "delta": delta, "domain": DOMAIN}
    release = data(**settings).top_k(3, **terms)
    assert release.labels == ["weather", "chess", "opera"]
    assert (release.privacy.mechanism, release.kind, release.complete) == ("GreedyHittingSet", "ranking", True)
    assert "3 items that together reach many users" in str(release)
    assert "no other item of the domain would have reached over" in " ".join(str(release).split())
    assert [one.verdict for one in promised(release)] == [Verdict.FOLLOWS]
    assert set(data().top_k(6, **terms).labels) == set(DOMAIN)
    used = dict(release.privacy.parameters)
    used["epsilon_per_pick"] *= 2
    again = replace(release, privacy=replace(release.privacy, parameters=used))
    assert [one.verdict for one in promised(again)] == [Verdict.FAILS]


def test_a_domain_may_be_a_range_or_a_column_and_tuples():
    users = [user for user in range(900) for _ in range(2)]
    twice = [item for user in range(900) for item in ((3, 4) if user < 600 else (7, 5))]
    of = dps.Dataset({"user": users, "item": twice}, user="user", item="item")
    terms = {"epsilon": 8, "method": "hitting-set"}
    for domain in (range(9), dps.Column({"n": [3, 4, 5, 6]}, "n")):
        found = of.top_k(2, domain=domain, **terms).labels
        assert found[0] in (3, 4)
        assert found[1] in (5, 7)
    pairs = dps.Dataset({"user": users, "a": twice, "b": ["x"] * len(twice)}, user="user", item=["a", "b"])
    assert pairs.top_k(2, domain=[(3, "x"), (5, "x"), (3, "y")], **terms).labels == [(3, "x"), (5, "x")]


def test_what_a_known_domain_costs_a_budget_of_either_kind():
    price = TopKQuery(k=100, epsilon=1, delta="1e-6", method="hitting-set", domain=list(range(200))).plan
    each = price.selector.epsilon_per_pick
    assert price.privacy.approx == ApproxDP(Fraction(1), Fraction(1, 10**6))
    added, at = price.price_at(None), price.price_at(8)
    assert (added.added, added.failure, added.composition) == (100 * each, 0, Fraction(1, 10**6))
    assert at.renyi == hitting_divergence(100, each, 8) < added.added / 50
    few = TopKQuery(k=1, epsilon=1, method="hitting-set", domain=["a", "b"]).plan
    assert few.price_at(8).renyi == min(divergence(BoundedRange(Fraction(1)), 8), hitting_divergence(1, Fraction(1), 8))


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
        ({"domain": 50}, "domain"),
        ({"domain": range(10**7)}, "domain"),
        ({"domain": ["a", "b"]}, "k"),
        ({"domain": ["a", "b", "c", "d"], "counts": True}, "counts"),
        ({"domain": ["a", "b", "c", "d"], "measures": ["users"]}, "counts"),
        ({"domain": ["a", "b", "c", "d"], "in_engine": True}, "in_engine"),
        ({"domain": ["a", "b", "c", "d"], "within": 50, "epsilon": None}, "method"),
        ({"by_weight": "minutes", "at_most": 5}, "method"),
        ({"within": 50, "epsilon": None}, "method"),
    ],
    ids=str,
)
def test_what_does_not_go_with_it(more, name):
    with pytest.raises(ParameterError) as refused:
        TopKQuery(**{"k": 3, **TERMS, **more})
    assert refused.value.parameter == name
