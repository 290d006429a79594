"""Pictures: what each kind draws, that an SVG stands alone and says what it shows, that the gallery has them all."""

from __future__ import annotations

import io
import re
import struct
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.image
import pytest

import dpselect as dps
from dpselect.errors import OutputError, ParameterError
from dpselect.release.groups import Group, Groups
from dpselect.release.picture import THEMES
from dpselect.release.statement import Ended, Item, Kind
from tests.conftest import ROOT
from tests.house.test_release import STATEMENT, release

sys.path.insert(0, str(ROOT / "benchmarks"))
import gallery

SVG = "{http://www.w3.org/2000/svg}"
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
DRAWN = [file for picture in gallery.PICTURES for file in picture.files()]
LOGOS = [gallery.FIGURES / name for name in ("logo.svg", "favicon.svg")]


def counted(number: int = 3, **more: object) -> dps.Release:
    """Items with counts and whiskers."""
    items = tuple(Item(f"item {p}", p, 100 - p, 90 - p, 110 - p) for p in range(1, number + 1))
    return replace(release(["a"]), items=items, counted=True, **more)


def in_groups(groups: int, each: int = 2) -> dps.Release:
    names = [(f"group {place}",) for place in range(groups)]
    items = tuple(Item(f"item {p}", p, 100 - p, 90, 110, name) for name in names for p in range(1, each + 1))
    shown = Groups(("g",), tuple(Group(name, Ended.FULL) for name in names))
    return replace(counted(), items=items, groups=shown)


def quantiles() -> dps.Release:
    statement = replace(STATEMENT, parameters={"q": (Fraction(1, 4), Fraction(3, 4))})
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


# ---- what is drawn ----------------------------------------------------------------------------------------


def test_a_ranking_has_ranks_and_a_set_has_none() -> None:
    ranked, of_set = counted().plot(), counted(kind=Kind.SET).plot()
    names = [[text.get_text() for text in figure.axes[0].get_yticklabels()] for figure in (ranked, of_set)]
    assert names == [["1  item 1", "2  item 2", "3  item 3"], ["item 1", "item 2", "item 3"]]


def test_a_histogram_stands_upright_in_its_own_order_and_long_names_lie() -> None:
    upright, lying = histogram("b", "a").plot().axes[0], histogram("b" * 60, "a" * 60).plot().axes[0]
    assert [text.get_text() for text in upright.get_xticklabels()] == ["b", "a"]
    assert [bar.get_height() for bar in upright.containers[0]] == [9, 9]
    assert [list(line.get_ydata()) for line in upright.lines] == [[4, 14]] * 2
    assert upright.get_xlabel().endswith("; all whiskers at once 95 times of 100")
    assert [bar.get_width() for bar in lying.containers[0]] == [9, 9]
    many = histogram(*map(str, range(51))).plot().axes[0]
    assert [round(bar.get_width()) for bar in many.containers[0]] == [9] * 50
    assert "the first 50 of 51 items" in many.get_title(loc="left")


def test_of_many_groups_the_first_are_drawn_on_lines_of_one_height() -> None:
    figure = in_groups(13, 11).plot()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert len(shown) == 12
    assert {len(axes.patches) for axes in shown} == {10}
    assert {axes.get_ylim() for axes in shown} == {(9.5, -0.5)}
    assert "the first 12 of 13 groups" in figure.get_suptitle()
    assert "1 more groups are not drawn" in figure.alt  # type: ignore[attr-defined]


def test_a_ledger_is_drawn_for_all_or_for_those_that_are_named(spent: dps.Ledger) -> None:
    everybody = [line.get_label() for line in spent.plot().axes[0].lines]
    assert everybody == ["everybody on 'plays'", "'ann' on 'plays'", "'<b>' on 'plays'"]
    of_ann = spent.plot(analyst="ann", data="plays")
    assert [line.get_label() for line in of_ann.axes[0].lines] == ["everybody on 'plays'", "'ann' on 'plays'"]
    assert [*of_ann.axes[0].lines[1].get_ydata()][-1] == pytest.approx(
        100 * (1 - float(spent.standing(dps.Account("plays", "ann")).left))
    )
    assert spent.plot(data="other").alt.endswith("Nothing was spent.")  # type: ignore[attr-defined]


