"""Every form of an answer says whether all users count: where a bound cuts, users are *counted users* everywhere."""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from typing import Any

import pytest

import dpselect as dps
from dpselect.flat import dataset_of
from tests.by_names import by_names

pytestmark = pytest.mark.filterwarnings("ignore::dpselect.errors.WeakPromiseWarning")
ROWS = {
    "user": [user for user in range(300) for _ in range(4)],
    "group": ["DE", "FR"] * 600,
    "item": [f"i{place % 3}" for place in range(1200)],
    "day": [datetime.date(2026, 1 + place % 2, 3) for place in range(1200)],
}
ASKED: dict[str, Any] = {"k": 2, "epsilon": 50, "delta": "1e-6", "counts": True}
BY = {**ASKED, "by": "group", "groups": ["DE", "FR"]}
MONTHS = {"time": "day", "period": "month", "timezone": "UTC", "during": "2026-01..2026-02"}
# What the data say, what is asked, and the bounds that cut.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, ASKED, {}),
    "items": ({"max_items_per_user": 1}, ASKED, {"max_items_per_user": 1}),
    "as many items as come back": ({"max_items_per_user": 2}, ASKED, {}),
    "items of a bound that limits the discovery only": (
        {"max_items_per_user": 2},
        {**ASKED, "method": "discover"},
        {},
    ),
    "groups": ({}, {**BY, "max_groups_per_user": 1}, {"max_groups_per_user": 1}),
    "as many groups as are listed": ({}, {**BY, "max_groups_per_user": 2}, {}),
    "groups and items": (
        {"max_items_per_user": 1},
        {**BY, "max_groups_per_user": 1},
        {"max_groups_per_user": 1, "max_items_per_user": 1},
    ),
    "items of all listed groups": (
        {"max_items_per_user": 1},
        {**BY, "max_groups_per_user": 2},
        {"max_items_per_user": 1},
    ),
    "as many items of a group as come back": (
        {"max_items_per_user": 2},
        {**BY, "max_groups_per_user": 1},
        {"max_groups_per_user": 1},
    ),
    "months": (MONTHS, ASKED, {"once_in_each": "month"}),
    "one month": ({**MONTHS, "during": "2026-01"}, ASKED, {}),
}


def released(name: str) -> dps.Release:
    data, asked, _ = CASES[name]
    return by_names(dataset_of(ROWS, **{"user": "user", "item": "item", **data})).top_k(**asked)


@pytest.mark.parametrize("name", CASES)
def test_every_form_says_who_counts(name: str) -> None:
    bounds = CASES[name][2]
    found = released(name)
    unit, column = ("counted users", "counted_users") if bounds else ("users", "count")
    assert found.unit == unit
    assert found.to_dict()["count_of"] == {"what": unit, **bounds}
    assert found.privacy.parameters.get("counted", {}) == bounds
    assert column in found.to_csv().splitlines()[0].split(",")
    assert ("counted" in found.to_csv()) == bool(bounds)
    brief = " ".join(found.text.split())
    assert ("a row's counted users are from low to high" in brief) == bool(bounds)
    assert ("a row's true count is from low to high" in brief) != bool(bounds)
    assert ("\nEach user counts " in found.text) == bool(bounds)
    for form in (" ".join(found.explain().split()), found._repr_html_()):
        assert ("number of counted users of any one row" in form) == bool(bounds)
        assert ("The true number of users of any one row" in form) != bool(bounds)
    assert ("Each user counts" in " ".join(found.privacy.sentences)) == bool(bounds)
    again = dps.Release.from_json(found.to_json())
    assert again.to_columns() == found.to_columns()


def test_a_bound_on_counts_is_none_on_the_ranking() -> None:
    """A user of both items that came back counts for one of them, and is ranked with both."""
    rows = {"user": [*range(300), *range(200)], "item": ["most"] * 300 + ["fewer"] * 200}
    found = dps.Dataset(rows, user="user", item="item", max_items_per_user=1).top_k(2, epsilon=50, counts=True)
    said, printed = " ".join(found.accuracy.sentences), " ".join(str(found).split())
    assert re.search(r"An item that is left out or ranked below another has at most \d+ users? more than that", said)
    assert "for at most 1 item of those here (chosen at random)." in printed
    assert "One user counts for any number of items in the ranking." in found.privacy.sentences
    assert sum(item.count or 0 for item in found.items) < 1.2 * 300  # each of 300 users counts once


