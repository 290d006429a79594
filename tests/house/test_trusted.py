"""The trusted base is one list; no other room names more of it than it may, and an auditor's page has all its files."""

from __future__ import annotations

import csv
import os
import re
from itertools import chain

import pytest

from tests.house.reading_load import QUESTIONS, measure, published
from tests.house.rules import FILES, ROOMS, ROOT, room_of, sources
from tests.house.trusted import (
    ADAPTERS,
    BASE,
    MAY_NAME,
    adapter_files,
    base_files,
    core_files,
    eager_adapters,
    needs,
    stray_reports,
    strays,
)

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
    assert {*folders} == {file.rpartition("/")[0] or file for file in core_files()}
    assert len(folders) == len(set(folders))
    assert {"<!-- made: audit-adapters -->", "<!-- made: audit-adapter-files -->"} <= {*PAGE.splitlines()}


# ---- adapters, and what no question uses --------------------------------------------------------------------


def test_every_adapter_is_there_and_apart() -> None:
    for name, places in ADAPTERS.items():
        assert all(any(file == place or file.startswith(place) for file in base_files()) for place in places), name
    apart = [adapter_files(name) for name in ADAPTERS]
    assert len({*chain(*apart)}) == sum(map(len, apart)) == len(base_files()) - len(core_files())
    assert needs("Spark") == ["databases elsewhere"]


def test_the_core_loads_no_adapter_before_it_is_used() -> None:
    assert not list(eager_adapters(sources()))
    wrong = {
        "engines/registry.py": "from dpselect.engines.spark.database import SparkDatabase",
        "dataset.py": "import dpselect.engines.outside",
        "queries/plan.py": "def f():\n    import dpselect.engines.outside",
        "command/top.py": "import dpselect.engines.outside",
    }
    found = list(eager_adapters({**sources(), **wrong}))
    assert [sentence.partition(":")[0] for sentence in sorted(found)] == [
        "src/dpselect/dataset.py", "src/dpselect/engines/registry.py",
    ]  # fmt: skip


def test_no_question_opens_an_owners_report() -> None:
    assert not list(stray_reports(sources()))
    wrong = {"queries/plan.py": "def f():\n    from dpselect.inspection.report import inspect"}
    assert len(list(stray_reports({**sources(), **wrong}))) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each question has a process of its own, which is a fork")
def test_a_question_runs_no_adapter_and_its_load_is_as_published() -> None:
    measured, said = list(measure()), published()
    assert [load.question for load, _ in measured] == [load.question for load in said] == [*QUESTIONS]
    for (load, files), before in zip(measured, said, strict=True):
        assert {"engines/duckdb/database.py", "draws/certified.py"} <= {*files} <= {*core_files()}, load.question
        for name in ("files", "lines", "run"):
            now, then = getattr(load, name), getattr(before, name)
            assert abs(now - then) <= 0.05 * then, f"{load}: python -m tests.house.reading_load writes it anew"


def test_tests_are_listed_for_every_file() -> None:
    with (ROOT / "benchmarks" / "results" / "tests_of_files.csv").open(encoding="utf-8") as lines:
        tests = {row["file"]: row["tests"].split() for row in csv.DictReader(lines)}
    assert {file for file in FILES if room_of(file) in BASE} <= tests.keys() <= {*FILES}
    assert [path for paths in tests.values() for path in paths if not (ROOT / path).is_file()] == []
