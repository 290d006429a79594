"""How the pages are written: spelled right, in British English, one sentence a line, and no word that talks down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from codespell_lib import main as codespell

from tests.conftest import ROOT
from tests.docs.prose import lines_of, sentence_ends, words_of

ELSEWHERE = (ROOT / "benchmarks" / "README.md", ROOT / "findings" / "README.md")
PAGES = sorted({*ROOT.glob("*.md"), *ELSEWHERE, *(ROOT / "docs").rglob("*.md")})
PAGES.remove(ROOT / "CHANGELOG.md")
OURS = "ines,doub"  # somebody invented, and part of a type in SQLite; codespell knows all our other words
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

# Turns of another century: say who does what, in the usual order.
MANNERED = re.compile(
    r"\b(in so many\b|stands? (?:above|below|beside)\b|(?:is|are) said\b|as it were\b|shown (?:is|are)\b"
    r"|(?:there|where)(?:of|in|upon)\b|upon\b)|, and no [\w-]+\.$",
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


@pytest.mark.parametrize("words", [TALKING_DOWN, AMERICAN, MANNERED], ids=["plain", "British", "direct"])
def test_words_are_plain_british_and_direct(words):
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


def test_a_mannered_turn_is_found():
    for line in ("Shown are the items.", "It is counted, and no row.", "So it is said below.", "Thereof one is paid."):
        assert found_by(MANNERED, line), line
    assert not found_by(MANNERED, "No row is read, and no user has two.")
