"""The pages to learn from: each is run when the site is built, and no number in their prose is typed by hand."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
import notebooks

LEARN = ROOT / "docs" / "learn"
PAGES = sorted(path for path in LEARN.glob("*.md") if path.name != "index.md")
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
EVAL = re.compile(r"\{eval\}(`+)(.+?)\1")
# What is neither prose nor a number of a run: code in a line, addresses of links, pictures, headings, markup.
NOT_PROSE = re.compile(
    r"(`+).+?\1|(?<=\])\([^)]*\)|^#.*$|<[^>]+>|\([A-Z]\w+ (?:et al\. |and \w+ )?\d{4}\)", re.MULTILINE
)
NUMBER = re.compile(r"\d[\d,._]*\d|\d")
ALLOWED = {"95", "100", "3.11"}  # a statement holds with 95 % confidence; the oldest Python
SKIPPED = {"skip-execution", "raises-exception", "remove-output"}


def split(text: str) -> tuple[str, list[str]]:
    """The prose of a page, and its code: cells, and what is evaluated in sentences."""
    body = text.split("\n---\n", 1)[1]
    code = CELL.findall(body) + [found[1] for found in EVAL.findall(body)]
    return NOT_PROSE.sub(" ", EVAL.sub(" ", FENCE.sub(" ", body))), code


def plain(number: str) -> str:
    return number.replace(",", "").replace("_", "").rstrip(".")


def typed(text: str) -> set[str]:
    """Numbers in prose that are in no code of the page, so that nobody knows whether they are still true."""
    prose, code = split(text)
    known = {plain(number) for cell in code for number in NUMBER.findall(cell)}
    return {number for number in NUMBER.findall(prose) if plain(number) not in known | ALLOWED}


def tags(cell: str) -> set[str]:
    head = re.match(r":tags: \[(.*?)\]\n", cell)
    return set(re.split(r",\s*", head[1])) if head else set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_numbers_in_prose_come_from_the_run_or_stand_in_the_code(page: Path) -> None:
    assert typed(page.read_text("utf-8")) == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_cell_is_run_and_shown_as_it_ran(page: Path) -> None:
    text = page.read_text("utf-8")
    head = text.split("\n---\n", 1)[0]
    assert re.findall(r"^  \w+: .*$", head, re.MULTILINE) == [
        "  name: python3", "  display_name: Python 3",
    ]  # fmt: skip
    cells = CELL.findall(text)
    assert len(cells) >= 5
    assert text.count("```{code-cell}") == len(cells)
    assert not [cell for cell in cells if tags(cell) & SKIPPED]
    assert tags(":tags: [hide-input, skip-execution]\nask()\n") & SKIPPED


def test_the_first_page_lists_them_all() -> None:
    text = (LEARN / "index.md").read_text("utf-8")
    listed = re.findall(r"^- \[.*?\]\((.*?)\.md\)", text, re.MULTILINE)
    assert sorted(listed) == [page.stem for page in PAGES]
    assert re.search(r"\{toctree\}\n:hidden:\n\n(.*?)\n```", text, re.DOTALL)[1].split() == listed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_as_a_notebook_has_its_code_and_nothing_of_the_site(page: Path) -> None:
    text = page.read_text("utf-8")
    notebook = notebooks.notebook(text)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert code == [re.sub(r"^:tags: .*\n+", "", cell).strip() for cell in CELL.findall(text)]
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "{eval}" not in prose
    assert ".md)" not in prose
    assert "](../" not in prose
    assert json.dumps(notebook) == json.dumps(notebooks.notebook(text)), "two builds, two notebooks"


def test_what_only_the_site_understands_is_put_plainly() -> None:
    told = "See {eval}`len(top)` of [them](../data.md#files), [theirs](https://a.example) and ![a page](a.png)."
    assert notebooks.plain(told) == "See `len(top)` of them, [theirs](https://a.example) and *a page*."
