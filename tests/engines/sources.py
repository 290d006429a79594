"""The same rows in every kind of source, and the plain Python count that judges them all."""

# ruff: noqa: ARG001 - every maker takes the rows and a folder

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import narwhals as nw
import narwhals.stable.v1
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dpselect.flat import prepare

Row = tuple[str | None, str | None, int]
COLUMNS = ("user", "item", "age")

AWKWARD: list[Row] = [
    *((f"u{n}", "popular", 20 + n) for n in range(9)),
    *((f"u{n}", "tie b", 20 + n) for n in range(5)),
    *((f"u{n}", "tie a", 24 - n) for n in reversed(range(5))),
    *((f"u{n}", "tie c", 20 + n) for n in range(1, 6)),
    ("u1", "popular", 21), ("u1", "popular", 21),  # repeated rows count once
    (None, "popular", 50), (None, "only without user", 50), ("u2", None, 22), (None, None, 50),
    ("u1", "", 21), ("u2", "", 22), ("", "", 30), ("", "popular", 30),
    ("u1", "Case", 21), ("u1", "case", 21), ("u2", "CASE", 22),
    ("u1", "space ", 21), ("u1", " space", 21), ("u2", "space", 22),
    ("u3", "caf\u00e9", 23), ("u4", "cafe\u0301", 24), ("u5", "\U0001f600", 25), ("u6", "\U0001f600", 26),
    ("u3", 'a "quoted" word', 23), ("u3", "comma, semicolon; tab\there", 23),
    ("u4", "two\rlines", 24), ("u4", "two\u2028lines", 24),
    ("u5", "NULL", 25), ("u5", "nan", 25), ("u5", "None", 25), ("u5", "NA", 25), ("u5", "-0", 25),
    ("u7", "\U0010ffff", 27), ("u7", "\uffff", 27), ("u7", "1=1; DROP TABLE t", 27), ("u7", "'", 27),
    ("u7", "%s{}\\", 27),
    *(("everything", item, 99) for item in ("popular", "tie a", "tie b", "tie c", "", "Case", "alone")),
]  # fmt: skip


