"""What is said of data: values that are what they say, conditions that keep rows back together, and what owners do."""

from __future__ import annotations

import datetime
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpselect as dps
from dpselect.engines.filters.grammar import parse
from dpselect.engines.filters.tree import Operation
from dpselect.flat import dataset_of
from dpselect.verbs import _add_condition

NAMES = {name: getattr(dps, name) for name in dps.__all__}
ADDRESS = "postgresql://ann:secret@db/shop"
VALUES = [
    dps.Time("at", period="month"),
    dps.Time("at", period="day", timezone="Asia/Tokyo"),
    dps.Time("other", period="month"),
    dps.Split("tags", ";"),
    dps.Split("tags", " "),
    dps.Table("rows.duckdb", "events"),
    dps.Table("rows.duckdb", "other"),
    dps.Table("other.duckdb", "events"),
    dps.CSV("a.csv"),
    dps.CSV(["a.csv"]),
    dps.CSV("a.csv", newlines_in_values=True),
    dps.CSV(["a.csv", "b.csv"], newlines_in_values=True),
]


def test_a_value_is_what_its_repr_and_its_pickle_make() -> None:
    for one in VALUES:
        for same in (eval(repr(one), NAMES), pickle.loads(pickle.dumps(one)), replace(one)):
            assert (same, hash(same), repr(same)) == (one, hash(one), repr(one))
    assert len(set(VALUES)) == len(VALUES)


def test_paths_are_what_they_name_and_objects_themselves() -> None:
    assert dps.CSV(Path("a.csv")) == dps.CSV("a.csv")
    assert dps.Table(Path("a.db"), "t") == dps.Table("a.db", "t")
    here, there = duckdb.connect(), duckdb.connect()
    assert dps.Table(here, "t") == dps.Table(here, "t") != dps.Table(there, "t")
    assert repr(dps.Table(here, "t")).endswith("duckdb DuckDBPyConnection>, name='t')")


WRONG: dict[str, tuple[Callable[..., object], str]] = {
    "no column": (lambda: dps.Time(" ", period="month"), "column must be the name of a column"),
    "columns": (lambda: dps.Time(["a"], period="month"), "column must be the name of a column"),  # type: ignore[arg-type]
    "no period": (lambda: dps.Time("at", period=None), "period must be one of day, week"),  # type: ignore[arg-type]
    "another period": (lambda: dps.Time("at", period="hour"), "period must be one of day, week"),  # type: ignore[arg-type]
    "no zone": (lambda: dps.Time("at", period="day", timezone=None), "timezone must be the name"),  # type: ignore[arg-type]
    "another zone": (lambda: dps.Time("at", period="day", timezone="Mars"), "timezone must be the name of a time zone"),
    "two columns": (lambda: dps.Split(["a", "b"], " "), "column must be one column of texts"),  # type: ignore[arg-type]
    "a text": (lambda: dps.Split(dps.Text("a"), " "), "column must be one column of texts"),  # type: ignore[arg-type]
    "nothing between": (lambda: dps.Split("a", ""), "separator must be the text that separates items"),
    "no separator": (lambda: dps.Split("a", None), "separator must be the text"),  # type: ignore[arg-type]
    "bytes between": (lambda: dps.Split("a", b" "), "separator must be the text"),  # type: ignore[arg-type]
    "no name": (lambda: dps.Table("a.db", " "), "name must be the name of a table, got ' '"),
    "no database": (lambda: dps.Table(None, "t"), "database must be a DuckDB file"),
    "a list": (lambda: dps.Table([ADDRESS], "t"), "database must be a DuckDB file"),
    "a table of files": (lambda: dps.Table(dps.CSV("a.csv"), "t"), "database must be a DuckDB file"),
    "no file": (lambda: dps.CSV([]), "files must be the path of text files"),
    "a frame": (lambda: dps.CSV({"user": [1]}), "files must be the path of text files"),  # type: ignore[arg-type]
    "a table": (lambda: dps.CSV(dps.Table("a.db", "t")), "files must be the path"),  # type: ignore[arg-type]
    "an address": (lambda: dps.CSV(ADDRESS, newlines_in_values=True), "files must be CSV .* got an address"),
    "of Spark": (lambda: dps.CSV(["a.csv", "spark:local"]), "files must be CSV or TSV files on this machine"),
    "no flag": (lambda: dps.CSV("a.csv", newlines_in_values=1), "newlines_in_values must be True or False"),  # type: ignore[arg-type]
    "a value as where": (lambda: said(where=dps.Time("a", period="day")), "where must be an SQL condition"),
    "a value as item": (lambda: said(item=dps.Table("a", "b")), "item must be the name of a column"),
    "a column for a time": (lambda: said(time="at"), "time must be a Time, which also gives the kind of period"),
    "parts of a user": (lambda: said(user=dps.Split("a", " ")), "user must be the name of a column"),
    "the user's parts": (lambda: said(item=dps.Split("user", " ")), "item must be a column other than user"),
    "table and newlines": (lambda: said(table="t", newlines_in_values=True), "database must be a DuckDB file"),
    "split and text": (lambda: said(item=dps.Text("a"), split=" "), "item must be one column of texts"),
    "an empty time": (lambda: said(time_named=""), "period must be given for periods"),
}


