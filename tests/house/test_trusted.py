"""The trusted base is one list; no other room names more of it than it may, and an auditor's page has all its files."""

from __future__ import annotations

import csv
import re

from tests.house.rules import FILES, ROOMS, ROOT, room_of, sources
from tests.house.trusted import BASE, MAY_NAME, strays

PAGE = (ROOT / "docs" / "why" / "audit.md").read_text("utf-8")


def test_the_base_is_of_rooms_that_there_are() -> None:
    assert set(BASE) < set(ROOMS)
    assert not set(BASE) & set(MAY_NAME)


def test_others_name_no_more_than_they_may() -> None:
    assert not list(strays(sources()))


def test_more_is_noticed() -> None:
    wrong = {
        "gateway/pages/ask.py": "from dpselect.draws import secure",
        "release/scale.py": "def f():\n    from dpselect.engines.registry import open_engine",
        "checking/check.py": "import dpselect.aggregates.count_groups",
        "__init__.py": "from dpselect.draws import Draws",
    }
    found = list(strays({**sources(), **wrong}))
    assert len(found) == len(wrong)
    assert all(any(path in sentence for sentence in found) for path in wrong)


def test_the_auditors_page_has_every_file() -> None:
    folders = [folder for line in re.findall(r"<!-- made: audit (.+) -->", PAGE) for folder in line.split()]
    assert {*folders} == {file.rpartition("/")[0] or file for file in FILES if room_of(file) in BASE}
    assert len(folders) == len(set(folders))


def test_tests_are_listed_for_every_file() -> None:
    with (ROOT / "benchmarks" / "results" / "tests_of_files.csv").open(encoding="utf-8") as lines:
        tests = {row["file"]: row["tests"].split() for row in csv.DictReader(lines)}
    assert {file for file in FILES if room_of(file) in BASE} <= tests.keys() <= {*FILES}
    assert [path for paths in tests.values() for path in paths if not (ROOT / path).is_file()] == []
