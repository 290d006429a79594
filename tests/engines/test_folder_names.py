"""Columns that names of folders hold: what one row's folder is called decides nothing about the others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpselect.engines.registry import open_engine

PLACES = {"1": 5, "2": 3}


def written(folder: Path, place: str, users: list[int]) -> None:
    (folder / f"place={place}").mkdir(parents=True)
    pq.write_table(pa.table({"user": users}), folder / f"place={place}" / "rows.parquet")


def counted(folder: Path, where: str | None = None) -> dict[object, int]:
    with open_engine(folder, user="user", item="place", where=where, key=bytes(16)) as engine:
        found = engine.top(9)
        return {found.label(place, 0): count for place, count in enumerate(found.counts.tolist())}


@pytest.mark.parametrize(("where", "kept"), [(None, {**PLACES, "x": 1}), ("place::INT >= 2", {"2": 3})])
def test_a_folder_of_one_user_changes_the_items_of_nobody_and_stops_no_filter(tmp_path, where, kept):
    """Numbers, were they numbers because all are, would be texts from the first that is none on."""
    for place, users in PLACES.items():
        written(tmp_path, place, [*range(users)])
    assert counted(tmp_path, where) == {place: users for place, users in kept.items() if place != "x"}
    written(tmp_path, "x", [99])
    assert counted(tmp_path, where) == kept
