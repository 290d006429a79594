"""`dpselect top --measure`: sums and means of the items that come back, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command

USERS = 300


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    """Every user plays one song for 20.5 minutes, in two rows, and another for 2; one of them for 10^6."""
    rows = [row for u in range(USERS) for row in (f"u{u},long,20.3,4", f"u{u},long,0.2,", f"u{u},short,2,n/a")]
    path = tmp_path / "plays.csv"
    path.write_text("\n".join(['user,song,minutes,"stars, (of 5)"', *rows, "u0,short,1e6,2"]) + "\n", "utf-8")
    return path


def asked(plays: Path, *more: object) -> list[object]:
    question = ["top", plays, "--user", "user", "--item", "song", "-k", 2, "--epsilon", 400, "--delta", "1e-6"]
    return [*question, *more]


MEASURES = [
    "--measure",
    "users",
    "--measure",
    "sum(minutes, 0, 30, unit=0.5)",
    "--measure",
    "mean(stars, (of 5), 1, 5)",
]


def test_measures_as_json(plays: Path, dpselect: Command) -> None:
    found = dpselect(*asked(plays, *MEASURES, "--format", "json"))
    assert (found.status, found.err) == (0, "")
    release = json.loads(found.out)
    items = {item["item"]: item for item in release["items"]}
    assert set(items) == {"long", "short"}
    assert set(items["long"]) == {"item", "rank", "count", "low", "high", "measures"}
    width = release["accuracy"]["width_of_measures"][0]
    for name, true in (("long", 20.5 * USERS), ("short", 2 * USERS + 28)):
        total = items[name]["measures"]["sum(minutes)"]
        assert total["high"] == total["value"] + width
        assert abs(total["value"] - true) < 10 * width  # noise of ten widths is rarer than 1e-11
    assert abs(items["long"]["measures"]["mean(stars, (of 5))"]["value"] - 4) < 0.5
    assert release["privacy"]["parameters"]["measures"][1] == "mean(stars, (of 5), 1, 5)"


def test_csv_has_a_column_for_each_number(plays: Path, dpselect: Command) -> None:
    lines = dpselect(*asked(plays, *MEASURES[2:4], "--format", "csv")).out.splitlines()
    assert lines[0] == "rank,item,counted sum(minutes),counted sum(minutes) low,counted sum(minutes) high"
