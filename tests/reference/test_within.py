"""Accuracy first: how the price is found, what is said of it, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dpselect as dps
from dpselect.asked_rows import AskedRows
from dpselect.questions.questions import OneEach
from dpselect.release.accuracy import TOO_MANY
from dpselect.release.answers.target_accuracy import nth_best
from dpselect.utility.price import BOTTOM, TOP, index_at_least, number_at, price_for
from tests.by_names import by_names, of_values, plan_of

ROWS = {
    "user": [*range(300), *range(200), *range(100)],
    "item": ["ant"] * 300 + ["bee"] * 200 + ["cat"] * 100,
}


@pytest.fixture
def votes() -> dps.Dataset:
    return dps.Dataset(ROWS, user="user", item="item")


# ---- the search -------------------------------------------------------------------------------------------


PLACES = range(BOTTOM, TOP + 1)


def test_the_place_of_an_epsilon_is_rounded_up() -> None:
    assert (number_at(BOTTOM), number_at(TOP)) == (Fraction(1, 10**6), 100)
    assert [index_at_least(number_at(at)) for at in PLACES] == list(PLACES)
    assert number_at(index_at_least(Fraction("1.8201"))) == Fraction("1.83")
    assert number_at(index_at_least(Fraction("0.09999"))) == Fraction("0.1")
    assert index_at_least(Fraction(1, 10**9)) == BOTTOM


SHAPES: dict[str, Callable[[Fraction], Fraction | int | None]] = {
    "1 / epsilon": lambda epsilon: 50 / epsilon,
    "in whole users": lambda epsilon: (73 / epsilon).__ceil__(),
    "steep": lambda epsilon: 1 / epsilon**3,
    "flat": lambda epsilon: (20 / epsilon ** Fraction(1)).__ceil__() // 7 + 1,
    "one step": lambda epsilon: 3 if epsilon >= Fraction("0.0377") else 10**6,
    "nothing below": lambda epsilon: None if epsilon < Fraction("2.35") else (9 / epsilon).__ceil__(),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("wanted", [5, 50, 4999])
def test_the_price_is_the_least_that_is_enough(name: str, wanted: int) -> None:
    tried = []

    def miss(epsilon: Fraction) -> Fraction | int | None:
        tried.append(epsilon)
        return SHAPES[name](epsilon)

    def enough(at: int) -> bool:
        least = SHAPES[name](number_at(at))
        return least is not None and least <= wanted

    found = price_for("within", wanted, miss, "")
    assert index_at_least(found) == next(at for at in PLACES if enough(at))
    assert len(tried) <= 25
    if name == "1 / epsilon":
        assert len(tried) <= 7


def test_a_method_that_needs_more_is_given_more_and_other_mistakes_are_told() -> None:
    def miss(epsilon: Fraction) -> int:
        if epsilon < 3:
            raise dps.ParameterError("epsilon", "be at least 3", epsilon)
        return 1

    assert price_for("within", 50, miss, "") == 3
    for name, least in (("delta", 0), ("epsilon", 1000)):

        def refuse(epsilon: Fraction, name: str = name, least: int = least) -> int:
            raise dps.ParameterError(name, f"be more than {least}", epsilon)

        with pytest.raises(dps.ParameterError, match=f"{name} must be more than {least}"):
            price_for("within", 50, refuse, "")


def test_what_costs_too_much_is_refused_with_what_is_possible() -> None:
    with pytest.raises(dps.ParameterError, match="within must be at least 3, which costs epsilon 100, got 1") as told:
        plan_of("top_k", k=50, within=1)
    assert "a larger within is cheaper; so is a smaller k" in str(told.value)
    assert plan_of("top_k", k=50, within=3).price.epsilon <= 100
    with pytest.raises(dps.ParameterError, match="threshold must be left out here, got 1"):
        price_for("threshold", 1, lambda _: None, "")


# ---- what is said -----------------------------------------------------------------------------------------


def test_how_the_kth_best_is_called() -> None:
    words = {1: "the best", 2: "the 2nd best", 3: "the 3rd best", 4: "the 4th best", 10: "the 10th best"}
    words |= {11: "the 11th best", 12: "the 12th best", 13: "the 13th best", 21: "the 21st best"}
    words |= {111: "the 111th best", 122: "the 122nd best", 1003: "the 1,003rd best"}
    assert {k: nth_best(k) for k in words} == words


def test_a_release_says_what_was_asked_for_and_what_it_cost(votes: dps.Dataset) -> None:
    release = by_names(votes).top_k(2, within=40)
    price = plan_of("top_k", k=2, within=40).price
    assert (release.privacy.epsilon, release.privacy.delta) == (price.epsilon, price.delta)
    assert release.privacy.parameters["within"] == 40
    shown = str(float(price.epsilon))
    told = f"Asked for: within 40 users of the 2nd best. Epsilon {shown} is what that costs, for any data."
    assert release.privacy.sentences[-2] == told
    assert "No item here has over 40 users fewer than the 2nd best, as was asked." in release.accuracy.sentences
    assert release.accuracy.numbers["within"] == 40
    counted = by_names(votes).top_k(2, within=40, counts=True, domain=["ant", "bee", "cat"])
    assert counted.accuracy.sentences[-1] == "All counts are within 40 users of the true ones at once, as was asked."
    assert "within 40 users of the 2nd best and of all true counts" in counted.privacy.sentences[-2]
    plain = votes.top_k(2, epsilon=price.epsilon)
    assert not any(
        "as was asked" in one or "Asked for" in one for one in (*plain.privacy.sentences, *plain.accuracy.sentences)
    )
    assert "within" not in plain.privacy.parameters


def test_quantiles_and_unions_say_it_too(votes: dps.Dataset) -> None:
    numbers = dps.Dataset({"user": range(900), "item": range(900)}, user="user", item="item")
    for release in (
        by_names(numbers).median(bounds=(0, 1000), within=30, step=1),
        by_names(numbers).quantile([0.2, 0.5], bounds=(0, 1000), within=30, step=1, delta="1e-6"),
        of_values(OneEach(bounds=(0, 1000), step=1), range(900), within=30),
        of_values(OneEach(0.2, bounds=(0, 1000), step=1), range(900), within=30),
    ):
        assert "Asked for: within 30 users of the rank" in " ".join(release.privacy.sentences)
        assert all(0 <= getattr(one.ranked, side) <= 30 for one in release for side in TOO_MANY)
    found = by_names(votes).union(threshold=60, max_items_per_user=2)
    assert found.labels == ["ant", "bee", "cat"]
    assert "finding an item with 95 % confidence if 60 users have it and no other item." in found.privacy.sentences[-2]
    assert found.privacy.parameters["threshold"] == 60
    assert found.accuracy.numbers["found_with_users"] <= 60  # type: ignore[operator]
    assert found.privacy.epsilon == plan_of("union", threshold=60, max_items_per_user=2).price.epsilon


def test_an_answer_is_that_of_the_price_which_follows() -> None:
    """Method, mechanism and price are those of the question that names this epsilon."""
    for given in ({"k": 3}, {"k": 3, "domain": 9, "counts": True}, {"k": 3, "max_items_per_user": 2, "counts": True}):
        near = plan_of("top_k", within=40, **given)  # type: ignore[arg-type]
        same = plan_of("top_k", epsilon=near.price.epsilon, **given)  # type: ignore[arg-type]
        assert (near.selection.selector, near.selection.counter) == (same.selection.selector, same.selection.counter)
        assert (near.selection.method, near.price) == (same.selection.method, same.price)


def test_auto_takes_the_cheaper_of_a_set_and_of_peeling() -> None:
    for k, delta in ((3, 0), (3, "1e-6"), (60, "1e-6")):
        asked = {"k": k, "within": 50, "domain": 1000, "delta": delta}
        prices = {name: plan_of("top_k", method=name, **asked).price.epsilon for name in ("peeling", "canonical-set")}  # type: ignore[arg-type]
        auto = plan_of("top_k", method="set", **asked)  # type: ignore[arg-type]
        assert auto.price.epsilon == min(prices.values())
        assert prices[auto.selection.method] == auto.price.epsilon
    assert (
        plan_of("top_k", k=60, within=50).selection.method == "limited-domain"
    )  # discover knows nothing of what it leaves out


def test_more_users_for_less_and_fewer_for_more() -> None:
    makers: list[Callable[[int], Any]] = [
        lambda n: plan_of("top_k", k=5, within=n),
        lambda n: plan_of("quantile", bounds=(0, 9), within=n, step=1),
        lambda n: plan_of("union", threshold=n, max_items_per_user=1),
    ]
    for make in makers:
        prices = [make(n).price.epsilon for n in (10, 100, 1000)]
        assert prices == sorted(prices, reverse=True)
        assert len(set(prices)) == 3


# ---- as a value, and paid ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "found",
    [
        {"verb": "top_k", "k": 3, "within": 50},
        {
            "verb": "top_k",
            "k": 3,
            "within": 50,
            "domain": 4,
            "counts": True,
            "max_items_per_user": 2,
        },
        {"verb": "quantile", "bounds": [0, 9], "step": 1, "within": 50},
        {"verb": "union", "max_items_per_user": 3, "method": "weighted-gaussian", "threshold": 50},
    ],
    ids=str,
)
def test_a_question_that_names_an_accuracy_is_written_and_read(found: dict[str, Any]) -> None:
    query = dps.Plan.from_dict(found)
    again = dps.Plan.from_dict(query.to_dict())
    assert again == query
    assert again.key == query.key
    assert again.ceiling == query.ceiling
    assert "epsilon" not in query.to_dict()


def test_a_budget_pays_the_price_that_follows_with_a_delta_of_its_own() -> None:
    budget = dps.Budget(epsilon=3, delta="1e-5")
    data = dps.Dataset(ROWS, user="user", item="item", budget=budget)
    release = by_names(data).top_k(2, within=40)
    assert release.privacy.delta == Fraction(1, 10**8)
    assert release.privacy.epsilon == plan_of("top_k", k=2, within=40, delta="1e-8").price.epsilon


# ---- what is refused --------------------------------------------------------------------------------------

WHOLE = "must be a whole number of at least 1"
BAD: list[tuple[dict[str, Any], str]] = [
    *(({"within": bad}, f"within {WHOLE}") for bad in (0, -1, "x", "50", 2.5, True, [50], Fraction(1, 2))),
    ({"within": 2**60}, "within must be a whole number from 1"),
    ({"within": 50, "epsilon": 1}, "within must be left out if epsilon is given"),
    ({"within": 50, "method": "discover"}, "method must know how near items will be if within is given, got disc"),
    ({"within": 50, "domain": dps.Column("a.csv", "b")}, "domain must be of a known size if within is given"),
    ({"within": 50, "domain": 10}, "k must be below 10, the number of items, if within is given, got 10"),
    ({"within": 50, "k_bar": 10}, "k_bar must be above k = 10 if within is given, got 10"),
    ({"within": 50, "k": 0}, "k must be"),
    ({"within": 50, "k": 11, "domain": 10}, "k must be at most the number of items in the domain"),
    ({"within": 50, "delta": 2}, "delta must be"),
    ({}, "epsilon must be"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[str(given) for given, _ in BAD])
def test_a_top_k_refuses(given: dict[str, Any], message: str) -> None:
    with pytest.raises(dps.ParameterError, match=message):
        plan_of("top_k", **given)


@pytest.mark.parametrize("bad", [0, -1, "x", 2.5, True])
def test_quantiles_and_unions_refuse_the_same(bad: Any, votes: dps.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AskedRows, "open_engine", None)  # whoever opened the data now would fail otherwise
    for ask in (
        lambda: by_names(votes).quantile(bounds=(0, 9), within=bad),
        lambda: by_names(votes).median(bounds=(0, 9), within=bad),
        lambda: of_values(OneEach(bounds=(0, 9)), [1], within=bad),
        lambda: by_names(votes).top_k(1, within=bad),
    ):
        with pytest.raises(dps.ParameterError, match=f"within {WHOLE}"):
            ask()
    with pytest.raises(dps.ParameterError, match=f"threshold {WHOLE}"):
        by_names(votes).union(threshold=bad, max_items_per_user=1)


def test_both_or_what_the_price_depends_on_is_refused(votes: dps.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AskedRows, "open_engine", None)
    with pytest.raises(dps.ParameterError, match="within must be left out if epsilon is given"):
        by_names(votes).median(bounds=(0, 9), within=5, epsilon=1)
    with pytest.raises(dps.ParameterError, match="threshold must be left out if epsilon is given"):
        by_names(votes).union(threshold=5, epsilon=1, max_items_per_user=1)
    paid = dps.Dataset(ROWS, user="user", item="item", budget=dps.Budget(epsilon=1, delta="1e-6"))
    with pytest.raises(dps.ParameterError, match="share must be left out if within is given"):
        by_names(paid).top_k(2, within=5, share="1%")
    with pytest.raises(dps.ParameterError, match="share must be left out if threshold is given"):
        by_names(paid).union(threshold=5, share="1%", max_items_per_user=1)
    with pytest.raises(dps.ParameterError, match="max_items_per_user must be given if threshold is"):
        votes.ask(dps.Union(), threshold=5)
    with pytest.raises(dps.ParameterError, match="epsilon must be given for union, or threshold in its place"):
        votes.union()
    with pytest.raises(dps.ParameterError, match="step must cut the bounds"):
        by_names(votes).median(bounds=(0, 9), within=1, step="1e-30")
    with pytest.raises(dps.ParameterError, match="within must be at least 3, which costs epsilon 100, got 1"):
        by_names(votes).quantile([0.1, 0.2, 0.3, 0.4], bounds=(0, 9), within=1)
