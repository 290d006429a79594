"""Histograms asked of a data set: counts, intervals, prices in a ledger, and what is refused before the price."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import dpselect as dps
from dpselect._ground.privacy import ZCDP, PureDP
from dpselect.accounting.prices import divergence
from dpselect.aggregates.count_groups import CountGroups
from dpselect.mechanisms import HistogramGaussian, HistogramLaplace, HistogramSharedGaussian, HistogramSharedLaplace
from dpselect.release.statement import Kind
from dpselect.testing import SeededDraws
from tests.by_names import by_names, plan_of

ROWS = {
    "user": [u for u in range(400) for _ in range(3)],
    "item": [i for u in range(400) for i in ("all", f"half{u % 2}", f"many{u % 40}")],
}
DOMAIN = ["half1", "nobody", "all", "half0"]
MANY = [f"many{n}" for n in range(40)]
ANN = dps.Account("default", "ann")


def data(**more: object) -> dps.Dataset:
    return dps.Dataset(ROWS, user="user", item="item", **more)  # type: ignore[arg-type]


def test_all_noise_comes_from_the_draws() -> None:
    plan, counts = plan_of("histogram", domain=MANY, epsilon=1), CountGroups.from_items(MANY, [10] * 40)
    first, again, other = (
        [one.count for one in plan.answer(plan.draw(counts, SeededDraws(seed)))] for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("size", [1, 2, 40])
def test_an_answer_is_what_was_planned_of_it(size: int) -> None:
    plan, counts = plan_of("histogram", domain=MANY[:size], epsilon=1), CountGroups.from_items(MANY[:size], [10] * size)
    release = plan.answer(plan.draw(counts, SeededDraws(1)))
    assert plan.answer(plan.outcome_of(release)) == release


def test_all_counts_in_the_order_of_the_domain() -> None:
    release = data().histogram(domain=DOMAIN, epsilon=4000)
    assert [(item.item, item.rank, item.count) for item in release] == [
        ("half1", None, 200), ("nobody", None, 0), ("all", None, 400), ("half0", None, 200),
    ]  # fmt: skip
    assert release.kind is Kind.SET
    assert list(release.to_columns()) == ["item", "count", "low", "high"]
    assert release.complete
    assert not release.ranked


def test_intervals_are_those_of_the_noise_and_of_all_items() -> None:
    release = data(max_items_per_user=2).histogram(domain=MANY, epsilon="1/2")
    used = plan_of("histogram", domain=MANY, epsilon="1/2", max_items_per_user=2).mechanism
    width = used.width(0.05, 40)
    numbers = {"width_of_counts": width, "width_of_one_count": used.width(0.05), "lead": used.lead(0.05, 40)}
    assert release.accuracy.numbers == numbers
    assert all(item.low == max(0, item.count - width) and item.high == max(0, item.count + width) for item in release)
    q = math.exp(-1 / 4)
    assert [(1 - 2 * q ** (w + 1) / (1 + q)) ** 40 >= 0.95 for w in (width - 1, width)] == [False, True]


@pytest.mark.parametrize(
    ("most", "domain", "delta", "moved", "noise"),
    [
        (None, DOMAIN, 0, 4, HistogramSharedLaplace),
        (2, DOMAIN, 0, 2, HistogramLaplace),
        (9, DOMAIN, 0, 4, HistogramSharedLaplace),
        (1, MANY, "1e-6", 1, HistogramLaplace),
        (None, MANY, "1e-6", 40, HistogramSharedGaussian),
        (9, MANY, "1e-6", 9, HistogramSharedGaussian),
        (2, dps.Column({"name": MANY}, "name"), 0, 2, HistogramLaplace),
        (60, dps.Column({"name": MANY}, "name"), "1e-6", 60, HistogramGaussian),
        (None, range(3), 0, 3, HistogramSharedLaplace),
    ],
)
def test_the_noise_is_for_as_many_counts_as_a_user_moves(most, domain, delta, moved, noise) -> None:
    query = plan_of("histogram", domain=domain, epsilon=1, delta=delta, max_items_per_user=most)
    assert query.mechanism.max_items_per_user == moved
    assert type(query.mechanism) is noise
    gaussian = noise in (HistogramGaussian, HistogramSharedGaussian)
    assert (query.price.epsilon, query.price.delta) == (1, Fraction(delta) if gaussian else 0)


@pytest.mark.parametrize("alike", [[1, True], [0.1, Decimal.from_float(0.1)], [0, False, 0.0]], ids=str)
def test_items_that_python_takes_for_equal_are_as_many_as_a_user_may_have(alike: list[object]) -> None:
    """A column without a declared type holds them apart, so one user moves each, and the noise must be for all."""
    items = np.array(alike * 50, dtype=object)
    rows = {"user": np.repeat(np.arange(50), len(alike)), "item": items}
    found = dps.Dataset(rows, user="user", item="item").histogram(domain=alike, epsilon=1)
    assert len(found) > 1
    assert len(found) <= found.privacy.parameters["max_items_per_user"]


def test_a_bound_is_kept() -> None:
    """Every user counts once, so the counts add up to the users."""
    release = data(max_items_per_user=1).histogram(domain=["all", "half0", "half1"], epsilon=4000)
    assert sum(item.count for item in release) == 400
    assert "Every user counts for at most 1 item, chosen at random." in release.privacy.sentences[0]


def test_what_a_ledger_is_charged(ledger) -> None:
    order = ledger.data_account("default").promise.order
    laplace, gaussian = (plan_of("histogram", domain=MANY, epsilon=1, delta=delta) for delta in (0, "1e-6"))
    each = laplace.price_at(order)
    own, shared = laplace.mechanism.noise.own, laplace.mechanism.noise.shared
    renyi = divergence(PureDP(shared), order) + len(MANY) * divergence(PureDP(own), order)
    assert (each.epsilon, each.failure, each.renyi) == (shared + len(MANY) * own, 0, renyi)
    assert 0.98 < each.epsilon <= 1
    assert renyi <= len(MANY) * divergence(PureDP(Fraction(1, len(MANY))), order)  # no more than independent noise
    wide = gaussian.price_at(order)
    assert (wide.epsilon, wide.whole.failure) == (1, Fraction(1, 10**6))
    assert wide.renyi == divergence(ZCDP(gaussian.mechanism.rho.rho), order) < divergence(PureDP(Fraction(1)), order)
    assert gaussian.price_at(None) == dps.Plan.from_dict(gaussian.to_dict()).price_at(None)


def test_a_share_of_a_budget() -> None:
    budget = dps.Budget(epsilon=1, delta="1e-6")
    release = data(max_items_per_user=1, budget=budget).histogram(domain=DOMAIN, share="10%")
    assert Fraction(1, 10) <= release.privacy.epsilon < 1
    assert release.privacy.delta == 0


def test_counts_below_zero_are_told_as_they_are() -> None:
    """They add up without bias; their intervals begin at 0."""
    release = by_names(data()).histogram(domain=[f"x{n}" for n in range(100)], epsilon="1/10", draws=SeededDraws(1))
    below = [item for item in release if item.count < 0]
    assert len(below) > 10
    assert all(item.low == 0 <= item.high for item in below)
    assert dps.Release.from_json(release.to_json()) == release


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"domain": 100}, "domain must say which items there are, got only how many"),
        ({"domain": None}, "domain must be given for histogram"),
        ({"domain": []}, "domain must hold at least one item"),
        ({"domain": range(10**6 + 1)}, "domain must have at most 1,000,000 items"),
        ({"domain": [("a", "b")]}, "domain must list single values"),
        ({"domain": [1, 2]}, "types must declare column 'item'"),
        ({"domain": dps.Column({"name": MANY}, "name")}, "max_items_per_user must be given if only reading"),
        ({"epsilon": 0}, "epsilon must"),
        ({"delta": 1}, "delta must"),
        ({"delta": "a"}, "delta must"),
    ],
)
def test_bad_input_costs_nothing(given: dict[str, object], message: str, ledger) -> None:
    budget = dps.Budget.open(ledger, analyst="ann", snapshot="one")
    typed = dps.Dataset(pa.table(ROWS), user="user", item="item", budget=budget)
    with pytest.raises(dps.ParameterError, match=message):
        by_names(typed).histogram(**({"domain": DOMAIN, "epsilon": 1} | given))  # type: ignore[arg-type]
    assert [str(entry.kind) for entry in ledger.entries()] == ["data", "grant"]


def test_words_are_counted_by_split_and_not_of_a_text() -> None:
    rows = {"user": [1, 2, 3], "text": ["a b", "b c", "b"]}
    words = dps.Dataset(rows, user="user", item=dps.Split("text", " "), max_items_per_user=2)
    assert [item.count for item in words.histogram(domain=["b", "a", "x"], epsilon=4000)] == [3, 1, 0]
    with pytest.raises(dps.ParameterError, match="item must be no Text for histogram"):
        dps.Dataset(rows, user="user", item=dps.Text("text")).histogram(domain=["b"], epsilon=1)


def test_a_tampered_release_is_found() -> None:
    from dataclasses import replace

    from dpselect.checking.finding import Verdict, worst_verdict
    from tests.judge.promise import promised

    laplace = data(max_items_per_user=2).histogram(domain=DOMAIN, epsilon=1)
    column = dps.Column({"name": MANY}, "name")
    gaussian = data(max_items_per_user=40).histogram(domain=column, epsilon=1, delta="1e-6")
    pure = data().histogram(domain=DOMAIN, epsilon=1)
    shared = data(max_items_per_user=9).histogram(domain=MANY, epsilon=1, delta="1e-6")
    for release, wrong in (
        (pure, {"own_rate": pure.privacy.parameters["own_rate"] * 2}),
        (pure, {"shared_rate": pure.privacy.parameters["shared_rate"] * 2}),
        (pure, {"items": 3}),
        (shared, {"own_variance": shared.privacy.parameters["own_variance"] * Fraction(999, 1000)}),
        (shared, {"shared_variance": shared.privacy.parameters["shared_variance"] * Fraction(99, 100)}),
        (shared, {"max_items_per_user": 10}),
        (shared, {"multiple": 65}),
        (shared, {"own_variance": None}),
        (laplace, {"epsilon_per_count": Fraction(2, 3)}),
        (laplace, {"max_items_per_user": 3}),
        (laplace, {"items": 3}),
        (laplace, {"epsilon_per_count": None}),
        (gaussian, {"variance": gaussian.privacy.parameters["variance"] * Fraction(999, 1000)}),
        (gaussian, {"max_items_per_user": 41}),
        (gaussian, {"variance": 0}),
    ):
        assert worst_verdict(promised(release)) is Verdict.FOLLOWS
        said = replace(release.privacy, parameters={**release.privacy.parameters, **wrong})
        assert worst_verdict(promised(replace(release, privacy=said))) is Verdict.FAILS, wrong
