"""`dpselect quantile`: values at some ranks, one value per user."""

from __future__ import annotations

import csv
import datetime
import json
import re
from pathlib import Path

import polars
import pytest

from tests.end_to_end.conftest import Command, process

ONE_VALUE = "Counted: one of each user's distinct values, chosen at random, moved into 0 to 2000, in steps of 1."

SECRET = "canary-4711"


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Ages 1 .. 999 of as many users, each twice, and rows that do not count."""
    path = tmp_path / "people.csv"
    rows = [(f"{SECRET}-{n}", n, "a" if n % 2 else "b") for n in range(1, 1000)] * 2
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "team"])
        writer.writerows([*rows, ("x", "", "a"), ("y", "nan", "a"), ("z", SECRET, "a"), ("", 7, "a")])
    return path


def ask_undeclared(path: Path, *more: object) -> list[object]:
    """The same of a file that has types."""
    return ["quantile", path, "--user", "id", "--item", "age", "--bounds", 0, 2000, "--epsilon", 20, *more]


def ask(path: Path, *more: object) -> list[object]:
    return [
        "quantile",
        path,
        "--user",
        "id",
        "--item",
        "age",
        "--type",
        "age=BIGINT",
        "--bounds",
        0,
        2000,
        "--epsilon",
        20,
        *more,
    ]


def values(ended) -> list[float]:
    assert ended.status == 0, ended.err
    return [item["item"] for item in json.loads(ended.out)["items"]]


def test_the_real_command(people: Path) -> None:
    ended = process(*ask(people, "--q", "0.5", "--step", 1, "--quiet", "--explain"))
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    brief = process(*ask(people, "--q", "0.5", "--step", 1, "--quiet"), COLUMNS="100").stdout.splitlines()
    assert re.fullmatch(r"The median is (49|50)\d\.", brief[0])
    assert re.fullmatch(
        r"With 95 % confidence, of about (\d{3}|1,0\d\d) users (none|at most \d) too many lie below it, "
        r"and (none|at most \d) above, at any distance in value\.",
        " ".join(brief[1:-2]),
    )
    assert brief[-2:] == [ONE_VALUE, "spent: epsilon 20 per user"]
    said, table, _ = ended.stdout.split("\n\n", 2)
    assert table.splitlines()[0].split() == ["q", "value", "too_many_below", "too_many_above"]
    q, value, *_ = table.splitlines()[1].split()
    who = "by counted values (one of each user's distinct values, chosen at random, moved into the bounds, in steps)"
    said = " ".join(said.split())  # lines are broken at the width of the terminal
    assert said.startswith(f"The median is {value}. With 95 % confidence, {who}, of about ")
    assert q == "0.5"
    assert abs(int(value) - 500) < 5
    assert "spent: (20, 0)-DP per user, add-remove neighbours" in ended.stdout


def test_several_quantiles_and_options(people: Path, dpselect: Command) -> None:
    found = values(dpselect(*ask(people, "--q", "0.1,0.5,0.9", "--epsilon", 60, "--delta", "1e-6", "--format", "json")))
    assert [round(x, -1) for x in found] == [100, 500, 900]
    assert values(dpselect(*ask(people, "--where", "team = 'a' AND age < 101", "--format", "json")))[0] < 55
    for rule in ("random", "min", "max", "mean"):
        assert abs(values(dpselect(*ask(people, "--per-user", rule, "--format", "json")))[0] - 500) < 5


def test_without_bounds(people: Path, dpselect: Command) -> None:
    asked = (
        "quantile",
        people,
        "--user",
        "id",
        "--item",
        "age",
        "--type",
        "age=BIGINT",
        "--epsilon",
        20,
        "--format",
        "json",
    )
    assert abs(values(dpselect(*asked))[0] - 500) < 5
    assert values(dpselect(*asked, "--step", 10))[0] in (490, 500, 510)
    refused = dpselect(*asked, "--per-user", "mean")
    assert refused.status == 2
    assert "per_user must be random, min or max if there are no bounds" in refused.err.replace("--per-user", "per_user")


def test_bounds_below_zero_and_numbers_in_a_table(tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "degrees.parquet"
    polars.DataFrame({"id": range(2000), "age": [n / 100 - 15 for n in range(2000)]}).write_parquet(path)
    ask_for = ["quantile", path, "--user", "id", "--item", "age", "--epsilon", 20, "--format", "json"]
    assert abs(values(dpselect(*ask_for, "--bounds", -20, 10.5))[0] + 5) < 0.1
    assert values(dpselect(*ask_for, "--bounds", 0, 10, "--step", 5)) == [0]  # most lie below the lower bound


def test_csv_and_parquet(people: Path, tmp_path: Path, dpselect: Command) -> None:
    for name in ("out.csv", "out.parquet"):
        assert dpselect(*ask(people, "--q", "0.25,0.75", "-o", tmp_path / name)).status == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "q,value,too_many_below,too_many_above"
    assert polars.read_parquet(tmp_path / "out.parquet")["q"].to_list() == [0.25, 0.75]


REFUSED = {
    "bounds in words": (["--bounds", "low", "high"], 2, "bounds must be two numbers"),
    "one bound": (["--bounds", 9], 2, "bounds must be two numbers"),
    "no q": (["--q", ""], 2, "argument --q: must be values between commas"),
}


@pytest.mark.parametrize(("more", "status", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals(more: list[object], status: int, message: str, people: Path, dpselect: Command) -> None:
    ended = dpselect(*ask(people, *more))
    assert ended.status == status
    assert ended.out == ""
    assert message in ended.err
    assert SECRET not in ended.err


def test_a_column_that_is_not_there(people: Path, dpselect: Command) -> None:
    ended = dpselect("quantile", people, "--user", "id", "--item", "agee", "--epsilon", 1)
    assert (ended.status, ended.out) == (2, "")
    assert "item must be a column of the source, got 'agee'\nhint: did you mean age" in ended.err


def test_dates_are_refused_by_their_type(tmp_path: Path, dpselect: Command) -> None:
    path = tmp_path / "dates.parquet"
    polars.DataFrame({"id": [1, 2], "age": [datetime.date(2024, 1, 1)] * 2}).write_parquet(path)
    ended = dpselect(*ask_undeclared(path))
    assert ended.status == 3
    assert "column 'age', of type DATE, holds no numbers" in ended.err
