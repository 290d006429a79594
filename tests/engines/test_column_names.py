"""Columns whose names differ only in letter case: each is read for itself, or refused by name before anything is paid.

300 users have BIG under Country and small under country, so whatever reads one for the other counts 0 of them.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect.engines.duckdb.workspace import quoted
from dpselect.engines.filters.column_names import case_twins, lower_ascii, match_columns
from dpselect.engines.row_filter import parse
from dpselect.errors import ParameterError, SourceError
from tests.engines.test_conformance import pairs

NUMBER = 300
ROWS: dict[str, list[Any]] = {
    "user": list(range(NUMBER)),
    "item": ["a"] * NUMBER,
    "Country": ["BIG"] * NUMBER,
    "country": ["small"] * NUMBER,
}
UMLAUTS = {**dict(itertools.islice(ROWS.items(), 2)), "Ähre": ["BIG"] * NUMBER, "ähre": ["small"] * NUMBER}
Rows = dict[str, list[Any]]


def _csv(rows: Rows, folder: Path) -> str:
    pd.DataFrame(rows).to_csv(folder / "x.csv", index=False)
    return str(folder / "x.csv")


def _lines(rows: Rows, folder: Path) -> str:
    objects = [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    (folder / "x.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return str(folder / "x.jsonl")


def _parquet(rows: Rows, folder: Path) -> str:
    pq.write_table(pa.table(rows), folder / "x.parquet")
    return str(folder / "x.parquet")


EXACT: dict[str, Callable[[Rows, Path], object]] = {
    "csv": _csv,
    "quoted csv": lambda rows, folder: dps.CSV(_csv(rows, folder), newlines_in_values=True),
    "json": _lines,
    "dict": lambda rows, _folder: {name: np.array(values) for name, values in rows.items()},
    "arrow": lambda rows, _folder: pa.table(rows),
    "pandas": lambda rows, _folder: pd.DataFrame(rows),
    "polars": lambda rows, _folder: pl.DataFrame(rows),
    "polars, lazy": lambda rows, _folder: pl.LazyFrame(rows),
}
"""Sources that have two such columns and of which each is read for itself."""


def users_of(source: object, item: str, where: str | None = None, **more: Any) -> list[tuple[object, int]]:
    """The exact numbers of users of each item."""
    data = dps.Dataset(source, user="user", item=item, where=where)
    with data.engine(**more) as engine:
        return pairs(engine.top(5))


@pytest.mark.parametrize("kind", EXACT)
def test_each_of_two_columns_is_read_for_itself(kind, tmp_path):
    source = EXACT[kind](ROWS, tmp_path)
    for column, value, other in (("Country", "BIG", "small"), ("country", "small", "BIG")):
        assert users_of(source, column) == [(value, NUMBER)]
        for name in (column, f'"{column}"'):
            assert users_of(source, "item", f"{name} = '{value}'") == [("a", NUMBER)]
            assert users_of(source, "item", f"{name} = '{other}'") == []


@pytest.mark.parametrize("kind", [kind for kind in EXACT if kind != "json"])
def test_a_filter_that_may_mean_two_columns_is_refused_with_both(kind, tmp_path):
    source = EXACT[kind](ROWS, tmp_path)
    with pytest.raises(SourceError, match=r"exactly .* got 'COUNTRY', which may be 'Country' or 'country'"):
        users_of(source, "item", "COUNTRY = 'small'")


@pytest.mark.parametrize("kind", EXACT)
def test_two_columns_that_duckdb_would_confuse_are_refused_in_one_question(kind, tmp_path):
    source = EXACT[kind](ROWS, tmp_path)
    must = "must name columns that differ by more than letter case, got"
    with pytest.raises(SourceError, match=f"where {must} 'country' and 'Country'\nhint: spell a column alike"):
        users_of(source, "country", "Country = 'BIG'")
    with pytest.raises(SourceError, match=f"where {must} 'Country' and 'country'"):
        users_of(source, "item", "Country = 'BIG' AND country = 'small'")
    with pytest.raises(SourceError, match=f"item {must} 'country' and 'Country'"):
        users_of(source, "Country", by=["country"])


@pytest.mark.parametrize("kind", [*EXACT, "parquet", "relation"])
def test_letters_beyond_ascii_make_two_columns_in_one_question(kind, tmp_path):
    """DuckDB tells them apart, so they can be asked for together; a filter may take them for one."""
    makers = {**EXACT, "parquet": _parquet, "relation": lambda rows, _folder: duckdb.from_arrow(pa.table(rows))}
    source = makers[kind](UMLAUTS, tmp_path)
    assert users_of(source, "ähre", "Ähre = 'BIG'") == [("small", NUMBER)]
    assert users_of(source, "Ähre", "ähre = 'BIG'") == []
    if kind != "json":
        with pytest.raises(SourceError, match="which may be 'Ähre' or 'ähre'"):
            users_of(source, "item", "ÄHRE = 'BIG'")


@pytest.mark.parametrize("names", [("Country", "country"), ("country", "Country"), ("country", "Country", "country_1")])
def test_parquet_of_which_duckdb_renames_a_column_is_refused_by_name(names, tmp_path):
    """It calls the second one country_1, whatever else is called so."""
    inside = {"inside": [{"user": 1, "ITEM": [2]}] * NUMBER}
    rows = {"user": ROWS["user"], **inside, "item": ROWS["item"], **{name: [name] * NUMBER for name in names}}
    path = _parquet(rows, tmp_path)
    for item, where in ((names[0], None), (names[1], None), (f"{names[1]}_1", None), ("item", f"{names[1]} = 'x'")):
        with pytest.raises(SourceError, match=f"source must .* got {names[0]!r} and {names[1]!r} in {path}"):
            users_of(path, item, where)
    pq.write_table(pa.table({name: rows[name] for name in ("user", "item")}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=f"got {names[0]!r} and {names[1]!r} in {path}"):
        users_of([str(tmp_path / "a.parquet"), path], "item")


def test_parquet_whose_names_only_look_renamed_is_read(tmp_path):
    rows = {"user": ROWS["user"], "item": ["a"] * NUMBER, "item_1": ["b"] * NUMBER, "s": [{"ITEM": 1}] * NUMBER}
    path = _parquet(rows, tmp_path)
    assert users_of(path, "item") == [("a", NUMBER)]
    assert users_of(path, "item_1", "ITEM = 'a'") == [("b", NUMBER)]


def test_a_relation_is_refused_for_a_column_that_duckdb_would_confuse():
    relation = duckdb.sql('SELECT range AS "user", \'a\' AS item, 1 AS "Country", 2 AS country FROM range(300)')
    for item, where in (("Country", None), ("country", None), ("item", "Country = 1"), ("item", "country = 2")):
        with pytest.raises(SourceError, match=r"source must have columns .* got 'Country' and 'country'"):
            users_of(relation, item, where)
    assert users_of(relation, "item") == [("a", NUMBER)]
    twice = duckdb.sql("SELECT range AS \"user\", 'a' AS item, 'b' AS item FROM range(300)")
    with pytest.raises(SourceError, match="got 'item' and 'item'"):
        users_of(twice, "item")


def test_tables_that_hold_one_column_of_a_name(tmp_path):
    """SQLite and DuckDB see no letter case of ASCII; a filter has the table's own spelling in its key."""
    with sqlite3.connect(tmp_path / "x.sqlite") as connection:
        connection.execute('CREATE TABLE t ("user" INT, item TEXT, "Country" TEXT)')
        connection.executemany("INSERT INTO t VALUES (?, 'a', 'BIG')", [(user,) for user in range(NUMBER)])
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        database.sql("CREATE TABLE t AS SELECT range AS \"user\", 'a' AS item, 'BIG' AS \"Country\" FROM range(300)")
    for name in ("x.sqlite", "x.duckdb"):
        source = dps.Table(str(tmp_path / name), "t")
        assert users_of(source, "item", "COUNTRY = 'BIG' AND country = 'BIG'") == [("a", NUMBER)]
        with pytest.raises(SourceError, match="item must be a column of the source, got 'country'"):
            users_of(source, "country")
        assert len({_condition(source, f"{name} = 'BIG'") for name in ("Country", "COUNTRY", '"country"')}) == 1