def said(**more: Any) -> dps.Dataset:
    """Data by values, or by flat names where one is given."""
    given: dict[str, Any] = {"user": "user", "item": "item"} | more
    if "time_named" in given:
        return dataset_of("a.csv", time=given.pop("time_named"), **given)
    return (dataset_of if {"table", "split"} & set(more) else dps.Dataset)("a.csv", **given)


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_names_its_parameter(name: str) -> None:
    make, message = WRONG[name]
    with pytest.raises(dps.ParameterError, match=f"^{message}") as found:
        make()
    assert "secret" not in str(found.value)


MADE: dict[str, dps.Dataset] = {
    "plain": dps.Dataset("e.parquet", user="user", item="artist"),
    "keys": dps.Dataset("e.parquet", user=["user", "day"], item=["a", "b"], max_items_per_user=3),
    "where": dps.Dataset("e.parquet", user="user", item="artist", where="n > 3").where("m = 'it''s'").where("TRUE"),
    "parts": dps.Dataset(dps.CSV("e.csv", newlines_in_values=True), user="user", item=dps.Split("tags", ";")),
    "text": dps.Dataset("e.csv", user="user", item=dps.Text("body", ngrams=(1, 2))),
    "periods": dps.Dataset(
        dps.Table("r.duckdb", "t"), user="user", item="artist", time=dps.Time("at", period="month")
    ).during(["2026-09..2026-11", "2027-01"]),
    "all": dps.Dataset("e.parquet", user="user", item="artist", time=dps.Time("at", period="year"))
    .exclude(["spam", 3])
    .during("2026")
    .where("n > 3"),
}


@pytest.mark.parametrize("name", MADE)
def test_data_are_what_their_repr_makes(name: str) -> None:
    data = MADE[name]
    again = eval(repr(data), NAMES)
    assert repr(again) == repr(data)
    with dps.Dataset({"user": [1], "item": [1]}, user="user", item="item").engine() as engine:
        assert (
            again._rows.fingerprint("union", {}, engine, "s").text
            == data._rows.fingerprint("union", {}, engine, "s").text
        )
    assert (again._excluded_repr, again.periods, again._condition) == (
        data._excluded_repr,
        data.periods,
        data._condition,
    )


def test_a_repr_has_no_password() -> None:
    shown = repr(dps.Dataset(dps.Table(ADDRESS, "t"), user="user", item="item"))
    assert shown == "Dataset(Table('postgresql://db/shop', name='t'), user='user', item='item')"


# ---- rows that are left out -------------------------------------------------------------------------------

ROWS = pa.table(
    {
        "user": [*range(40)],
        "item": ["a", "b"] * 20,
        "n": [n % 4 for n in range(40)],
        "at": [datetime.date(2026, 9 + n % 3, 5) for n in range(40)],
    }
)


def counted(data: dps.Dataset) -> dict[object, int]:
    with data.engine() as engine:
        found = engine.top(10)
        return {found.label(group, 0): int(count) for group, count in enumerate(found.counts)}


def test_the_same_data_with_fewer_rows_leave_the_first_as_they_are() -> None:
    data = dps.Dataset(ROWS, user="user", item="item", time=dps.Time("at", period="month"))
    ways: list[Callable[[dps.Dataset], dps.Dataset]] = [
        lambda one: one.where("n > 0"),
        lambda one: one.during("2026-09..2026-10"),
        lambda one: one.exclude(["b"]),
    ]
    found = []
    for first, second, third in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
        less = ways[third](ways[second](ways[first](data)))
        with less.engine() as engine:
            text = less._rows.fingerprint("top_k", {}, engine, "s").text
        found.append((text, less._excluded_repr, less.top_k(2, epsilon=60).labels))
    assert found == [found[0]] * 4
    assert found[0][2] == ["a"]
    assert (data._conditions, data.periods, data.excluded) == ((), (), None)
    for one in (lambda: data.during("2026-09").during("2026-09"), lambda: data.exclude(["a"]).exclude(["b"])):
        with pytest.raises(dps.ParameterError, match="must be given once only"):
            one()


