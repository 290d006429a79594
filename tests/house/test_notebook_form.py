"""What a notebook shows of a release: words first, a table that a screen reader can read, hostile labels as text."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import pytest

import dpselect as dps
from dpselect._ground.domain import UNSEEN
from dpselect.gateway.web.guards import CONTENT_POLICY
from dpselect.release.accuracy import Accuracy, chosen_item, counts_of_all, ranking, unordered_set
from dpselect.release.groups import Group, Groups
from dpselect.release.notebook import STYLE, STYLE_DIGEST
from dpselect.release.panels import Mark
from dpselect.release.statement import Ended, Item, Kind
from dpselect.release.svg import DIGEST
from dpselect.release.table import Bars, TextTable, describe_disagreement
from tests.house.test_release import STATEMENT, release
from tests.house.test_release_files import KINDS, kinds

VOID = {"rect", "path", "meta", "br", "wbr"}
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'; </style><b>", "&lt;script&gt;", "\u202egnp.exe",
    "\u2066\u2067\u2069", "\x1b[2J", "a\nb", "]]>", "<!--", "</td></tr></table>", "x" * 100_000, "\ud800",
]  # fmt: skip
TAGS = {
    *("div", "style", "p", "strong", "table", "caption", "thead", "tbody", "tr", "th", "td", "span"),
    *("svg", "rect", "path", "ul", "li", "details", "summary"),
}


class Page(HTMLParser):
    """The elements of a fragment, whose tags must be closed in order, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [has for one, has in self.found if one == tag]

    @property
    def text(self) -> str:
        return "".join(self.words)


def counted(*counts: int | None, labels: list[object] | None = None) -> dps.Release:
    names = labels or [f"item {place}" for place in range(len(counts))]
    items = tuple(
        Item(name, rank, count, None if count is None else max(0, count - 5), None if count is None else count + 5)
        for rank, (name, count) in enumerate(zip(names, counts, strict=True), 1)
    )
    good = ranking(7) + Accuracy(("The counts.",), {"width_of_counts": 5})
    return replace(release(names), items=items, counted=True, accuracy=good)


# ---- words first ------------------------------------------------------------------------------------------


def test_the_first_words_say_what_came_back_and_how_sure_it_is() -> None:
    page = Page(counted(30, 20)._repr_html_())
    said = "An item that is left out or ranked below another has at most 7 users more than that other."
    first = f"2 items, best first. With 95 % confidence, {said[0].lower()}{said[1:]}"
    assert page.text.removeprefix(STYLE).startswith(first)
    assert page.text.count("is left out") == 1  # said once
    assert counted(30, 20).explain().replace("\n", " ").startswith(first)


@pytest.mark.parametrize("name", KINDS)
def test_words_come_before_the_table_and_theory_is_folded(name: str) -> None:
    shown = kinds()[name]._repr_html_()
    assert shown.index("<strong>") < (shown.find("<table") if "<table" in shown else len(shown))
    before, _, folded = shown.replace(STYLE, "").partition("<details>")
    assert kinds()[name].privacy.promise in folded
    assert kinds()[name].privacy.promise not in before
    assert "Spent: epsilon" in before
    for word in ("k_bar", "Lemma", "bottom", "threshold", "discrete", "neighbours"):
        assert word not in before, name


SAID = {
    "top_k": "3 items, best first.", "set": "3 items, unranked.", "empty": "0 of at most 3 items: no other",
    "users": " users, with noise.",
    "users of groups": "The numbers of users of all 5 groups, with noise; each user counts in every listed group they",
    "histogram": "The numbers of counted users of all 5 items of the domain, with noise.", "scores": "Chosen: ",
    "union": " that enough users share, unranked.", "quantile": "The 0.25 and 0.5 quantiles are ",
}  # fmt: skip


@pytest.mark.parametrize(("name", "said"), SAID.items())
def test_what_came_back_in_a_sentence(name: str, said: str) -> None:
    found = kinds()[name]
    if name == "top_k":  # bottom may have come first
        found = replace(found, items=found.items[:1] * 3, ended=Ended.FULL)
    assert said in found.explain().replace("\n", " ").partition(" 95 times")[0] + " "
    if name != "empty":
        assert said in str(found).replace("\n", " ").partition(" 95 times")[0] + " "


def test_many_quantiles_are_not_listed() -> None:
    asked = tuple(Fraction(place, 20) for place in range(1, 20))
    items = tuple(Item(float(place), place, None) for place in range(1, 20))
    statement = replace(STATEMENT, parameters={"q": asked})
    found = replace(release([]), items=items, kind=Kind.VALUES, privacy=statement)
    assert str(found).startswith("19 quantiles, from 1.0 (0.05) to 19.0 (0.95).")
    one = replace(found, items=items[:1], privacy=replace(STATEMENT, parameters={"q": (Fraction(1, 2),)}))
    assert str(one).startswith("The median is 1.0.")


