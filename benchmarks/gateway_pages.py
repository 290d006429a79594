"""Pictures of the gateway's pages for docs/gateway.md, made by Chromium from the demonstration.

The data are the same every time; the answers are drawn anew, so numbers and places differ from run to run.
`--folder DIR` writes the pictures elsewhere. It needs Chromium (`chromium` on the PATH) and the extra `gateway`.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
FLAGS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split()
WIDE, NARROW = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
COLOURS = 64
LARGEST = 120_000  # bytes of a picture
PATIENCE = 60  # seconds in which the gateway starts
QUESTION = "item=artist&k=10&share=20"


@contextlib.contextmanager
def gateway(folder: Path) -> Iterator[dict[str, str]]:
    """The demonstration; the sign-in links by the names of the people."""
    command = [sys.executable, "-m", "dpselect", "serve", "--demo", "--folder", folder, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            links = {}
            until = time.monotonic() + PATIENCE
            while len(links) < 3 and time.monotonic() < until:
                line = process.stderr.readline()
                if found := re.match(r"  sign in as (\w+): (\S+)", line):
                    links[found[1]] = found[2]
            yield links
        finally:
            process.terminate()


def pictures(browser: Any, links: dict[str, str], folder: Path) -> None:
    """Each page once; that of the answer narrow and dark too."""
    pages = {who: signed_in(browser, link) for who, link in links.items()}
    analyst, owner, auditor = (pages[who] for who in ("analyst", "owner", "auditor"))
    analyst.goto(f"{address(analyst)}/ask?{QUESTION}")
    taken(analyst, folder / "gateway-ask.png")
    analyst.click("#ask")
    analyst.wait_for_url("**/answers/*")
    taken(analyst, folder / "gateway-answer.png")
    for question in ("verb=union&share=6", "item=artist&k=20&share=4&column=country&comparison=is&value=Brazil"):
        one = analyst.context.new_page()
        one.goto(f"{address(analyst)}/ask?{question}")
        one.click("#ask")
        one.wait_for_url("**/answers/*")
        one.close()
    narrow(analyst, folder / "gateway-answer-narrow.png")
    owner.goto(f"{address(owner)}/owner")
    taken(owner, folder / "gateway-owner.png")
    auditor.goto(f"{address(auditor)}/record/listening")
    taken(auditor, folder / "gateway-record.png")


def signed_in(browser: Any, link: str) -> Any:
    """A page of somebody."""
    page = browser.new_context(viewport=WIDE, color_scheme="light").new_page()
    page.goto(link)
    page.click("#sign-in")
    return page


def address(page: Any) -> str:
    """Where the gateway is."""
    return "/".join(page.url.split("/")[:3])


def narrow(page: Any, path: Path) -> None:
    """As on a telephone in the dark: what is seen first."""
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    taken(page, path, whole=False)
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")


def taken(page: Any, path: Path, *, whole: bool = True) -> None:
    """The picture, in few colours."""
    page.evaluate("document.activeElement.blur()")
    page.mouse.move(0, 0)
    page.screenshot(path=path, full_page=whole)
    with Image.open(path) as found:
        few = found.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.name}: {size / 1000:.0f} kB")
    if size > LARGEST:
        raise SystemExit(f"{path.name} has more than {LARGEST:,} bytes")


def main() -> None:
    """Start everything, take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FIGURES)
    folder = parser.parse_args().folder
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not there")
    with (
        tempfile.TemporaryDirectory() as scratch,
        sync_playwright() as playwright,
        gateway(Path(scratch, "demo")) as links,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        pictures(browser, links, folder)
        browser.close()


if __name__ == "__main__":
    main()
