"""The command on real data: items of sensible true rank come back, in every form that carries the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from dpselect.command.main import main

# A rank that the ten items stay within but for a probability below 1e-8, by the exact weights at epsilon 1: a bound
# is 10 x (weight of all items further down) / (weight of rank 10).
# The file, the option that names the items, more options, the rows as SQL, that rank.
SETS = {
    name: (f"{name}.parquet", "item", [], f"'{{folder}}/{name}.parquet'", within)
    for name, within in (("lastfm", 40), ("ml100k", 60), ("msweb", 13))
}
SETS["words of commit messages"] = (
    "commits.parquet", "text", ["--split", " "],
    "(SELECT user, unnest(split(text, ' ')) AS item FROM '{folder}/commits.parquet')", 13,
)  # fmt: skip
SETS["areas that nobody visited"] = (  # of a known domain
    "msweb.parquet", "item", ["--delta", "0", "--domain-from", "{folder}/msweb_items.parquet:item", "--counts"],
    "'{folder}/msweb.parquet'", 13,
)  # fmt: skip


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
    file, item, more, rows, within = SETS[name]
    more, rows = ([one.format(folder=shared_data) for one in more], rows.format(folder=shared_data))
    ranks = true_ranks(rows)
    answer = released(capsys, shared_data / file, item, *more)
    found = [ranks[row["item"]] for row in answer["items"]]
    assert answer["complete"] is True
    assert len(set(found)) == 10
    assert max(found) <= within
    assert all(isinstance(row["count"], int) for row in answer["items"] if "--counts" in more)
    assert answer["secure"] is True
    assert (answer["privacy"]["epsilon"], answer["privacy"]["delta"]) == (1, 0 if "--counts" in more else 1e-6)
