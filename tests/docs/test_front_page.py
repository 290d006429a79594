"""The first page of the site shows what its code prints, and the picture beside it is of the same answer."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT
from tests.docs.test_readme import masked

PAGE = (ROOT / "docs" / "index.md").read_text("utf-8")
CODE, PRINTED = re.findall(r"```(?:python|text)\n(.*?)```", PAGE, re.DOTALL)
ROW = re.compile(r"^ +\d+  (\D+?) +([\d,]+) +([\d,]+) +([\d,]+) +\d+(?: to \d+)?$", re.MULTILINE)
OUT_OF_ORDER = "ranks and counts have separate noise, so they may disagree"


def without_rows(printed: str) -> str:
    """What is printed but for the rows; which sentence compares ranks is decided by draws."""
    in_order = masked("no lower or missing item has over 32 users more")
    return masked(ROW.sub("", printed)).replace(masked(OUT_OF_ORDER), in_order).strip()


def test_either_sentence_about_ranks_is_as_good() -> None:
    broken = re.compile(OUT_OF_ORDER.replace(" ", r"\s"))
    other, times = broken.subn("no lower or missing item\nhas over 41 users more", PRINTED)
    assert times == 1
    assert without_rows(other) == without_rows(PRINTED)


def test_the_code_prints_what_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "66")  # what fits beside the picture
    exec(compile(CODE, "index.md", "exec"), {})
    printed = capsys.readouterr().out
    assert without_rows(printed) == without_rows(PRINTED)
    assert len(ROW.findall(printed)) == len(ROW.findall(PRINTED)) == 10
    assert max(map(len, [*CODE.splitlines(), *PRINTED.splitlines()])) <= 66


def test_the_picture_shows_the_same_answer() -> None:
    (picture,) = re.findall(r"^!\[.*\]\((.*)\)$", PAGE, re.MULTILINE)
    drawn = " ".join(ElementTree.parse(ROOT / "docs" / picture).getroot().itertext())
    rows = ROW.findall(PRINTED)
    for item, count, low, high in rows[:5]:
        assert f"{item} {count} ({low} to {high})" in drawn
    for item, count, _, _ in rows:
        assert f"{item} {count}" in drawn
