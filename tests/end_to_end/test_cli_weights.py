"""`dpselect top --by-weight`: sums over users from the shell, in the unit of the column."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command

USERS = 300


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    """Every user plays one song for 20.5 minutes, in two rows, and another for 2; one of them for 10^6."""
    rows = [row for u in range(USERS) for row in (f"u{u},long,20.3", f"u{u},long,0.2", f"u{u},short,2", f"u{u},,5")]
    path = tmp_path / "plays.csv"
    path.write_text("\n".join(["user,song,minutes", *rows, "u0,short,1e6", "u1,short,n/a"]) + "\n", "utf-8")
    return path


def asked(plays: Path, *more: object) -> list[object]:
    question = ["top", plays, "--user", "user", "--item", "song", "-k", 2, "--epsilon", 40, "--delta", "1e-6"]
    return [*question, "--by-weight", "minutes", *more]


def test_sums_in_the_unit_of_the_column(plays: Path, dpselect: Command) -> None:
    found = dpselect(*asked(plays, "--at-most", 30, "--weight-unit", "0.5", "--counts", "--format", "json"))
    assert (found.status, found.err) == (0, "")
    release = json.loads(found.out)
    assert [item["item"] for item in release["items"]] == ["long", "short"]
    width = release["accuracy"]["width_of_counts"]
    for item, true in zip(release["items"], (20.5 * USERS, 2 * USERS + 28), strict=True):
        assert set(item) == {"item", "rank", "sum", "low", "high"}
        assert item["high"] == item["sum"] + width
        assert abs(item["sum"] - true) < 10 * width  # noise of ten widths is rarer than 1e-11
    assert release["privacy"]["parameters"]["at_most"] == 30


def test_csv_and_a_table(plays: Path, dpselect: Command) -> None:
    lines = dpselect(*asked(plays, "--at-most", 30, "--counts", "--format", "csv")).out.splitlines()
    assert lines[0] == "rank,item,counted_sum,low,high"
    said = " ".join(dpselect(*asked(plays, "--at-most", 30)).out.split())
    assert "the total of minutes in their rows of the item, rounded to units of 1 and cut to at most 30" in said
