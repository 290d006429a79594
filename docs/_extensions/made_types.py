"""The table of types: what a column of each type of each source is here, and what it can be used as.

Each row is what the code says of a source that is made for it. Those of servers are what the code says of their types.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from made_methods import table

from dpselect.engines.address import Address
from dpselect.engines.duckdb.sources import open_scan
from dpselect.engines.duckdb.types import FLOATS, INTEGERS, NULL_TYPE, TEXTS, ZONED, base_type, item_form
from dpselect.engines.duckdb.workspace import Workspace
from dpselect.engines.postgres.dialect import pg_type
from dpselect.engines.spark.dialect import spark_type
from dpselect.engines.sql.port import SqlType
from dpselect.errors import DpselectError
from dpselect.inspection.columns import format_type, possible_uses

HEAD = ["here", "can be used as", "types of sources"]
EVERY = "every type"
UNDECLARED = "text, until it is declared"
ARROW = {
    "string": pa.string(), "large string": pa.large_string(),
    "dictionary of strings": pa.dictionary(pa.int32(), pa.string()),
    "int8": pa.int8(), "int64": pa.int64(), "uint64": pa.uint64(), "float16": pa.float16(), "float32": pa.float32(),
    "float64": pa.float64(), "decimal of up to 38 digits": pa.decimal128(38, 2),
    "decimal of more digits": pa.decimal256(40, 2), "bool": pa.bool_(), "date32": pa.date32(),
    "time64": pa.time64("us"), "time64 in ns": pa.time64("ns"),
    "timestamp in s": pa.timestamp("s"), "timestamp in ms": pa.timestamp("ms"),
    "timestamp in us": pa.timestamp("us"), "timestamp in ns": pa.timestamp("ns"),
    "timestamp with a zone": pa.timestamp("us", "UTC"), "timestamp in ns with a zone": pa.timestamp("ns", "UTC"),
    "binary": pa.binary(), "null": pa.null(), "duration": pa.duration("s"), "list": pa.list_(pa.int64()),
    "struct": pa.struct({"x": pa.int64()}), "map": pa.map_(pa.string(), pa.int64()),
}  # fmt: skip
DUCKDB = (
    "VARCHAR", "TINYINT", "BIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL(18,2)", "BOOLEAN", "DATE",
    "TIME", "TIME_NS", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMPTZ", "BLOB", "UUID", "BIT", "JSON", "ENUM('a')",
    "INTERVAL", "INTEGER[]", "STRUCT(x INTEGER)", "MAP(VARCHAR, INTEGER)",
)  # fmt: skip
SQLITE = ("TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB", "DATETIME", "FLOATING POINT", "INTERVAL", "")
POSTGRES = (
    "text", "varchar", "bpchar", "name", "json", "jsonb", "uuid", "int2", "int4", "int8", "float4", "float8", "numeric",
    "bool", "date", "time", "timetz", "timestamp", "timestamptz", "bytea", "interval", "inet", "money",
)  # fmt: skip
SPARK = (
    "string", "byte", "short", "integer", "long", "float", "double", "decimal(18,2)", "boolean", "binary", "date",
    "time", "timestamp", "timestamp_ntz", "array", "map", "struct", "interval",
)  # fmt: skip
Found = tuple[str, str]
"""What a column is here, and what it can be used as."""
REFUSED: Found = ("refused", "nothing")


def types(_page: str, _argument: str) -> str:
    """One row for each meaning, with all types of each source that have it."""
    rows: dict[Found, dict[str, list[str]]] = {}
    with tempfile.TemporaryDirectory() as folder, closing(Workspace()) as workspace:
        for source, name, found in _every(Path(folder), workspace):
            rows.setdefault(found, {}).setdefault(source, []).append(name)
    ordered = sorted(rows.items(), key=lambda row: row[0] == REFUSED)
    return table(HEAD, ([*found, "; ".join(map(_said, of.items()))] for found, of in ordered))


def _said(of: tuple[str, list[str]]) -> str:
    source, names = of
    return f"**{source}**" + ("" if names == [EVERY] else f": {', '.join(names)}")


def _every(folder: Path, workspace: Workspace) -> Iterator[tuple[str, str, Found]]:
    def opened(source: object, name: str | None = None, column: str = "x") -> Found:
        return _found(lambda: _of_duckdb(workspace, source, name, column))

    for name, sort in ARROW.items():
        rows = pa.table({"x": pa.nulls(1, sort)})
        yield "Parquet, Delta", name, _in_parquet(folder, rows, opened)
        yield "Arrow, pandas, polars", name, opened(rows)
    yield "lists; columns of type `object` or `Object`", EVERY, opened({"x": [1, "a"]})
    for path, text in (("x.csv", "x\n1\n"), ("x.jsonl", '{"x": 1}\n')):
        (folder / path).write_text(text)
        source = "CSV, TSV, a pipe" if path.endswith("csv") else "JSON lines"
        yield source, EVERY, opened(str(folder / path))
    (folder / "h" / "country=DE").mkdir(parents=True)
    (folder / "h" / "country=DE" / "x.csv").write_text("y\n1\n")
    yield "names of folders", EVERY, opened(str(folder / "h"), column="country")
    for place, sort in enumerate(SQLITE):
        with closing(sqlite3.connect(folder / f"{place}.sqlite")) as connection:
            connection.execute(f"CREATE TABLE t (x {sort})")
        yield "SQLite", sort or "no type", opened(str(folder / f"{place}.sqlite"), "t")
    with duckdb.connect() as connection:
        for place, sort in enumerate(DUCKDB):
            connection.execute(f"CREATE TABLE t{place} (x {sort})")
            yield "DuckDB", sort.partition("(")[0], opened(connection, f"t{place}")
    for sort in POSTGRES:
        # `columns_of` refuses jsonb, of which a filter alone may ask whether it is there.
        refused = sort == "jsonb"
        found = REFUSED if refused else _found(lambda sort=sort: _of_server(pg_type("x", sort, "b", -1)))
        yield "PostgreSQL", sort, found
    for sort in SPARK:
        yield "Spark", sort.partition("(")[0], _found(lambda sort=sort: _of_server(spark_type(_field(sort))))


def _in_parquet(folder: Path, rows: Any, opened: Callable[[str], Found]) -> Found:
    path = str(folder / "x.parquet")
    try:
        pq.write_table(rows, path)
    except pa.ArrowException:  # Parquet has no such type
        return REFUSED
    return opened(path)


def _found(look: Callable[[], Found]) -> Found:
    try:
        return look()
    except DpselectError:
        return REFUSED


def _of_duckdb(workspace: Workspace, source: object, table_name: str | None, column: str) -> Found:
    scan = open_scan(workspace, Address.parse(source, table_name))
    sql_type = scan.types(workspace, [column])[column]
    if base_type(sql_type) in (*TEXTS, "ENUM"):
        return UNDECLARED, "user, item"
    uses = possible_uses(sql_type)
    if not uses:
        return REFUSED
    by_text = "item" in uses and sql_type not in (NULL_TYPE, "UUID") and "AS VARCHAR)" in item_form("x", sql_type)
    return _meaning(sql_type) + (", named by its text" if by_text else ""), ", ".join(uses)


def _of_server(sql_type: SqlType) -> Found:
    if sql_type.is_text:
        return "text; a view casts it", "user, item"
    uses = ["user", "item", *(["number"] if sql_type.number_form else [])]
    uses += ["time"] if sql_type.duckdb_type and "time" in possible_uses(sql_type.duckdb_type) else []
    return _meaning(sql_type.duckdb_type or sql_type.name), ", ".join(uses)


def _meaning(sql_type: str) -> str:
    """What a value is, whatever room a type has for it."""
    name = base_type(sql_type).upper()
    if name in INTEGERS:
        return "whole number"
    if name in FLOATS:
        return "number; NaN is missing"
    plain = {
        "DECIMAL": "exact number", "NUMERIC": "exact number", "BOOLEAN": "true or false", "DATE": "date",
        "TIME": "time of day", "TIME_NS": "time of day in nanoseconds",
        "TIMESTAMP": "timestamp", "TIMESTAMP_S": "timestamp", "TIMESTAMP_MS": "timestamp",
        "TIMESTAMP_NS": "timestamp in nanoseconds", ZONED: "timestamp with a zone",
        "TIMESTAMPTZ_NS": "timestamp with a zone, in nanoseconds", "BLOB": "bytes", "INTERVAL": "interval",
    }  # fmt: skip
    return plain.get(name, format_type(sql_type))


def _field(sort: str) -> Any:
    """A column of Spark, whose own package is not needed to ask what it is here."""
    kind_of = SimpleNamespace(typeName=lambda: sort.partition("(")[0], simpleString=lambda: sort)
    return SimpleNamespace(name="x", dataType=kind_of, metadata={})
