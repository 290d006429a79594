"""Items that must not come back: what a release says of them, what a ledger knows, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import dpselect as dps
from tests.by_names import by_names, plan_of

ROWS = {
    "user": [u for u in range(900) for _ in range(3)],
    "item": [i for u in range(900) for i in ("bot", f"page{u % 3}", "spam")],
    "country": [f"c{u % 2}" for u in range(900) for _ in range(3)],
}
USUAL = {"epsilon": 40, "delta": "1e-6"}
PAGES = ["page0", "page1", "page2"]


def data(**more: object) -> dps.Dataset:
    return dps.Dataset(pa.table(ROWS), user="user", item="item", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [
    {}, {"counts": True}, {"method": "discover"}, {"k_bar": 5}, {"most": 3},
])  # fmt: skip
def test_a_top_k_without_them(how: dict[str, object]) -> None:
    most = how.get("most")
    given = {name: value for name, value in how.items() if name != "most"}
    release = by_names(data(max_items_per_user=most)).top_k(5, **USUAL, exclude=["bot", "spam"], **given)
    assert sorted(release.labels) == PAGES
    assert release.privacy.sentences[-2] == "Rows of 2 items, which a public list names, do not count."
    assert release.privacy.epsilon <= 40


def test_a_union_without_them_in_memory_and_in_the_engine() -> None:
    for in_engine in (False, True):
        found = by_names(data()).union(
            **USUAL, max_items_per_user=1, method="weighted-gaussian", in_engine=in_engine, exclude=["bot", "spam"]
        )
        assert sorted(found.labels) == PAGES  # though a user counts for one item only
    popular = by_names(data()).union(
        **USUAL, method="greedy-geometric", popular=["bot", "page0"], exclude=["bot", "spam"]
    )
    assert sorted(popular.labels) == PAGES


def test_their_price_is_that_of_the_same_question() -> None:
    for verb in ("top_k", "union"):
        assert plan_of(verb, epsilon=1, exclude=["a"]).price == plan_of(verb, epsilon=1).price


def test_a_public_list_that_may_change_is_asked_anew(tmp_path: Path) -> None:
    """What a frame holds now nobody knows tomorrow: an answer to it is not given again."""
    from dpselect.ledger.question import fingerprint

    (tmp_path / "list.csv").write_text("x\nbot\n")
    frame, file = (dps.Column(source, "x") for source in ({"x": ["bot"]}, str(tmp_path / "list.csv")))
    for name in ("exclude", "groups"):
        more = {"by": "country"} if name == "groups" else {}
        known = [
            fingerprint("top_k", plan_of("top_k", epsilon=1, **{name: one}, **more).key, {}, True)
            for one in (frame, file)
        ]
        assert [one.repeatable for one in known] == [False, True]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"exclude": "bot"}, "exclude must be a list"),
        ({"exclude": 5}, "exclude must be a list"),
        ({"exclude": []}, "exclude must hold at least one item"),
        ({"exclude": [1]}, "types must declare column"),
        ({"exclude": [("a", "b")]}, "exclude must list single values"),
        ({"exclude": [object()]}, "exclude must hold plain values"),
        ({"exclude": ["bot"], "domain": ["bot", "page0"]}, "exclude must be left out if a domain is given"),
        ({"exclude": dps.Column("nowhere.csv", "x")}, "nowhere.csv"),
    ],
)
def test_bad_input_costs_nothing(given: dict[str, object], message: str, ledger: dps.Ledger) -> None:
    paid = data(budget=dps.Budget.open(ledger, analyst="ann", snapshot="one"))
    with pytest.raises((dps.ParameterError, dps.DataError), match=message):
        by_names(paid).top_k(1, epsilon=1, **given)  # type: ignore[arg-type]
    if "domain" not in given:
        with pytest.raises((dps.ParameterError, dps.DataError), match=message):
            by_names(paid).union(epsilon=1, **given)  # type: ignore[arg-type]
    assert [str(entry.kind) for entry in ledger.entries()] == ["data", "grant"]


def test_a_text_has_words_and_no_items() -> None:
    text = dps.Dataset({"user": [1], "text": ["a"]}, user="user", item=dps.Text("text"))
    with pytest.raises(dps.ParameterError, match="exclude must be left out if the items are those of a text"):
        by_names(text).union(epsilon=1, exclude=["a"])


EXCLUDED = "but the excluded"
SAID = {
    "ranking": (dps.TopK(2), "no lower or missing item but the excluded has over", "no missing item but the excluded"),
    "counts": (dps.TopK(2, counts=True), "no lower or missing item but the excluded has over", "An item other than"),
    "union": (dps.Union(), "an item other than the excluded with", "An item other than the excluded is found if"),
}


@pytest.mark.parametrize("name", SAID)
def test_nothing_is_said_of_excluded_items(name):
    """The excluded one has all users, so that no sentence about missing items may hold of it."""
    users = {"bot": 2000, "page": 300, "other": 200}
    rows = {
        "user": [user for many in users.values() for user in range(many)],
        "item": [item for item, many in users.items() for _ in range(many)],
    }
    question, printed, sentence = SAID[name]
    kept = dps.Dataset(rows, user="user", item="item").exclude(["bot"])
    plan = kept.plan(question, epsilon=3)
    release = kept.ask(plan)
    assert "bot" not in release.labels
    assert printed in " ".join(str(release).split())
    assert sentence in " ".join(release.accuracy.sentences)
    assert release.privacy.parameters["excluded_items"] == 1
    assert set(plan.accuracy.sentences) <= set(release.accuracy.sentences) or name == "union"
    assert str(dps.check(release).verdict) == "follows"


def test_an_accuracy_that_was_asked_for_is_not_about_excluded_items():
    rows = {"user": [*range(900), *range(500)], "item": ["bot"] * 900 + ["page"] * 500}
    kept = dps.Dataset(rows, user="user", item="item").exclude(["bot"])
    plan = kept.plan(dps.TopK(1), within=50)
    assert plan.target_accuracy.price_sentence.startswith("within 50 users of the best but for the excluded costs")
    release = kept.ask(plan)
    assert "fewer than the best but for the excluded, as was asked." in release.accuracy.sentences[-1]
    assert str(dps.check(release).verdict) == "follows"
