"""dpselect plan: forecasts in every form, from invented users and from counts that were released before."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command, ask

FREE = "A forecast: no data was read and no budget was spent."
TOP = "plan top --k 3 --users 500 --items 60 --epsilon 0.5,2 --quiet".split()
UNION = "plan union --users 500 --items 60 --items-per-user 4 --max-items-per-user 6 --epsilon 0.5,2 --quiet".split()


def test_a_table_says_that_nothing_was_spent(dpselect: Command) -> None:
    ended = dpselect(*TOP)
    assert (ended.status, ended.err) == (0, "")
    first, table, notes = ended.out.split("\n\n")
    assert table.splitlines()[0].split() == "method epsilon items smallest count lost threshold within".split()
    assert [line.split()[:2] for line in table.splitlines()[1:]] == [
        ["limited-domain", "0.5"],
        ["limited-domain", "2"],
        ["limited-domain-sparse", "0.5"],
        ["limited-domain-sparse", "2"],
    ]
    assert first == FREE
    assert "500 users with 10 of 60 items" in notes


def test_json_and_csv_hold_the_same_fields(dpselect: Command) -> None:
    told = json.loads(dpselect(*UNION, "--format", "json").out)
    table = list(csv.DictReader(io.StringIO(dpselect(*UNION, "--format", "csv").out)))
    assert told["question"] == "union"
    assert told["data_read"] is False
    assert told["spent"] == {"epsilon": 0, "delta": 0}
    assert told["assumed"]["items_per_user"] == 4
    assert len(told["rows"]) == len(table) == 2 * 6
    assert [list(row) for row in told["rows"]] == [list(row) for row in table]
    assert [row["method"] for row in told["rows"]] == [row["method"] for row in table]
    assert "count-laplace" in {row["method"] for row in table}


@pytest.mark.parametrize(("name", "start"), [("plan.txt", FREE), ("plan.csv", "method,epsilon"), ("plan.json", "{")])
def test_into_a_file_whose_name_says_the_form(name: str, start: str, dpselect: Command, tmp_path: Path) -> None:
    ended = dpselect(*UNION, "--methods", "count-laplace", "-o", tmp_path / name)
    assert (ended.status, ended.out, ended.err) == (0, "", "")
    assert (tmp_path / name).read_text("utf-8").startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_picture(dpselect: Command, tmp_path: Path) -> None:
    ended = dpselect(*TOP[:-1], "--methods", "limited-domain", "--plot", tmp_path / "plan.svg")
    assert ended.status == 0
    assert ended.err.endswith(f"the picture is {tmp_path / 'plan.svg'}\n")
    assert (tmp_path / "plan.svg").read_text("utf-8").startswith("<svg ")


@pytest.mark.parametrize("form", ["json", "csv"])
def test_counts_of_an_earlier_release(form: str, dpselect: Command, events: Path, tmp_path: Path) -> None:
    """What `dpselect top --counts` wrote goes in as it is, and no file but that one is read."""
    release = tmp_path / f"release.{form}"
    assert dpselect(*ask(events, "--counts", "-o", release, "--quiet")).status == 0
    counts = [row["count"] for row in json.loads(release.read_text())["items"]] if form == "json" else None
    ended = dpselect("plan", "top", "-k", 2, "--like", release, "--epsilon", 30, "--format", "json", "--quiet")
    told = json.loads(ended.out)
    assert told["assumed"]["like"] == 3
    assert [(row["items"], row["error"]) for row in told["rows"]] == [(2, 0)] * 2
    assert counts is None or told["rows"][0]["smallest_count"] == sorted(counts)[1]
    assert "from an earlier release" in " ".join(told["notes"])


def test_groups_of_declared_sizes(dpselect: Command) -> None:
    words = "plan top -k 2 --groups 5000,40 --groups-per-user 1.5 --epsilon 8 --format csv --quiet"
    ended = dpselect(*words.split())
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert [(row["max_groups_per_user"], row["epsilon"]) for row in rows] == [("1", "8.0"), ("2", "8.0")]
    [row] = csv.DictReader(io.StringIO(dpselect(*words.split(), "--max-groups-per-user", 2).out))
    assert row["max_groups_per_user"] == "2"
    assert all(row["smallest_count"] == row["width"] == "" for row in rows)
    ended = dpselect("plan", "top", "--groups", "5000,x", "--quiet")
    assert (ended.status, ended.out) == (2, "")
    assert "groups must be a whole number of at least 1, got 'x'" in ended.err


def test_a_domain_that_is_known_and_counts_that_will_be_asked(dpselect: Command) -> None:
    ended = dpselect(*TOP, "--domain-size", "60", "--counts", "--methods", "peeling,canonical-set", "--format", "json")
    told = json.loads(ended.out)
    assert [row["method"] for row in told["rows"]] == ["peeling"] * 2 + ["canonical-set"] * 2
    assert {row["items"] for row in told["rows"]} == {3}
    assert told["assumed"]["counts"] is True


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([*TOP, "--epsilon", "1,"], 2, "epsilon must be a positive, finite number, got ''"),
        ([*UNION, "-o", "plan.parquet"], 2, "-o must end in .txt, .csv or .json, got plan.parquet"),
        ([*UNION, "-o", "plan.csv", "--format", "json"], 2, "--format must fit the extension of -o, .csv, got json"),
        ([*TOP, "--like", "nowhere.json"], 2, "users must be left out if like is given, got 500"),
        (["plan", "top", "--like", "nowhere.json", "--groups", "5"], 2, "groups must be left out if like is given"),
        (["plan", "union", "--like", "nowhere.json", "--items", "5"], 2, "items must be left out if like is given"),
        (["plan", "top", "--max-groups-per-user", "2"], 2, "groups must be given in a Population where"),
        (["plan", "top", "--like", "nowhere.json"], 3, "nowhere.json cannot be read: No such file or directory"),
        ([*TOP, "-o", "nowhere/plan.csv"], 4, "the folder of -o does not exist: nowhere"),
        (["plan", "union", "--k", "3"], 2, "dpselect: unrecognized arguments: --k 3"),
        (["plan", "median"], 2, "dpselect plan: argument QUESTION: invalid choice: 'median'"),
        (["plan"], 2, "dpselect plan: the following arguments are required: QUESTION"),
    ],
    ids=lambda value: " ".join(value[1:3] + value[-2:]) if isinstance(value, list) else None,
)
def test_mistakes(
    arguments: list[str], status: int, message: str, dpselect: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = dpselect(*arguments)
    assert (ended.status, ended.out) == (status, "")
    assert message in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        '{"items": [{"item": "secret-name", "rank": 1}]}',
        '{"items": [',
        "item,rank\nsecret-name,1\n",
        "count\n2.5\n",
        "\xff",
    ],
)
def test_a_file_without_released_counts(content: str, dpselect: Command, tmp_path: Path) -> None:
    path = tmp_path / "release"
    path.write_bytes(content.encode("latin-1"))
    ended = dpselect("plan", "top", "--quiet", "--like", path)
    assert (ended.status, ended.out) == (3, "")
    assert "holds no released counts" in ended.err or "it is not UTF-8" in ended.err
    assert "secret-name" not in ended.err


def test_a_picture_that_cannot_be_written_comes_after_the_table(dpselect: Command, tmp_path: Path) -> None:
    ended = dpselect(*TOP, "--methods", "limited-domain", "--plot", tmp_path / "plan.wrong")
    assert ended.status == 4
    assert "\n\nmethod" in ended.out
    assert "a picture's name must end in .svg" in ended.err


def test_help_is_instant_and_teaches() -> None:
    code = (
        "import sys; from dpselect.command.main import main; main(['plan', '--help']);"
        "print({'numpy', 'duckdb', 'flint', 'matplotlib'} & set(sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == "set()\n"
    assert ended.stdout.count("\n  dpselect plan") == 6
    assert "No data is read and no budget is spent" in ended.stdout
