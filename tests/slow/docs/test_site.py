"""The documentation site: built without a warning, standing alone, to be read, searched and reached by keyboard."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOADED = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("object", "data"), ("embed", "src")}
LINKS_THAT_LOAD = {
    "stylesheet",
    "icon",
    "preload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "manifest",
    "modulepreload",
}
IN_STYLE = re.compile(r"""(?:url\(|@import)\s*['"]?\s*((?:https?:)?//[^'")\s]+)""")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `./dev docs` builds it but elsewhere."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", folder / "doctrees"]
    built = subprocess.run([*command, ROOT / "docs", folder / "html"], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-4000:]
    return folder / "html"


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


class Elements(HTMLParser):
    """Every element of a page, with what it has; much quicker than a tree."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


@cache
def elements(page: Path) -> list[tuple[str, dict[str, str]]]:
    return Elements(page).found


def away(address: str) -> bool:
    return address.startswith("//") or address.partition(":")[0] in ("http", "https", "ws", "wss", "ftp")


def loads(page: Path) -> list[str]:
    """Every address that a browser asks for by itself."""
    found = []
    for tag, has in elements(page):
        found += [value for name, value in has.items() if (tag, name) in LOADED]
        found += [part.split()[0] for part in has.get("srcset", "").split(",") if part.strip()]
        found += IN_STYLE.findall(has.get("style", ""))
        if tag == "link" and LINKS_THAT_LOAD & set(has.get("rel", "").split()):
            found.append(has.get("href", ""))
    return found


def test_no_page_and_no_style_loads_anything_of_another_host(site: Path) -> None:
    every = pages(site)
    assert len(every) > 90
    assert [(page.name, address) for page in every for address in loads(page) if away(address)] == []
    for style in site.rglob("*.css"):
        assert IN_STYLE.findall(style.read_text("utf-8")) == [], style.name


def test_what_another_host_would_give_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="preconnect" href="https://a.example"><script src="//b.example/x.js"></script>'
        '<p style="background: url(https://c.example/x)"><img srcset="https://d.example/x 2x"><a href="https://e.example">'
    )
    assert [address for address in loads(page) if away(address)] == [
        "https://a.example", "//b.example/x.js", "https://c.example/x", "https://d.example/x",
    ]  # fmt: skip


def test_every_link_leads_to_a_page_and_a_place_on_it(site: Path) -> None:
    """Also those that were made, and those to files of the repository."""
    places: dict[Path, set[str]] = {}
    broken = []
    for page in pages(site):
        for tag, has in elements(page):
            target, place = urldefrag(has.get("href", "")) if tag == "a" else ("", "")
            if not (target or place) or away(target) or target.startswith("mailto:"):
                continue
            led = (page.parent / unquote(target)).resolve() if target else page
            if not led.is_file():
                broken.append((page.name, target))
            elif place and led.suffix == ".html":
                if led not in places:
                    places[led] = {
                        value for _, of in elements(led) for value in (of.get("id"), of.get("name")) if value
                    }
                if unquote(place) not in places[led]:
                    broken.append((page.name, f"{target}#{place}"))
    assert broken == []


def test_every_public_name_command_and_operation_has_an_entry(site: Path) -> None:
    import dpselect as dps
    from dpselect import mechanisms
    from dpselect.command.parser import COMMANDS
    from dpselect.gateway.web.openapi import OPERATIONS

    reference = [path for path in pages(site) if path.parent.name == "reference"]
    entries = {of.get("id") for path in reference for _, of in elements(path)}
    modules = {"accounting", "mechanisms", "__version__"}
    assert [name for name in dps.__all__ if name not in modules and f"dpselect.{name}" not in entries] == []
    assert [f"dpselect.mechanisms.{name}" not in entries for name in mechanisms.__all__].count(True) == 0
    said = (site / "reference" / "help.html").read_text("utf-8")
    assert [name for name in COMMANDS if f"usage: dpselect {name}" not in said] == []
    http = (site / "gateway-api.html").read_text("utf-8")
    assert [one.path for one in OPERATIONS if one.path not in http] == []


def test_every_page_is_there_as_text_and_in_the_list_of_them(site: Path) -> None:
    listed = re.findall(r"\]\((.+)\)$", (site / "llms.txt").read_text("utf-8"), re.MULTILINE)
    texts = {path.relative_to(site).as_posix() for path in site.rglob("*.md")}
    assert set(listed) | {"index.md"} == texts
    assert len(listed) == len(set(listed)) > 60
    for name in texts:
        text = (site / name).read_text("utf-8")
        assert "<!-- made" not in text, name
        assert "repository.invalid" not in text, name


# ---- in a browser -----------------------------------------------------------------------------------------

WIDEST_PAGES = 25
AXE_PAGES = [
    "index",
    "learn/first-answer",
    "data",
    "reference/budgets",
    "reference/methods",
    "mechanisms/limited-domain",
    "search",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, request):
    """A page of a browser, and every address that it asked for."""
    context = browser.new_context(color_scheme=getattr(request, "param", "light"))
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    yield page, asked
    context.close()


def test_the_front_page_from_a_folder_asks_for_files_only(site: Path, opened) -> None:
    page, asked = opened
    page.goto((site / "index.html").as_uri())
    page.get_by_role("link", name="Get your first answer in five minutes").click()
    page.wait_for_load_state()
    assert page.locator("h1").inner_text() != ""
    assert page.url.endswith("learn/first-answer.html")
    assert asked
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []


def test_search_works_from_a_folder(site: Path, opened) -> None:
    page, asked = opened
    page.goto((site / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill("permute-and-flip")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    names = page.locator("#search-results li a").all_inner_texts()
    assert any("flip" in name.lower() for name in names), names
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("which epsilon", "Which epsilon?"),
        ("epsilon", "Which epsilon?"),
        ("budgets", "Budgets"),
        ("top_k", "dpselect.Dataset.top_k"),
        ("share of users", "Counts: users, and histograms of a known domain > Share of users"),
    ],
)
def test_what_is_searched_for_by_its_name_comes_first(site: Path, opened, words: str, first: str) -> None:
    page, _ = opened
    page.goto((site / "search.html").as_uri() + f"?q={words}")
    page.locator("#search-results li a").first.wait_for()
    assert page.locator("#search-results li a").first.inner_text() == first


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ("excel", {"releases.html#excel-png", "data.html#excel"}),
        ("decimal comma", {"data.html#decimal-comma"}),
        ("upgrade ledger", {"reference/compatibility.html"}),
        ("curl", {"gateway-api.html#by-curl"}),
        ("share of users", {"counts.html#share-of-users"}),
    ],
)
def test_a_search_in_other_words_finds_what_there_is(site: Path, opened, words: str, places: set[str]) -> None:
    page, _ = opened
    page.goto((site / "search.html").as_uri() + f"?q={words}")
    page.locator("#search-results li a").first.wait_for()
    page.get_by_text("Search finished").wait_for()
    shown = page.locator("#search-results li a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert places <= {address.partition("?")[0] for address in shown}


@pytest.mark.parametrize(
    ("opened", "name"),
    [*(("light", name) for name in AXE_PAGES), ("dark", "index"), ("dark", "learn/first-answer")],
    indirect=["opened"],
)
def test_a_page_is_for_everybody(site: Path, opened, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page, _ = opened
    page.goto((site / f"{name}.html").as_uri())
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found] == []


@pytest.mark.parametrize("name", ["index", "reference/methods", "reference/budgets", "learn/vocabulary", "composing"])
def test_nothing_is_wider_than_a_telephone(site: Path, opened, name: str) -> None:
    page, _ = opened
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto((site / f"{name}.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def longest_line(page: Path) -> int:
    """Return how many characters the longest line of the page's blocks of code has."""
    blocks = re.findall(r"<pre.*?</pre>", page.read_text("utf-8"), re.DOTALL)
    lines = [line for block in blocks for line in unescape(re.sub("<[^>]*>", "", block)).splitlines()]
    return max(map(len, lines), default=0)


