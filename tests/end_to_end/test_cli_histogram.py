"""`dpselect histogram`: all counts of a known domain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command, process


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text("visitor,month\n" + "".join(f"v{n},{1 + n % 3}\n" for n in range(300)), "utf-8")
    return path


def asked(path: Path, *more: object) -> list[object]:
    return ["histogram", path, "--user", "visitor", "--item", "month", "--epsilon", 400, *more]


def test_the_real_command(visits: Path) -> None:
    ended = process(*asked(visits, "--domain-range", "1..4", "--max-items-per-user", 1, "--quiet"))
    assert ended.returncode == 0, ended.stderr
    said = " ".join(ended.stdout.split())  # lines are broken at the width of the terminal
    assert said.startswith("The numbers of counted users of all 4 items of the domain, with noise. 95 times of 100, ")
    head, *rows = map(str.split, ended.stdout.split("\n\n")[1].splitlines())
    assert head == ["item", "counted_users", "low", "high"]
    assert rows == [[str(month), *([number] * 3)] for month, number in enumerate(("100", "100", "100", "0"), 1)]


def test_a_list_comes_in_its_own_order(visits: Path, dpselect: Command) -> None:
    ended = dpselect(*asked(visits, "--domain", "3,12,1", "--format", "json"))
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    assert [(row["item"], row["count"]) for row in found["items"]] == [("3", 100), ("12", 0), ("1", 100)]


def test_a_public_file_and_a_delta(visits: Path, tmp_path: Path, dpselect: Command) -> None:
    (tmp_path / "months.csv").write_text("name\n" + "".join(f"{n}\n" for n in range(1, 41)), "utf-8")
    listed = ("--domain-from", f"{tmp_path / 'months.csv'}:name")
    ended = dpselect(
        *asked(visits, *listed, "--epsilon", 1, "--max-items-per-user", 40, "--delta", "1e-6", "--format", "json")
    )
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    assert len(found["items"]) == 40
    assert found["privacy"]["mechanism"] == "HistogramGaussian"
    ended = dpselect(*asked(visits, *listed))
    assert ended.status == 2
    assert "max_items_per_user must be given where only reading the domain tells" in ended.err


def test_without_a_domain_there_is_no_question(visits: Path, dpselect: Command) -> None:
    ended = dpselect(*asked(visits))
    assert ended.status == 2
    assert "--domain" in ended.err
    assert "--domain-size" not in ended.err
