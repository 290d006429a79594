"""A source that is not there is a DataError, also if it may come later: a scheduler retries it, and nothing is paid."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dpselect as dps
from dpselect.command.main import main

Source = Callable[[Path], Any]


def databases(folder: Path) -> None:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.execute("CREATE TABLE rows (user INTEGER, item VARCHAR)")
    with closing(sqlite3.connect(folder / "rows.sqlite")) as lite:
        lite.execute("CREATE TABLE rows (user INTEGER, item TEXT)")


ABSENT: dict[str, Source] = {
    "a file": lambda folder: folder / "2026-11-22.parquet",
    "a file of each kind": lambda folder: folder / "2026-11-22.csv",
    "a file in a folder that is not there": lambda folder: folder / "2026" / "11.parquet",
    "one of two files": lambda folder: [folder / "here.csv", folder / "there.csv"],
    "files that match": lambda folder: folder / "2026-11-*.parquet",
    "a list of no files": lambda folder: sorted(folder.glob("2026-11-*.parquet")),
    "a folder without files": lambda folder: folder / "empty",
    "prepared data": lambda folder: folder / "plays.prepared",
    "a file of DuckDB": lambda folder: dps.Table(folder / "no.duckdb", "rows"),
    "a table of DuckDB": lambda folder: dps.Table(folder / "rows.duckdb", "plays"),
    "a table of a connection": lambda folder: dps.Table(duckdb.connect(str(folder / "rows.duckdb")), "plays"),
    "a file of SQLite": lambda folder: dps.Table(folder / "no.sqlite", "rows"),
    "a table of SQLite": lambda folder: dps.Table(folder / "rows.sqlite", "plays"),
    "an address": lambda folder: f"https://127.0.0.1:9/{folder.name}/plays.parquet",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    (tmp_path / "here.csv").write_text("user,item\n1,a\n")
    databases(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_not_there_costs_nothing_and_is_no_parameter(folder: Path, name: str) -> None:
    with dps.Ledger.create(folder / "ledger.sqlite") as ledger:
        ledger.data("plays", epsilon=3, delta="1e-6")
        ledger.grant(dps.Account("plays", "pipeline"), epsilon=2, delta="1e-6")
        before = ledger.count
        budget = dps.Budget.open(ledger, data="plays", analyst="pipeline")
        with pytest.raises(dps.DataError) as caught:
            dps.Dataset(ABSENT[name](folder), user="user", item="item", budget=budget).top_k(1, epsilon="0.1")
        assert not isinstance(caught.value, dps.ParameterError)
        assert ledger.count == before


WORDS = ("--user", "user", "--item", "item", "--epsilon", "1", "--quiet")


@pytest.mark.parametrize(
    "words",
    [
        ("top", "no.parquet", *WORDS),
        ("top", "no-*.parquet", *WORDS),
        ("top", "empty", *WORDS),
        ("top", "here.csv", "there.csv", *WORDS),
        ("top", "rows.duckdb", "--table", "plays", *WORDS),
        ("top", "rows.sqlite", "--table", "plays", *WORDS),
        ("top", "here.csv", "--domain-from", "no.csv:item", *WORDS),
        ("prepare", "no.parquet", "--user", "user", "--item", "item", "-o", "plays.prepared"),
        ("inspect", "no.parquet", "--user", "user", "--item", "item"),
        ("check", "no.json"),
    ],
)
def test_the_command_ends_with_its_status(
    folder: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main([*words]) == 3, capsys.readouterr()


@pytest.mark.parametrize("there", [False, True])
def test_a_list_that_is_not_there_comes_before_the_bound_that_it_needs(folder: Path, there: bool) -> None:
    column = dps.Column(str(folder / ("here.csv" if there else "there.csv")), "item")
    data = dps.Dataset(folder / "here.csv", user="user", item="item")
    bound = {"histogram": "max_items_per_user must be given", "users": "max_groups_per_user must be given"}
    for verb, ask in {
        "histogram": lambda: data.histogram(column, epsilon=1),
        "users": lambda: data.users(by=dps.By("item", groups=column), epsilon=1),
    }.items():
        with pytest.raises(dps.ParameterError if there else dps.DataError) as caught:
            ask()
        missing = f"source must be a file that exists, got '{folder / 'there.csv'}'"
        assert str(caught.value).startswith(bound[verb] if there else missing)


@pytest.mark.parametrize("given", [3, 2.5, "a", None, {"a": 1}, object()])
def test_a_list_that_is_public_is_no_number_of_items(given: object) -> None:
    data = dps.Dataset("rows.csv", user="user", item="item")
    for name, ask in (("exclude", data.exclude), ("groups", lambda groups: dps.By("item", groups=groups))):
        if name == "exclude" or given is not None:
            with pytest.raises(
                dps.ParameterError, match=rf"^{name} must be a list of items, or a Column of a public source, got "
            ):
                ask(given)