TOLD = {
    "one": (unordered_set(3), "an item of the domain that is left out has at most 3 users more than any one here.", ()),
    "scores": (chosen_item(Fraction(2), None), "no other score is over 2 higher than that of this one.", ()),
    "more": (
        Accuracy(("In a group: A is B. What C is.", "D."), {"gap": 1}),
        "in a group: a is B.",
        ("What C is.", "D."),
    ),
}


@pytest.mark.parametrize(("good", "first", "others"), TOLD.values(), ids=list(TOLD))
def test_the_first_of_how_good_it_is_follows_on_the_answer(good: Accuracy, first: str, others: tuple[str, ...]) -> None:
    assert good.opening_and_remainder == (f"With 95 % confidence, {first}", others)


def test_a_sentence_without_a_number_claims_no_confidence() -> None:
    nothing = Accuracy(("How many users an item needs to be found is not known beforehand.",))
    assert nothing.opening_and_remainder == ("", nothing.sentences)
    assert Accuracy().opening_and_remainder == ("", ())
    assert len(counts_of_all(4, 2).opening_and_remainder[1]) == 1


# ---- why a lower rank has a larger count ------------------------------------------------------------------


def test_a_lower_rank_with_a_larger_count_is_explained_once() -> None:
    found = counted(30, 20, 25, 26)
    said = "Rank 3 (item 2) shows a larger count than rank 2 (item 1). This is expected"
    assert "ranks and counts have separate noise, so they may disagree" in " ".join(str(found).split())
    assert "of their own" not in str(counted(30, 20, 20))
    for form in (found.explain().replace("\n", " "), Page(found._repr_html_()).text):
        assert form.count("This is expected") == form.count(said) == 1
    assert said not in " ".join(found.notes)  # which are the same whatever the counts are
    assert "no mistake" not in counted(30, 20, 20).explain() + counted(30, 20, 20)._repr_html_()
    assert "no mistake" not in replace(found, kind=Kind.SET).explain()


def test_groups_are_not_compared_with_each_other() -> None:
    two = [Item("a", 1, 5, group=("DE",)), Item("b", 1, 9, group=("FR",))]
    assert describe_disagreement(two, "count") == ""
    assert describe_disagreement([*two, Item("c" * 500, 2, 11, group=("FR",))], "sum").startswith("In FR: rank 2 (ccc")
    assert len(describe_disagreement([*two, Item("c" * 500, 2, 11, group=("FR",))], "sum")) < 250
    assert describe_disagreement([Item("a", 1, 5, group=(1,)), Item("b", 1, 9, group=("1",))], "count") == ""


# ---- the table, for eyes and ears -------------------------------------------------------------------------


def test_bars_have_whiskers_and_one_scale() -> None:
    page = Page(counted(95, 45, -3)._repr_html_())
    wide = [float(bar["width"] or "") for bar in page.of("rect")]
    assert wide[0] == pytest.approx(95 / 100 * 118, abs=0.06)
    assert wide[1] == pytest.approx(45 / 100 * 118, abs=0.06)
    assert wide[2] == 0  # noise may make a count negative
    assert [one["d"] for one in page.of("path")][:2] == [
        "M107.2 7H119M107.2 3v8M119 3v8", "M48.2 7H60M48.2 3v8M60 3v8",
    ]  # fmt: skip
    assert not Page(release(["a"])._repr_html_()).of("svg")
    assert Page(counted(0)._repr_html_()).of("rect")[0]["width"] != "nan"
    assert len(Page(counted(None, 3)._repr_html_()).of("svg")) == 1


def test_a_screen_reader_hears_heads_and_numbers_and_no_pictures() -> None:
    page = Page(counted(95, 45)._repr_html_())
    assert [one["scope"] for one in page.of("th")] == ["col"] * 6 + ["row"] * 2
    assert all(one["aria-hidden"] == "true" for one in page.of("svg"))
    assert len(page.of("caption")) == 1
    assert "2 items, best first." in page.text.partition("rank")[0]
    assert {"95", "90", "100"} <= set(page.words)  # what a bar shows stands beside it


