"""Bad sources: damaged files, odd frames, what is no source; filters made of pieces; command lines."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from bad_numbers import NUMBERS, TEXTS, Given, Hostile, rows

import dpselect as dps
from dpselect.command.main import main
from dpselect.flat import dataset_of

ASKED: dict[str, object] = {"epsilon": 1, "delta": "1e-6"}


def _csv(delimiter: str = ",") -> bytes:
    held = rows()
    lines = [delimiter.join(held)] + [delimiter.join(cells) for cells in zip(*held.values(), strict=True)]
    return "\n".join(lines).encode() + b"\n"


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(rows()), buffer)
    return buffer.getvalue()


def _json() -> bytes:
    held = rows()
    return b"".join(
        json.dumps(dict(zip(held, cells, strict=True))).encode() + b"\n" for cells in zip(*held.values(), strict=True)
    )


def _duckdb(given: Given) -> bytes:
    path = given.path("made.duckdb")
    with duckdb.connect(path) as connection:
        connection.register("held", pa.table(rows()))
        connection.execute("CREATE TABLE events AS FROM held").fetchall()
    found = path.read_bytes()
    path.unlink()
    return found


FILES: dict[str, Callable[[Given], bytes]] = {
    "rows.csv": lambda _: _csv(),
    "rows.tsv": lambda _: _csv("\t"),
    "rows.csv.gz": lambda _: gzip.compress(_csv(), mtime=0),
    "rows.jsonl": lambda _: _json(),
    "rows.ndjson.gz": lambda _: gzip.compress(_json(), mtime=0),
    "rows.json": lambda _: b"[" + _json().strip().replace(b"\n", b",") + b"]",
    "rows.parquet": lambda _: _parquet(),
    "rows.duckdb": _duckdb,
}


def files(given: Given) -> object:
    """A file with flipped bits, cut, doubled, or of another ending."""
    name = given.chance.choice(sorted(FILES))
    whole = bytearray(FILES[name](given))
    way = given.chance.choice(("flip", "flip", "flip", "cut", "cut", "insert", "double", "other", "empty"))
    if way == "flip":
        for _ in range(given.chance.choice((1, 1, 3, 30))):
            whole[given.chance.randrange(len(whole))] ^= 1 << given.chance.randrange(8)
    elif way == "cut":
        del whole[given.chance.randrange(len(whole)) :]
    elif way == "insert":
        at = given.chance.randrange(len(whole))
        whole[at:at] = given.chance.randbytes(given.chance.choice((1, 10, 1000)))
    elif way == "double":
        whole = whole * 2
    elif way == "empty":
        whole = bytearray(given.chance.choice((b"", b"\n", b"\n\n", b"\xef\xbb\xbf", b"\0" * 100, b"[", b"{", b'"')))
    if way == "other":
        name = given.chance.choice(sorted(FILES))
    path = given.path(name)
    path.write_bytes(whole)
    given.expected |= {"rows.duckdb.wal"}
    table = "events" if name.endswith("duckdb") else None
    return _asked(given, str(path), table)


def _asked(given: Given, source: object, table: str | None = None, item: str = "item", **more: object) -> object:
    data = dataset_of(source, table=table, user="user", item=item, **more)  # type: ignore[arg-type]
    verb = given.chance.choice(("top_k", "union", "choose", "quantile"))
    if verb == "quantile":
        return str(data.quantile(0.5, bounds=(0, 9), step=1, epsilon=1))
    if verb == "choose":
        return str(data.choose(domain=["a", "b", 3], epsilon=1))
    return str(getattr(data, verb)(**ASKED))


_INTS = list(range(6))
COLUMNS: list[Callable[[], object]] = [
    lambda: pd.Series(pd.period_range("2024", periods=6)), lambda: pd.Series(pd.interval_range(0, 6)),
    lambda: pd.arrays.SparseArray([0, 0, 1, 0, 0, 2]), lambda: np.arange(6) * 1j, lambda: np.arange(6, dtype="float16"),
    lambda: pd.Series([1, None, "x", 2.5, b"\xff", pd.NA], dtype=object), lambda: pd.Series(_INTS, dtype="Int64"),
    lambda: pd.Categorical([1, 2, 1, 2, 1, None]), lambda: pd.timedelta_range(0, periods=6),
    lambda: pd.date_range("2024", periods=6, tz="Asia/Tokyo"), lambda: np.array(_INTS, dtype="longdouble"),
    lambda: np.array([b"a"] * 6), lambda: np.array(["a"] * 6, dtype="U1"), lambda: np.zeros(6, dtype=[("a", "i4")]),
    lambda: np.array(["2024"] * 6, dtype="datetime64[Y]"), lambda: np.zeros((6, 2)), lambda: np.zeros(5),
    lambda: [Hostile()] * 6, lambda: [[1]] * 6, lambda: [{}] * 6, lambda: [10**5000] * 6, lambda: ["\ud83d"] * 6,
    lambda: [Decimal("sNaN")] * 6, lambda: [float("nan")] * 6, lambda: [None] * 6, lambda: [...] * 6, lambda: range(6),
    lambda: iter(_INTS), lambda: {1: 2}, lambda: "abcdef", lambda: 5, lambda: None, lambda: {*"abcdef"},
]  # fmt: skip
TYPES: list[Callable[[], pa.Array]] = [
    lambda: pa.array([None] * 6, pa.null()), lambda: pa.array([[1]] * 6), lambda: pa.array([{"a": 1}] * 6),
    lambda: pa.array([Decimal(1)] * 6, pa.decimal256(70, 2)), lambda: pa.array([1] * 6, pa.duration("ns")),
    lambda: pa.array([1.0] * 6, pa.float16()), lambda: pa.array(["a"] * 6, pa.string_view()),
    lambda: pa.array(["a"] * 6, pa.large_string()), lambda: pa.array([b"ab"] * 6, pa.binary(2)),
    lambda: pa.RunEndEncodedArray.from_arrays([6], ["a"]), lambda: pa.array(["a"] * 6).dictionary_encode(),
    lambda: pa.array([2**62] * 6, pa.int64()).view(pa.timestamp("s")),
    lambda: pa.array([2**62] * 6, pa.int64()).view(pa.time64("ns")),
    lambda: pa.array([b"\xff"] * 6, pa.binary()).view(pa.string()),
    lambda: pa.array([(1, 2, 3)] * 6, pa.month_day_nano_interval()),
    lambda: pa.array([2**31 - 1] * 6, pa.int32()).view(pa.date32()), lambda: pa.array([1] * 6, pa.date64()),
    lambda: pa.array([True] * 6), lambda: pa.array([1] * 6, pa.uint64()),
    lambda: pa.UnionArray.from_dense(pa.array([0] * 6, pa.int8()), pa.array(_INTS, pa.int32()), [pa.array(_INTS)]),
]  # fmt: skip
NAMES: list[object] = ["item", "ITEM", "", None, 5, ("item", "b"), "a" * 10_000, "a\0b", 'i"tem', "user", "dpselect_0"]


def frames(given: Given) -> object:
    """A frame, a table or a dict with an odd column, or an odd name."""
    users = rows()["user"][:6]
    if given.chance.random() < 0.45:
        table = pa.table({"user": pa.array(users), "item": given.chance.choice(TYPES)()})
        if given.chance.random() < 0.3:
            table = table.rename_columns(["item", "user"])
        forms: list[Callable[[], object]] = [lambda: table, lambda: pl.from_arrow(table), table.to_pandas]
        try:
            source = given.chance.choice(forms)()
        except BaseException:  # another library does not take it either; polars says so by a panic
            source = table
    else:
        name, column = given.chance.choice(NAMES), given.chance.choice(COLUMNS)()
        source = {"user": users, name: column} if given.chance.random() < 0.8 else {name: users, "item": column}
        if given.chance.random() < 0.5:
            try:
                source = pd.DataFrame(source)
            except Exception:  # pandas does not take it either
                source = pd.DataFrame({"user": users, "item": pd.Series([column] * 6, dtype=object)})
    more = {"where": "item IS NOT NULL"} if given.chance.random() < 0.2 else {}
    return _asked(given, source, **more)


def sources(given: Given) -> object:
    """What is no source, or one that is not there."""
    texts = [
        "rows.csv",
        "*.csv",
        ".",
        "",
        "nowhere.parquet",
        "s3://a/b.csv",
        "postgresql://x",
        "postgresql://x:y@h:1/z",
    ]
    texts += [
        "a.duckdb",
        "[.csv",
        "~nobody/x.csv",
        "\0.csv",
        "a\ud83d.csv",
        "x" * 5000 + ".csv",
        "/dev/null",
        "CON.csv",
    ]
    given.path("rows.csv").write_bytes(_csv())
    given.path("other.csv").write_bytes(b"user,thing\na,b\n")
    lists: list[object] = [["rows.csv", "other.csv"], ["rows.csv", 5], [], ["rows.csv"] * 3, ["rows.csv", "a.parquet"]]
    source = given.chance.choice([*texts, *lists, *NUMBERS, b"rows.csv", duckdb.connect(), duckdb.sql("SELECT 1")])
    table = given.chance.choice([None, None, "events", "", 'a"b', "a.b.c.d", "x" * 10_000])
    return _asked(given, source, table)


PIECES = [
    *("item", '"user"', "size", "nobody", "size::INT", "CAST(size AS INTEGER)", "item = 'a'", "size > '3'", "TRUE",
    "NULL"),
    *("AND", "OR", "NOT", "(", ")", ",", "=", "<", "<>", "!=", "+", "-", "*", "/", "%", "||", "::", ".", ";", "--",
    "/*"),
    *("IN", "BETWEEN", "LIKE", "ILIKE", "IS", "ESCAPE", "CASE", "WHEN", "THEN", "ELSE", "END", "DISTINCT FROM", "AS"),
    *("1", "0", "-1", "1e400", "1.5", "'x'", "'", '"', "''", "DATE '2024-01-01'", "DATE 'x'", "INTERVAL 1 DAY", "$1",
    "?"),
    *("lower(item)", "length(item)", "repeat(item, 9)", "now()", "random()", "count(*)", "(SELECT 1)", "error('x')"),
    *("OVER ()", "FROM 'rows.csv'", "read_csv('rows.csv')", "\0", "\ud83d", "é", "item[1]", "item -> '$'", "9" * 400),
]  # fmt: skip
WHOLE = [
    "size::INT > 3",
    "item LIKE '%a%'",
    "NOT (size = '3' OR item IN ('a', 'b'))",
    "CASE WHEN size = '1' THEN 1 END = 1",
]


def filters(given: Given) -> object:
    """A filter of pieces, or a good one with a piece too much or too few."""
    if given.chance.random() < 0.5:
        words = given.chance.choices(PIECES, k=given.chance.choice((1, 2, 3, 4, 6, 9)))
    else:
        words = given.chance.choice(WHOLE).split(" ")
        words[given.chance.randrange(len(words))] = given.chance.choice(PIECES)
    deep = given.chance.choice((1, 1, 1, 1, 50, 5000))
    where = "(" * deep + " ".join(words) + ")" * deep if deep > 1 else " ".join(words)
    return _asked(given, rows(), where=where)


WORDS = [
    *("top", "union", "choose", "quantile", "plan", "ledger", "demo", "init", "data", "grant", "--help", "--version"),
    *("rows.csv", "nowhere.csv", "--user", "user", "--item", "item", "--epsilon", "1", "--delta", "1e-6", "-k", "3"),
    *("--no-ranked", "size", "--bounds", "0", "9", "--domain", "a,b", "--domain-size", "--domain-range", "1..5",
    "--counts"),
    *("--where", "size = '1'", "--format", "json", "csv", "-o", "out.json", "out.csv", "nowhere/out.json", "--quiet"),
    *("--budget", "budget.sqlite", "--analyst", "ann", "--split", " ", "--table", "x", "--method", "peeling", "--"),
    *("--text", "item", "--ngrams", "1-3", "--max-items-per-user", "--k-bar", "-1", "nan", "1e999", "", "\ud83d",
    "a" * 9999),
]  # fmt: skip
LINES = [
    "top rows.csv --user user --item item --epsilon 1 -k 3",
    "choose rows.csv --user user --item item --domain a,b --epsilon 1",
    "quantile rows.csv --user user --item size --bounds 0 9 --epsilon 1",
    "union rows.csv --user user --item item --epsilon 1",
    "union rows.csv --user user --text item --epsilon 1 -o out.json", "plan top --users 500 --items 50 --epsilon 1",
    "ledger init budget.sqlite", "top rows.csv --user user --item item --epsilon 1 -o out.json",
]  # fmt: skip


class RefusedError(dps.DpselectError):
    """The command refused its words, in words of its own on standard error."""


class ExitError(Exception):
    """The command ended with a status that says: a mistake of ours."""


def commands(given: Given) -> object:
    """A command line of words, or a good one with another word or number in it."""
    given.path("rows.csv").write_bytes(_csv())
    words = given.chance.choice(LINES).split(" ")
    if given.chance.random() < 0.2:
        words = given.chance.choices(WORDS, k=given.chance.choice((1, 3, 8)))
    for _ in range(given.chance.choice((1, 1, 2))):
        odd = given.chance.choice([*WORDS, *(str(n) for n in (*NUMBERS[:3], *TEXTS) if isinstance(n, (str, int)))])
        words[given.chance.randrange(len(words))] = odd
    words = [word for word in words if word != "demo" and "\0" not in word]  # the demo makes much data
    try:
        status = main(words)
    except SystemExit as ended:  # argparse's
        status = ended.code if isinstance(ended.code, int) else 1
    if status == 0:
        given.expected |= {word for word in words if word.endswith((".json", ".csv", ".sqlite"))} | {*words}
        given.expected |= {word + more for word in words for more in ("-wal", "-shm")}
    if status in (2, 3, 4, 5, 6):
        raise RefusedError(f"status {status}")
    if status != 0:
        raise ExitError(f"status {status} of {' '.join(words)[:200]}")
    return status
