"""Files and draws that the pages name are there: a rename must reach the documentation."""

from __future__ import annotations

import re

import pytest

from dpselect.draws import Draws
from tests.conftest import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")])
DRAWS = {name for name, value in vars(Draws).items() if callable(value) and not name.startswith("_")}


def missing_files(text: str) -> list[str]:
    """Files in backquotes, of tests or of the draws, that are not there."""
    named = {*re.findall(r"`(tests/[\w/]+\.py)`", text)}
    named |= {f"src/dpselect/{path}" for path in re.findall(r"`(draws/\w+\.py)`", text)}
    return sorted(path for path in named if not (ROOT / path).is_file())


def draws_in_table(text: str) -> set[str]:
    """Names in the first column of the table of draws."""
    return set(re.findall(r"^\| `(\w+)\(", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_are_there(page):
    assert missing_files(page.read_text("utf-8")) == []


def test_the_table_holds_every_draw():
    assert draws_in_table((ROOT / "docs" / "exact-draws.md").read_text("utf-8")) == DRAWS
