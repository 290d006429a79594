"""Users and items of several columns on the command line: between commas, or an option for each."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import dpselect as dps
from tests.end_to_end.conftest import Command

AWKWARD = "artist, or band"


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    """400 users of two days; a column whose name has a comma."""
    path = tmp_path / "plays.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "day", "country", AWKWARD])
        for n in range(800):
            writer.writerow([n % 400, n // 400, "DE" if n % 4 else "SE", "a,b" if n % 4 < 3 else "a"])
    return path


ITEM = ["--item", "country", f'"{AWKWARD}"']  # between commas, so one with a comma has quotes
PAIRS = {("DE", "a,b"), ("DE", "a"), ("SE", "a,b")}


def asked(verb: str, plays: Path, *more: object) -> list[object]:
    return [verb, plays, "--user", "user", *more, "--epsilon", 30]


def test_a_union_in_lines_is_a_list_of_popular_items(dpselect: Command, plays: Path, tmp_path: Path) -> None:
    lines = dpselect(*asked("union", plays, *ITEM, "--format", "lines")).out
    assert {tuple(json.loads(line)) for line in lines.splitlines()} == PAIRS
    (tmp_path / "popular.txt").write_text(lines + "\n".join(lines.splitlines()))
    more = ["--popular", tmp_path / "popular.txt", "--format", "lines", "--max-items-per-user", 1]
    again = dpselect(*asked("union", plays, *ITEM, *more)).out
    assert {tuple(json.loads(line)) for line in again.splitlines()} <= PAIRS


def test_choose_of_a_domain_of_pairs(dpselect: Command, plays: Path) -> None:
    domain = json.dumps([["DE", "a,b"], ["SE", "a"], ["NO", "a,b"]])
    release = dps.Release.from_json(
        dpselect(*asked("choose", plays, *ITEM, "--domain", domain, "--format", "json")).out
    )
    assert release.labels == [("DE", "a,b")]


def test_a_ledger_that_names_the_pair_pays(dpselect: Command, plays: Path, tmp_path: Path) -> None:
    book = tmp_path / "book"
    dpselect("ledger", "init", book)
    made = dpselect(
        "ledger", "data", book, "plays", "--epsilon", 99, "--delta", "1e-5", "--user", "user", "--user", "day"
    )
    assert "one (user, day) pair" in made.out
    dpselect("ledger", "grant", book, "--data", "plays", "--analyst", "ann", "--epsilon", 90, "--delta", "1e-5")
    pays = ["--budget", book, "--data", "plays", "--analyst", "ann", "--delta", "1e-6"]
    assert dpselect(*asked("top", plays, "--user", "day", *ITEM, "-k", 1, *pays)).status == 0
    ended = dpselect(*asked("top", plays, *ITEM, "-k", 1, *pays))
    assert (ended.status, ended.out) == (2, "")
    assert "user must be ['user', 'day'], which the account of 'plays' is about" in ended.err


def test_inspect_counts_pairs(dpselect: Command, plays: Path) -> None:
    found = dpselect("inspect", plays, "--user", "user,day", *ITEM).out.splitlines()
    assert "users: 800" in found
    assert "items: 3" in found


REFUSED = {
    "a domain of texts": ([*ITEM, "--domain", "a,b"], "--domain must be a list of lists in JSON"),
    "a domain of objects": ([*ITEM, "--domain", '[{"a": 1}]'], "--domain must be a list of lists in JSON"),
}


@pytest.mark.parametrize(("words", "says"), REFUSED.values(), ids=list(REFUSED))
def test_refused(dpselect: Command, plays: Path, words: list[str], says: str) -> None:
    ended = dpselect(*asked("top", plays, "-k", 1, *words))
    assert (ended.status, ended.out) == (2, "")
    assert says in ended.err


def test_a_popular_line_that_is_no_list_is_refused(dpselect: Command, plays: Path, tmp_path: Path) -> None:
    (tmp_path / "popular.txt").write_text("DE\n")
    ended = dpselect(*asked("union", plays, *ITEM, "--popular", tmp_path / "popular.txt"))
    assert ended.status == 2
    assert "--popular must have a list in JSON in each line" in ended.err
