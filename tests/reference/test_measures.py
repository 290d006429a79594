"""A top k with measures, from the question to the release: what is said, in every form, what is refused, who pays."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

import dpselect as dps
from dpselect.accounting.composition import basic
from dpselect.aggregates.measures import Mean, Sum, measures_of
from dpselect.checking.finding import Verdict, worst_verdict
from dpselect.mechanisms.top_k.noisy_counts import NoisyCounts
from dpselect.mechanisms.top_k.noisy_measures import NoisyMeasures
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of
from tests.judge.promise import promised

USERS = 900
ROWS = {
    "user": [u for u in range(USERS) for _ in range(3)],
    "item": [f"i{n}" for u in range(USERS) for n in (u % 2, 2, 2)],
    "minutes": [m for u in range(USERS) for m in (40.25, 10.0, 900.0 if u < 9 else 0.25)],
    "stars": [s for u in range(USERS) for s in (4 if u % 3 else None, 1, 2)],
}
DATA = dps.Dataset(ROWS, user="user", item="item")
SURE = {"epsilon": 500, "delta": "1e-6"}
ALL = ["users", Sum("minutes", 0, 30), "mean(stars, 1, 5)"]
DOMAIN = ["i0", "i1", "i2", "i3"]
HOW = {
    "limited domain": {},
    "limited domain, bound": {"most": 1},
    "peeling": {"domain": DOMAIN, "k": 4},
    "a set": {"domain": DOMAIN, "method": "canonical-set"},
    "a size": {"domain": 50},
    "discover": {"method": "discover"},
}
TRUE = {  # of users, of minutes cut to 30, and the mean of stars
    "i0": (450, 13500, 4),
    "i1": (450, 13500, 4),
    "i2": (900, 891 * 10 + 9 * 30, 1.5),
    "i3": (0, 0, None),
}


@pytest.mark.unjudged  # at this epsilon a union takes less than its share, which is not in the release
@pytest.mark.parametrize("name", HOW)
def test_measures_of_every_method(name: str) -> None:
    """At a large epsilon noise is small: the intervals hold the true numbers, and no others."""
    how = dict(HOW[name])
    data = dps.Dataset(ROWS, user="user", item="item", max_items_per_user=how.pop("most", None))
    found = by_names(data).top_k(**{"k": 3, **how, **SURE}, measures=ALL, draws=SeededDraws(3))
    assert {"i0", "i1", "i2"} <= set(found.labels)
    assert found.counted
    for item in found:
        total, mean = item.measures
        assert (total.name, mean.name) == ("sum(minutes)", "mean(stars)")
        assert type(total.value) is int
        users, minutes, stars = TRUE[item.item]
        if data.max_items_per_user != 1:  # else about half of the users count
            assert abs(item.count - users) < 40
            assert abs(total.value - minutes) < 600
            assert stars is None or mean.low - 0.2 <= stars <= mean.high + 0.2
        assert mean.low <= mean.value <= mean.high
        assert 1 <= mean.low <= mean.high <= 5
    if data.max_items_per_user == 1:
        assert abs(sum(item.count for item in found) - USERS) < 40


def test_a_release_of_other_measures_than_it_speaks_of_is_none() -> None:
    found = by_names(DATA).top_k(1, **SURE, measures=ALL).to_dict()
    for change in ({}, {"sum(minutes)": found["items"][0]["measures"]["sum(minutes)"]}, {"x": 1}, 5):
        other = json.loads(json.dumps(found))
        other["items"][0]["measures"] = change
        with pytest.raises(dps.ParameterError, match="text must be the JSON of a release"):
            dps.Release.from_json(json.dumps(other))


def test_columns_of_items_that_are_called_like_measures() -> None:
    rows = {
        "user": ROWS["user"],
        "counted sum(w)": ROWS["item"],
        "Counted Mean(W) LOW": ROWS["item"],
        "w": ROWS["minutes"],
    }
    found = by_names(dps.Dataset(rows, user="user", item=["counted sum(w)", "Counted Mean(W) LOW"])).top_k(
        2, **SURE, measures=["sum(w, 0, 9)", "mean(w, 0, 9)"]
    )
    assert list(found.to_columns())[1:4] == [
        "item_counted sum(w)",
        "item_Counted Mean(W) LOW",
        "counted sum(w)",
    ]
    assert found.labels[0] == ("i2", "i2")


def test_names_of_columns_hold_anything() -> None:
    for column in ("a, b", "f(x)", " x", 'x"', '"q"', "sum(a, 1, 2)", ")", "unit=3", "é", "a,1"):
        for one in (Sum(column, "-1/3", 2, unit="1/3"), Sum(column, 0, 60), Mean(column, "0.1", 1e9)):
            assert measures_of(str(one)) == ((one,), False)
    rows = {"user": ROWS["user"], "item": ROWS["item"], "m\x1b[2J, (h)": ROWS["minutes"]}
    found = by_names(dps.Dataset(rows, user="user", item="item")).top_k(
        2, **SURE, measures="mean(m\x1b[2J, (h), 0, 60)"
    )
    assert "\x1b" not in str(found)
    assert "\x1b" not in found._repr_html_()


def test_every_noisy_number_has_the_price_of_a_count() -> None:
    """A sum is one number and a mean two: four of each item with its users; a user moves those of at most two items."""
    for bound, times in ((None, 3 * 4), (2, 2 * 4)):
        plan = plan_of("top_k", k=3, epsilon=1, domain=DOMAIN, measures=ALL, max_items_per_user=bound).selection
        picks, numbers, *others = plan.privacy.steps
        moved, alone = times // 4, 3 - bool(plan.measurer.sums)  # a sum of one sign may have other noise
        assert (picks.times, numbers.times) == (3, alone * moved)
        assert bool(plan.measurer.sums) == (bound is None)
        assert plan.measurer.epsilon_per_noise == numbers.value.epsilon
        assert numbers.value.epsilon * 2 == picks.value.epsilon
        sums = plan.measurer.steps_of(3)[1:]
        assert basic(sums) <= numbers.value.epsilon * moved
        assert basic(others[len(sums) :]) <= numbers.value.epsilon * 3  # all counts together
        assert basic(plan.privacy.steps) <= plan.privacy.epsilon == 1
        assert basic(plan.privacy.steps) == 1 or bound
        assert plan.steps(SimpleNamespace(found=(1,)))[1].times == alone
    either = Sum("w", -7, 5)
    noise = NoisyMeasures(measures=[either], k=1, epsilon_per_noise=2).noise_of(either)
    assert isinstance(noise, NoisyCounts)
    assert noise.rate == Fraction(2, 7)


def test_a_short_answer_costs_less() -> None:
    budget = dps.Budget(epsilon=200, delta="1e-5")
    data = dps.Dataset(ROWS, user="user", item="item", budget=budget)
    found = data.top_k(9, epsilon=90, delta="1e-6", measures=["sum(minutes, 0, 30)"])
    assert len(found) == 3
    assert 200 * (1 - budget.left) < 45  # four picks of nine, and the measures of three items


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measures": []}, "measures must be one or more"),
        ({"measures": ["sum(minutes, 0, 9)", Sum("Minutes", 0, 5)]}, "measures must be one or more, each of another"),
        ({"measures": "median(minutes, 0, 9)"}, "measures must be users, sum"),
        ({"measures": "sum(minutes, 9)"}, "measures must be users, sum"),
        ({"measures": "sum(minutes, 9, 0)"}, "low must be below high"),
        ({"measures": "sum(minutes, 0, x)"}, "high must be a finite number, got 'x'"),
        ({"measures": "sum(minutes, 0, 2.5)"}, "unit must be given if low or high is not a whole number"),
        ({"measures": "sum(minutes, 0, 2.5, unit=1)"}, "high must be a whole number of units"),
        ({"measures": "sum(minutes, 0, 1e7)"}, "high must be a whole number of units, at most 1,000,000 of them"),
        ({"measures": ALL, "by": "stars"}, "by must be left out if measures is given"),
        ({"measures": ALL, "by_weight": "minutes", "at_most": 5}, "measures must be left out if by_weight is given"),
        ({"measures": ALL, "within": 50, "epsilon": None}, "within must be left out if measures is given"),
        ({"measures": "sum(minuts, 0, 9)"}, "measures must be a column of the source, got 'minuts'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_paid(given, message) -> None:
    budget = dps.Budget(epsilon=2, delta="1e-5")
    with pytest.raises(dps.ParameterError, match=message):
        by_names(dps.Dataset(ROWS, user="user", item="item", budget=budget)).top_k(2, **{"epsilon": 1, **given})
    assert budget.left == 1


def test_parts_of_a_text_have_no_measures() -> None:
    data = dps.Dataset(ROWS, user="user", item=dps.Split("item", " "))
    with pytest.raises(dps.ParameterError, match="split must be left out if measures is given"):
        by_names(data).top_k(2, **SURE, measures=ALL)


@pytest.mark.parametrize("method", ["limited-domain", "discover"])
def test_a_tampered_release_of_sums_that_share_noise_is_found(method: str) -> None:
    """The price is recomputed from the noise that is stated for one unit; bounds of both signs share none."""
    sums = [Sum("minutes", 0, 30), Sum("stars", -5, 0)]
    data = dps.Dataset(ROWS, user="user", item="item", max_items_per_user=3)
    how = {"epsilon": 2, "delta": "1e-6", "method": method, "measures": ["users", *sums]}
    release = by_names(data).top_k(3, **how)
    said = release.privacy.parameters
    assert worst_verdict(promised(release)) is not Verdict.FAILS
    for change in (
        {"own_variance_of_sums": said["own_variance_of_sums"] * Fraction(9, 10)},
        {"shared_variance_of_sums": said["shared_variance_of_sums"] * Fraction(1, 2)},
        {"own_variance_of_sums": None},
        {"measures": ("mean(minutes, 0, 30)", "sum(stars, -5, 5)")},
    ):
        statement = replace(release.privacy, parameters={**said, **change})
        assert worst_verdict(promised(replace(release, privacy=statement))) is Verdict.FAILS, change