LETS_OUT = [
    "n = 1) OR (TRUE",
    "TRUE) OR (TRUE",
    "TRUE)) OR ((TRUE",
    "n = 1 OR (TRUE",
    "n = 1) --",
    "n = 1) /*",
    "*/ OR TRUE",
    "n = 1; SELECT 1",
    "'",
    ") OR '' = ('",
    "n = 1 OR",
    "OR n = 1",
    "TRUE) AND user IN (SELECT 1",
    "",
    "  ",
]


@pytest.mark.parametrize("condition", LETS_OUT)
def test_no_condition_ends_the_bracket_of_another(condition: str) -> None:
    data = dps.Dataset(ROWS, user="user", item="item")
    for narrow in (
        lambda: data.where(condition),
        lambda: data.where("n = 9").where(condition),
        lambda: dps.Dataset(ROWS, user="user", item="item", where=condition),
        lambda: dataset_of(ROWS, user="user", item="item", where=condition),
        lambda: dps.connect("http://127.0.0.1:1", token="t" * 43).data("x").where("n = 9").where(condition),
    ):
        with pytest.raises(dps.ParameterError, match=r"^where must be"):
            narrow()


def test_a_row_counts_if_all_conditions_hold() -> None:
    data = dps.Dataset(ROWS, user="user", item="item", where="n = 1 OR n = 2")
    assert counted(data) == {"a": 10, "b": 10}
    assert counted(data.where("n = 1 OR item = 'b'")) == {"b": 10}
    assert counted(data.where("FALSE OR TRUE").where("n = 2 OR FALSE")) == {"a": 10}
    assert counted(data.where("NOT n = 1").where("n = 1 OR NULL")) == {}
    assert counted(dps.Dataset(ROWS, user="user", item="item").where("n = 1").where("n = 0 OR n = 1")) == {"b": 10}


@given(
    st.lists(st.lists(st.sampled_from("n ( ) OR AND NOT = 1 ' '' - -- TRUE NULL IN ,".split()), max_size=7), max_size=3)
)
def test_conditions_are_joined_as_they_were_read(words: list[list[str]]) -> None:
    conditions: tuple[str, ...] = ("n = 1 OR n = 2",)
    for some in words:
        try:
            conditions = _add_condition(conditions, " ".join(some))
        except dps.ParameterError:
            continue
    if len(conditions) > 1:
        data = dps.Dataset(ROWS, user="user", item="item")
        for one in conditions:
            data = data.where(one)
        assert parse(str(data._condition)) == Operation("AND", tuple(map(parse, conditions)))
        assert parse(" AND ".join(conditions)) != parse(str(data._condition))  # brackets are needed: AND binds first


def test_conditions_that_are_too_much_together_are_refused_before_rows_are_read() -> None:
    data = dps.Dataset(ROWS, user="user", item="item", budget=(budget := dps.Budget(epsilon=1)))
    for number in range(40):
        data = data.where(f"n + {number} <> n")
    with pytest.raises(dps.ParameterError, match=r"^where must have at most 64 operators, got 119"):
        data.choose(["a", "b"], epsilon="0.1")
    assert budget.left == 1


# ---- what owners do ---------------------------------------------------------------------------------------


def test_prepared_data_come_back_and_answer_as_their_source(tmp_path: Path) -> None:
    timed = dps.Dataset(ROWS, user="user", item="item", time=dps.Time("at", period="month"))
    folder = timed.prepare(tmp_path / "rows.prepared", keep="n")
    assert repr(folder).endswith("rows.prepared', user='user', item='item', time=Time('at', period='month'))")
    for month in ("2026-09", "2026-10..2026-11", "2026-12"):
        for narrow in (lambda one: one, lambda one: one.where("n > 1").where("n < 3 OR FALSE")):
            assert counted(narrow(folder.during(month))) == counted(narrow(timed.during(month)))
    with pytest.raises(dps.ParameterError, match="during must be given for data with a time"):
        folder.top_k(1, epsilon=1)
    plain = dps.Dataset(tmp_path / "rows.prepared")  # nothing of time is said: the promise is for whole users
    assert counted(plain) == {"a": 20, "b": 20}
    assert plain.top_k(1, epsilon=9).privacy.unit == "user"
    with pytest.raises(dps.ParameterError, match="during must be left out of data without a time"):
        plain.during("2026-09")
    more = dps.Dataset(
        pa.table({"user": [99], "item": ["c"], "n": [0], "at": [datetime.date(2026, 9, 1)]}), user="user", item="item"
    )
    assert counted(more.prepare(tmp_path / "rows.prepared", add=True)) == {"a": 20, "b": 20, "c": 1}


