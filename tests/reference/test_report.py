"""The record of one data set: what it says follows from the entries, and the page needs nothing but itself."""

from __future__ import annotations

import html.parser
import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from dpselect._ground.periods import parse_periods
from dpselect.audit.report import find_only_dataset, report
from dpselect.command.main import main
from dpselect.command.report_page import render_page
from dpselect.errors import LedgerError
from dpselect.ledger import Account, Ledger
from tests.ledger.amounts import charge

EVIL = "<script>alert('ann')</script> & co"
ANN, BOB = Account("plays", EVIL), Account("plays", "bob")
HEADINGS = ("Unit of privacy", "Epsilon and delta", "Trust", "Side channels", "Data collection", "Cadence")


def question(k: int) -> str:
    asked = {"k": k, "epsilon": "1/10"}
    data = {"user": "user", "item": "artist", "where": "country = '<DE>'"}
    return json.dumps({"form": 3, "verb": "top_k", "asked": asked, "data": data})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An answered question that was asked twice, a dead one, one given back, a refused one; and other data."""
    with Ledger.create(tmp_path / "x") as ledger:
        for name in ("plays", "sales"):
            ledger.data(name, 1, "1e-5", user="user")
        ledger.grant(ANN, "0.5", "1e-6")
        ledger.grant(BOB, "0.5", "1e-6")
        ledger.start(one := ledger.reserve(ANN, charge("0.2", "1e-9"), question(1), user="user"))
        ledger.settle(one, charge("0.1", "1e-9"), '["secret item"]')
        ledger.repeat(BOB, question(1))
        ledger.start(ledger.reserve(BOB, charge("0.3"), question(2), user="user"))
        ledger.give_back(ledger.reserve(BOB, charge("0.05"), question(3), user="user"))
        with pytest.raises(Exception, match="must reserve up to"):
            ledger.reserve(BOB, charge("0.4"), question(4), user="user")
    return tmp_path / "x"


def test_what_it_says(path: Path) -> None:
    with Ledger(path) as ledger:
        found: Any = report(ledger, "plays")
        with pytest.raises(LedgerError, match="say --data with one of plays, sales"):
            find_only_dataset(ledger)
        with pytest.raises(LedgerError, match="there is no promise for the data 'play'"):
            report(ledger, "play")
    asked = {one["number"]: one for one in found["questions"]}
    states = [
        (one["analyst"], one["state"].partition(":")[0], one["epsilon"], one["repeats"]) for one in asked.values()
    ]
    assert states == [
        (EVIL, "answered", 0.1, 1),
        ("bob", "open", 0.3, 0),
        ("bob", "given back", 0, 0),
        ("bob", "refused", 0.4, 0),
    ]
    assert [round(one["share"], 9) if one["share"] else None for one in asked.values()] == [
        0.1,
        0.3,
        None,
        None,
    ]  # what is refused takes nothing
    (used,) = found["periods"]
    assert (used["used"], used["reserved"], used["delta"]) == (0.4, 0.3, 1e-9)
    assert [round(one["used"], 9) for one in found["used"]] == [0, 0.2, 0.1, 0.4, 0.45, 0.4]
    assert {one["analyst"]: round(one["left"], 9) for one in found["analysts"]} == {
        EVIL: 0.8,
        "bob": 0.4,
    }  # of the quota
    assert [one["what"] for one in found["changes"]] == ["promised to one user", f"granted to {EVIL}", "granted to bob"]
    assert found["verification"]["problems"] == []
    assert "secret item" not in json.dumps(found)


class _Read(html.parser.HTMLParser):
    """The tags of a page, what refers to elsewhere, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.refers: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.refers += [name for name, _ in attrs if name in ("src", "href", "onclick", "onload", "srcset", "action")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_has_all_of_it_and_needs_nothing_else(path: Path) -> None:
    with Ledger(path) as ledger:
        found: Any = report(ledger, "plays")
    text = render_page(found)
    read = _Read(text)
    assert read.refers == []
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(read.tags)
    assert not re.search(r"https?:|@import|url\(", text)
    for heading in HEADINGS:
        assert f"<h2>{heading}</h2>" in text
    assert EVIL in read.text
    assert "top 2 of artist by number of users, where country = '<DE>', at epsilon 0.1, from " in read.text
    assert "40 % of the promise is used. 1 of 4 questions were answered, 1 answer was repeated for free" in read.text
    assert "clean." in read.text
    assert "svg" in read.tags
    assert "Nothing renews by itself" in read.text


def test_a_record_by_period(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x") as ledger:
        ledger.data("plays", 1, 0, period="month", time="day")
        empty: Any = report(ledger, "plays")
        assert "No questions yet" in render_page(empty)
        ledger.grant(BOB, 1, 0)
        for names in ("2026-09", "2026-09..2026-10"):
            during = parse_periods("day", "month", names, "UTC")
            ledger.start(one := ledger.reserve(BOB, charge("0.25"), question(1), during=during))
            ledger.settle(one, charge("0.25"), "[]")
        found: Any = report(ledger, "plays")
    assert [(one["period"], one["used"]) for one in found["periods"]] == [("2026-09", 0.5), ("2026-10", 0.25)]
    assert [one["periods"] for one in found["questions"]] == [["2026-09"], ["2026-09", "2026-10"]]
    assert "50 % of the promise is used in the most used period" in render_page(found)
    assert "one such promise for each" in render_page(found)
    assert "<td>2026-09, 2026-10</td>" in render_page(found)


def test_a_question_about_a_year_of_days_does_not_list_them_on_the_page(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "x") as ledger:
        ledger.data("plays", 1, 0, period="day", time="day")
        ledger.grant(BOB, 1, 0)
        during = parse_periods("day", "day", "2026-01-01..2026-12-31", "UTC")
        ledger.start(ledger.reserve(BOB, charge("0.25"), question(1), during=during))
        found: Any = report(ledger, "plays")
    assert found["questions"][0]["periods"] == list(during.names)
    (questions,) = re.findall("<h2>Questions</h2>.*?<h2>", render_page(found), re.DOTALL)
    assert "<td>365 periods from 2026-01-01 to 2026-12-31</td>" in questions
    assert "2026-05-05" not in questions


def test_a_record_that_does_not_add_up_says_so_first(path: Path) -> None:
    with Ledger(path) as ledger:
        store = ledger._session._store
        store.run("DROP TRIGGER entry_UPDATE")
        with store.transaction():
            store.run("UPDATE entry SET analyst = 'eve' WHERE number = 4")
        found: Any = report(ledger, "plays")
    assert found["verification"]["problems"]
    assert "The record is NOT clean" in render_page(found)


def test_the_command(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "record.html"
    assert main(["ledger", "report", str(path), "--data", "plays", "-o", str(out)]) == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert "<h2>Verification</h2>" in out.read_text()
    assert main(["ledger", "report", str(path), "--data", "plays", "-o", str(tmp_path / "record.json")]) == 0
    assert json.loads((tmp_path / "record.json").read_text())["dataset"] == "plays"
    assert main(["ledger", "report", str(path), "-o", str(out)]) == 6
    assert "a report is about the data of one name" in capsys.readouterr().err
    assert main(["ledger", "report", str(path), "--data", "plays", "-o", str(tmp_path / "record.pdf")]) == 2
    assert "--output must end in .html or .json" in capsys.readouterr().err
