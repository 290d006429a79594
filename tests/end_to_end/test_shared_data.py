"""The command on real data: items of sensible true rank come back, in every form that carries the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from dpselect.command.main import main

# A rank that the ten items stay within but for a probability below 1e-8, by the exact weights at epsilon 1: a bound
# is 10 x (weight of all items further down) / (weight of rank 10).
SETS = {"lastfm": 40, "ml100k": 60, "msweb": 13}


def true_ranks(table: str) -> dict[object, int]:
    """The rank of every item by distinct users, ties by item."""
    counts = f"SELECT item, count(DISTINCT user) AS n FROM {table} GROUP BY item ORDER BY n DESC, item"
    return {item: rank for rank, (item, _) in enumerate(duckdb.sql(counts).fetchall(), 1)}


def released(capsys: pytest.CaptureFixture[str], path: Path, item: str, *more: str) -> dict[str, object]:
    asked = ["--user", "user", "--item", item, "-k", "10", "--epsilon", "1", "--delta", "1e-6", *more]
    status = main(["top", str(path), *asked, "--format", "json"])
    assert status == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", SETS)
def test_the_ten_items_are_of_the_best(name, shared_data, capsys):
    path = shared_data / f"{name}.parquet"
    ranks = true_ranks(f"'{path}'")
    answer = released(capsys, path, "item")
    found = [ranks[row["item"]] for row in answer["items"]]
    assert answer["complete"] is True
    assert len(set(found)) == 10
    assert max(found) <= SETS[name]
    assert answer["secure"] is True
    assert answer["privacy"]["epsilon"] == 1
    assert answer["privacy"]["delta"] == 1e-6


def test_words_of_commit_messages(shared_data, capsys):
    path = shared_data / "commits.parquet"
    words = f"(SELECT user, unnest(split(text, ' ')) AS item FROM '{path}')"
    ranks = true_ranks(words)
    answer = released(capsys, path, "text", "--split", " ")
    found = [ranks[row["item"]] for row in answer["items"]]
    assert answer["complete"] is True
    assert max(found) <= 13


def test_a_known_domain_holds_the_areas_that_nobody_visited(shared_data, capsys):
    areas = shared_data / "msweb_items.parquet"
    ranks = true_ranks(f"'{shared_data / 'msweb.parquet'}'")
    answer = released(
        capsys, shared_data / "msweb.parquet", "item", "--delta", "0", "--domain-from", f"{areas}:item", "--counts"
    )
    assert max(ranks[row["item"]] for row in answer["items"]) <= 13
    assert all(isinstance(row["count"], int) for row in answer["items"])
    assert answer["privacy"]["delta"] == 0


def test_the_same_rows_in_other_clothes_give_the_same_histogram(shared_data, tmp_path):
    import polars

    from dpselect import Dataset

    path = shared_data / "msweb.parquet"
    frame = polars.read_parquet(path)
    frame.write_csv(tmp_path / "rows.csv")
    tops = []
    for source in (path, frame, frame.to_pandas(), frame.to_arrow(), tmp_path / "rows.csv"):
        with Dataset(source, user="user", item="item").engine() as engine:
            top = engine.top(50)
        tops.append(top.counts.tolist())
    assert all(counts == tops[0] for counts in tops)
