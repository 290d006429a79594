"""One small table, rich in what goes wrong, and the same rows in every kind of source."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dpselect.flat import prepare

Row = dict[str, Any]
SCHEMA = pa.schema(
    {
        "user": pa.string(), "number": pa.int64(), "born": pa.date32(),
        "name": pa.string(), "whole": pa.int64(), "real": pa.float64(), "price": pa.decimal128(8, 2),
        "day": pa.date32(), "moment": pa.timestamp("us"), "flag": pa.bool_(), "tags": pa.string(), "note": pa.string(),
        "country": pa.string(), "level": pa.int64(), "device": pa.string(),
        "at": pa.timestamp("us"), "minutes": pa.float64(),
    }
)  # fmt: skip
USERS = 60
NAMES = "abcdefg"
HAVE = (46, 36, 27, 20, 14, 9, 1)  # how many users have each item; "everything" has them all, and one alone has a "g"
RISING = (5, 3, 4, 2, 5, 1, 3)  # of six rows of an item so many are in November, the others in October
WHOLE = (7, 12, -3, 40, 5, 21, 99)


def _item(place: int | None) -> Row:
    """An item in every type."""
    if place is None:
        return dict.fromkeys(("name", "whole", "real", "price", "day", "moment", "flag", "tags", "note"))
    name = NAMES[place]
    return {
        "name": name,
        "whole": WHOLE[place],
        "real": WHOLE[place] / 4,
        "price": Decimal(WHOLE[place]) + Decimal("0.25"),
        "day": datetime.date(2026, 1, 1 + place),
        "moment": datetime.datetime(2026, 1, 1, 23, 59, 59, 999_990 + place),
        "flag": place % 2 == 0,
        "tags": f"{name} all {name}",
        "note": f"the {name}{name} song",
    }


def _row(user: int | None, place: int | None, more: int = 0) -> Row:
    """One row; a user's second one of an item, with `more`, lies in another country, and a month away."""
    u, p = user or 0, place or 0
    month = 11 if (u + 3 * p + 3 * more) % 6 < RISING[p] else 10
    return {
        "user": None if user is None else "everything" if user == USERS else f"u{user}",
        "number": user,
        "born": None if user is None else datetime.date(1990, 1, 1) + datetime.timedelta(user),
        **_item(place),
        "country": None if u % 17 == 3 else ("DE", "FR", "SE")[(u + p + more) % 3],
        "level": 1 + u % 3,
        "device": ("phone", "desk")[(u + more) % 2],
        "at": None if u % 19 == 5 else datetime.datetime(2026, month, 1 + u % 28, 12),
        "minutes": None if u % 11 == 7 else -1.0 if u % 13 == 9 else (u * 5 + p * 3 + more) % 9 / 2,
    }


def _made() -> Iterator[Row]:
    for user in range(USERS):
        for place, have in enumerate(HAVE):
            if (user * 7 + 11 * place) % USERS < have:
                yield _row(user, place)
                if (user + place) % 4 == 0:
                    yield _row(user, place, 1)
    yield from (_row(USERS, place, more) for place in range(len(NAMES)) for more in range(2))
    yield from (_row(user, 0) for user in (1, 1, 4))  # again, word for word
    yield from (_row(None, 0), _row(None, 5), _row(2, None), _row(None, None))


ROWS: tuple[Row, ...] = tuple(_made())
TABLE = pa.Table.from_pylist(list(ROWS), schema=SCHEMA)


def written(value: object) -> str | None:
    """A value as text files have it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


# ---- sources ---------------------------------------------------------------------------------------------------

Key = str | tuple[str, ...]
Maker = Callable[[Path, Key, Key], object]
MAKERS: dict[str, Maker] = {}
TEXTUAL = ("csv", "jsonl")  # read as text, whatever a cell looks like, but for what is declared
DECLARED = {"minutes": "DOUBLE", "at": "TIMESTAMP"}  # of textual sources: no item, so that items are texts there
NUMBERS = {"whole": "BIGINT", "real": "DOUBLE", "price": "DECIMAL(8,2)"}  # what items are of which there are quantiles
ADDRESSED = ("parquet", "csv", "jsonl", "DuckDB file", "prepared", "PostgreSQL")  # what a command line can name
PINNED = (
    "arrow",
    "parquet",
    "csv",
    "jsonl",
    "DuckDB file",
    "prepared",
)  # of which a ledger knows that they are the same
TABLES = {"DuckDB file": "main.t", "PostgreSQL": "t"}


def kind(name: str) -> Callable[[Callable[[Path], object]], None]:
    """Enter what makes a source in an empty folder, whoever the users are."""

    def enter(make: Callable[[Path], object]) -> None:
        MAKERS[name] = lambda folder, _user, _item: make(folder)

    return enter


@kind("arrow")
def _(_folder: Path) -> object:
    return TABLE


@kind("parquet")
def _(folder: Path) -> object:
    pq.write_table(TABLE, folder / "rows.parquet")
    return str(folder / "rows.parquet")


@kind("csv")
def _(folder: Path) -> object:
    texts = {name: pa.array(map(written, TABLE.column(name).to_pylist()), pa.string()) for name in SCHEMA.names}
    pa.csv.write_csv(pa.table(texts), folder / "rows.csv")
    return str(folder / "rows.csv")


@kind("jsonl")
def _(folder: Path) -> object:
    plain = (bool, int, float, str)
    lines = (
        {name: value if isinstance(value, plain) else written(value) for name, value in row.items()} for row in ROWS
    )
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(folder / "rows.jsonl")


@kind("dict")
def _(_folder: Path) -> object:
    return {name: TABLE.column(name).to_pylist() for name in SCHEMA.names}


@kind("pandas")
def _(_folder: Path) -> object:
    return TABLE.to_pandas()


@kind("polars")
def _(_folder: Path) -> object:
    return pl.from_arrow(TABLE)


@kind("DuckDB file")
def _(folder: Path) -> object:
    with duckdb.connect(folder / "rows.duckdb") as connection:
        connection.register("arrow", TABLE)
        connection.execute("CREATE TABLE t AS FROM arrow").fetchall()
    return str(folder / "rows.duckdb")


class Unread:
    """A stream of Arrow data that knows whether more than its schema was looked at."""

    def __init__(self) -> None:
        self.touched = False

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.RecordBatchReader.from_batches(SCHEMA, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        self.touched = True
        yield from TABLE.to_batches()


def _prepared(folder: Path, user: Key, item: Key) -> object:
    said = {*_names(user), *_names(item)}
    keep = [name for name in SCHEMA.names if name not in said and name != "minutes"]
    given: dict[str, Any] = {"user": list(_names(user)), "item": list(_names(item)), "keep": keep, "weights": "minutes"}
    prepare(TABLE, to=folder / "rows.prepared", **given)
    return str(folder / "rows.prepared")


MAKERS["prepared"] = _prepared


def _names(key: Key) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else key


def source(name: str, folder: Path, user: Key, item: Key) -> tuple[str, Callable[[], object]]:
    """What the source is called, and how it is made: prepared data once for each sort of user and item, others once."""
    told = (user, item) if name == "prepared" else ("user", "name")
    called = f"{name} {told[0]} {told[1]}"

    def make() -> object:
        (folder / called).mkdir()
        return MAKERS[name](folder / called, *told)

    return called, make
