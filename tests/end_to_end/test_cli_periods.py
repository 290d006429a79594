"""Periods on the command line: what the owner is told of rows outside of them."""

from __future__ import annotations

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


CLOCKS = ("--type", "at=TIMESTAMP")
AUTUMN = (
    *CLOCKS,
    "--time",
    "at",
    "--period",
    "month",
    "--during",
    "2026-09,2026-10..2026-10",
    "--timezone",
    "Asia/Tokyo",
)


def test_the_owner_sees_what_is_in_no_period(visits: Path, dpselect: Command) -> None:
    lines = dpselect("inspect", visits, "--user", "user", "--item", "item", *AUTUMN).out.splitlines()
    assert {"rows: 2,100", "rows in none of the periods: 1,200", "users: 600", "items: 3"} <= {*lines}
    days = (*CLOCKS, "--time", "at", "--period", "day", "--during", "2026-09-01,2026-10-31")
    lines = dpselect("inspect", visits, "--user", "user", "--item", "item", *days).out.splitlines()
    assert "rows in none of the periods: 1,500" in lines
    plain = dpselect("inspect", visits, "--user", "user", "--item", "item").out
    assert "periods" not in plain
    assert dpselect("inspect", visits, *AUTUMN).status == 2
