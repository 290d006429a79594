"""`--exclude`: items that must not come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    path = tmp_path / "plays.csv"
    lines = [f'u{user},"{item}",{item[-1]}' for user in range(600) for item in ("ads", f"song{user % 2}", "a,b")]
    path.write_text("\n".join(["user,item,end", *lines]) + "\n", "utf-8")
    return path


def asked(verb: str, path: Path, *more: object) -> list[object]:
    usual = ["--user", "user", "--item", "item", "--epsilon", 30, "--quiet", "--format", "json"]
    return [verb, path, *usual, *more]


def labels(out: str) -> list[object]:
    return sorted(row["item"] for row in json.loads(out)["items"])


@pytest.mark.parametrize("verb", ["top", "union"])
def test_both_verbs(verb: str, plays: Path, tmp_path: Path, dpselect: Command) -> None:
    ended = dpselect(*asked(verb, plays, "--exclude", 'ads,"a,b"'))
    assert ended.status == 0, ended.err
    assert labels(ended.out) == ["song0", "song1"]
    (tmp_path / "list.csv").write_text("name\nsong0\nsong1\n", "utf-8")
    ended = dpselect(*asked(verb, plays, "--exclude-from", f"{tmp_path / 'list.csv'}:name"))
    assert ended.status == 0, ended.err
    assert labels(ended.out) == ["a,b", "ads"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--exclude-from", "list.csv"), "--exclude-from must be FILE:COLUMN"),
        (("--exclude", "a", "--exclude-from", "list.csv:x"), "not allowed with"),
    ],
)
def test_mistakes(more: tuple[str, ...], message: str, plays: Path, dpselect: Command) -> None:
    ended = dpselect(*asked("top", plays, *more))
    assert ended.status == 2
    assert message in ended.err