MINUTES = {**ROWS, "minutes": [place % 7 for place in range(1200)]}
# What is asked of two winners of which each user counts for one, and whom its ranking counts.
OF_WINNERS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "counts": ({}, {}, "users"),
    "a domain": ({}, {"domain": ["i0", "i1", "i2"]}, "users"),
    "numbers of users and sums": ({}, {"measures": ["users", "sum(minutes, 0, 7)"], "counts": False}, "users"),
    "sums alone": ({}, {"measures": ["sum(minutes, 0, 7)"], "counts": False}, "users"),
    "weights": ({}, {"by_weight": "minutes", "at_most": 30}, "counted minutes"),
    "months": (MONTHS, {}, "counted users"),
    "pairs": ({"user": ["user", "group"]}, {}, "users"),
    "no item": ({"where": "item = 'none'"}, {"epsilon": 1}, "users"),
}


@pytest.mark.parametrize("name", OF_WINNERS)
def test_a_print_does_not_say_of_counted_users_what_the_ranking_of_all_says(name: str) -> None:
    """Counts are of users who count for one winner each, so an item far below another in these may be ranked above."""
    data, asked, unit = OF_WINNERS[name]
    source = dataset_of(MINUTES, **{"user": "user", "item": "item", "max_items_per_user": 1, **data})
    brief = " ".join(str(by_names(source).top_k(**{**ASKED, **asked})).split())
    assert "for at most 1 item of those here (chosen at random)" in brief
    if name == "no item":
        assert re.search(r"no item has over [\d,]+ users more than the one at rank 1,001", brief)
    elif "separate noise, so they may disagree" not in brief:
        assert re.search(
            rf"; by all items of every user, no lower or missing item has over [\d,]+ {unit} more", brief
        ) or (
            unit == "users" and "; by all items of every user, no lower or missing item has over 1 user more" in brief
        )


@pytest.mark.parametrize("data", [{"max_items_per_user": 1}, MONTHS, {"user": ["user", "group"], **MONTHS}], ids=str)
def test_a_print_of_a_histogram_says_who_counts_beside_noise_that_counts_share(data: dict[str, Any]) -> None:
    """A sentence about noise has an "Each" and a "so" too."""
    source = dataset_of(ROWS, **{"user": "user", "item": "item", **data})
    release = source.histogram(domain=["i0", "i1", "i2"], epsilon=1)
    brief = str(release).replace("\n", " ")
    who = next(one for one in release.privacy.sentences if ", so counted users may be " in one)
    assert f"{who.partition(', so ')[0]}. spent: " in brief
    assert "noise" not in brief.partition("95 %")[2]


@pytest.mark.parametrize("name", ["nothing", "groups and items", "months"])
def test_a_picture_says_who_counts(name: str) -> None:
    picture = released(name).plot()
    unit = "counted users" if CASES[name][2] else "users"
    assert picture.title == f"Noisy counts: {unit}"
    assert {panel.across.name for panel in picture.panels} == {unit}
    assert picture.alt.startswith(f"Noisy counts: {unit}. ")


def test_the_line_names_every_bound() -> None:
    cut = "for at most 1 item of those here in each group (chosen at random), so counted users may be fewer than all"
    for name, who in (("groups and items", " in at most 1 group,"), ("items of all listed groups", "")):
        assert f"Each user counts{who} {cut} users." in released(name).privacy.sentences
    months = "Each user counts once in each month, so counted users may be more than people."
    assert months in released("months").privacy.sentences


UNITS: dict[str, tuple[dict[str, Any], str]] = {
    "two months": (MONTHS, "user in one month"),
    "one month": ({**MONTHS, "during": "2026-01"}, "user"),
    "days of users": ({"user": ["user", "day"]}, "(user, day) pair"),
    "users": ({}, "user"),
}


@pytest.mark.parametrize("name", UNITS)
def test_sentences_name_the_unit(name: str) -> None:
    """Who is alone with an item in every month is found sooner than a sentence about one user says."""
    data, unit = UNITS[name]
    for question in (dps.Union(), dps.Union(counts=True), dps.TopK(2), dps.Choose(["i0"], by=dps.By("group"))):
        rows = dataset_of(ROWS, **{"user": "user", "item": "item", **data})
        release = rows.ask(question, epsilon=3)
        said = " ".join(release.privacy.sentences)
        if isinstance(question, dps.Union):
            assert f"An item that only one {unit} has appears with probability at most delta." in said
            of_all = release.privacy.parameters["method"] == "greedy-geometric"  # by the bound that was chosen
            assert (f"A {unit} may have any number" if of_all else f"Each {unit} contributes at most") in said
        elif isinstance(question, dps.TopK):
            assert f"One {unit} counts for any number of items in the ranking." in said
        else:
            assert f"A group with only one {unit} appears with probability at most delta." in said
            assert f"one {unit} moves each by at most 1" in said
        assert ("counted users" in " ".join(release.accuracy.sentences)) == (
            name == "two months"
            or isinstance(question, dps.Choose)
            or (isinstance(question, dps.Union) and question.counts)
        )
        assert str(dps.check(release).verdict) == "follows"


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (dps.By("group", groups=["DE", "FR"]), "; each user counts in every listed group they are in."),
        (dps.By("group", groups=["DE", "FR"], max_groups_per_user=1), "; each user counts in one group, chosen"),
        (dps.By("group", max_groups_per_user=2), "; each user counts in at most 2 groups, chosen at random."),
    ],
)
@pytest.mark.parametrize(
    "question", [dps.TopK(1), dps.Choose(["i0", "i1"]), dps.Quantile(bounds=(0, 9), step=1)], ids=repr
)
def test_the_first_line_says_in_how_many_groups_a_user_counts(question: Any, by: dps.By, said: str) -> None:
    values = {**ROWS, "item": [place % 3 for place in range(1200)]} if question.verb == "quantile" else ROWS
    release = dps.Dataset(values, user="user", item="item").ask(replace(question, by=by), epsilon=50)
    assert said in " ".join(str(release).split("\n\n")[0].split())


