"""A stranger's path, in a real browser and a real shell: front page, installation, first answer, own answer.

The site must have been built (`./dev docs`). The browser goes from its front page to the first answer by the link that
is there, and what is read on the way is counted: words, and terms of the glossary that are used before anything says
what they mean. The commands and the code that the pages show are then run as they stand, in a fresh clone, with an
empty home, in the order in which they are met; for the own answer the things are replaced that the page says.

A term counts as explained where some place before is a link into the glossary or sets it bold or emphasised, or where
its first sentence goes on with "is", "are" or "means". `--skip-install` runs in this environment.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FLAGS = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking".split()
FIRST = "Get your first answer in five minutes"
PACE = 238  # words a minute, silent reading of English non-fiction (Brysbaert 2019)
# Everything of the article that stands before a heading or a link, in the order of the page.
BEFORE = """([selector, words]) => {
  const end = [...document.querySelectorAll(selector)].find((one) => one.innerText.startsWith(words));
  if (!end) throw new Error(`there is no ${words}`);
  const range = document.createRange();
  range.setStart(document.querySelector("article"), 0);
  range.setEndBefore(end);
  const part = document.createElement("article");
  part.append(range.cloneContents());
  for (const one of part.querySelectorAll("script, style, .headerlink, button")) one.remove();
  const code = [...part.querySelectorAll("div.highlight pre")]
    .filter((one) => !one.closest(".cell_output"))
    .map((one) => [one.closest(".highlight").parentElement.className, one.textContent]);
  const html = part.innerHTML;
  for (const one of part.querySelectorAll("pre, table, details, svg")) one.remove();
  return {prose: part.textContent, html, code};
}"""


def read(page: Page, selector: str, words: str) -> dict[str, Any]:
    """What stands on the page before this element: its prose, its HTML, and its blocks of code."""
    found: dict[str, Any] = page.evaluate(BEFORE, [selector, words])
    return found


def terms(page: Page) -> list[str]:
    """The terms of the glossary, as they begin its entries."""
    found = page.evaluate("[...document.querySelectorAll('article h2')].map(e => e.innerText)")
    names = {re.sub(r"\(.*?\)|[#.¶]", "", one).strip() for one in found}
    plain = {"", "Share"}  # a verb on these pages: items that people share
    return sorted({part.strip() for one in names for part in one.split(",")} - plain, key=len, reverse=True)


def unexplained(pages: list[dict[str, Any]], names: list[str]) -> list[str]:
    """The terms that are used before something says what they mean."""
    text = " ".join(page["prose"] for page in pages)
    html = " ".join(page["html"] for page in pages)
    found = []
    for name in names:
        used = re.search(rf"(?<![\\w-]){re.escape(name)}s?(?![\\w-])", text, re.IGNORECASE)
        if used is None:
            continue
        after = text[used.end() : used.end() + 60]
        said = re.match(r"\s*(?:\([^)]*\))?,?[^.]{0,25}?\b(?:is|are|means|names|may be)\b|\s*:", after)
        marked = re.search(rf"<(?:strong|em)>[^<]*{re.escape(name)}", html, re.IGNORECASE)
        linked = re.search(rf"<a [^>]*glossary[^>]*>(?:<[^>]*>)*[^<]*{re.escape(name)}", html, re.IGNORECASE)
        if not (said or marked or linked):
            found.append(name)
    return found


def walk(site: Path) -> tuple[list[dict[str, Any]], dict[str, Any], list[str]]:
    """From the front page to the own answer: what is read until the first answer, all that is read, and the terms."""
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page()
        away: list[str] = []
        page.on("request", lambda one: away.append(one.url) if not one.url.startswith(("file:", "data:")) else None)
        page.goto((site / "index.html").as_uri())
        front = read(page, "a", FIRST)
        page.get_by_role("link", name=FIRST).click()
        page.wait_for_load_state()
        first, own = read(page, "h2", "Three numbers"), read(page, "h2", "The first mistake")
        page.goto((site / "glossary.html").as_uri())
        names = terms(page)
        browser.close()
    if away:
        sys.exit(f"other hosts were asked: {away[:3]}")
    return [front, first], own, names


def in_shell(script: str, folder: Path, environment: dict[str, str]) -> float:
    """Run it as it stands; the seconds it took."""
    start = time.perf_counter()
    subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def python(code: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, str]:
    """Run the cells as one script, showing the last expression; the seconds, and what it printed."""
    *others, last = code
    *before, shown = textwrap.dedent(last).strip().splitlines()
    script = "\n".join([*others, *before, f"print({shown})"])
    start = time.perf_counter()
    done = subprocess.run(
        [shutil.which("python", path=environment["PATH"]) or sys.executable, "-c", script],
        cwd=folder, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return time.perf_counter() - start, done.stdout


def main() -> None:
    """Walk, count, install, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "site")
    parser.add_argument("--skip-install", action="store_true")
    args = parser.parse_args()
    read_first, own, names = walk(args.site)
    until_first = sum(len(page["prose"].split()) for page in read_first)
    until_own = len(read_first[0]["prose"].split()) + len(own["prose"].split())
    print(f"words read: {until_first} until the first answer, {until_own} until one of the own file")
    print(f"terms used before they are explained: {', '.join(unexplained([read_first[0], own], names)) or 'none'}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        subprocess.run(["git", "clone", "-q", ROOT, folder / "dpselect"], check=True)
        (folder / "home").mkdir()
        environment = {**os.environ, "HOME": str(folder / "home")}
        environment.pop("PYTHONPATH", None)
        work = folder / "dpselect"
        installing = 0.0
        if args.skip_install:
            environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
        else:
            shell = "\n".join(text for kind, text in read_first[1]["code"] if "sh" in kind.split("highlight-")[-1])
            installing = in_shell(shell, work, environment)
            environment["PATH"] = os.pathsep.join([str(work / "env" / "bin"), environment["PATH"]])
        cells = [text for kind, text in read_first[1]["code"] if "ipython" in kind]
        asking, printed = python([cell for cell in cells if "duckdb.sql" not in cell], work, environment)
        rows = "".join(f"c{n % 900},{('tea', 'coffee', 'milk')[n % 7 % 3]}\n" for n in range(4000))
        (work / "own.csv").write_text("customer,product\n" + rows)
        ask = next(cell for cell in cells if "top_k" in cell)
        for here, yours in (("plays.parquet", "own.csv"), ('"user"', '"customer"'), ('"artist"', '"product"')):
            ask = ask.replace(here, yours)
        again, mine = python(["import dpselect as dps", ask], work, environment)
    reading = 60 * until_own / PACE
    print(f"installation {installing:.1f} s, first answer {asking:.1f} s, own answer {again:.1f} s")
    print(f"with reading at {PACE} words a minute: {(reading + installing + asking + again) / 60:.1f} minutes")
    print("\nthe first answer:\n" + "\n".join(printed.splitlines()[:5]))
    print("\nthe own answer:\n" + "\n".join(mine.splitlines()[:5]))


if __name__ == "__main__":
    main()