# ---- themes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_colours_the_ground_and_the_words(theme: str, spent: dps.Ledger) -> None:
    forecast = dps.plan("top_k", k=2, users=200, items=20, epsilon=[1, 2])
    look = THEMES[theme]
    for shown in (counted(), in_groups(2), quantiles(), many(), histogram("a"), forecast, spent):
        figure = shown.plot(theme=theme)
        assert matplotlib.colors.to_hex(figure.get_facecolor()) == look.ground
        for axes in figure.axes:
            assert matplotlib.colors.to_hex(axes.get_facecolor()) == look.ground
            words = [*axes.get_xticklabels(), *axes.get_yticklabels(), axes.xaxis.label, axes.yaxis.label]
            assert {text.get_color() for text in words if text.get_text()} <= {look.ink, look.grey}


@pytest.mark.parametrize("theme", ["night", "", None])
def test_another_theme_is_refused(theme: object, spent: dps.Ledger) -> None:
    for shown in (counted(), quantiles(), spent, dps.plan("top_k", k=2, users=200, items=20, epsilon=[1])):
        with pytest.raises(ParameterError, match="theme must be light or dark"):
            shown.plot(theme=theme)  # type: ignore[arg-type]


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", THEMES)
def test_colours_can_be_seen(theme: str) -> None:
    """By the contrast that WCAG 2 asks for: 4.5 of words, 3 of bars and lines."""
    look = THEMES[theme]

    def contrast(one: str, other: str) -> float:
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    assert min(contrast(look.ground, words) for words in (look.ink, look.grey)) >= 4.5
    assert min(contrast(look.ground, drawn) for drawn in (look.bar, *look.lines)) >= 3
    assert contrast(look.bar, look.ink) >= 2.5  # a whisker on its bar


# ---- what an SVG says and does not load -------------------------------------------------------------------


def stands_alone(text: str) -> ElementTree.Element:
    """The picture, which is refused where it is not well-formed, says nothing, or speaks of an outside."""
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    first = [(child.tag.removeprefix(SVG), child.text) for child in root[:2]]
    assert [tag for tag, _ in first] == ["title", "desc"]
    assert all(said for _, said in first)
    assert not re.search(r"<!DOCTYPE|<\?xml-stylesheet|@import|<script|<foreignObject|<image|data:", text)
    for element in root.iter():
        assert element.tag.startswith(SVG), element.tag
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on")
            assert not re.search(r"https?:|//", value), value
            assert name.rpartition("}")[2] != "href" or value.startswith("#")
            assert all(address.startswith("#") for address in re.findall(r"url\((.*?)\)", value))
    assert set(re.findall(r'https?://[^"]*', re.sub(r">[^<]*<", "><", text))) <= NAMESPACES
    return root


WRONG = {
    "no words": "<svg xmlns='http://www.w3.org/2000/svg' role='img'><g/></svg>",
    "a font": "<svg xmlns='http://www.w3.org/2000/svg' role='img'><title>a</title><desc>b</desc>"
    "<g style='src: url(https://fonts.example/x)'/></svg>",
    "a link": "<svg xmlns='http://www.w3.org/2000/svg' role='img'><title>a</title><desc>b</desc>"
    "<use href='other.svg#x'/></svg>",
    "a document type": "<!DOCTYPE svg SYSTEM 'x.dtd'><svg xmlns='http://www.w3.org/2000/svg' role='img'>"
    "<title>a</title><desc>b</desc></svg>",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=list(WRONG))
def test_a_picture_that_loads_or_says_nothing_is_noticed(text: str) -> None:
    with pytest.raises(AssertionError):
        stands_alone(text)


HOSTILE = [
    "<script>alert(1)</script>",
    "a & b -- > ]]>",
    '"x" onload="y"',
    "$x^2$",
    "東京",
    "https://x.example",
    "\x1b",
]


def test_hostile_names_are_text(tmp_path: Path) -> None:
    items = tuple(Item(label, p, 9, 4, 14) for p, label in enumerate(HOSTILE, 1))
    replace(counted(), items=items).plot(tmp_path / "top.svg")
    text = (tmp_path / "top.svg").read_text("utf-8")
    root = stands_alone(text)
    said = [element.text for element in root.iter(f"{SVG}text")]
    assert [f"{place}  {label}" in said for place, label in enumerate(HOSTILE[:-1], 1)] == [True] * 6
    assert r"7  \x1b" in said


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_an_analyst_may_have_a_name_that_is_no_formula(tmp_path: Path, kind: str) -> None:
    name = r"$\frac{1}{$ 東"
    with dps.Ledger.create(tmp_path / "book.sqlite") as ledger:
        ledger.data("plays", 4, "1e-5")
        ledger.grant(dps.Account("plays", name), 2, "1e-6")
        budget = dps.Budget.open(tmp_path / "book.sqlite", analyst=name, data="plays")
        dps.choose({"a": 3, "b": 1}, epsilon="0.5", budget=budget)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ledger.plot(tmp_path / f"spent.{kind}")
        labels = [line.get_label() for line in ledger.plot().axes[0].lines]
        assert repr(name) in str(labels[1])