def test_no_block_of_code_is_wider_than_its_place(site: Path, opened) -> None:
    """Those with the longest lines: all letters of code are as wide as each other."""
    page, _ = opened
    page.set_viewport_size({"width": 1440, "height": 900})
    wide = "[...document.querySelectorAll('pre')].filter(one => one.scrollWidth > one.clientWidth + 1).length"
    # The files of the repository are left out: their lines have numbers.
    with_code = [path for path in pages(site) if "files" not in path.relative_to(site).parts]
    found = {}
    for path in sorted(with_code, key=longest_line)[-WIDEST_PAGES:]:
        page.goto(path.as_uri(), wait_until="domcontentloaded")
        found[path.relative_to(site).as_posix()] = page.evaluate(wide)
    assert len(found) == WIDEST_PAGES
    assert {name: number for name, number in found.items() if number} == {}


# ---- what makes pages ---------------------------------------------------------------------------------------


def test_a_method_that_needs_no_object_keeps_its_first_parameter() -> None:
    import made_api

    shown = made_api.api("reference/budgets.md", "dpselect Budget Plan")
    assert "{py:method} open(where: LedgerSource, *, data: str = 'default'" in shown
    assert "{py:method} from_dict(document: Mapping[str, Json]) -> Plan\n:staticmethod:" in shown
    assert "{py:method} left_for(plan: Priced | Release) -> int" in shown
    shown = made_api.api("reference/budgets.md", "dpselect._ground.privacy Neighbors")
    assert "{py:attribute} ADD_REMOVE\n:value: 'add-remove'" in shown


def test_a_line_that_nothing_makes_and_a_link_to_nowhere_are_errors() -> None:
    import made
    import repository
    from sphinx.errors import SphinxError

    with pytest.raises(SphinxError, match="nothing makes weather"):
        made.filled("<!-- made: weather today -->", "index")
    here = ROOT / "docs" / "index.md"
    with pytest.raises(SphinxError, match="does not exist"):
        repository.led("[x](nowhere.md)", here, here)
    with pytest.raises(SphinxError, match="outside the repository"):
        repository.led("[x](../../../etc/passwd)", here, here)


def test_a_formula_becomes_mathml_and_an_unknown_command_is_an_error() -> None:
    import mathml
    from sphinx.errors import SphinxError

    shown = mathml.mathml(r"\frac{a}{b} < \ln c", block=True)
    assert shown.startswith('<math alttext="\\frac{a}{b} &lt; \\ln c" ')
    assert 'display="block"' in shown
    assert "<mfrac>" in shown
    assert ">ln</mo>" in shown
    assert r">\</mo>" in mathml.mathml(r"D\setminus D'")
    for unknown in (r"\nonsense{a}", r"\begin{nonsense} a &= b \end{nonsense}"):
        with pytest.raises(SphinxError, match="not known"):
            mathml.mathml(unknown)


def test_links_are_led_and_code_is_left_alone() -> None:
    import repository

    away = ROOT / "benchmarks" / "README.md"
    page = ROOT / "docs" / "why" / "benchmarks.md"
    text = "[a](../docs/data.md#files) [b](union.py)\n```\n[c](nowhere)\n```\n"
    assert repository.led(text, away, page) == (
        "[a](../data.md#files) [b](https://repository.invalid/benchmarks/union.py)\n```\n[c](nowhere)\n```\n"
    )
