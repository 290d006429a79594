"""How the pages are written: spelled right, in British English, one sentence a line, and no word that talks down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from codespell_lib import main as codespell

from tests.conftest import ROOT
from tests.docs.prose import lines_of, sentence_ends, words_of

PAGES = sorted({*ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")})
PAGES.remove(ROOT / "CHANGELOG.md")
OURS = "ines"  # a name of somebody invented; codespell knows all our other words
# Where it looks easy to the writer, it may not be to the reader. "has just come" and "just below" are of another kind.
TALKING_DOWN = re.compile(
    r"\b(simply|obviously|easily|of course|basically|needless to say|straightforward(?:ly)?"
    r"|just (?!above\b|below\b|before\b|after\b|come\b))\b",
    re.IGNORECASE,
)
# Prose is British and code American: `neighbors=` is a parameter, neighbours are what a page is about. Both tokenize.
AMERICAN = re.compile(
    r"\b((?:neighbor|color|behavior|favor|honor|labor|rumor)\w*|center(?:s|ed)?|fiber|gray|catalogs?|analyz\w+"
    r"|(?:recogn|organ|random|optim|minim|maxim|summar|normal|general|real|visual|categor|initial|author)iz(?:e|ed|es|ing)"
    r"|(?:cancel|label|model|travel|signal)(?:ed|ing)|judgment|defense|offense|fulfill)\b",
    re.IGNORECASE,
)


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def found_by(pattern: re.Pattern[str], text: str) -> list[str]:
    """Every match in the prose of a page, with the number of its line."""
    return [f"{n}: {found[0]}" for n, line in lines_of(text) for found in pattern.finditer(words_of(line))]


def test_words_are_spelled_right(capsys):
    files = [*PAGES, ROOT / "src"]
    wrong = codespell("--ignore-words-list", OURS, "--skip", "*.svg,*.png,*.pyc", *map(str, files))
    assert wrong == 0, capsys.readouterr().out


def test_a_line_holds_one_sentence():
    found = [
        f"{relative(page)}:{number}: {line[ends[0] :]}"
        for page in PAGES
        for number, line in lines_of(page.read_text("utf-8"))
        if (ends := sentence_ends(line))
    ]
    assert not found, "these sentences begin a line of their own:\n" + "\n".join(found)


@pytest.mark.parametrize("words", [TALKING_DOWN, AMERICAN], ids=["plain", "British"])
def test_words_are_plain_and_british(words):
    found = [f"{relative(page)}:{one}" for page in PAGES for one in found_by(words, page.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_a_second_sentence_is_found():
    for line in (
        "It is here. It is there.",
        "- **Checked.** A row counts. Others do not.",
        "3. An n-gram lies within one message. A user has it or not.",
        "See [filters](filters.md). For others make a view.",
        "It costs `epsilon`. `delta` is 0.",
        "Is it so? It is.",
        "The gain is at most 1. Proofs follow.",
    ):
        assert sentence_ends(line), line


def test_what_is_one_sentence_is_left_alone():
    for line in (
        "**Checked.** A row counts.",
        "*Proof.* Take the rows one by one.",
        "It holds (Gopi et al. 2020), e.g. For one user.",
        "All draws are independent. QED.",
        "The w + 1 values are 0 .. 9 and D. Durfee has shown it.",
        "Say `a. B` or `a? B`.",
        "(An aside. It may have two.)",
        "Version 2.0 of [it](some.B.md) came.",
        "![Bars. Best first: A. Then B.](bars.svg)",
    ):
        assert not sentence_ends(line), line


def test_code_tables_and_front_matter_are_no_prose():
    text = (
        "---\na: One. Two.\n---\n# One. Two.\n\n| A. B. | c |\n\n```python\n# A. B.\n```\n\n    code. Code.\n\nHere.\n"
    )
    assert [line for _, line in lines_of(text) if line] == ["Here."]


def test_words_are_found_in_prose_only():
    assert found_by(TALKING_DOWN, "You simply ask.\nIt has just come, just below.\nJust ask.") == [
        "1: simply",
        "3: Just ",
    ]
    assert found_by(AMERICAN, "One neighbor, `neighbors=` and [a color](neighbors.md).") == ["1: neighbor", "1: color"]
    assert not found_by(AMERICAN, "A tokenizer tokenizes; a size; prized; neighbours of the same colour.")
