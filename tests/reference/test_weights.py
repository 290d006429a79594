"""A top k by weights, from the question to the release: what is said, in which unit, what is refused, who pays."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dpselect as dps
from dpselect.release.accuracy import BETA
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of

USERS = 900
ROWS = {
    "user": [u for u in range(USERS) for _ in range(3)],
    "item": [f"i{n}" for u in range(USERS) for n in (u % 2, 2, 3)],
    "minutes": [m for u in range(USERS) for m in (40.25, 0.75 * (u % 3), 900.0 if u < 9 else 0.2)],
}
DATA = dps.Dataset(ROWS, user="user", item="item")
SURE = {"epsilon": 60, "delta": "1e-6"}


def test_the_largest_sums_come_first_and_nobody_gives_more_than_the_cap():
    found = by_names(DATA).top_k(4, **SURE, by_weight="minutes", at_most=60)
    assert found.labels[:2] in (["i0", "i1"], ["i1", "i0"])
    assert found.labels[2:] == ["i2", "i3"]  # 900 and 540; without the cap i3 would have 8,100
    assert DATA.top_k(3, epsilon=60, delta="1e-6").labels[0] in ("i2", "i3")  # by users


@pytest.mark.parametrize(("unit", "true"), [(None, {"i0": 18_000, "i2": 900}), ("0.25", {"i0": 18_112.5, "i2": 675.0})])
def test_sums_are_in_the_unit_of_the_column(unit, true):
    weights = {"by_weight": "minutes", "at_most": 60, "weight_unit": unit}
    found = by_names(DATA).top_k(4, **SURE, **weights, counts=True, draws=SeededDraws(1))
    assert list(found.to_columns()) == ["rank", "item", "counted_sum", "low", "high"]
    assert found.weight == "minutes"
    for item in found:
        assert {type(n) for n in (item.count, item.low, item.high)} == {int if unit is None else float}
        assert Fraction(item.count) % Fraction(unit or 1) == 0
        if item.item in true:
            assert item.low <= true[item.item] <= item.high
    width = found.accuracy.numbers["width_of_counts"]
    assert found[0].high - found[0].count == width
    again = dps.Release.from_json(found.to_json())
    assert again == found
    assert found.to_dict()["items"][0]["sum"] == found[0].count


def test_the_width_is_that_of_noise_of_the_cap():
    """A cap of s units needs s times the noise: of 60 minutes in tenths, 60 times that of a count, in minutes."""
    by_users, by_minutes = (
        plan_of("top_k", k=3, **SURE | {"epsilon": 1}, counts=True, **more).selection
        for more in ({}, {"by_weight": "m", "at_most": 60, "weight_unit": "0.1"})
    )
    assert by_minutes.counter.noise.own == by_users.counter.noise.own * 600**2
    assert by_minutes.counter.noise.shared == by_users.counter.noise.shared * 600**2
    assert by_minutes.count_width == pytest.approx(600 * by_users.count_width, rel=0.03)
    assert by_minutes.selector.terms.rate * 600 == by_users.selector.terms.rate
    assert by_minutes.privacy == by_users.privacy
    rate = by_users.selector.terms.rate
    assert by_minutes.selector.height == pytest.approx(600 * by_users.selector.height)
    assert by_minutes.selector.terms.reach(BETA) == 600 * by_users.selector.terms.reach(BETA)
    assert by_minutes.selector.terms.gap(BETA) * rate / 600 == by_users.selector.terms.gap(BETA) * rate


def test_a_release_says_what_a_score_is():
    found = by_names(DATA).top_k(4, **SURE, by_weight="minutes", at_most=60, weight_unit="0.5", counts=True)
    said = found.explain()
    assert said.startswith("4 items, by counted sums, best first; rows below 0 count as 0.")
    assert str(found).startswith("4 items, by counted sums, best first; rows below 0 count as 0.\n")
    assert "the total of minutes in their rows of the item, rounded to" in " ".join(said.split())
    assert found.privacy.parameters["at_most"] == 60
    assert found.privacy.parameters["weight_unit"] == Fraction(1, 2)
    gap = found.accuracy.numbers["gap"]
    assert f"has at most {gap:,} of counted minutes more" in found.accuracy.sentences[0]
    assert not any("users" in sentence for sentence in found.accuracy.sentences)
    known = {"epsilon": 9, "domain": ["i0", "i1", "i9"], "by_weight": "minutes", "at_most": 60}
    found = by_names(DATA).top_k(2, **known, method="canonical-set")
    assert "of counted minutes more than any one" in found.accuracy.sentences[0]
    none = by_names(DATA).top_k(2, epsilon=1, delta="1e-9", by_weight="minutes", at_most=10**6)
    said = " ".join(str(none).split())
    assert said.startswith("0 of at most 2 items: none could be released, though there may be some; rows below 0")
    assert "gives an item at most 1,000,000 of minutes." in said


def test_heights_are_said_without_exponents():
    said = by_names(DATA).top_k(2, epsilon="0.1", delta="1e-6", by_weight="minutes", at_most=60).explain()
    plan = plan_of("top_k", k=2, epsilon="0.1", delta="1e-6", by_weight="minutes", at_most=60).selection
    height = int(float(f"{plan.selector.height:.4g}"))
    assert height > 10_000
    assert f"(bottom), {height:,} of minutes above the sum at rank" in " ".join(said.split())


def test_names_of_columns_do_not_steer_a_terminal():
    rows = {"user": ROWS["user"], "item": ROWS["item"], "m\x1b[2J": ROWS["minutes"]}
    found = by_names(dps.Dataset(rows, user="user", item="item")).top_k(
        2, **SURE, by_weight="m\x1b[2J", at_most=60, counts=True
    )
    assert "\x1b" not in str(found)
    assert "\x1b" not in found._repr_html_()
    assert dps.Release.from_json(found.to_json()).weight == "m\x1b[2J"


def test_the_automatic_method_takes_none_that_counts_users():
    assert plan_of("top_k", k=200, epsilon=1).selection.method == "discover"
    assert plan_of("top_k", k=200, epsilon=1, by_weight="w", at_most=5).selection.method == "limited-domain-sparse"
    assert plan_of("top_k", k=20, epsilon=1, by_weight="w", at_most=5).selection.method == "limited-domain"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"at_most": 5}, "by_weight must be given for weights"),
        ({"weight_unit": 5}, "by_weight must be given for weights"),
        ({"by_weight": "w"}, "at_most must be given with by_weight"),
        ({"by_weight": " ", "at_most": 5}, "by_weight must be the name of a column"),
        ({"by_weight": "w", "at_most": 2.5}, "weight_unit must be given if at_most is not a whole number"),
        ({"by_weight": "w", "at_most": 5, "weight_unit": 2}, "at_most must be a whole number of units, from 1 to"),
        ({"by_weight": "w", "at_most": 10**6 + 1}, "at_most must be a whole number of units"),
        ({"by_weight": "w", "at_most": 1, "weight_unit": 2}, "at_most must be a whole number of units"),
        ({"by_weight": "w", "at_most": 5, "method": "discover"}, "limited-domain, limited-domain-sparse, peeling"),
        ({"by_weight": "w", "at_most": 5, "within": 50, "epsilon": None}, "within must be left out if by_weight"),
        ({"by_weight": "w", "at_most": 5, "by": "item"}, "by must be columns other than user and item"),
        ({"by_weight": "w", "at_most": 5, "by": "minutes", "method": "discover"}, "method must be one of limited"),
        ({"by_weight": "w", "at_most": 5}, "by_weight must be a column of the source, got 'w'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_before_anything_is_paid(given, message):
    budget = dps.Budget(epsilon=2, delta="1e-5")
    with pytest.raises(dps.ParameterError, match=message):
        by_names(dps.Dataset(ROWS, user="user", item="item", budget=budget)).top_k(2, **{"epsilon": 1, **given})
    assert budget.left == 1


def test_parts_of_a_text_have_no_weights():
    data = dps.Dataset(ROWS, user="user", item=dps.Split("item", " "))
    with pytest.raises(dps.ParameterError, match="split must be left out if by_weight is given"):
        by_names(data).top_k(2, **SURE, by_weight="minutes", at_most=5)
