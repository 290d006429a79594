"""A top k by limited domain by sparse vector, asked of a data set: what it says, what it costs, when it ends."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest

import dpselect as dps
from dpselect._ground.privacy import BoundedRange
from dpselect.accounting.composition import basic
from dpselect.accounting.prices import divergence
from dpselect.mechanisms import LimitedDomainSparse
from dpselect.release.accuracy import BETA
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of
from tests.exact.laws import law_of
from tests.judge.payment import Cost

NAME = "limited-domain-sparse"
ROWS = {"user": [*range(3000), *range(2000), *range(4)], "item": ["ant"] * 3000 + ["bee"] * 2000 + ["cat"] * 4}


def query(**more):
    return plan_of("top_k", **{"k": 3, "epsilon": 1, "delta": "1e-6", "method": NAME, **more})


def test_it_answers_and_says_how():
    data = dps.Dataset(ROWS, user="user", item="item")
    found = by_names(data).top_k(3, epsilon=1, delta="1e-6", method=NAME, counts=True, draws=SeededDraws(1))
    assert found.labels == ["ant", "bee"]
    assert not found.complete
    assert abs(found.items[0].count - 3000) < 200
    said = " ".join(found.privacy.sentences)
    assert "one noisy threshold decides which picks are returned" in said
    assert "the first one below it ends the list" in said
    assert found.privacy.mechanism == "LimitedDomainSparse"
    assert found.accuracy.numbers["reach"] > found.privacy.parameters["height"]


def test_it_answers_by_weights():
    rows = ROWS | {"w": [2] * 3000 + [4] * 2000 + [1] * 4}
    data = dps.Dataset(rows, user="user", item="item")
    found = by_names(data).top_k(
        2, epsilon=1, delta="1e-6", method=NAME, by_weight="w", at_most=5, draws=SeededDraws(1)
    )
    assert sorted(found.labels) == ["ant", "bee"]


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_an_answer_costs_what_it_shows_and_never_more_than_its_ceiling(k, counts):
    plan = query(k=k, counts=counts).selection
    t, most = plan.selector.terms, plan.price_at(23)
    assert most.epsilon == plan.privacy.epsilon == 1
    costs = [plan.cost_at(SimpleNamespace(found=(items,)), None).whole for items in range(k + 1)]
    spent = [cost.epsilon for cost in costs]
    assert spent == sorted(spent)
    assert spent[0] == t.epsilon_of_threshold + max(t.epsilon_per_pick, t.epsilon_of_test)
    assert spent[0] < 1 or k == 1
    assert spent[-1] == 1
    assert all(cost.failure == Fraction(1, 10**6) for cost in costs)
    assert most.renyi == sum(divergence(s.value, 23) * s.times for s in plan.privacy.steps)
    assert basic(plan.steps(SimpleNamespace(found=(0,)))) == basic(plan.privacy.steps)


def test_an_account_adds_up_what_was_shown_and_all_divergences():
    plan = query(k=20).selection
    empty = dps.Dataset({"user": [1], "item": [5]}, user="user", item="item").top_k(20, epsilon=1, method=NAME)
    most, cost, added = plan.price_at(23), plan.cost_at(empty, 23), plan.cost_at(empty, None)
    assert cost.epsilon == cost.added == added.epsilon < most.epsilon < most.added
    assert cost.renyi == most.renyi
    assert added.renyi == added.added
    assert cost.failure == most.failure == plan.selector.terms.delta_threshold


@pytest.mark.parametrize("k", [2, 20])
def test_who_checks_an_answer_finds_the_same_cost(k):
    data = dps.Dataset(ROWS, user="user", item="item")
    for more in ({}, {"counts": True}):
        found, plan = by_names(data).top_k(k, epsilon=1, method=NAME, **more), query(k=k, **more).selection
        cost, own = Cost.of(found), plan.cost_at(found, 23)
        *plain, last = plan.privacy.steps
        if k == 20 and more:  # Gaussian noise counts by its rho, and may fail where its epsilon adds up
            (told,) = plan.counter.steps_of(len(found))
            assert cost.beside == told.value.rho < cost.steps[-1].epsilon == last.value.rho
            assert (cost.added, cost.failure) == (own.added - told.value.epsilon, own.failure - plan.counter.failure)
        else:
            assert (cost.epsilon, cost.added, cost.failure) == (own.epsilon, own.added, own.failure)
            assert (cost.steps[-1].epsilon, cost.steps[-1].times) == (last.value.epsilon, last.times)
        assert [(one.epsilon, one.times) for one in cost.steps[:-1]] == [(s.value.epsilon, s.times) for s in plain]


@pytest.mark.parametrize("case", [{"k": 2, "epsilon": 3, "delta": "3/5"}, {"k": 1, "epsilon": 3, "delta": "1/50"}])
def test_divergences_are_at_most_what_is_charged(case):
    """Where no item leaves the k_bar best: the divergence of the real call, both ways."""
    m, order = LimitedDomainSparse(k_bar=2, **case), 3
    charged = float(sum(divergence(s.value, order) * s.times for s in m.privacy.steps))
    most = 0.0
    for up in (0, m.terms.height, m.terms.height + 2):
        for x in ((1, 0), (0, 1), (1, 1)):
            laws = law_of(m, (up + 1, up + 1)), law_of(m, (up + 1 + x[0], up + 1 + x[1]))
            for p, q in (laws, laws[::-1]):
                moment = sum(float(p[o]) ** order * float(q[o]) ** (1 - order) for o in p if float(p[o]) > 0)
                most = max(most, moment)
    assert 1 < most <= 2.718281828459045 ** ((order - 1) * charged)
    assert isinstance(m.privacy.steps[0].value, BoundedRange)


@pytest.mark.parametrize("case", [{"k": 1, "epsilon": 6, "delta": "1/20"}, {"k": 2, "epsilon": 9, "delta": "1/20"}])
def test_the_list_does_not_end_before_an_item_far_above_the_cut(case):
    m = LimitedDomainSparse(k_bar=2, **case)
    reach = int(m.terms.reach(BETA)) + 1
    for low in (0, m.terms.height):
        counts = (reach + low, reach + low, low)
        short = sum(float(p) for o, p in law_of(m, counts).items() if len(o) < m.k)
        assert short <= BETA
    near = (m.terms.height - 2, m.terms.height - 2, 0)
    assert sum(float(p) for o, p in law_of(m, near).items() if len(o) < m.k) > BETA


def test_within_and_k_bar_are_taken():
    assert query(k_bar=50).selection.k_bar == 50
    near = plan_of("top_k", k=3, within=50, delta="1e-6", method=NAME)
    assert near.selection.shortfall(None) <= 50
    with pytest.raises(dps.ParameterError, match="method must be auto, limited-domain or discover"):
        query(by="country")
