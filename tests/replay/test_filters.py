"""Filters that once told whether one person is there: now they tell nothing, or are refused as they stand."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import tests.replay.file_kinds  # noqa: F401 - enters the kinds of files
from dpselect.errors import DpselectError
from tests.engines.opened import open_engine
from tests.replay.frame_kinds import arrow_table
from tests.replay.judge import Allowed, broken
from tests.replay.kinds import KINDS
from tests.replay.masks import masked
from tests.replay.questions import KEY, Noticed, label
from tests.replay.sorts import PLACES, Sorts, awkward, joined, plain

HERS = "CASE WHEN \"user\" = 'g' THEN {} ELSE {} END"
# How many rows a file has stands in the plan, which reads it off the footer: true for all rows, or for none.
PLAN = "json_serialize_plan('SELECT count(*) FROM ''FILE''', optimize := true) LIKE '%\"value\":ROWS%'"
ATTACKS = {
    "a plan that counts": PLAN,
    "a time zone": "timezone(" + HERS.format("'nope'", "'UTC'") + ", TIMESTAMP '2024-01-01') IS NOT NULL",
    "at a time zone": "(TIMESTAMP '2024-01-01' AT TIME ZONE " + HERS.format("'nope'", "'UTC'") + ") IS NOT NULL",
    "an escape": "item LIKE 'a' ESCAPE " + HERS.format("'xx'", "'!'"),
    "a long list": "len(list_resize([1], " + HERS.format("9223372036854775807", "1") + ")) > 0",
    "a division": HERS.format("1 / 0", "1") + " = 1",
    "an overflow": HERS.format("9223372036854775807", "1") + " + 1 > 0",
    "a cast": "CAST(" + HERS.format("'x'", "'1'") + " AS INTEGER) = 1",
    "a power": HERS.format("1e308", "1.0") + " * 10 > 0",
    "an error": HERS.format("error('she is here')", "1") + " = 1",
    "a subquery": "(SELECT count(*) FROM 'FILE') > 19",
    "a window": "row_number() OVER () < 20",
}
TEXTS: Sorts = ("text", "text", "text")
MACRO = 'CREATE MACRO "@"(a) AS (SELECT count(*) FROM events) + a'


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=list(ATTACKS))
def test_filters_on_files(attack: str, tmp_path: Path):
    noticed = []
    rows = plain(TEXTS)
    more = joined(rows, awkward(TEXTS, "item", ["b"]), PLACES[1])
    for place, held in enumerate((rows, more)):
        folder = tmp_path / str(place)
        folder.mkdir()
        source, _ = KINDS["Parquet"].make(held, folder)
        number = len(more["user"].values)
        noticed.append(_asked(source, attack.replace("FILE", str(source)).replace("ROWS", str(number))))
    assert broken(*noticed, Allowed()) is None


def test_a_macro_named_as_an_operator():
    rows = plain(TEXTS)
    noticed = []
    for held in (rows, joined(rows, awkward(TEXTS, "item", ["b"]), "last")):
        connection = duckdb.connect()
        connection.register("arrow", arrow_table(held))
        connection.execute("CREATE TABLE events AS FROM arrow").fetchall()
        connection.execute(MACRO).fetchall()
        noticed.append(_asked(connection.table("events"), f"@0 = {len(rows['user'].values)}"))
    assert broken(*noticed, Allowed()) is None


def _asked(source: object, where: str) -> Noticed:
    noticed = Noticed()
    try:
        with open_engine(source, user="user", item="item", where=where, key=KEY) as engine:
            found = engine.top(100)
            noticed.counts["top"] = [(label(found.label(n, 0)), int(count)) for n, count in enumerate(found.counts)]
    except DpselectError as error:
        noticed.failed = masked(f"{type(error).__name__}: {error}")
    return noticed