def test_groups_have_a_body_each_and_are_named_once() -> None:
    items = tuple(
        Item(label, rank, 9, 4, 14, (group,))
        for group in ("DE", "<b>FR</b>")
        for rank, label in enumerate(("a", "b"), 1)
    )
    shown = (Group(("DE",), Ended.FULL, 50, 45, 55), Group(("<b>FR</b>",), Ended.FULL, 60, 55, 65))
    found = replace(counted(9), items=items, groups=Groups(("country",), shown, counted=True))
    page = Page(found._repr_html_())
    assert len(page.of("tbody")) == 2
    assert [one for one in page.of("th") if one.get("scope") == "rowgroup"] == [
        {"scope": "rowgroup", "class": "dps-name", "rowspan": "2"}
    ] * 2
    assert page.words.count("DE") == page.words.count("<b>FR</b>") == 1
    assert {"50", "60"} <= set(page.words)
    assert str(found).count("DE") == 1


def test_a_table_that_is_cut_within_a_group() -> None:
    table = TextTable(
        {"g": ["a", "a", "b", "b"], "item": list("wxyz"), "n": [1, 2, 3, 4]}, ("g", "item"), ("g",),
        (True, False, True, False), Bars("n", [Mark(bar=1)] * 4),
    )  # fmt: skip
    cut = table.first(3)
    assert cut.text().splitlines() == ["g  item  n", "a  w     1", "   x     2", "b  y     3"]
    assert cut.bars is not None
    assert len(cut.bars.marks) == 3


# ---- what it may not do -----------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [None, [3] * len(HOSTILE)], ids=["plain", "counts"])
def test_hostile_labels_are_text(counts: list[int] | None) -> None:
    found = release(HOSTILE, counts)
    page = Page(found._repr_html_())
    assert {tag for tag, _ in page.found} <= TAGS
    assert not [has for _, has in page.found if any(name.startswith("on") for name in has)]
    for steering in ("\u202e", "\u2066", "\u2067", "\x1b", "\ud800"):
        assert steering not in found._repr_html_()
    assert len(found._repr_html_()) < 20_000
    for label in HOSTILE[:4]:
        assert any(label in said for said in page.words)


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_hostile_labels_are_text_in_sentences_too(place: int) -> None:
    """One item is named in the first sentence; an item of too large a count in the one below the table."""
    for found in (release([HOSTILE[place]]), counted(3, 9, labels=[HOSTILE[place], "<b>"])):
        page = Page(found._repr_html_())
        assert {tag for tag, _ in page.found} <= TAGS
        assert len(found._repr_html_()) < 8_000
    assert "bytes" not in str(release([b"\x00\xff"]))


def test_it_stands_alone_and_several_stand_on_one_page() -> None:
    for found in [*kinds().values(), dps.TopK(2).forecast(dps.Population(200, items=20), epsilon=[1])]:
        shown = found._repr_html_()
        page = Page(shown)
        assert not re.search(r"https?:|url\(|@import|<script|<link|javascript:", shown)
        for tag, has in page.found:
            assert "id" not in has, tag
            assert "style" not in has, tag  # a page that refuses inline styles shows the same
            assert all(one.startswith("dps-") for one in (has.get("class") or "dps-").split())
    selectors = [rule.partition("{")[0] for rule in STYLE.split("}") if rule]
    assert all(one.startswith(".dps-release") for one in selectors)


def test_colours_are_those_of_the_page() -> None:
    assert not re.search(r"#[0-9a-f]{3}|white(?!-space)|black|\brgb", STYLE)
    assert "currentColor" in STYLE
    assert {has.get("stroke") for has in Page(counted(3)._repr_html_()).of("path")} == {"currentColor"}


def test_the_gateway_allows_this_style_and_no_other() -> None:
    assert f"style-src 'self' {STYLE_DIGEST} {DIGEST};" in CONTENT_POLICY
    assert "unsafe" not in CONTENT_POLICY


def test_a_hundred_thousand_rows_stay_small() -> None:
    found = counted(*range(100_000, 0, -1))
    shown = found._repr_html_()
    assert len(shown) < 20_000
    assert "... and 99,980 more" in shown


def test_what_is_not_secure_is_said_before_the_table_and_not_folded() -> None:
    shown = release(["a", UNSEEN], secure=False)._repr_html_()
    assert shown.index("NOT SECURE") < shown.index("<table") < shown.index("<details>")


def test_a_forecast_looks_alike() -> None:
    forecast = dps.TopK(2).forecast(dps.Population(200, items=20), epsilon=[1, 2])
    page = Page(forecast._repr_html_())
    assert page.text.removeprefix(STYLE).startswith("A forecast: no data was read and no budget was spent.")
    assert len(page.of("rect")) == len(forecast)
    assert page.of("th")[0] == {"scope": "col", "class": "dps-name"}
    assert not page.of("details")
    assert repr(forecast) == str(forecast)
