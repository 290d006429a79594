"""`dpselect users`: how many there are, of a file without a column of items."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command, process

SECRET = "canary-4711"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """900 people, each in two rows; every third one is in Sweden alone, and the others are in two countries."""
    path = tmp_path / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "thing", "country"])
        for n in range(900):
            writer.writerow([f"{SECRET}-{n}", "", "SE"])
            writer.writerow([f"{SECRET}-{n}", "x", "DE" if n % 3 else "SE"])
        writer.writerows([("", "x", "DE"), ("", "", "")])
    return path


def test_the_real_command(people: Path) -> None:
    ended = process("users", people, "--user", "id", "--epsilon", 50, "--quiet")
    assert (ended.returncode, ended.stderr) == (0, "")
    said, table, good = ended.stdout.split("\n\n")
    assert said == "900 users, with noise."
    assert good.startswith("With 95 % confidence, the true count is from low to high.\nspent: epsilon 50 per user")
    assert [line.split() for line in table.splitlines()] == [["count", "low", "high"], ["900", "900", "900"]]
    assert SECRET not in ended.stdout


def test_groups_are_those_that_are_listed(people: Path, dpselect: Command) -> None:
    asked = ["users", people, "--user", "id", "--epsilon", 50, "--by", "country", "--groups", "SE,DE,NO"]
    ended = dpselect(*asked, "--max-groups-per-user", 2, "--format", "csv")
    head, *rows = csv.reader(io.StringIO(ended.out))
    assert head == ["country", "counted_users", "low", "high"]
    assert [row[:2] for row in rows] == [["SE", "900"], ["DE", "600"], ["NO", "0"]]
    in_one = json.loads(dpselect(*asked, "--max-groups-per-user", 1, "--format", "json").out)
    assert sum(one["count"] for one in in_one["items"]) == 900
    in_all = json.loads(dpselect(*asked, "--format", "json").out)
    assert [one["count"] for one in in_all["items"]] == [900, 600, 0]


def test_the_price_of_an_accuracy_is_said_first(people: Path, dpselect: Command) -> None:
    ended = dpselect("users", people, "--user", "id", "--where", "country = 'DE'", "--within", 50)
    assert ended.err == "dpselect: within 50 users of the number of all costs epsilon 0.0594\n"
    assert "spent: epsilon 0.0594 per user" in ended.out


REFUSED = [
    (
        ["--by", "country"],
        "groups must be listed for users, got nothing\n"
        "hint: groups are found by union(by=..., counts=True), or by top_k(by=By(..., sizes=True)), --users\n",
    ),
    (["--by", "id", "--groups", "x"], "by must be a column other than user, got 'id'"),
    (["--by", "land", "--groups", "x"], "by must be a column of the source, got 'land'"),
    (["--delta", "1e-6"], "delta must be left out: numbers of users need none"),
    (["--within", "5"], "within must be left out if epsilon is given"),
    (["--max-groups-per-user", "2"], "by must be given for groups, got nothing"),
]


@pytest.mark.parametrize(("more", "says"), REFUSED, ids=[" ".join(more) for more, _ in REFUSED])
def test_what_has_no_answer_is_refused(people: Path, dpselect: Command, more: list[str], says: str) -> None:
    ended = dpselect("users", people, "--user", "id", "--epsilon", 1, *more)
    assert ended.status == 2
    assert says in ended.err
    assert SECRET not in ended.err


def test_another_command_needs_items(people: Path, dpselect: Command) -> None:
    ended = dpselect("top", people, "--user", "id", "--epsilon", 1)
    assert ended.status == 2
    assert "--item must be the name of a column" in ended.err
    ended = dpselect("users", people, "--epsilon", 1)
    assert "--user must be the name of a column" in ended.err
