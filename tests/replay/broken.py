"""Readers that let one row speak for another, each in front of the real library. The harness must refuse each."""

# ruff: noqa: ARG001 - every maker takes the rows and a folder

from __future__ import annotations

import warnings
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import dpselect as dps
from dpselect.draws import Draws
from dpselect.release.release import Release
from tests.by_names import by_names
from tests.engines.sources import Stream
from tests.replay.file_kinds import written
from tests.replay.kinds import Kind, Make
from tests.replay.record import Tell
from tests.replay.sorts import ROLES, Column, Rows


def lists_by_numpy(rows: Rows, folder: Path) -> object:
    """A list's type from all of its values: one text makes texts of all numbers."""
    return {name: np.asarray(column.values) for name, column in rows.items()}


def _texts(rows: Rows) -> Rows:
    return {name: Column("text", [None if v is None else str(v) for v in c.values]) for name, c in rows.items()}


def _table(rows: Rows) -> pa.Table:
    return pa.table({name: pa.array(column.values, pa.string()) for name, column in _texts(rows).items()})


def _relation(rows: Rows, sql: str) -> object:
    connection = duckdb.connect()
    connection.register("arrow", _table(rows))
    connection.execute("CREATE TABLE events AS FROM arrow").fetchall()
    connection.unregister("arrow")
    return connection.sql(sql)


def types_guessed(rows: Rows, folder: Path) -> object:
    """Numbers as long as all texts are: a type that the rows decide."""
    try:
        numbers = pa.array([int(str(value)) for value in rows["item"].values], pa.int64())
    except ValueError:
        return _table(rows)
    return _table(rows).set_column(1, "item", numbers)


def fails_on_a_row(rows: Rows, folder: Path) -> object:
    """A cast that one row does not take."""
    return _relation(rows, 'SELECT "user", CAST(item AS INTEGER) AS item, other FROM events')


def users_by_row(rows: Rows, folder: Path) -> object:
    """A user who is a new one in every row."""
    return _relation(rows, 'SELECT "user" || row_number() OVER () AS "user", item, other FROM events')


def sees_another_file(rows: Rows, folder: Path) -> object:
    """A condition that looks at all rows: nobody is there once there are more of them."""
    return _relation(rows, "SELECT * FROM events WHERE (SELECT count(*) FROM events) <= 19")


def ranks_by_all(rows: Rows, folder: Path) -> object:
    """The last rows in order do not count: a newcomer in front pushes somebody out."""
    return _relation(rows, "SELECT * FROM events ORDER BY item = 'x' DESC, item, \"user\" LIMIT 19")


class _Talks(Stream):
    """A stream that quotes what it finds odd."""

    def __init__(self, frame: pa.Table, aloud: bool) -> None:
        super().__init__(frame)
        self._aloud = aloud

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        odd = [value for value in self._frame.column("item").to_pylist() if value is not None and not value.isdigit()]
        for value in odd:
            if self._aloud:
                print(f"odd: {value}")  # noqa: T201
            else:
                warnings.warn(f"odd: {value}", stacklevel=1)
        return super().__arrow_c_stream__(requested_schema)


def quotes_a_value(rows: Rows, folder: Path) -> object:
    """A warning that quotes a row."""
    return _Talks(_table(rows), aloud=False)


def prints_a_value(rows: Rows, folder: Path) -> object:
    """A line on standard output that quotes a row."""
    return _Talks(_table(rows), aloud=True)


READERS = (
    lists_by_numpy, types_guessed, fails_on_a_row, users_by_row, sees_another_file, ranks_by_all, quotes_a_value,
    prints_a_value,
)  # fmt: skip


def twin(make: object) -> Kind:
    """A broken reader as a kind of source."""

    def made(rows: Rows, folder: Path) -> tuple[object, None]:
        return make(rows, folder), None  # type: ignore[operator]

    maker: Make = made
    return Kind(make.__name__, ("any of numbers",), maker)  # type: ignore[attr-defined]


# ---- lines ------------------------------------------------------------------------------------------------


def quotes_run_on(rows: Rows, odd: dict[str, bytes], folder: Path) -> object:
    """A CSV reader in which a quote reaches into the next line."""
    path = written("CSV", rows, odd, folder)
    form = f"columns = {dict.fromkeys(ROLES, 'VARCHAR')}, auto_detect = false, header = true, delim = ',', quote = '\"'"
    more = "escape = '\"', ignore_errors = true, strict_mode = false, parallel = false"
    return duckdb.sql(f"FROM read_csv('{path}', {form}, {more})").to_arrow_table()


# ---- calls ------------------------------------------------------------------------------------------------


def tells_users(data: object, draws: Draws, tell: Tell) -> Release:
    """Progress that is a part of all users."""
    source: dps.Dataset = data()  # type: ignore[operator]
    with source.engine() as engine:
        tell(1 / engine.contributions().users)
    return by_names(source).top_k(2, epsilon=40, delta="1e-6", draws=draws)


def asks_twice(data: object, draws: Draws, tell: Tell) -> Release:
    """A second question where there are many items."""
    source: dps.Dataset = data()  # type: ignore[operator]
    with source.engine() as engine:
        many = engine.contributions().size > 4
    if many:
        by_names(source).top_k(1, epsilon=40, delta="1e-6", draws=draws)
    return by_names(source).top_k(2, epsilon=40, delta="1e-6", draws=draws)


def looks_again(data: object, draws: Draws, tell: Tell) -> Release:
    """A control flow that goes by the rows, though nothing more is asked or paid."""
    source: dps.Dataset = data()  # type: ignore[operator]
    with source.engine() as engine:
        many = engine.contributions().size > 4
    if many:
        repr(source)
    return by_names(source).top_k(2, epsilon=40, delta="1e-6", draws=draws)


def prints_a_count(data: object, draws: Draws, tell: Tell) -> Release:
    """A line that says how many users there are."""
    source: dps.Dataset = data()  # type: ignore[operator]
    with source.engine() as engine:
        print(engine.contributions().users)  # noqa: T201
    return by_names(source).top_k(2, epsilon=40, delta="1e-6", draws=draws)


CALLS = (tells_users, asks_twice, looks_again, prints_a_count)
