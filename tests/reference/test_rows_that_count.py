"""Which rows count: every interval of every verb holds the number that its words name, whatever keeps rows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import dpselect as dps
from dpselect.release.groups import Group
from tests.judge.both import check

pytestmark = pytest.mark.filterwarnings("ignore::dpselect.errors.WeakPromiseWarning")
USERS = 300
# Every user has each item in the group, with the weight: an item is in one group, and a user is in both.
HELD: Mapping[str, tuple[str, int]] = {"a": ("x", 1), "b": ("y", 3), "bot": ("x", 5)}
ROWS: dict[str, Any] = {
    "user": np.repeat(np.arange(USERS), len(HELD)),
    "item": np.array([*HELD] * USERS),
    "group": np.array([group for group, _ in HELD.values()] * USERS),
    "weight": np.array([weight for _, weight in HELD.values()] * USERS),
}
LISTED = dps.By("group", groups=["x", "y"])
ONE_GROUP = dps.By("group", groups=["x", "y"], max_groups_per_user=1)
FOUND = dps.By("group", max_groups_per_user=2)
SIZED = dps.By("group", groups=["x", "y"], sizes=True)
WEIGHED = dps.Total("weight", at_most=5)
QUESTIONS: dict[str, dps.Question] = {
    "users": dps.Users(),
    "users by listed groups": dps.Users(by=LISTED),
    "users by one group": dps.Users(by=ONE_GROUP),
    "histogram": dps.Histogram(["a", "b"]),
    "top k": dps.TopK(2, counts=True),
    "top k, domain": dps.TopK(2, domain=["a", "b", "bot"], counts=True),
    "top k, set": dps.TopK(1, domain=["a", "b", "bot"], method="set"),
    "top k, discover": dps.TopK(2, counts=True, method="discover"),
    "top k, sparse": dps.TopK(2, counts=True, method="limited-domain-sparse"),
    "top k, measures": dps.TopK(2, measures=["users", "sum(weight, 0, 5)", "mean(weight, 0, 5)"]),
    "top k by listed groups": dps.TopK(2, counts=True, by=SIZED),
    "top k by one group": dps.TopK(2, counts=True, by=ONE_GROUP),
    "top k by found groups": dps.TopK(2, counts=True, by=FOUND),
    "total": dps.TopK(2, counts=True, score=WEIGHED),
    "total by listed groups": dps.TopK(2, counts=True, score=WEIGHED, by=LISTED),
    "union": dps.Union(counts=True),
    "union without counts": dps.Union(),
    "union by group": dps.Union(counts=True, by="group"),
    "choose": dps.Choose(["a", "b"]),
    "choose by listed groups": dps.Choose(["a", "b"], by=LISTED),
    "choose by found groups": dps.Choose(["a", "b"], by=dps.By("group")),
}
OF_VALUES: dict[str, dps.Question] = {
    "quantile": dps.Quantile(bounds=(0, 9), step=1),
    "quantile by listed groups": dps.Quantile(bounds=(0, 9), step=1, by=LISTED),
    "quantile by found groups": dps.Quantile(bounds=(0, 9), step=1, by=dps.By("group")),
}
EXCLUDING = ("top_k", "union")
LIMITS = (None, 1)
BOUND = "by at most 1 prepared row"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[int | None, dps.Dataset]:
    """The rows as they are, and prepared with one row of each user."""
    folder = tmp_path_factory.mktemp("prepared")
    folder.chmod(0o700)
    source = dps.Dataset(ROWS, user="user", item="item")
    one = source.prepare(folder / "one.prepared", keep=["group"], weights="weight", max_rows_per_user=1)
    return {None: source, 1: one}


def asked(data: dps.Dataset, question: dps.Question) -> dps.Release:
    return data.ask(question, epsilon=200)


def kept_rows(data: dps.Dataset) -> list[tuple[int, str, str, int]]:
    """The rows that count, as the prepared file has them, read without the code that answers."""
    path = data._address.source
    if not isinstance(path, (str, Path)):
        return list(zip(*(ROWS[name].tolist() for name in ("user", "item", "group", "weight")), strict=True))
    with duckdb.connect(str(path), read_only=True) as file:
        return file.sql(
            "SELECT users.v0, items.v0, kept.v0, CAST(w0 AS INTEGER) FROM rows JOIN users USING (u) "
            "JOIN items USING (i) JOIN kept USING (c)"
        ).fetchall()


def right(name: str, rows: list[tuple[int, str, str, int]], item: dps.Item) -> int:
    """Count the users of an item, of a group or of all, or add up their weights, in the rows that count."""
    theirs = [row for row in rows if item.item in (row[1], row[2], "users") and item.group in ((), (row[2],))]
    return sum(row[3] for row in theirs) if name.startswith("total") else len({row[0] for row in theirs})


def holds(item: dps.Item | Group, number: int, shown: float) -> bool:
    """Is the number in the interval, or nearer to it than three times its width and 15?

    One in 20 may be outside; where rows do not count, a number is off by a hundred or more.
    """
    assert item.low is not None
    assert item.high is not None
    return item.low - 3 * (shown - item.low) - 15 <= number <= item.high + 3 * (item.high - shown) + 15


ASKED = [
    *product(QUESTIONS, LIMITS, [False]),
    *((name, limit, True) for name, limit in product(QUESTIONS, LIMITS)
      if QUESTIONS[name].verb in EXCLUDING and "domain" not in name and "set" not in name),
]  # fmt: skip


@pytest.mark.parametrize(("name", "limit", "excluding"), ASKED)
def test_every_interval_holds_what_its_words_name(
    prepared: dict[int | None, dps.Dataset], name: str, limit: int | None, excluding: bool, tmp_path: Path
) -> None:
    data = prepared[limit].exclude(["bot"]) if excluding else prepared[limit]
    release = asked(data, QUESTIONS[name])
    assert release.items
    cut, sentences = release.privacy.parameters.get("counted", {}), release.accuracy.sentences
    assert isinstance(cut, Mapping)
    assert ("max_rows_per_user" in cut) == (limit is not None)
    assert any(BOUND in sentence for sentence in release.privacy.sentences) == (limit is not None)
    assert not (cut and any("true " in sentence for sentence in sentences))
    rows = [row for row in kept_rows(prepared[limit]) if not (excluding and row[1] == "bot")]
    cut_at_random = {"max_items_per_user", "max_groups_per_user"} & cut.keys()
    for item in release.items:
        if item.count is not None:
            number = right(name, rows, item)
            assert holds(item, number, item.count) or (cut_at_random and number > item.count)
    for group in release.groups.shown if release.groups else ():
        if group.users is not None:
            number = len({row[0] for row in rows if row[2] == group.values[0]})
            assert holds(group, number, group.users)
    release.to_json(tmp_path / "release.json")
    assert str(check(tmp_path / "release.json").verdict) == "follows"
    again = dps.Release.from_json(tmp_path / "release.json")
    assert again.privacy == release.privacy
    assert ("the excluded" in " ".join(sentences)) == excluding


@pytest.mark.parametrize("name", ["histogram", "users by listed groups", "top k by listed groups", "top k"])
def test_one_row_of_each_user_is_what_counts(prepared: dict[int | None, dps.Dataset], name: str) -> None:
    """The counted users of disjoint items, of which each has one row, are all users that have one: a third of them."""
    release = asked(prepared[1].where("item <> 'bot'"), QUESTIONS[name])
    whole = asked(prepared[1].where("item <> 'bot'"), dps.Users())
    assert sum(item.count for item in release.items) == pytest.approx(whole[0].count, abs=4)
    assert 0.5 * USERS < whole[0].count < 0.85 * USERS
    assert str(whole).startswith(f"{whole[0].count:,} counted users, with noise.")


@pytest.mark.parametrize("name", OF_VALUES)
@pytest.mark.parametrize("limit", LIMITS)
def test_ranks_are_those_of_counted_users(name: str, limit: int | None, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    values = dps.Dataset(ROWS, user="user", item="weight")
    if limit is not None:
        values = values.prepare(tmp_path / "one.prepared", keep=["group"], max_rows_per_user=limit)
    release = asked(values, OF_VALUES[name])
    assert any(BOUND in sentence for sentence in release.privacy.sentences) == (limit is not None)
    assert ("counted user" in " ".join(release.accuracy.sentences)) == (limit is not None or "found" in name)


def test_a_plan_of_prepared_data_says_what_its_answer_says(prepared: dict[int | None, dps.Dataset]) -> None:
    for question in (QUESTIONS["histogram"], QUESTIONS["top k"], QUESTIONS["users by listed groups"]):
        plan = prepared[1].plan(question, epsilon=200)
        assert plan.accuracy == prepared[1].ask(plan).accuracy
        assert "counted users" in " ".join(plan.accuracy.sentences)
    within = prepared[1].plan(dps.Users(), within=20)
    assert within.target_accuracy is not None
    assert within.target_accuracy.price_sentence.startswith("within 20 counted users of the number of all")


def test_a_bound_in_each_period_is_said_so(tmp_path: Path) -> None:
    rows = {**ROWS, "day": np.repeat(np.datetime64("2026-10-05"), len(ROWS["user"]))}
    tmp_path.chmod(0o700)
    data = dps.Dataset(rows, user="user", item="item", time=dps.Time("day", period="month"))
    monthly = data.prepare(tmp_path / "monthly.prepared", max_rows_per_user=2)
    release = asked(monthly.during("2026-10"), dps.Histogram(["a", "b"]))
    sentence = (
        "Each user counts by at most 2 prepared rows in each month (chosen at random), so counted users may be fewer "
        "than all users."
    )
    assert sentence in release.privacy.sentences
    assert release.to_dict()["count_of"] == {"what": "counted users", "max_rows_per_user": 2}
    assert release.question is not None
    assert release.question["rows"]["prepared_period"] == "month"  # type: ignore[index, call-overload]
    assert dps.check(release).verdict.value == "follows"


def test_a_release_that_hides_the_bound_does_not_follow(prepared: dict[int | None, dps.Dataset]) -> None:
    """Without the bound in its question the statement is another: nobody can leave it out of one place alone."""
    release = asked(prepared[1], QUESTIONS["histogram"])
    assert release.question is not None
    rows = {name: value for name, value in release.question["rows"].items() if name != "max_rows_per_user"}  # type: ignore[union-attr]
    forged = replace(release, question={**release.question, "rows": rows})
    assert dps.check(forged).verdict.value == "does not follow"
