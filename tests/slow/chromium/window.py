"""A window of Chromium for one person, in which every page is watched: what it loads, what it says, how it reads."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Request

CHROMIUM = shutil.which("chromium")
FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync""".split()
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 320, "height": 640}
LOOKS = ((WIDE, "light"), (NARROW, "dark"))
PATIENCE = 120_000  # milliseconds that a busy machine may take for a page
POLICY = "addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective))"
FACTS = """() => ({
    lang: document.documentElement.lang, heads: document.querySelectorAll('h1').length, title: document.title,
    wide: document.documentElement.scrollWidth, ids: [...document.querySelectorAll('[id]')].map(one => one.id),
})"""
AXE = """() => axe.run({resultTypes: ['violations']}).then(
    found => found.violations.map(one => one.id + ': ' + one.nodes.map(node => node.html).join(' ')))"""
FOCUS = """() => {
    const one = document.activeElement, style = getComputedStyle(one);
    const seen = one === document.body || style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
    return {seen, name: one.outerHTML.slice(0, 90)};
}"""


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a profile of its own; CI on Linux must have one, elsewhere its tests are skipped without."""
    if CHROMIUM is None or importlib.util.find_spec("playwright") is None:
        if os.environ.get("CI") == "true" and sys.platform == "linux":
            raise AssertionError("chromium or playwright is missing: .ci/run installs both")
        pytest.skip("needs Chromium (`chromium` on the PATH) and playwright for Python")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Window:
    """What somebody sees, and everything that was wrong with it."""

    def __init__(self, browser: Browser, url: str, *, script: bool = True) -> None:
        self.url, self.script, self.wrong = url, script, list[str]()
        self._context = browser.new_context(java_script_enabled=script, base_url=url, viewport=WIDE)
        self._context.on("request", self._loads)
        self._context.on("console", self._says)
        self._context.on("weberror", lambda error: self.wrong.append(f"error: {error.error}"))
        self._context.add_init_script(POLICY)
        self._context.set_default_timeout(PATIENCE)
        self.page: Any = self._context.new_page()

    def _loads(self, request: Request) -> None:
        if not request.url.startswith((f"{self.url}/", "data:", "blob:")):
            self.wrong.append(f"asked another host: {request.url}")

    def _says(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"{message.type}: {message.text}")

    @contextlib.contextmanager
    def refused(self, status: int) -> Iterator[None]:
        """Within it a page has this status, of which the browser tells the console."""
        yield
        told = [one for one in self.wrong if f"status of {status}" in one]
        assert told, f"no page had status {status}"
        self.wrong = [one for one in self.wrong if one not in told]

    def tab(self) -> Any:
        """Another page of the same person."""
        return self._context.new_page()

    def look(self, page: Any = None) -> None:
        """One head, a language, names used once; readable in both colours and at every width; axe finds nothing."""
        page = page or self.page
        for size, scheme in LOOKS:
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            facts = page.evaluate(FACTS)
            where = f"{page.url} ({scheme}, {size['width']} wide)"
            assert (facts["lang"], facts["heads"]) == ("en", 1), where
            assert facts["title"], where
            assert len(facts["ids"]) == len(set(facts["ids"])), where
            assert facts["wide"] <= size["width"], f"{where} scrolls sideways: {facts['wide']}"
            if self.script:
                assert not (found := complaints(page)), f"{where}: {found}"
        page.set_viewport_size(WIDE)
        page.emulate_media(color_scheme="light")

    def press_to(self, which: str) -> None:
        """Tab to an element. On the way everything that has the focus shows it."""
        for _ in range(80):
            self.page.keyboard.press("Tab")
            focus = self.page.evaluate(FOCUS)
            assert focus["seen"], f"nobody sees that this has the focus: {focus['name']}"
            if self.page.evaluate("which => document.activeElement.matches(which)", which):
                return
        raise AssertionError(f"Tab does not reach {which} on {self.page.url}")

    def close(self) -> None:
        """Nothing was wrong on any page."""
        self._context.close()
        assert not self.wrong, "\n".join(self.wrong)


def complaints(page: Any) -> list[str]:
    """What axe-core finds wrong for those who do not see the page, or not well."""
    from axe_playwright_python.base import AXE_SCRIPT

    if page.evaluate("!window.axe"):
        page.evaluate(AXE_SCRIPT)
    return list(page.evaluate(AXE))
