"""Sources are held against what the settings say of them, by their schemas alone."""

from __future__ import annotations

import datetime
import re
from pathlib import Path
from typing import Any

import polars
import pytest

from dpselect.flat import prepare
from dpselect.gateway.settings.checks import check_sources, missing_in_sources
from dpselect.gateway.settings.reading import read_text

ROWS = {
    "user": ["u1", "u2"],
    "artist": ["a", "b"],
    "tags": ["x y", "z"],
    "country": ["canary", "Brazil"],
    "plan": ["free", "paid"],
    "minutes": [1.5, 2.0],
    "born": [1990, 2001],
    "new": [True, False],
    "seen": [datetime.datetime(2026, 1, 1), datetime.datetime(2026, 2, 1)],
    "at": [datetime.date(2026, 1, 1), datetime.date(2026, 2, 1)],
}
TEXT = """
[server]
ledger = "ledger.sqlite"
folder = "state"
[data.plays]
source = "plays.parquet"
user = "user"
items = ["artist", ["country", "artist"], "plan"]
groups = ["country", "plan"]
promise = { epsilon = 3, delta = 0 }
filters.country = ["O'Hara", "Brazil"]
filters.new = [true]
filters.seen = [2026-01-01T10:00:00.5]
filters.born = [1990, 1.5]
filters.at = [2026-01-01]
filters.minutes = "any"
weights = { minutes = { at_most = 60 } }
values = { minutes = { low = 0, high = 60 }, born = { low = 1900, high = 2020 } }
domains = { artist = ["a"], country = ["Brazil"] }
time = "at"
period = "month"
[people.ann]
role = "owner"
"""
WRONG = {
    "no file": ('"plays.parquet"', '"plais.parquet"', "[data.plays] source must be a file that exists"),
    "no user": ('"user"', '"usr"', "[data.plays] user must be a column of the source, got 'usr'"),
    "no item": (
        '"artist"], "plan"]',
        '"artist"], "plam"]',
        "[data.plays] items: item must be a column of the source, got 'plam'",
    ),
    "no part of an item": (
        '["country", "artist"]',
        '["contry", "artist"]',
        "[data.plays] items: item must be a column",
    ),
    "no group": ('"country", "plan"]', '"country", "plam"]', "[data.plays] groups: by must be a column of the source"),
    "no filter": ("filters.country", "filters.conutry", "[data.plays] filters.conutry: "),
    "a filter of another kind": ("born = [1990, 1.5]", 'born = ["1990"]', "[data.plays] filters.born: "),
    "no weight": ("{ minutes = { at", "{ minuts = { at", "[data.plays] weights.minuts: "),
    "a weight of texts": ("{ minutes = { at", "{ plan = { at", "[data.plays] weights.plan: "),
    "a value of texts": ("born = { low", "plan = { low", "[data.plays] values.plan: "),
    "a domain of another kind": ('artist = ["a"]', "artist = [1]", "[data.plays] domains.artist: "),
    "no time": ('time = "at"', 'time = "att"', "[data.plays] time must be a column of the source"),
    "a time of texts": ('time = "at"', 'time = "minutes"', "[data.plays] time "),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the rows."""
    folder = tmp_path_factory.mktemp("sources")
    polars.DataFrame(ROWS).write_parquet(folder / "plays.parquet")
    return folder


def few(text: str) -> str:
    """The same without the columns of which more than the name is declared."""
    return "\n".join(one for one in text.splitlines() if not re.match("filters|weights|values|domains", one))


def test_all_is_well(base: Path) -> None:
    assert check_sources(read_text(TEXT, base)) == []


@pytest.mark.parametrize(("before", "after", "expected"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_said_once(base: Path, before: str, after: str, expected: str) -> None:
    assert TEXT.count(before) == 1
    (found,) = check_sources(read_text(TEXT.replace(before, after), base))
    assert found.startswith(expected)
    assert "canary" not in found


def test_all_columns_are_told_at_once(base: Path) -> None:
    text = TEXT.replace('"plan"]', '"plam"]').replace("filters.country", "filters.conutry")
    assert len(check_sources(read_text(text, base))) == 3


def test_a_group_that_is_in_all_items(base: Path) -> None:
    text = TEXT.replace('"artist", ["country", "artist"], "plan"', '["country", "artist"]')
    assert check_sources(read_text(few(text), base)) == []


def test_items_in_one_text(base: Path) -> None:
    text = TEXT.replace('"artist", ["country", "artist"], "plan"', '"tags", "artist"') + ""
    text = text.replace("groups =", 'split = " "\ngroups =')
    assert check_sources(read_text(text, base)) == []


def test_prepared_data_and_databases(base: Path) -> None:
    import duckdb

    columns = {
        "user": "user",
        "item": "artist",
        "keep": ["country", "plan", "at", "born", "new", "seen"],
        "weights": "minutes",
    }
    prepare(base / "plays.parquet", to=base / "ready.prepared", **columns, time="at", period="month")
    with duckdb.connect(base / "rows.duckdb") as connection:
        connection.execute(f"CREATE TABLE plays AS FROM '{base / 'plays.parquet'}'")
    ready = TEXT.replace('"plays.parquet"', '"ready.prepared"').replace('user = "user"\n', "")
    table = few(TEXT.replace('"plays.parquet"', '"rows.duckdb"\ntable = "plays"'))
    for text in (ready, table):
        assert check_sources(read_text(text, base)) == []
        (found,) = check_sources(read_text(few(text).replace('"country", "plan"]', '"country", "plam"]'), base))
        assert "plam" in found
    (found,) = check_sources(read_text(TEXT.replace('"plays.parquet"', '"rows.duckdb"\ntable = "playz"'), base))
    assert found.startswith("[data.plays] table must be")


def test_files_that_are_larger_than_declared_are_told(base: Path) -> None:
    """Of prepared data the file says nothing of the bytes of the rows."""
    columns: dict[str, Any] = {"user": "user", "item": "artist", "keep": "plan", "time": "at", "period": "month"}
    prepare(base / "plays.parquet", to=base / "small.prepared", **columns)
    text = few(re.sub("groups = .*", "", TEXT)).replace(', ["country", "artist"], "plan"', "")
    prepared = text.replace("plays.parquet", "small.prepared").replace('user = "user"\n', "")
    for source_text, declared_bytes, is_reported in ((text, 1, True), (text, 10**6, False), (prepared, 1, False)):
        declared = f"sizes = {{ users = 10, items = 10, bytes = {declared_bytes} }}\n[people.ann]"
        mistakes = check_sources(read_text(source_text.replace("[people.ann]", declared), base))
        reports = ["sizes.bytes must be at least the size of the files" in mistake for mistake in mistakes]
        assert reports == [True] * is_reported


def test_values_of_declared_types_are_counted(base: Path) -> None:
    """Whoever declares reads how many values that leaves missing; columns that nobody declares are not read."""
    (base / "plays.csv").write_text("user,artist,price\nu1,a,1.50\nu2,b,free\nu3,b,2\nu4,b,\n")
    more = '"plays.csv"\ntypes = { price = "DECIMAL(18,2)", user = "VARCHAR" }'
    text = few(TEXT).replace('"plays.parquet"', more).replace(', ["country", "artist"], "plan"', "")
    text = re.sub("(time|period|groups) = .*", "", text)
    settings = read_text(text, base)
    assert check_sources(settings) == []
    assert missing_in_sources(settings) == [
        "[data.plays] types.price: leaves 1 of 3 values missing (the first in line 3)",
        "[data.plays] types.user: reads all 4 values",
    ]
    assert missing_in_sources(read_text(TEXT, base)) == []


def test_columns_of_text_are_declared(tmp_path: Path) -> None:
    """By the owner alone, for every question: whole numbers, decimal commas and clocks of a zone."""
    rows = polars.DataFrame(ROWS)
    rows.with_columns(polars.col("minutes").cast(polars.String).str.replace(".", ",", literal=True)).write_csv(
        tmp_path / "plays.csv"
    )
    text = re.sub(r"(?m)^filters.*\n", "", TEXT).replace("plays.parquet", "plays.csv")
    declared = 'types = { minutes = "NUMBER(decimal=\',\')", born = "BIGINT", at = "DATE" }\n'
    assert check_sources(read_text(text.replace("[people.ann]", declared + "[people.ann]"), tmp_path)) == []
    found = check_sources(read_text(text, tmp_path))
    assert any("declare column 'at', which is text, to be used as times" in one for one in found)
    wrong = declared.replace("born", "borne")
    found = check_sources(read_text(text.replace("[people.ann]", wrong + "[people.ann]"), tmp_path))
    assert any("types must name columns of the source, got 'borne'" in one for one in found)
