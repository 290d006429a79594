"""The pages in a real browser: what people do with them, on any of which nothing may be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dpselect.release import formatting
from tests.slow.chromium import story
from tests.slow.chromium.site import HOSTILE, PEOPLE, Site, running
from tests.slow.chromium.window import Window, chromium, complaints

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Site]]:
    """One browser and one gateway for all of them."""
    with chromium() as browser, running(tmp_path_factory.mktemp("browser") / "demo") as site:
        yield browser, site


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
def test_people_do_their_work(script, place):
    browser, site = place
    windows = {who: Window(browser, site.url, script=script) for who in PEOPLE}
    analyst, owner, auditor = (windows[who] for who in ("analyst", "owner", "auditor"))
    name = "script" if script else "plain"
    for who, window in windows.items():
        (story.sign_in if script else story.sign_in_by_token)(window, site, who)
    story.plan(analyst, name)
    question = analyst.page.url
    answer = story.ask(analyst)
    analyst.look()
    story.again(analyst, answer, question)
    too_dear = story.exhaust(analyst, name)
    story.grant(owner, name)
    analyst.page.goto(too_dear)
    story.ask(analyst)
    story.approve(analyst, owner, f"careful-{name}")
    story.verify(auditor, name)
    for window in windows.values():
        story.sign_out(window)
        window.close()


def test_a_keyboard_is_enough(place):
    browser, site = place
    window = Window(browser, site.url)
    page, press = window.page, window.page.keyboard.press
    page.goto("/sign-in?to=%2Fask%3Fdata%3Dkeys")
    window.press_to(".skip")
    press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    window.press_to("#token")
    page.keyboard.type(site.tokens["analyst"])
    press("Enter")
    page.locator("#k").wait_for()
    window.press_to("#k")
    press("ArrowDown")
    window.press_to("#share")  # the change of k comes into force
    story.expected(window, "Top 9 artists")
    assert page.evaluate("document.activeElement.id") == "share"
    for _ in range(6):
        press("ArrowUp")
    story.expected(window, "Ask, for 5")
    window.press_to("#python summary")
    press("Enter")
    assert page.is_visible("#python pre")
    page.evaluate("document.activeElement.blur()")
    window.press_to("#ask")
    press("Enter")
    page.wait_for_url(story.ANSWER)
    window.press_to("#answer summary")
    press("Space")
    assert page.is_visible("#answer details p")
    page.goto("/budget")
    window.press_to(".who button")
    press("Space")
    page.wait_for_url("**/sign-in")
    window.close()


def test_labels_are_text_wherever_they_are_shown(place):
    browser, site = place
    window = Window(browser, site.url)
    page = window.page
    story.sign_in_by_token(window, site, "analyst")
    for question in ("k=7", "k=7&by=group"):
        page.goto(f"/ask?data=labels&{question}&share=10")
        story.ask(window)
        window.look()
        shown, title = page.inner_text("#answer"), page.title()
        drawn = " ".join(page.locator("svg text, svg title").all_text_contents())
        for label in map(formatting.text, HOSTILE):
            assert label[:6] in shown
            assert label[:6] in drawn
        assert not title.isdigit()
        address = page.url.partition("?")[0].replace("/answers", "/v1/answers")
        page.goto(f"{address}.svg")
        assert not page.query_selector("h1, img, script")
        page.goto(f"{address}.html")
        assert page.locator("h1").count() == 1
        assert not page.query_selector("img, script")
    window.close()


def test_the_question_before_a_change_is_grey_until_the_new_one_is_there(place):
    browser, site = place
    window = Window(browser, site.url)
    page = window.page
    story.sign_in_by_token(window, site, "analyst")
    page.goto("/ask?data=keys&k=9")
    story.expected(window, "Top 9")
    colour = "getComputedStyle(document.querySelector('#expect > div > p')).color"
    fresh = page.evaluate(colour)
    page.evaluate("""() => {
        window.arrive = null;
        const fetched = window.fetch;
        window.fetch = async (...given) => {
            await new Promise((next) => { window.arrive = next; });
            return fetched(...given);
        };
    }""")
    page.press("#k", "ArrowDown")
    assert page.get_attribute("#expect", "aria-busy") == "true"
    assert page.evaluate(colour) != fresh
    assert page.is_disabled("#ask")
    while not page.evaluate("window.arrive !== null"):  # a string of code that waits is against the pages' policy
        page.wait_for_timeout(50)
    assert "Top 9" in page.inner_text("#expect")
    assert page.get_attribute("#expect", "aria-busy") == "true"
    page.evaluate("window.arrive()")
    story.expected(window, "Top 8")
    assert page.get_attribute("#expect", "aria-busy") is None
    assert page.evaluate(colour) == fresh
    assert page.is_enabled("#ask")
    window.close()


@pytest.mark.parametrize("address", ["/history", "/ask", "answer"])
def test_a_phone_shows_every_column_and_whole_words(place, address):
    browser, site = place
    window = Window(browser, site.url)
    page = window.page
    story.sign_in_by_token(window, site, "analyst")
    page.goto("/ask?data=keys&k=3&counts=yes&share=10")
    story.ask(window)
    if address != "answer":
        page.goto(address)
    page.set_viewport_size({"width": 390, "height": 844})
    cut = page.evaluate("""() => [...document.querySelectorAll('main th, main td')].filter((cell) => {
        const place = cell.getBoundingClientRect();
        return place.width > 1 && (place.right > innerWidth || place.left < 0);
    }).map((cell) => cell.textContent)""")
    assert cut == []
    broken = page.evaluate("""() => {
        const found = [];
        for (const cell of document.querySelectorAll('main tbody th, main tbody td')) {
            for (const node of cell.childNodes) {
                if (node.nodeType !== Node.TEXT_NODE) continue;
                for (const word of node.data.matchAll(/[^ \\s-]{2,}/g)) {
                    const range = document.createRange();
                    range.setStart(node, word.index);
                    range.setEnd(node, word.index + word[0].length);
                    const lines = new Set([...range.getClientRects()].map((line) => Math.round(line.top)));
                    if (lines.size > 1) found.push(word[0]);
                }
            }
        }
        return found;
    }""")
    assert broken == []
    window.close()


def test_what_is_wrong_with_a_page_is_seen(place):
    browser, site = place
    window = Window(browser, site.url)
    page = window.page
    page.goto("/sign-in")
    page.evaluate("document.querySelector('#token').style.outline = 'none'")
    with pytest.raises(AssertionError, match="nobody sees"):
        window.press_to("#token")
    page.evaluate("document.body.style.width = '2000px'")
    with pytest.raises(AssertionError, match="sideways"):
        window.look()
    page.evaluate("document.querySelector('label').remove()")
    assert any(one.startswith("label") for one in complaints(page))
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">red</p>')")
    page.goto("/no-such-page")
    page.set_content("<img src='http://127.0.0.2:9/'>")
    with pytest.raises(AssertionError) as found:
        window.close()
    for wrong in ("policy: style-src", "status of 404", "asked another host: http://127.0.0.2:9/"):
        assert wrong in str(found.value)
