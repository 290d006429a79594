"""`dpselect choose`: candidates with scores, or the best item of a known domain by its users."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from tests.end_to_end.conftest import Command, process

SECRET = "canary-model"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models.csv"
    path.write_text("model,correct\nsmall,700\nlarge,905\ntiny,12\n", "utf-8")
    return path


def by_score(path: Path, *more: object) -> list[object]:
    return ["choose", path, "--label", "model", "--score", "correct", "--epsilon", 1, *more]


def by_users(path: Path, *more: object) -> list[object]:
    return ["choose", path, "--user", "user", "--item", "animal", "--epsilon", 2, *more]


def test_the_real_command(models: Path) -> None:
    ended = process(*by_score(models, "--quiet"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert ended.stdout.startswith("Chosen: large.\nWith 95 % confidence, its score is at most ")
    assert ended.stdout.endswith("\nspent: epsilon 1 per user\n")


@pytest.mark.parametrize("method", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("more", [(), ("--monotonic",), ("--neighbors", "replace-one"), ("--sensitivity", "2.5")])
def test_by_score(method: str, more: tuple[str, ...], models: Path, dpselect: Command) -> None:
    ended = dpselect(*by_score(models, "--method", method, *more, "--format", "json"))
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    assert found["items"] == [{"item": "large", "rank": 1}]
    assert found["complete"] is True
    assert found["privacy"]["epsilon"] == 1
    assert found["privacy"]["delta"] == 0


def test_scores_may_have_fractions(tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "models.parquet"
    polars.DataFrame({"model": [1, 2], "correct": [0.25, 99.5]}).write_parquet(path)
    assert json.loads(dpselect(*by_score(path, "--format", "json")).out)["items"][0]["item"] == 2


def test_by_users(events: Path, dpselect: Command) -> None:
    ended = dpselect(*by_users(events, "--domain", "bee,cat,dog", "--format", "json"))
    assert ended.status == 0, ended.err
    assert json.loads(ended.out)["items"] == [{"item": "bee", "rank": 1}]


BAD_ROWS = {
    "label twice": (f"{SECRET},1\n{SECRET},2\n", "label must"),
    "null label": (f",1\n{SECRET},2\n", "label must"),
    "null score": (f"{SECRET},\nother,2\n", "score must"),
    "no number": (f"{SECRET},high\nother,2\n", "score must"),
    "no candidates": ("", ""),
}


@pytest.mark.parametrize(("rows", "says"), BAD_ROWS.values(), ids=list(BAD_ROWS))
def test_bad_candidates(rows: str, says: str, tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "models.csv"
    path.write_text("model,correct\n" + rows, "utf-8")
    ended = dpselect(*by_score(path))
    assert ended.status == 2, ended
    assert ended.out == ""
    assert says in ended.err
    assert SECRET not in ended.err
    assert "high" not in ended.err


REFUSED = {
    "nothing": ((), "user must be"),
    "half of the scores": (("--label", "model"), "--score must be given"),
    "other half of the scores": (("--score", "correct"), "--label must be given"),
    "half of the events": (("--user", "model", "--domain", "a"), "item must be"),
    "both": (("--label", "model", "--score", "correct", "--user", "u"), "--label must be left out with --user"),
    "sensitivity of events": (
        ("--user", "u", "--item", "i", "--sensitivity", "1"),
        "--sensitivity must be left out with --user",
    ),
    "no domain": (("--user", "model", "--item", "correct"), "hint: the items that there can be: "),
    "missing label": (("--label", "modl", "--score", "correct"), "model"),
    "missing score": (("--label", "model", "--score", "corect"), "correct"),
    "unknown method": (("--label", "model", "--score", "correct", "--method", "best"), "method must be one of"),
    "sensitivity 0": (("--label", "model", "--score", "correct", "--sensitivity", "0"), "sensitivity must be"),
    "unknown neighbours": (("--label", "model", "--score", "correct", "--neighbors", "next"), "neighbors must be"),
    "monotonic replace-one": (
        ("--label", "model", "--score", "correct", "--monotonic", "--neighbors", "replace-one"),
        "monotonic must be False",
    ),
}


@pytest.mark.parametrize(("words", "says"), REFUSED.values(), ids=list(REFUSED))
def test_refused(words: tuple[str, ...], says: str, models: Path, dpselect: Command) -> None:
    ended = dpselect("choose", models, "--epsilon", 1, *words)
    assert ended.status == 2, ended
    assert ended.out == ""
    assert says in ended.err