def test_parts_and_words_are_prepared_as_their_texts(tmp_path: Path) -> None:
    rows = {"user": [1, 1, 2], "body": ["to be", "be", "be quiet"]}
    parts = dps.Dataset(rows, user="user", item=dps.Split("body", " "))
    assert counted(parts.prepare(tmp_path / "parts.prepared")) == counted(parts) == {"to": 1, "be": 2, "quiet": 1}
    words = dps.Dataset(rows, user="user", item=dps.Text("body")).prepare(tmp_path / "words.prepared")
    assert repr(words).partition("item=")[2] == f"{dps.Text('body')!r})"


def test_values_over_lines_are_prepared_as_they_are_asked(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('user,item\n1,"two\nlines"\n')
    over = dps.Dataset(dps.CSV(path, newlines_in_values=True), user="user", item="item")
    assert counted(over.prepare(tmp_path / "rows.prepared")) == counted(over) == {"two\nlines": 1}
    assert counted(dps.Dataset(dps.CSV([path]), user="user", item="item")) == {}
    assert "not checked one by one" in str(over.inspect())
    with pytest.raises(dps.ParameterError, match="newlines_in_values must be left out for this kind of source"):
        dps.Dataset(dps.CSV(tmp_path / "rows.prepared", newlines_in_values=True)).engine()


NARROWED: dict[str, Callable[[dps.Dataset], dps.Dataset]] = {
    "where": lambda one: one.where("n > 1"),
    "during": lambda one: one.during("2026-09"),
    "exclude": lambda one: one.exclude(["a"]),
    "max_items_per_user": lambda _: dps.Dataset(ROWS, user="user", item="item", max_items_per_user=3),
    "budget": lambda _: dps.Dataset(ROWS, user="user", item="item", budget=dps.Budget(epsilon=1)),
}


@pytest.mark.parametrize("name", NARROWED)
def test_all_rows_are_prepared(name: str, tmp_path: Path) -> None:
    data = NARROWED[name](dps.Dataset(ROWS, user="user", item="item", time=dps.Time("at", period="month")))
    with pytest.raises(dps.ParameterError, match=f"^{name} must be left out if data are prepared.*\nhint: all rows"):
        data.prepare(tmp_path / "rows.prepared")
    assert list(tmp_path.iterdir()) == []


def test_weights_that_are_wrong_are_named_as_they_are_given(tmp_path: Path) -> None:
    data = dps.Dataset(ROWS, user="user", item="item")
    with pytest.raises(dps.ParameterError, match=r"^weights must be a column of the source, got 'm'"):
        data.prepare(tmp_path / "rows.prepared", weights="m")
    with pytest.raises(dps.ParameterError, match=r"^weights must be columns other than keep, got 'n'"):
        data.prepare(tmp_path / "rows.prepared", keep=["n"], weights=["n"])


def test_an_owner_sees_what_is_left_out() -> None:
    data = dps.Dataset(ROWS, user="user", item="item", time=dps.Time("at", period="month"))
    found = data.during("2026-09").where("n > 0").exclude(["a"]).inspect().findings
    assert {"rows: 40", "rows that where leaves out: 10", "rows in none of the periods: 26"} <= {*found}


def test_an_owner_sees_parts_as_items_and_no_bound() -> None:
    rows = pa.table({"user": [1, 1, 1, 2], "item": ["a b", "b c", "c", "a b"]})
    whole = dps.Dataset(rows, user="user", item="item").inspect()
    bounded = dps.Dataset(rows, user="user", item="item", max_items_per_user=1, budget=dps.Budget(epsilon=1))
    assert bounded.inspect() == dps.Dataset(rows, user="user", item=dps.Text("item")).inspect() == whole
    assert "pairs of a user and an item: 4" in whole.findings
    parts = dps.Dataset(rows, user="user", item=dps.Split("item", " ")).inspect()
    assert {"items: 3", "pairs of a user and an item: 5"} <= {*parts.findings}