def test_the_words_are_short_where_names_are_long() -> None:
    long = "x" * 50_000
    items = tuple(Item(f"{place}{long}", place, 9, 4, 14, (long,)) for place in range(1, 8))
    shown = Groups(("g",), (Group((long,), Ended.FULL),))
    numbers = replace(quantiles(), items=tuple(replace(one, group=(long,)) for one in quantiles().items), groups=shown)
    for one in (replace(counted(), items=items), replace(counted(), items=items, groups=shown), numbers):
        assert "x…" in one.plot().alt[:1000] == one.plot().alt  # type: ignore[attr-defined]


def test_every_kind_stands_alone_and_is_the_same_each_time(tmp_path: Path, spent: dps.Ledger) -> None:
    for shown in (counted(), in_groups(2), quantiles(), many(), histogram("a"), spent):
        for name in ("one.svg", "two.SVG"):
            shown.plot(tmp_path / name)
        text = (tmp_path / "one.svg").read_text("utf-8")
        root = stands_alone(text)
        assert root.findtext(f"{SVG}desc") == shown.plot().alt  # type: ignore[attr-defined]
        assert any(element.tag == f"{SVG}text" for element in root.iter())  # which can be searched and read aloud
        assert "sans-serif" in text
        assert text == (tmp_path / "two.SVG").read_text("utf-8")


ALT = {
    "bars": (counted(7), "Best first: item 1 99 (89 to 109), item 2 98 (88 to 108), item 3 97 (87 to 107), "),
    "the last": (counted(7), "and 2 more, the last item 7 93."),
    "a set": (counted(2, kind=Kind.SET), "In no order of rank: item 1 99 (89 to 109), item 2 98 (88 to 108)."),
    "a histogram": (histogram("b", "a"), "In the domain's order: b 9 (4 to 14), a 9 (4 to 14)."),
    "groups": (in_groups(2, 1), "in 2 panels, one a group. group 0: item 1 99 (90 to 110). group 1: item 1 99"),
    "quantiles": (quantiles(), "Dots at the noisy quantiles 0.25, 0.75. 3, 4.5."),
    "many quantiles": (
        many(),
        "10 % at 2, 30 % at 3, 50 % at 8, 70 % at 13, 90 % at 34. Most, 20 %, lie from 2 to before 4.",
    ),
    "nothing": (counted(0), "Nothing came back."),
}


@pytest.mark.parametrize(("shown", "said"), ALT.values(), ids=list(ALT))
def test_a_picture_in_words(shown: dps.Release, said: str) -> None:
    assert said in shown.plot().alt  # type: ignore[attr-defined]


def chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of a PNG."""
    place = 8
    while place < len(content):
        (long,) = struct.unpack(">I", content[place : place + 4])
        yield content[place + 4 : place + 8], content[place + 8 : place + 8 + long]
        place += 12 + long


def test_a_png_carries_its_words_too(tmp_path: Path) -> None:
    figure = counted(2).plot(tmp_path / "top.png")
    content = (tmp_path / "top.png").read_bytes()
    words = [body for kind, body in chunks(content) if kind in (b"tEXt", b"iTXt", b"zTXt")]
    assert any(body.startswith(b"Description\0") and figure.alt.encode() in body for body in words)  # type: ignore[attr-defined]


def test_a_notebook_gets_both_forms_with_their_words() -> None:
    figure = counted(2).plot()
    shown, words = figure._repr_mimebundle_(include=None, exclude=None)  # type: ignore[attr-defined]
    assert set(shown) == set(words) == {"image/svg+xml", "image/png"}
    assert {one["alt"] for one in words.values()} == {figure.alt}  # type: ignore[attr-defined]
    stands_alone(shown["image/svg+xml"])
    assert matplotlib.image.imread(io.BytesIO(shown["image/png"])).shape[1] == 700


@pytest.mark.parametrize("name", ["missing/top.svg", "top.strange"])
def test_an_svg_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        counted().plot(tmp_path / name)


# ---- the gallery ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", [*DRAWN, *LOGOS], ids=lambda file: file.name)
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


def test_light_and_dark_show_the_same() -> None:
    for picture in gallery.PICTURES:
        light, dark = (file.read_text("utf-8") for file in picture.files())
        plain = [re.sub(r"#[0-9a-f]{6}\b|\b[mp][0-9a-f]{10}\b", "", text) for text in (light, dark)]
        assert plain[0] == plain[1]
        assert THEMES["light"].ground in light
        assert THEMES["dark"].ground in dark
