"""Periods on the command line: every verb takes them, and says whose promise it gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.conftest import Command

TIMES = (
    "2026-08-31 23:59",
    "2026-09-01",
    "2026-09-30T23:59:59",
    "2026-10-31 23:59:59.999999",
    "2026-11-01",
    "soon",
    "",
)


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """300 users, each with all seven times; what they have goes by the time."""
    rows = [f"u{user},item{place},{place % 3},{time}" for user in range(300) for place, time in enumerate(TIMES)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["user,item,stars,at", *rows]) + "\n", "utf-8")
    return path


def asked(verb: str, path: Path, *more: object) -> list[object]:
    return [verb, path, "--user", "user", "--epsilon", "30", "--quiet", "--format", "json", *more]


AUTUMN = ("--time", "at", "--period", "month", "--during", "2026-09,2026-10..2026-10", "--timezone", "Asia/Tokyo")
VERBS: dict[str, tuple[list[object], list[object]]] = {
    "top": (["--item", "item", "-k", "5"], ["item1", "item2", "item3"]),
    "union": (["--item", "item", "--max-items-per-user", "3"], ["item1", "item2", "item3"]),
    "choose": (["--item", "item", "--domain", "item0,item3,item6"], ["item3"]),
    "histogram": (["--item", "item", "--domain", "item0,item3"], ["item0", "item3"]),
    "quantile": (
        ["--item", "stars", "--per-user", "min", "--bounds", "0", "2", "--step", "1", "--q", "0.25,0.75"],
        [0, 1],
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb(verb: str, visits: Path, dpselect: Command) -> None:
    """Of the quantile's users one in two has 1 and 2 stars, in September, and the other none, in October."""
    more, right = VERBS[verb]
    ended = dpselect(*asked(verb, visits, *more, *AUTUMN))
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    assert sorted(row["item"] for row in found["items"]) == right
    assert found["privacy"]["unit"] == "user in one month"
    assert any("Rows of 2026-09..2026-10 count, by the time in their column at (Asia/Tokyo)" in one
               for one in found["privacy"]["statement"])  # fmt: skip


def test_the_owner_sees_what_is_in_no_period(visits: Path, dpselect: Command) -> None:
    lines = dpselect("inspect", visits, "--user", "user", "--item", "item", *AUTUMN).out.splitlines()
    assert {"rows: 2,100", "rows in none of the periods: 1,200", "users: 600", "items: 3"} <= {*lines}
    days = ("--time", "at", "--period", "day", "--during", "2026-09-01,2026-10-31")
    lines = dpselect("inspect", visits, "--user", "user", "--item", "item", *days).out.splitlines()
    assert "rows in none of the periods: 1,500" in lines
    plain = dpselect("inspect", visits, "--user", "user", "--item", "item").out
    assert "periods" not in plain
    assert dpselect("inspect", visits, *AUTUMN).status == 2
