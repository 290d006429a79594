"""Questions and releases as JSON, in today's form: what was stored is read with the same meaning.

The files are made by `python -m tests.golden.make`. Whoever changes the form makes them anew, and reads what changed.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dpselect as dps
from tests.golden import make
from tests.judge.both import check

HERE = Path(__file__).parent
every_release = pytest.mark.parametrize("path", sorted((HERE / "releases").iterdir()), ids=lambda path: path.stem)
every_query = pytest.mark.parametrize("path", sorted((HERE / "queries").iterdir()), ids=lambda path: path.stem)


def told(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@every_release
def test_a_release_comes_back_whole(path: Path) -> None:
    read = dps.Release.from_json(path)
    assert read.to_dict() == told(path)
    assert dps.Release.from_json(read.to_json()) == read


@every_release
def test_its_promise_follows_and_half_of_it_does_not(path: Path, tmp_path: Path) -> None:
    assert str(check(path).verdict) == "follows"
    forged = told(path)
    forged["privacy"]["epsilon"] /= 2
    (tmp_path / "forged.json").write_text(json.dumps(forged), "utf-8")
    assert str(dps.check(tmp_path / "forged.json").verdict) == "does not follow"
    forged["exact"]["epsilon"] = str(Fraction(forged["exact"]["epsilon"]) / 2)
    (tmp_path / "forged.json").write_text(json.dumps(forged), "utf-8")
    assert str(dps.check(tmp_path / "forged.json").verdict) == "does not follow"


def test_the_files_can_be_made_anew(tmp_path, monkeypatch) -> None:
    for folder in ("queries", "releases"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr(make, "HERE", tmp_path)
    make.main()
    for folder in ("queries", "releases"):
        assert sorted(one.name for one in (tmp_path / folder).iterdir()) == sorted(
            one.name for one in (HERE / folder).iterdir()
        )
    for one in (HERE / "queries").iterdir():
        assert told(tmp_path / "queries" / one.name) == told(one)


@every_query
def test_a_query_means_the_same(path: Path) -> None:
    kept = told(path)
    query = dps.Plan.from_dict(kept["given"])
    assert query.to_dict() == kept["full"]
    assert dps.Plan.from_dict(kept["full"]).to_dict() == kept["full"]
    assert {"epsilon": str(query.ceiling.epsilon), "delta": str(query.ceiling.delta)} == kept["ceiling"]
