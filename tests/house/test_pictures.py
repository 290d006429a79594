"""Pictures: what each kind shows, that both renderers draw it, that an SVG stands alone and cuts no text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

import dpselect as dps
from dpselect.errors import OutputError, ParameterError
from dpselect.gateway.web.guards import CONTENT_POLICY
from dpselect.release import svg
from dpselect.release.accuracy import Accuracy, chosen_item, ranking
from dpselect.release.groups import Group, Groups
from dpselect.release.panels import Axis, Chart, Mark, RowPanel
from dpselect.release.picture import Picture
from dpselect.release.statement import Ended, Item, Kind
from tests.conftest import ROOT
from tests.house.test_release import STATEMENT, release

sys.path.insert(0, str(ROOT / "benchmarks"))
import gallery

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = [picture.file for picture in gallery.PICTURES]
TAGS = {f"{SVG}{name}" for name in ("svg", "title", "desc", "style", "rect", "g", "path", "circle", "text")}
LONG = "x" * 50_000


def counted(number: int = 3, **more: object) -> dps.Release:
    """Items with counts and whiskers."""
    items = tuple(Item(f"item {p}", p, 100 - p, 90 - p, 110 - p) for p in range(1, number + 1))
    return replace(release(["a"]), items=items, counted=True, **more)


def named(*labels: object, **more: object) -> dps.Release:
    return replace(counted(), items=tuple(Item(label, p, 9, 4, 14) for p, label in enumerate(labels, 1)), **more)


def in_groups(groups: int, each: int = 2) -> dps.Release:
    names = [(f"group {place}",) for place in range(groups)]
    items = tuple(Item(f"item {p}", p, 100 - p, 90, 110, name) for name in names for p in range(1, each + 1))
    shown = Groups(("g",), tuple(Group(name, Ended.FULL) for name in names))
    return replace(counted(), items=items, groups=shown)


def quantiles(**more: object) -> dps.Release:
    statement = replace(STATEMENT, parameters={"q": (Fraction(1, 4), Fraction(3, 4)), **more})
    items = (Item(3, 1, None), Item(Fraction(9, 2), 2, None))
    return replace(release([]), items=items, kind=Kind.VALUES, privacy=statement)


def many() -> dps.Release:
    """Nine quantiles."""
    parameters = {"q": tuple(Fraction(place, 10) for place in range(1, 10)), "step": 1}
    items = tuple(Item(value, place, None) for place, value in enumerate((2, 3, 3, 5, 8, 8, 13, 21, 34), 1))
    statement = replace(STATEMENT, parameters=parameters)
    return replace(release([]), items=items, kind=Kind.VALUES, privacy=statement)


def histogram(*labels: str) -> dps.Release:
    items = tuple(Item(label, None, 9, 4, 14) for label in labels)
    statement = replace(STATEMENT, mechanism="HistogramLaplace", parameters={})
    return replace(counted(), items=items, kind=Kind.SET, privacy=statement)


def ranked(*labels: object, gap: int = 7) -> dps.Release:
    """A top k without counts."""
    return replace(release(list(labels)), accuracy=ranking(gap))


@pytest.fixture
def spent(tmp_path: Path) -> Iterator[dps.Ledger]:
    """A ledger from which two analysts have paid for questions."""
    book = tmp_path / "book.sqlite"
    with dps.Ledger.create(book) as ledger:
        ledger.data("plays", 4, "1e-5")
        for analyst in ("ann", "<b>"):
            ledger.grant(dps.Account("plays", analyst), 2, "1e-6")
            rows = {"user": list(range(50)), "item": ["a"] * 50}
            budget = dps.Budget.open(book, analyst=analyst, data="plays", snapshot="today")
            dps.Dataset(rows, user="user", item="item", budget=budget).top_k(1, epsilon="0.5", delta="1e-7")
        yield ledger


@pytest.fixture
def every(spent: dps.Ledger) -> list[Picture]:
    """A picture of each kind, and of nothing."""
    forecast = dps.TopK(2).forecast(dps.Population(200, items=20), epsilon=[1, 2])
    releases = (counted(), counted(0), in_groups(5), quantiles(), many(), histogram("a"), ranked("a", "b"))
    return [*(one.plot() for one in releases), forecast.plot(), spent.plot(), spent.plot(data="other")]


def rows(picture: Picture) -> list[RowPanel]:
    assert all(isinstance(panel, RowPanel) for panel in picture.panels)
    return [panel for panel in picture.panels if isinstance(panel, RowPanel)]


def charts(picture: Picture) -> list[Chart]:
    assert all(isinstance(panel, Chart) for panel in picture.panels)
    return [panel for panel in picture.panels if isinstance(panel, Chart)]


# ---- what a picture holds ---------------------------------------------------------------------------------


def test_whiskers_end_where_intervals_end() -> None:
    (panel,) = rows(counted(2).plot())
    assert panel.marks == [
        Mark("item 1", "99", "1", bar=99, low=89, high=109),
        Mark("item 2", "98", "2", bar=98, low=88, high=108),
    ]
    assert (panel.across.low, panel.across.high, panel.across.name) == (0, 109, "users")


def test_a_number_below_zero_has_no_bar() -> None:
    """Noise may make a count negative; what it counts is not."""
    picture = replace(counted(), items=(Item("a", 1, 50, 40, 60), Item("b", 2, -3, 0, 7))).plot()
    (panel,) = rows(picture)
    assert (panel.across.low, panel.across.high, panel.marks[1].value_text) == (0, 60, "-3")
    bars = [one for one in ElementTree.fromstring(picture.svg()).iter(f"{SVG}rect") if one.get("class") is None]
    assert [float(one.get("width") or "nan") for one in bars] == [pytest.approx(398 * 50 / 60, abs=0.06), 0]


def test_a_histogram_is_in_its_own_order_and_its_whiskers_hold_at_once() -> None:
    picture = histogram("b", "a").plot()
    assert [mark.label for mark in rows(picture)[0].marks] == ["b", "a"]
    assert "The whiskers contain all numbers without noise at once, with 95 % confidence." in picture.caption
    assert "Each whisker contains its number without noise, with 95 % confidence." in counted().plot().caption


def test_of_many_items_and_groups_the_first_are_drawn() -> None:
    picture = counted(6132).plot()
    assert len(rows(picture)[0].marks) == 50
    assert "The first 50 of 6,132 items are drawn." in picture.caption
    groups = in_groups(13, 11).plot()
    assert [len(panel.marks) for panel in rows(groups)] == [10] * 12
    assert "The first 12 of 13 groups are drawn." in groups.caption
    assert "The first 12 of 13 groups are drawn." in groups.alt


def test_a_top_k_without_counts_shows_what_its_sentence_says() -> None:
    found = ranked("a", "b", gap=7)
    picture = found.plot()
    (panel,) = rows(picture)
    assert [(mark.rank, mark.label, mark.low, mark.high) for mark in panel.marks] == [
        ("1", "a", None, 7),
        ("2", "b", None, 7),
    ]
    assert all(mark.bar is None and mark.dots == (0,) for mark in panel.marks)
    assert found.accuracy.opening_and_remainder[0] in picture.caption
    assert picture.alt == f"Ranks and their uncertainty. Best first: a, b. {found.accuracy.opening_and_remainder[0]}"
    (alone,) = rows(replace(found, accuracy=chosen_item(Fraction(1, 2), None)).plot())
    assert {mark.high for mark in alone.marks} == {0.5}
    (sure,) = rows(ranked("a", gap=0).plot())
    assert sure.across.low < 0 < sure.across.high


def test_what_has_neither_counts_nor_a_bound_of_items_has_no_picture() -> None:
    for found in (release(["a"]), replace(ranked(), items=()), replace(ranked("a"), accuracy=Accuracy(("None.",)))):
        with pytest.raises(ParameterError, match="counts must be released for a plot"):
            found.plot()


def test_quantiles_are_dots_on_the_scale_of_the_bounds() -> None:
    (panel,) = rows(quantiles(bounds=(0, 60)).plot())
    assert [(list(mark.dots), mark.value_text) for mark in panel.marks] == [([3, 4.5], "3, 4.5")]
    assert (panel.across.low, panel.across.high) == (0, 60)
    (free,) = rows(quantiles().plot())
    assert (free.across.low, free.across.high) == (3, 4.5)


def test_many_quantiles_are_steps_and_bars_on_one_scale() -> None:
    steps, bars = charts(many().plot())
    assert steps.lines[0].points[0] == (2, 10)
    assert steps.lines[0].points[-1] == (34, 90)
    assert steps.across == bars.across
    assert sum(share for _, share in bars.lines[0].points[:-1]) == pytest.approx(80)
    assert bars.lines[0].filled


def test_a_ledger_is_drawn_for_all_or_for_those_that_are_named(spent: dps.Ledger) -> None:
    assert spent.plot().names == ["everybody on 'plays'", "'ann' on 'plays'", "'<b>' on 'plays'"]
    of_ann = spent.plot(analyst="ann", data="plays")
    assert of_ann.names == ["everybody on 'plays'", "'ann' on 'plays'"]
    last = charts(of_ann)[0].lines[1].points[-1][1]
    assert last == pytest.approx(100 * (1 - float(spent.standing(dps.Account("plays", "ann")).left)))
    assert spent.plot(data="other").alt.endswith("Nothing was spent.")


ALT = {
    "bars": (counted(7), "Best first: item 1 99 (89 to 109), item 2 98 (88 to 108), item 3 97 (87 to 107), "),
    "the last": (counted(7), "and 2 more, the last item 7 93."),
    "a set": (counted(2, kind=Kind.SET), "In no order of rank: item 1 99 (89 to 109), item 2 98 (88 to 108)."),
    "a histogram": (histogram("b", "a"), "In the domain's order: b 9 (4 to 14), a 9 (4 to 14)."),
    "groups": (in_groups(2, 1), "users. group 0: item 1 99 (90 to 110). group 1: item 1 99"),
    "quantiles": (quantiles(), "Dots at the noisy quantiles 0.25, 0.75. 3, 4.5."),
    "many quantiles": (
        many(),
        "10 % at 2, 30 % at 3, 50 % at 8, 70 % at 13, 90 % at 34. Most, 20 %, lie from 2 to before 4.",
    ),
    "nothing": (counted(0), "Nothing came back."),
}


@pytest.mark.parametrize(("shown", "said"), ALT.values(), ids=list(ALT))
def test_a_picture_in_words(shown: dps.Release, said: str) -> None:
    assert said in shown.plot().alt
    assert repr(shown.plot()) == shown.plot().alt


def test_the_words_are_short_where_names_are_long() -> None:
    items = tuple(Item(f"{place}{LONG}", place, 9, 4, 14, (LONG,)) for place in range(1, 8))
    shown = Groups(("g",), (Group((LONG,), Ended.FULL),))
    numbers = replace(quantiles(), items=tuple(replace(one, group=(LONG,)) for one in quantiles().items), groups=shown)
    for one in (replace(counted(), items=items), replace(counted(), items=items, groups=shown), numbers):
        assert "x…" in one.plot().alt[:1000] == one.plot().alt
        assert len(one.plot().svg()) < 20_000


def test_what_is_not_secure_says_so() -> None:
    assert "NOT SECURE" in counted(secure=False).plot().caption[0]
    assert not any("NOT SECURE" in line for line in counted(secure=True).plot().caption)


@pytest.mark.parametrize(
    ("low", "high", "log"), [(0, 1, False), (0, 7_340_000, False), (-3, 4, False), (1.7e9, 1.7e9 + 8, False),
                             (0, 1e-272, False), (-4e298, 4e298, False), (5, 5, False), (30, 9000, True), (3, 3, True)],
)  # fmt: skip
def test_scales_have_a_few_round_numbers(low: float, high: float, log: bool) -> None:
    axis = Axis.from_values("", [low, high], log=log)
    places = [at for at, _ in axis.ticks]
    assert 1 <= len(places) <= 10
    assert places == sorted(places)
    assert all(axis.low <= at * (1 + 1e-9) and at * (1 - 1e-9) <= axis.high for at in places if at > 0)
    assert [axis.part(end) for end in (axis.low, axis.high)] == [0, 1]


# ---- the SVG ----------------------------------------------------------------------------------------------


def stands_alone(text: str) -> ElementTree.Element:
    """The picture, which is refused where it is not well-formed, says nothing, or speaks of an outside."""
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    first = [(child.tag.removeprefix(SVG), child.text) for child in root[:2]]
    assert [tag for tag, _ in first] == ["title", "desc"]
    assert all(said for _, said in first)
    assert not re.search(r"<!|<\?|@import|<script|<foreignObject|<image|data:|url\(", text)
    for element in root.iter():
        assert element.tag in TAGS, element.tag
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on")
            assert not re.search(r"https?:|//", value), value
            assert name.rpartition("}")[2] not in ("href", "style", "id")
    assert set(re.findall(r'https?://[^"]*', re.sub(r">[^<]*<", "><", text))) <= {"http://www.w3.org/2000/svg"}
    return root


WRONG = {
    "no words": "<svg xmlns='http://www.w3.org/2000/svg' role='img'><g/></svg>",
    "a link": "<svg xmlns='http://www.w3.org/2000/svg' role='img'><title>a</title><desc>b</desc>"
    "<use href='other.svg#x'/></svg>",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=list(WRONG))
def test_a_picture_that_loads_or_says_nothing_is_noticed(text: str) -> None:
    with pytest.raises(AssertionError):
        stands_alone(text)


HOSTILE = [
    "<script>alert(1)</script>", "a & b -- > ]]>", '"x" onload="y"', "$x^2$", "東京", "שלום", "https://x.example",
    "\x1b", "\u202egnp.exe", "\ud800",
]  # fmt: skip


def test_hostile_names_are_text() -> None:
    root = stands_alone(named(*HOSTILE).plot().svg())
    said = [element.text for element in root.iter(f"{SVG}text")]
    assert [label in said for label in HOSTILE[:-3]] == [True] * 7
    assert [label in said for label in (r"\x1b", r"\u202egnp.exe", r"\ud800")] == [True] * 3
    page = named(*HOSTILE).plot()._repr_html_()
    assert "<script" not in page
    assert 'onload="' not in page


def test_every_kind_stands_alone_and_is_the_same_each_time(every: list[Picture], tmp_path: Path) -> None:
    for picture in every:
        for name in ("one.svg", "two.SVG"):
            picture.save(tmp_path / name)
        text = (tmp_path / "one.svg").read_text("utf-8")
        assert text == (tmp_path / "two.SVG").read_text("utf-8") == picture._repr_svg_()
        root = stands_alone(text)
        assert (root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")) == (picture.title, picture.alt)
        said = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
        assert picture.title in said
        assert all(word in said for line in picture.caption for word in line.split())


def boxes(root: ElementTree.Element, right: float = 0, down: float = 0) -> Iterator[tuple[float, float, float, float]]:
    """Left, right, top and bottom of every text, where the widest font puts it."""
    for one in root:
        moved = re.fullmatch(r"translate\((\S+) (\S+)\)", one.get("transform", "translate(0 0)"))
        assert moved is not None
        x, y = right + float(moved[1]), down + float(moved[2])
        if one.tag == f"{SVG}text":
            size = float(one.get("font-size") or 0)
            wide = svg.text_width(one.text or "", size)
            left = x + float(one.get("x") or 0) - wide * {"end": 1, "middle": 0.5}.get(one.get("text-anchor") or "", 0)
            base = y + float(one.get("y") or 0)
            yield left, left + wide, base - 0.8 * size, base + 0.2 * size
        yield from boxes(one, x, y)


CROWDED = {
    "labels": named("W" * 90, "東京都" * 20, "word " * 40, LONG),
    "groups": replace(
        counted(),
        items=tuple(Item("m" * 99, 1, 10**14 + p, 0, 2 * 10**14, ("W" * 90, p)) for p in range(5)),
        groups=Groups(("g", "h"), tuple(Group(("W" * 90, p), Ended.FULL) for p in range(5))),
    ),
    "quantiles": replace(
        quantiles(), items=(Item(-123_456_789, 1, None), Item(123_456_789, 2, None)) * 4,
        privacy=replace(STATEMENT, parameters={"q": tuple(Fraction(p, 9) for p in range(1, 9))}),
    ),
    "a caption": ranked("a", gap=10**15),
}  # fmt: skip


@pytest.mark.parametrize("shown", CROWDED.values(), ids=list(CROWDED))
def test_no_text_leaves_the_picture_or_lies_on_another(shown: dps.Release) -> None:
    root = ElementTree.fromstring(shown.plot().svg())
    found = [*boxes(root)]
    assert len(found) > 4
    for left, right, top, bottom in found:
        assert left >= 0
        assert right <= float(root.get("width") or 0) + 0.1
        assert 0 <= top < bottom <= float(root.get("height") or 0)
    for one, other in pairwise(sorted(found, key=lambda box: (round(box[3]), box[0]))):
        if one[2] < other[3] and other[2] < one[3]:
            assert one[1] <= other[0] + 0.1, (one, other)


def test_numbers_of_epsilon_that_lie_close_do_not_collide() -> None:
    picture = (
        dps.Union()
        .forecast(dps.Population(90, items=20), max_items_per_user=2, epsilon=["1", "1.01", "1.02", "9"])
        .plot()
    )
    said = [one.text for one in ElementTree.fromstring(picture.svg()).iter(f"{SVG}text")]
    assert (said.count("1"), said.count("1.01"), said.count("9")) == (3, 0, 3)


def test_themes(every: list[Picture]) -> None:
    for picture in every:
        fixed = {theme: picture.svg(theme) for theme in svg.THEMES}
        for theme, (ink, ground) in svg.THEMES.items():
            assert f'color="{ink}"' in fixed[theme]
            assert f'fill="{ground}"' in fixed[theme]
            assert "<style" not in fixed[theme]
        auto = picture.svg()
        assert "prefers-color-scheme:dark" in auto
        assert all(colour in auto for colours in svg.THEMES.values() for colour in colours)
        assert auto.replace(f"<style>{svg.STYLE}</style>", "").replace("dps-auto", "dps-light") == fixed["light"]


def test_a_page_gives_its_own_colours(every: list[Picture]) -> None:
    assert svg.DIGEST in CONTENT_POLICY
    for picture in every:
        shown = picture._repr_html_()
        assert shown.count("<style>") == 1
        assert f'role="img" aria-label="{svg.escape(picture.alt)}"' in shown
        colours = set(re.findall(r'(?:fill|stroke)="(.*?)"', shown))
        assert colours <= {"currentColor", "none", *svg.LINES}
        assert not re.search(r' (style|id|href)="', shown)


@pytest.mark.parametrize("name", ["missing/top.svg", "top.png", "top"])
def test_a_picture_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        counted().plot().save(tmp_path / name)
    assert not list(tmp_path.iterdir())


# ---- Matplotlib -------------------------------------------------------------------------------------------


def test_matplotlib_draws_the_same_marks() -> None:
    axes = Figure().add_subplot()
    assert named("Ke$ha and $5", LONG, "b").plot(ax=axes) == named("Ke$ha and $5", LONG, "b").plot()
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert (names[0], len(names[1]) < 50, names[2]) == ("1  Ke$ha and $5", True, "3  b")
    assert [bar.get_width() for bar in axes.patches] == [9, 9, 9]
    whiskers = [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "|"]
    assert whiskers == [[4, 14]] * 3
    assert axes.get_ylim() == (2.5, -0.5)
    assert "per user" in axes.get_xlabel()
    assert "with 95 % confidence" in axes.get_xlabel()


def test_matplotlib_has_axes_for_every_panel(every: list[Picture], tmp_path: Path) -> None:
    for picture in every:
        figure = Figure()
        ax = figure.subplots(1, len(picture.panels))
        picture.on(ax)
        axes = figure.axes
        assert [one.get_title(loc="left") for one in axes] == [panel.title or picture.title for panel in picture.panels]
        assert (figure.axes[0].get_legend() is not None) == bool(picture.names)
        figure.savefig(tmp_path / "drawn.png")
    assert (tmp_path / "drawn.png").stat().st_size > 1000
    for wrong in (Figure().add_subplot(), Figure().subplots(2, 2)):
        with pytest.raises(ParameterError, match="ax must have 5 axes, one for each panel"):
            in_groups(5).plot(ax=wrong)


def test_matplotlib_takes_names_for_names(tmp_path: Path) -> None:
    name = r"$\frac{1}{$"
    with dps.Ledger.create(tmp_path / "book.sqlite") as ledger:
        ledger.data("plays", 4, "1e-5")
        ledger.grant(dps.Account("plays", name), 2, "1e-6")
        budget = dps.Budget.open(tmp_path / "book.sqlite", analyst=name, data="plays")
        dps.choose({"a": 3, "b": 1}, epsilon="0.5", budget=budget)
        figure = Figure()
        ledger.plot(ax=figure.add_subplot())
        figure.savefig(tmp_path / "spent.png")
        assert repr(name) in str(figure.axes[0].lines[1].get_label())


# ---- the gallery ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", DRAWN, ids=lambda file: file.name)
def test_every_picture_of_the_gallery_stands_alone(file: Path) -> None:
    stands_alone(file.read_text("utf-8"))


def test_the_page_is_what_the_script_writes() -> None:
    assert gallery.PAGE.read_text("utf-8") == gallery.page()


def test_the_gallery_has_every_picture_once_and_no_other() -> None:
    there = set(gallery.FIGURES.glob("gallery-*.svg"))
    assert there == set(DRAWN)
    linked = re.findall(r"!\[(.*?)\]\(figures/(.*?)\)", gallery.PAGE.read_text("utf-8"))
    assert [name for _, name in linked] == [file.name for file in DRAWN]
    assert all(said for said, _ in linked)