def counts(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Items and their numbers of distinct users, most first, then in the order of items."""
    pairs = {(user, item) for user, item, _ in rows if user is not None and item is not None}
    found = Counter(item for _, item in pairs)
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0].encode()))


def user_items(rows: Sequence[Row]) -> list[list[str]]:
    """The distinct items of every user who has one, users and items in their order."""
    found: dict[str, set[str]] = {}
    for user, item, _ in rows:
        if user is not None and item is not None:
            found.setdefault(user, set()).add(item)
    return [sorted(found[user], key=str.encode) for user in sorted(found, key=str.encode)]


def table(rows: Sequence[Row]) -> pa.Table:
    """The rows as Arrow, with their types."""
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    types = (pa.string(), pa.string(), pa.int64())
    return pa.table({name: pa.array(column, t) for name, column, t in zip(COLUMNS, columns, types, strict=True)})


def csv_text(rows: Sequence[Row], delimiter: str = ",", end: str = "\n") -> str:
    """CSV in which null and the empty text differ, as in Python 3.12's QUOTE_NOTNULL."""
    lines = [delimiter.join(COLUMNS)]
    for row in rows:
        cells = ["" if cell is None else '"' + str(cell).replace('"', '""') + '"' for cell in row]
        lines.append(delimiter.join(cells))
    return end.join(lines) + end


def json_lines(rows: Sequence[Row]) -> str:
    return "".join(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n" for row in rows)


def parts(rows: Sequence[Row], number: int = 3) -> list[list[Row]]:
    """The rows dealt to several files, so that users and items stand in more than one."""
    return [list(rows[start::number]) for start in range(number)]


Made = tuple[object, str | None]
Maker = Callable[[Sequence[Row], Path], Made]
KINDS: dict[str, Maker] = {}


def kind(name: str) -> Callable[[Callable[[Sequence[Row], Path], object]], object]:
    """Enter a maker of one kind of source; a maker that gives a pair gives the table as well."""

    def enter(make: Callable[[Sequence[Row], Path], object]) -> object:
        def made(rows: Sequence[Row], folder: Path) -> Made:
            source = make(rows, folder)
            return source if isinstance(source, tuple) else (source, None)

        KINDS[name] = made
        return make

    return enter


def _file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@kind("parquet")
def _parquet(rows, folder):
    pq.write_table(table(rows), folder / "rows.parquet")
    return str(folder / "rows.parquet")


@kind("parquet in a folder")
def _folder(rows, folder):
    for number, part in enumerate(parts(rows)):
        below = folder / "data" / f"day {number}"
        below.mkdir(parents=True)
        pq.write_table(table(part), below / "rows.parquet")
    _file(folder, "data/readme.txt", "not data")
    _file(folder, "data/.hidden.parquet", "not data")
    return folder / "data"


@kind("prepared")
def _prepared(rows, folder):
    prepare(table(rows), user="user", item="item", keep="age", to=folder / "rows.prepared")
    return folder / "rows.prepared"


@kind("prepared from csv, with rows added")
def _added(rows, folder):
    for number, part in enumerate(parts(rows, 2)):
        path = _file(folder, f"{number}.csv", csv_text(part))
        given = {"add": True} if number else {"user": "user", "item": "item", "keep": "age"}
        prepare(path, to=folder / "rows.prepared", **given)
    return folder / "rows.prepared"


@kind("glob")
def _glob(rows, folder):
    for number, part in enumerate(parts(rows)):
        pq.write_table(table(part), folder / f"part-{number}.parquet")
    return str(folder / "part-*.parquet")


@kind("list of files")
def _list(rows, folder):
    for number, part in enumerate(parts(rows)):
        pq.write_table(
            table(part).select(["age", "item", "user"] if number else list(COLUMNS)), folder / f"{number}.parquet"
        )
    return [folder / "0.parquet", str(folder / "1.parquet"), folder / "2.parquet"]


@kind("a name that looks like a glob")
def _brackets(rows, folder):
    pq.write_table(table(rows), folder / "rows[1]*.parquet")
    pq.write_table(table([("x", "wrong file", 1)]), folder / "rows1.parquet")
    return folder / "rows[1]*.parquet"


@kind("csv")
def _csv(rows, folder):
    return _file(folder, "rows.csv", csv_text(rows))


@kind("csv of Windows")
def _csv_crlf(rows, folder):
    return _file(folder, "rows.CSV", "\ufeff" + csv_text(rows, end="\r\n"))


@kind("csv.gz")
def _csv_gz(rows, folder):
    return _file(folder, "rows.csv.gz", gzip.compress(csv_text(rows).encode()))


@kind("csv with semicolons")
def _semicolons(rows, folder):
    return _file(folder, "rows.csv", csv_text(rows, ";"))


@kind("several csv of other forms")
def _csvs(rows, folder):
    first, second, third = parts(rows)
    swapped = csv_text([(item, user, age) for user, item, age in second]).replace("user,item", "item,user", 1)
    _file(folder, "many/0.csv", csv_text(first))
    _file(folder, "many/1.csv", swapped)
    _file(folder, "many/2.csv", csv_text(third, "|"))
    _file(folder, "many/3.csv", "")
    return folder / "many"


@kind("tsv")
def _tsv(rows, folder):
    return _file(folder, "rows.tsv", csv_text(rows, "\t"))


@kind("jsonl")
def _jsonl(rows, folder):
    return _file(folder, "rows.jsonl", json_lines(rows))


@kind("ndjson.gz")
def _ndjson_gz(rows, folder):
    return _file(folder, "rows.ndjson.gz", gzip.compress(json_lines(rows).encode()))


@kind("duckdb file")
def _database(rows, folder):
    path = folder / "rows.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute('CREATE SCHEMA "my schema"').fetchall()
        connection.register("arrow", table(rows))
        connection.execute('CREATE TABLE "my schema"."my table" AS FROM arrow').fetchall()
    return path, "my schema.my table"


@kind("duckdb connection")
def _connection(rows, folder):
    connection = duckdb.connect()
    connection.register("arrow", table(rows))
    connection.execute('CREATE TABLE "select" ("user" VARCHAR, item VARCHAR COLLATE NOCASE, age BIGINT)').fetchall()
    connection.execute('INSERT INTO "select" FROM arrow').fetchall()
    connection.unregister("arrow")
    return connection, "select"


@kind("duckdb view of a temporary table, other collation")
def _view(rows, folder):
    connection = duckdb.connect()
    connection.execute("SET default_collation = 'nocase'").fetchall()
    connection.register("arrow", table(rows))
    connection.execute("CREATE TEMP TABLE t AS FROM arrow").fetchall()
    connection.unregister("arrow")
    connection.execute("CREATE TEMP VIEW v AS FROM t").fetchall()
    return connection, "v"


@kind("duckdb relation")
def _relation(rows, folder):
    pq.write_table(table(rows), folder / "rows.parquet")
    return duckdb.connect().read_parquet(str(folder / "rows.parquet"))


@kind("pandas")
def _pandas(rows, folder):
    frame = pd.DataFrame(list(rows), columns=list(COLUMNS)).astype({"user": "str", "item": "str", "age": "int64"})
    return frame.set_index(frame.index[::-1])


@kind("pandas objects")
def _pandas_objects(rows, folder):
    frame = pd.DataFrame(list(rows), columns=list(COLUMNS), dtype=object)
    items = pd.Series([float("nan") if row[1] is None else row[1] for row in rows], dtype=object)
    return frame.assign(other=[object() for _ in rows], item=items)


@kind("pandas categories")
def _pandas_categories(rows, folder):
    items = list(dict.fromkeys(row[1] for row in rows if row[1] is not None))  # in order of appearance
    frame = pd.DataFrame(list(rows), columns=list(COLUMNS), dtype=object)
    frame["user"] = pd.Categorical(frame["user"])
    return frame.assign(item=pd.Categorical(frame["item"], categories=items), age=frame["age"].astype("Int64"))


@kind("pandas over Arrow")
def _pandas_arrow(rows, folder):
    return table(rows).to_pandas(types_mapper=pd.ArrowDtype)


@kind("polars")
def _polars(rows, folder):
    return pl.DataFrame(list(rows), schema={"user": pl.String, "item": pl.String, "age": pl.Int64}, orient="row")


@kind("polars lazy")
def _polars_lazy(rows, folder):
    return pl.concat([_polars(part, folder).lazy() for part in parts(rows)])


@kind("polars categories")
def _polars_categories(rows, folder):
    frame = _polars(rows, folder).cast({"item": pl.Categorical, "user": pl.Categorical})
    return frame.with_columns(other=pl.Series([object() for _ in rows], dtype=pl.Object))


@kind("narwhals v1, lazy")
def _narwhals_v1(rows, folder):
    return narwhals.stable.v1.from_native(_polars_lazy(rows, folder))


class OnlyNarwhalsReadsIt:
    """A lazy frame of a package that has told narwhals how to read it, and nobody else."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def __narwhals_lazyframe__(self):
        return nw.from_native(self._frame)._compliant_frame


@kind("what only narwhals reads")
def _understood(rows, folder):
    return OnlyNarwhalsReadsIt(_polars_lazy(rows, folder))


class Stream:
    """Rows as a stream of Arrow data, anew each time."""

    def __init__(self, frame: pa.Table) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


@kind("stream of Arrow data")
def _stream(rows, folder):
    return Stream(table(rows))


@kind("pyarrow")
def _pyarrow(rows, folder):
    return table(rows)


@kind("pyarrow dictionaries in pieces")
def _pyarrow_pieces(rows, folder):
    made = pa.concat_tables([table(part) for part in parts(rows)])
    return made.set_column(1, "item", made.column("item").dictionary_encode())


@kind("dict of arrays")
def _dict(rows, folder):
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    objects = {name: np.array(column, dtype=object) for name, column in zip(COLUMNS, columns, strict=True)}
    return objects | {"age": objects["age"].astype(np.int64)}


@kind("dict of lists")
def _dict_lists(rows, folder):
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    return {name: list(column) for name, column in zip(COLUMNS, columns, strict=True)}


READERS = (
    "parquet", "prepared", "csv", "jsonl", "duckdb file", "duckdb connection", "duckdb relation", "pandas",
    "pandas objects", "polars lazy", "what only narwhals reads", "stream of Arrow data",
    "pyarrow dictionaries in pieces", "dict of lists",
)  # fmt: skip
"""One kind of each reader: the others differ from one of them in how its rows are found, before any question."""