@pytest.mark.parametrize("question", [dps.Choose(["i0", "i1"]), dps.Quantile(bounds=(0, 9), step=1)], ids=repr)
def test_a_user_of_found_groups_counts_in_one_unless_a_bound_says_more(question: Any) -> None:
    values = {**ROWS, "item": [place % 3 for place in range(1200)]} if question.verb == "quantile" else ROWS
    release = dps.Dataset(values, user="user", item="item").ask(replace(question, by="group"), epsilon=50)
    first = " ".join(str(release).split("\n\n")[0].split())
    assert "; each user counts in one group, chosen at random; max_groups_per_user may be more." in first
    assert release.privacy.parameters["max_groups_per_user"] == 1


@pytest.mark.parametrize(("bound", "pairs"), [(1, "1 pair"), (4, "4 pairs")])
def test_a_union_by_group_counts_pairs_of_group_and_item(bound: int, pairs: str) -> None:
    """A user's bound is over all groups together, and "items" was read as those of one group."""
    rows = {"user": [n // 4 for n in range(2000)], "g": ["p", "q"] * 1000, "i": ["a", "b", "b", "a"] * 500}
    data = dps.Dataset(rows, user="user", item="i", max_items_per_user=bound)
    release = data.union(by="g", epsilon=9, counts=True)
    assert len(release) == 4
    first, *others = str(release).replace("\n", " ").split(" A group that is not shown may still have users. ")
    assert first == (
        f"4 items of 2 groups that enough users share, unranked; each user counts for at most {pairs} of group "
        "and item, chosen at random."
    )
    here = " of those here" if bound > 1 else ""  # the counts of a bound of 1 are those that decided
    assert f"Each user counts for at most {pairs} of group and item{here} (chosen at random)." in others[0]
    said = " ".join(release.privacy.sentences)
    assert f"Each user contributes at most {bound} random {pairs.split()[1]} of group and item." in said
    assert "A pair of group and item that only one user has appears with probability at most delta." in said
    empty = dps.Dataset({"user": [1], "g": ["p"], "i": ["a"]}, user="user", item="i").union(by="g", epsilon=1)
    assert "a `top_k` in a public list of `groups`" in str(empty).replace("\n", " ")


def test_only_groups_make_pairs_of_items() -> None:
    """Where gains are compared a bound of the discovery is of items, in the periods that are asked about."""
    data = dataset_of(ROWS, user="user", item="item", max_items_per_user=1, **{**MONTHS, "during": "2026-02"})
    said = " ".join(data.top_k(2, score=dps.Gain("2026-01"), epsilon=9).accuracy.sentences)
    assert " with more than 1 item contributes 1 of them, chosen at random." in said
    assert "pair" not in said


def test_users_of_groups_of_weights_are_those_who_give_something() -> None:
    """Of 300 users in a group 150 give nothing there, and the true number of its users is another one."""
    rows = {"user": range(300), "group": ["DE"] * 300, "item": ["i"] * 300, "minutes": [0, 5] * 150}
    by = dps.By("group", groups=["DE"], sizes=True)
    data = dps.Dataset(rows, user="user", item="item")
    found = data.top_k(1, by=by, score=dps.Total("minutes", at_most=60), epsilon=50, counts=True)
    assert found.groups is not None
    assert found.groups.shown[0].users == pytest.approx(150, abs=3)
    said = (
        "The number of counted users of any one group, chosen beforehand, is between low and high: counted_group_users"
    )
    assert said in found.accuracy.sentences[-1]
    assert "the counted users of a group are within " in str(found).replace("\n", " ")