def _condition(source: object, where: str) -> str | None:
    """What a ledger knows a filter by."""
    with dps.Dataset(source, user="user", item="item", where=where).engine() as engine:
        return engine.condition


@pytest.mark.parametrize("kind", EXACT)
def test_a_ledger_knows_each_column_by_one_spelling(kind, tmp_path):
    source = EXACT[kind](ROWS, tmp_path)
    big, small = (_condition(source, f"{name} = 'x'") for name in ("Country", "country"))
    assert big != small
    assert big == _condition(source, "\"Country\" = 'x'")
    if kind != "json":
        one = EXACT[kind]({name: values for name, values in ROWS.items() if name != "country"}, tmp_path)
        assert {_condition(one, f"{name} = 'x'") for name in ("Country", "COUNTRY", "country")} == {big}


def test_no_stored_answer_is_that_of_another_key_of_json_lines(tmp_path):
    """Whoever asks for Country first gets its own answer, and so does who asks for country then."""
    source = _lines({name: ROWS[name] for name in ("user", "item", "country")}, tmp_path)
    data = dps.Dataset(source, user="user", item="item", budget=dps.Budget(epsilon=40, delta=0))
    found = {}
    for name in ("Country", "country", '"country"', "COUNTRY"):
        release = data.where(f"{name} = 'small'").histogram(domain=["a"], epsilon=10)
        found[name] = release.items[0].count, bool(release.charged.numbers["repeated"])
    assert [count > 200 for count, _ in found.values()] == [False, True, True, False]
    assert [repeated for _, repeated in found.values()] == [False, False, True, False]


