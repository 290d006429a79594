"""What a guide shows as printed is what its code prints: tables and answers on a page do not go stale."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

GUIDES = ROOT / "docs" / "guides"
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
SHOWN = re.compile(r"```text\n(.*?)```", re.DOTALL)


def printed(text: str, name: str) -> None:
    """Run a page's code, which prints, as far as the page shows what it printed."""
    namespace: dict[str, object] = {}
    shown = text.rpartition("```text")[0]
    for block in BLOCK.findall(shown or text):
        exec(compile(block, name, "exec"), namespace)


def shapes(text: str) -> set[str]:
    """Its lines, with # for every number and one space for several: draws decide the numbers and the widths."""
    return {" ".join(re.sub(r"\d[\d,.]*\b", "#", line).split()) for line in text.splitlines()}


SHOWING = (
    "which-epsilon",
    "reading-an-answer",
    "../budgets",
    "../by-group",
    "../counts",
    "../data",
    "../plan",
    "../weights",
)


@pytest.mark.parametrize("name", [f"{name}.md" for name in SHOWING])
def test_a_guide_shows_what_its_code_prints(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")  # lines are broken at the width of the terminal
    text = (GUIDES / name).read_text("utf-8")
    printed(text, name)
    said = capsys.readouterr().out
    rows = {line for line in said.splitlines() if line.startswith("| ")}
    assert rows <= set(text.splitlines()), "a table of the page that its code makes is another one now"
    shown = "".join(SHOWN.findall(text))
    assert shapes(shown) <= shapes(said), "\n".join(sorted(shapes(shown) - shapes(said)))
    assert rows or shown
