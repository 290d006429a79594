"""Queries for warehouses as DuckDB's: what sqlglot writes, with our reading of what it leaves alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache

import duckdb
import sqlglot

from tests.engines.sources import AWKWARD, Row, table

_JSON = r"'((?:[^']|'')*)'"
Meaning = str | Callable[[re.Match[str]], str]


def _rows(found: re.Match[str]) -> str:
    """A list of rows, for which DuckDB has no cast from JSON."""
    rows = json.loads(found[1].replace("''", "'"))
    return "[" + ", ".join(f"row({', '.join(map(_cell, row))})" for row in rows) + "]"


def _cell(value: object) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def _named_rows(found: re.Match[str]) -> str:
    names = found[2].split(", ")
    cells = ", ".join(f"struct_extract(e, {at}) AS {name}" for at, name in enumerate(names, 1))
    return f"(SELECT {cells} FROM (SELECT unnest({_rows(found)}) AS e) AS l) AS entry"


# A pattern in what sqlglot wrote, and what it means in DuckDB.
MEANS: dict[str, list[tuple[str, Meaning]]] = {
    "bigquery": [
        (r'SAFE_CONVERT_BYTES_TO_STRING\(CAST\(("\w+") AS BLOB\)\)', r"\1"),
        (r"CAST\(i AS DECIMAL\)", "CAST(i AS HUGEINT)"),  # NUMERIC has more digits than DuckDB's DECIMAL
    ],
    "snowflake": [
        (r'TRY\(ENCODE\(("\w+")\)\)', r"\1"),
        (rf"TABLE\(UNNEST\(INPUT => JSON\({_JSON}\)\)\)", r"(SELECT unnest(CAST('\1' AS JSON[])) AS value)"),
        (r'CAST\("AT" AS TEXT\)', "strftime(\"AT\", '%Y-%m-%d %H:%M:%S.%f')"),
        (r"entry\.value\[(\d)\]", r"(entry.value ->> (\1 - 1))"),
        (r",  CROSS JOIN UNNEST\(INPUT => CASE .* ELSE (STR_SPLIT\(.*\)) END\) AS f\(.*THIS\)",
         r" CROSS JOIN UNNEST(\1) AS f(value)"),
    ],
    "trino": [
        (r'CAST\(CAST\("at" AS TIMESTAMP\(6\)\) AS TEXT\)', "strftime(\"at\", '%Y-%m-%d %H:%M:%S.%f')"),
        (rf"UNNEST\(CAST\(JSON\({_JSON}\) AS STRUCT\([^()]*\)\[\]\)\) AS entry\((.*?)\)", _named_rows),
    ],
    "clickhouse": [(rf"JSONEXTRACT\({_JSON}, '[^']*'\)", _rows), ("TUPLEELEMENT", "STRUCT_EXTRACT"),
        (r"DATETIME64\(6, 'UTC'\)", "TIMESTAMP"),
        ("DATE32\\)", "DATE)"),
    ],
}  # fmt: skip
MACROS = """
CREATE MACRO uniqExact(x) AS count(DISTINCT x);
CREATE MACRO toValidUTF8(x) AS x;
CREATE MACRO assumeNotNull(x) AS x;
CREATE MACRO toString(x) AS CAST(x AS VARCHAR);
CREATE MACRO toDate32(x) AS CAST(x AS DATE);
CREATE MACRO toDateTime64(x, digits, zone) AS strftime(x, '%Y-%m-%d %H:%M:%S.%f');
CREATE MACRO lengthUTF8(x) AS length(x);
CREATE MACRO toFloat64OrNull(x) AS TRY_CAST(x AS DOUBLE);
CREATE MACRO toInt128OrNull(x) AS TRY_CAST(x AS HUGEINT);
CREATE MACRO intDiv(x, y) AS x // y;
"""


@cache
def translated(sql: str, dialect: str) -> str:
    """A query of a warehouse as DuckDB's."""
    found = sqlglot.transpile(sql, read=dialect, write="duckdb", unsupported_level=sqlglot.ErrorLevel.IGNORE)[0]
    for pattern, meaning in MEANS[dialect]:
        found = re.sub(pattern, meaning, found)
    return found


def prepared(rows: Sequence[Row] = AWKWARD) -> duckdb.DuckDBPyConnection:
    """The rows as shop.events, beside users and items of other types."""
    connection = duckdb.connect()
    connection.execute(MACROS)
    connection.register("arrow", table(rows))
    connection.execute(
        'CREATE SCHEMA shop; CREATE TABLE shop.events AS SELECT "user" AS user_id, item, length("user") AS visitor, '
        "age AS amount, age % 50 / 8 - 1 AS price, CAST(age % 50 / 8 AS DECIMAL(10, 3)) AS tax, "
        "DATE '2024-01-01' + CAST(age % 50 AS INTEGER) AS day, TIMESTAMP '2024-01-01' + to_hours(age % 50) AS at, "
        "age % 2 = 0 AS paid FROM arrow"
    )
    return connection


@cache
def _kept(rows: tuple[Row, ...]) -> duckdb.DuckDBPyConnection:
    return prepared(rows)


def shared(rows: Sequence[Row] = AWKWARD) -> duckdb.DuckDBPyConnection:
    """The same for whoever only reads: a connection of its own to a database that is made once."""
    return _kept(tuple(rows)).cursor()
