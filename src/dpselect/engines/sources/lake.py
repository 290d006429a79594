"""Tables that others keep: Parquet at an address, Iceberg and SQLite. Each gives its schema, then its rows anew.

Rows come as batches of Arrow, only the columns that are asked for. The types of columns are those that the table or its
files declare; of SQLite those of CREATE TABLE, by SQLite's rules of affinity. SQLite keeps any value in any column: one
that is not of its column's type is missing, whatever other rows hold.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import parse_qsl, quote

from dpselect.engines.duckdb.workspace import literal
from dpselect.engines.filters.column_names import make_unique
from dpselect.engines.sources import iceberg_catalogs
from dpselect.engines.sources.columns import ScannableColumns
from dpselect.engines.sources.frames import Frame, stream_of
from dpselect.engines.sources.iceberg_tables import local_path, open_table, plan_files, state_files
from dpselect.engines.sources.tables import (
    is_remote,
    is_sqlite,
    redact_address,
    refuse_missing_package,
    refuse_table,
)
from dpselect.engines.values import MAX_VALUE_BYTES
from dpselect.errors import DataError, SourceError, missing_source_error


def _frame(schema: Any, read: Callable[[Sequence[int]], Any]) -> Frame:
    """Return a table of this schema; `read` opens a new RecordBatchReader of the columns at some positions."""
    names = tuple(make_unique(schema.names))

    def narrow(positions: Sequence[int], empty: bool) -> ScannableColumns:
        distinct = sorted(set(positions))
        indices = [distinct.index(position) for position in positions]
        batches = (
            [batch.column(position) for position in indices] for columns in (distinct,) for batch in read(columns)
        )
        return stream_of(
            [names[position] for position in positions],
            [schema.types[position] for position in positions],
            batches,
            empty=empty,
        )

    return Frame(names, narrow)


def open_iceberg(source: Any, table: str | None) -> Frame:
    """Return a table of an Iceberg catalog, or what an object of pyiceberg reads. No row is read."""
    scan = iceberg_catalogs.open_scan(source, table)
    plan_files(scan)
    return _iceberg(scan)


def open_lake(source: str | os.PathLike[str], table: str | None) -> Frame:
    """Return the table that a path or an address names. Its schema is read, and no row."""
    path = os.path.expanduser(os.fsdecode(source))
    with refuse_missing_package("pyarrow" if is_sqlite(path) else "lake"):
        import pyarrow  # noqa: F401 - asked for here, where its lack is told

        if is_sqlite(path):
            return _sqlite(path, table)
        refuse_table(table)
        try:
            return _remote(path) if is_remote(path) else _iceberg(open_table(path)[0].scan())
        except (SourceError, DataError, ImportError):
            raise
        except Exception as error:  # whatever it is: its text may hold a secret of an address, so it is no cause
            error_name = type(error).__name__
    hint = "check that it exists, may be read, and is a table that the package supports"
    if path.startswith("http"):
        hint = "check that it is Parquet and may be read; if its server answers no ranges of bytes: curl -LO ADDRESS"
    raise DataError(f"{redact_address(path)} cannot be opened ({error_name})", hint)


def files_of(source: str | os.PathLike[str]) -> list[str]:
    """Return the files on this machine that hold the rows of a table: of SQLite, and of Iceberg, where some are."""
    path = os.path.expanduser(os.fsdecode(source))
    with refuse_missing_package("lake"):
        files = state_files(source) if is_sqlite(path) else open_table(path)[1]
    return [file for file in files if "://" not in file]


def files_of_iceberg(source: Any, table: str | None) -> list[str]:
    """Return the files on this machine that hold the rows of a table of a catalog."""
    tasks = plan_files(iceberg_catalogs.open_scan(source, table))
    return sorted(path for task in tasks if os.path.isfile(path := local_path(task.file.file_path)))


# ---- each kind ----------------------------------------------------------------------------------------------


def _remote(address: str) -> Frame:
    """Return Parquet files at an address; credentials come from where the packages look for them."""
    if "@" in address.partition("://")[2].partition("/")[0]:
        hint = "the usual variables hold them, such as AWS_ACCESS_KEY_ID"
        raise SourceError("source", "name no user or secret in an address", f"{redact_address(address)} with @", hint)
    import pyarrow
    from pyarrow import dataset, fs

    if address.startswith("http"):
        from fsspec.core import url_to_fs

        file_system, path = url_to_fs(address)
        system = fs.PyFileSystem(fs.FSSpecHandler(file_system))
    else:
        system, path = fs.FileSystem.from_uri(address)
    folder = not address.startswith("http") and system.get_file_info(path).type == fs.FileType.Directory
    if folder and system.get_file_info(f"{path}/_delta_log").type == fs.FileType.Directory:
        return _delta(address)
    # A time of 96 bits is one of nanoseconds, unless it is told otherwise: the year 9999 would be 1816.
    parquet = dataset.ParquetFileFormat(coerce_int96_timestamp_unit="us")
    table = dataset.dataset(path, filesystem=system, format=parquet)
    inside = system.get_file_info(fs.FileSelector(path, recursive=True)) if folder else []
    if any(_is_of_table(info.path) for info in inside):
        hint = "some of its files may belong to an older version; name a Delta table itself, and Iceberg by its catalog"
        raise SourceError("source", "hold no Delta or Iceberg table at an address", redact_address(address), hint)
    # Of all files, or a value that does not fit the type of the first would stop everybody's question.
    schema = pyarrow.unify_schemas([part.physical_schema for part in table.get_fragments()]).remove_metadata()
    table, names = table.replace_schema(schema), schema.names
    return _frame(
        schema, lambda positions: table.scanner(columns=[names[position] for position in positions]).to_reader()
    )


def _delta(address: str) -> Frame:
    """Return a Delta table at an address; what stands behind a ? is said in the words of its package."""
    from dpselect.engines.sources.delta_rows import open_delta_rows
    from dpselect.engines.sources.delta_tables import open_table

    place, _, query = address.partition("?")
    given = dict(parse_qsl(query))
    options = {"region": given.get("region", "")}
    if "endpoint_override" in given:
        scheme = given.get("scheme", "https")
        options |= {"endpoint": f"{scheme}://{given['endpoint_override']}", "allow_http": str(scheme == "http").lower()}
    options = {name: option for name, option in options.items() if option}
    return open_delta_rows(open_table(place, options)[0], address)


def _is_of_table(path: str) -> bool:
    """Return whether an object shows that a table is there, of which some files count and others do not."""
    return "/_delta_log/" in path or ("/metadata/" in path and path.endswith(".metadata.json"))


def _iceberg(scan: Any) -> Frame:
    """Return the rows of a scan of pyiceberg."""
    import pyarrow

    schema = scan.projection().as_arrow()

    def read(positions: Sequence[int]) -> Any:
        names = [schema.names[position] for position in positions]
        batches = scan.update(selected_fields=tuple(names)).to_arrow_batch_reader()
        fields = pyarrow.schema([batches.schema.field(name) for name in names])
        return pyarrow.RecordBatchReader.from_batches(
            fields, (batch.select(names) for batch in batches)
        )  # one may be *

    return _frame(schema, read)


def _sqlite(path: str, table: str | None) -> Frame:
    import pyarrow

    schema = read_schema(path, table)

    def read(positions: Sequence[int]) -> Any:
        chosen = pyarrow.schema([schema.field(position) for position in positions])
        return pyarrow.RecordBatchReader.from_batches(chosen, read_batches(path, str(table), chosen))

    return _frame(schema, read)


_WHOLE = re.compile(r"(?<![A-Z])U?(UN|BIG|HUGE|LONG|MEDIUM|SHORT|SMALL|TINY)?INT(EGER)?(?![A-Z])", re.IGNORECASE)
"""The words for whole numbers."""
ROWS = 1_024  # of one batch, each value of at most `MAX_VALUE_BYTES` bytes: together less than Arrow can hold


def read_schema(path: str, table: str | None) -> Any:
    """Return the columns of a table or view as an Arrow schema; generated columns are columns."""
    import pyarrow as arrow

    if table is None:
        raise SourceError("table", "name a table of the database", "nothing", _format_tables(path))
    # Hidden columns, of virtual tables, are 1; generated ones 2 and 3.
    columns = _ask(path, f"SELECT name, type FROM pragma_table_xinfo({literal(table)}) WHERE hidden <> 1")
    if not columns:
        raise missing_source_error("table", "be a table of the database", repr(table), _format_tables(path))
    return arrow.schema([(name, arrow_type(declared)) for name, declared in columns])


def arrow_type(declared: str) -> Any:
    """Return the type of a declared type's affinity (https://sqlite.org/datatype3.html, section 3.1).

    The affinity NUMERIC, which DECIMAL, BOOLEAN and DATE have, holds numbers and texts alike, and BLOB anything: such
    columns are text. So are those that are INTEGER by the letters of another word, as POINT, INTERVAL and FLOATING
    POINT, whose fractions and texts SQLite keeps.
    """
    import pyarrow as arrow

    def names(*parts: str) -> bool:
        return any(part in declared.upper() for part in parts)

    if names("INT"):
        return arrow.int64() if _WHOLE.search(declared) else arrow.string()
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


def _quote(name: str) -> str:
    """Return a name in quotes; a function of DuckDB would be called by whichever thread of DuckDB pulls the batches."""
    return '"' + name.replace('"', '""') + '"'


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
    short = f"CASE WHEN length(CAST({column} AS BLOB)) <= {MAX_VALUE_BYTES} THEN {column} END"
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
