"""Tables of SQLite: the types that CREATE TABLE declares, by SQLite's rules of affinity, and rows in batches of Arrow.

SQLite keeps any value in any column. A value that is not of its column's type is missing, whatever other rows hold.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

from dpselect.engines.values import LONGEST
from dpselect.errors import DataError, SourceError, missing_source_error

ROWS = 1_024  # of one batch, each value of at most `LONGEST` bytes: together less than Arrow can hold


def read_schema(path: str, table: str | None) -> Any:
    """Return the columns of a table or view as an Arrow schema; generated columns are columns."""
    import pyarrow as arrow

    if table is None:
        raise SourceError("table", "name a table of the database", "nothing", _format_tables(path))
    # Hidden columns, of virtual tables, are 1; generated ones 2 and 3.
    columns = _ask(path, f"SELECT name, type FROM pragma_table_xinfo({_literal(table)}) WHERE hidden <> 1")
    if not columns:
        raise missing_source_error("table", "be a table of the database", repr(table), _format_tables(path))
    return arrow.schema([(name, arrow_type(declared)) for name, declared in columns])


def arrow_type(declared: str) -> Any:
    """Return the type of a declared type's affinity (https://sqlite.org/datatype3.html, section 3.1).

    The affinity NUMERIC, which DECIMAL, BOOLEAN and DATE have, holds numbers and texts alike, and BLOB anything: such
    columns are text.
    """
    import pyarrow as arrow

    def names(*parts: str) -> bool:
        return any(part in declared.upper() for part in parts)

    if names("INT"):
        return arrow.int64()
    if not names("CHAR", "CLOB", "TEXT", "BLOB") and names("REAL", "FLOA", "DOUB"):
        return arrow.float64()
    return arrow.string()


def read_batches(path: str, table: str, schema: Any) -> Iterator[Any]:
    """Yield the rows of some columns."""
    import pyarrow as arrow

    # Of a name alone that is no column any more SQLite makes a text, which all rows would have.
    forms = [_value_form(f"{_quote(table)}.{_quote(field.name)}", field.type) for field in schema]
    with closing(_connect(path)) as connection:
        connection.text_factory = _decode
        rows = connection.execute(f"SELECT {', '.join(forms)} FROM {_quote(table)}")
        while fetched := rows.fetchmany(ROWS):
            columns = [
                arrow.array(_format_reals(values) if field.type == arrow.string() else values, field.type)
                for values, field in zip(zip(*fetched, strict=True), schema, strict=True)
            ]
            yield arrow.record_batch(columns, schema=schema)


def _value_form(column: str, arrow_type: Any) -> str:
    """Return the SQL of a value of this type, null for any other; a text longer than values may be is null too.

    A table has no whole real where integers are declared, but a view may: it is taken as the integer that equals it.
    """
    if str(arrow_type) == "double":
        return f"CASE typeof({column}) WHEN 'real' THEN {column} END"
    if str(arrow_type) == "int64":
        equals_integer = f"CAST(CAST({column} AS INTEGER) AS REAL) = {column} AND {column} < {2**63 - 1}"
        real = f"CASE WHEN {equals_integer} THEN CAST({column} AS INTEGER) END"
        return f"CASE typeof({column}) WHEN 'integer' THEN {column} WHEN 'real' THEN {real} END"
    short = f"CASE WHEN length(CAST({column} AS BLOB)) <= {LONGEST} THEN {column} END"
    return (
        f"CASE typeof({column}) WHEN 'integer' THEN CAST({column} AS TEXT) "
        f"WHEN 'real' THEN {column} WHEN 'text' THEN {short} END"
    )


def _format_reals(values: Sequence[object]) -> Sequence[object]:
    """Return reals as the shortest texts that tell each from every other one: SQLite's own have 15 digits."""
    if float not in set(map(type, values)):
        return values
    return [_format_real(value) if isinstance(value, float) else value for value in values]


def _format_real(value: float) -> str | None:
    return repr(value + 0.0) if math.isfinite(value) else None


def _decode(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _ask(path: str, sql: str) -> list[tuple[str, ...]]:
    """Return the rows of a statement about the schema."""
    if not os.path.isfile(path):
        raise missing_source_error("source", "be a file that exists", repr(path))
    with contextlib.suppress(sqlite3.Error, UnicodeError), closing(_connect(path)) as connection:
        return connection.execute(sql).fetchall()
    raise DataError(f"{path} cannot be read as SQLite", "it may be damaged, locked or another kind of file")


def _connect(path: str) -> sqlite3.Connection:
    where = f"file:{quote(os.path.realpath(os.fsencode(path)))}?mode=ro"
    return sqlite3.connect(where, uri=True, check_same_thread=False)


def _format_tables(path: str) -> str:
    rows = _ask(path, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
    tables = [name for (name,) in rows if not name.startswith("sqlite_")]
    return f"tables: {', '.join(tables)}" if tables else "it has no tables"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