def test_nothing_is_paid_for_what_is_refused_by_name(tmp_path):
    budget = dps.Budget(epsilon=1, delta=0)
    relation = duckdb.sql('SELECT 1 AS "user", 2 AS item, 1 AS "Country", 2 AS country')
    for source in (_parquet(ROWS, tmp_path), _lines(ROWS, tmp_path), relation):
        data = dps.Dataset(source, user="user", item="country", where="Country = 'BIG'", budget=budget)
        with pytest.raises(SourceError):
            data.histogram(domain=["small"], epsilon=1)
    assert budget.left == 1


# ---- prepared data ----------------------------------------------------------------------------------------------


def test_prepared_data_hold_one_column_of_a_name(tmp_path):
    source = _csv(ROWS | {"Day": ["2026-01-05"] * NUMBER, "day": ["2026-02-05"] * NUMBER}, tmp_path)
    data = dps.Dataset(source, user="user", item="item")
    prepared = data.prepare(tmp_path / "x.prepared", keep="country")
    for name in ("country", "Country", "COUNTRY"):
        assert users_of(prepared._address.source, "item", f"{name} = 'small'") == [("a", NUMBER)]
        assert users_of(prepared._address.source, "item", f"{name} = 'BIG'") == []
    for keep in (["Country", "country"], ["Item"]):
        with pytest.raises(ParameterError, match="keep must"):
            data.prepare(tmp_path / "y.prepared", keep=keep)
    timed = dps.Dataset(source, user="user", item="item", time=dps.Time("Day", period="month"), types={"Day": "DATE"})
    with pytest.raises(ParameterError, match="time must be another column than keep, got 'Day'"):
        timed.prepare(tmp_path / "y.prepared", keep="day")
    kept = timed.prepare(tmp_path / "y.prepared", keep="Day").during("2026-01")
    with kept.where("DAY = DATE '2026-01-05'").engine() as engine:
        assert pairs(engine.top(5)) == [("a", NUMBER)]


# ---- the rules --------------------------------------------------------------------------------------------------


def test_a_name_means_its_own_spelling_first():
    columns = ["Ab", "ab", "Cd", "\u212aelvin"]
    names = ["ab", "Ab", "AB", "CD", "kelvin", "none"]
    assert match_columns(names, columns) == {
        "ab": ["ab"], "Ab": ["Ab"], "AB": ["Ab", "ab"], "CD": ["Cd"], "kelvin": ["\u212aelvin"], "none": [],
    }  # fmt: skip
    assert parse("AB = CD").columns == ("AB", "CD")
    assert parse("ab = CD").needs(columns) == ["ab", "Cd"]


def test_duckdb_takes_those_names_for_one_that_we_take_for_its_twins():
    """Letters of ASCII alone; a filter takes for one whatever DuckDB does, and more."""
    letters = [chr(code) for code in range(0x20, 0x250)] + ["\u212a", "\u212b", "\u1e9e", "\u0130", "\u017f", "\ufb01"]
    with duckdb.connect() as connection:
        for one in letters:
            for other in {one.lower(), one.upper(), one.casefold(), one.swapcase()} - {one}:
                try:
                    connection.execute(f"SELECT {quoted(other)} FROM (SELECT 1 AS {quoted(one)})").fetchall()
                    same = True
                except duckdb.BinderException:
                    same = False
                assert same == bool(case_twins([one, other])) == (lower_ascii(one) == lower_ascii(other)), (one, other)
                assert not same or match_columns([other], [one])[other] == [one]
