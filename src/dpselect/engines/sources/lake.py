"""Tables that others keep: Parquet at an address, Iceberg and SQLite. Each gives its schema, then its rows anew.

Rows come as batches of Arrow, only the columns that are asked for. The types of columns are those that the table or its
files declare. SQLite declares none that a value must keep to, so there every value is its text, as in CSV.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from dpselect.engines.sources.array_columns import Narrowed
from dpselect.engines.sources.frames import Frame, stream_of
from dpselect.engines.sources.tables import is_remote, is_sqlite, metadata, needed, place
from dpselect.engines.sources.text_lines import LONGEST, unique
from dpselect.errors import DataError, SourceError, came

ROWS = 1_024  # of one batch of SQLite, each value of at most `LONGEST` bytes: together less than Arrow can hold


def _frame(schema: Any, read: Callable[[Sequence[int]], Any]) -> Frame:
    """A table of this schema, and what reads some of its columns, by place, as a RecordBatchReader of new rows."""
    names = tuple(unique(schema.names))

    def narrow(places: Sequence[int], empty: bool) -> Narrowed:
        kept = sorted(set(places))
        again = [kept.index(at) for at in places]
        batches = ([batch.column(at) for at in again] for whole in (kept,) for batch in read(whole))
        return stream_of([names[at] for at in places], [schema.types[at] for at in places], batches, empty=empty)

    return Frame(names, narrow)


def open_lake(source: str | os.PathLike[str], table: str | None) -> Frame:
    """The table that a path or an address names. Its schema is read, and no row."""
    path = os.path.expanduser(os.fsdecode(source))
    with needed("lake"):
        import pyarrow  # noqa: F401 - asked for here, where its lack is told

        if is_sqlite(path):
            return _sqlite(path, table)
        if table is not None:
            hint = "an address or a folder names its table"
            raise SourceError("table", "be left out for this kind of source", came(table), hint)
        try:
            return _remote(path) if is_remote(path) else _iceberg(path)
        except (SourceError, ImportError):
            raise
        except Exception as error:  # whatever it is: its text may hold a secret of an address
            hint = "is it there, may it be read, and is it a table that the package knows?"
            raise DataError(f"{place(path)} cannot be opened ({type(error).__name__})", hint) from None


# ---- each kind ----------------------------------------------------------------------------------------------


def _remote(address: str) -> Frame:
    """Parquet files at an address; credentials come from where the packages look for them, not from the address."""
    if "@" in address.partition("://")[2].partition("/")[0]:
        hint = "the usual variables hold them, such as AWS_ACCESS_KEY_ID"
        raise SourceError("source", "name no user or secret in an address", f"{place(address)} with @", hint)
    from pyarrow import dataset, fs

    if address.startswith("http"):
        from fsspec.core import url_to_fs

        found, path = url_to_fs(address)
        system = fs.PyFileSystem(fs.FSSpecHandler(found))
    else:
        system, path = fs.FileSystem.from_uri(address)
    table = dataset.dataset(path, filesystem=system, format="parquet")
    names = table.schema.names
    return _frame(table.schema, lambda places: table.scanner(columns=[names[at] for at in places]).to_reader())


def _iceberg(folder: str) -> Frame:
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(metadata(folder)[0])
    schema = table.schema().as_arrow()

    def read(places: Sequence[int]) -> Any:
        return table.scan(selected_fields=tuple(schema.names[at] for at in places)).to_arrow_batch_reader()

    return _frame(schema, read)


# ---- SQLite -------------------------------------------------------------------------------------------------


def _sqlite(path: str, table: str | None) -> Frame:
    import pyarrow as arrow

    if table is None:
        raise SourceError("table", "name a table of the database", "nothing", _listed(_tables(path)))
    with _reading(path) as connection:
        names = [name for (name,) in connection.execute(f"SELECT name FROM pragma_table_info({_text(table)})")]
    if not names:
        raise SourceError("table", "be a table of the database", repr(table), _listed(_tables(path)))
    schema = arrow.schema([(name, arrow.string()) for name in names])

    def read(places: Sequence[int]) -> Any:
        columns = ", ".join(_text_of(_name(names[at])) for at in places)
        chosen = arrow.schema([schema.field(at) for at in places])
        return arrow.RecordBatchReader.from_batches(
            chosen, _batches(path, f"SELECT {columns} FROM {_name(table)}", chosen)
        )

    return _frame(schema, read)


def _batches(path: str, sql: str, schema: Any) -> Iterator[Any]:
    import pyarrow as arrow

    with _reading(path) as connection:
        connection.text_factory = _valid
        rows = connection.execute(sql)
        while found := rows.fetchmany(ROWS):
            columns = [arrow.array(values, arrow.string()) for values in zip(*found, strict=True)]
            yield arrow.record_batch(columns, schema=schema)


def _text_of(column: str) -> str:
    """The text of a value, by itself; bytes have none, and one longer than lines of text files may be is missing."""
    short = f"length(CAST({column} AS BLOB)) < {LONGEST}"
    return f"CASE WHEN typeof({column}) <> 'blob' AND {short} THEN CAST({column} AS TEXT) END"


def _valid(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


@contextlib.contextmanager
def _reading(path: str) -> Iterator[sqlite3.Connection]:
    if not os.path.isfile(path):
        raise SourceError("source", "be a file that exists", repr(path))
    try:
        with closing(
            sqlite3.connect(f"file:{_escaped(os.path.abspath(path))}?mode=ro", uri=True, check_same_thread=False)
        ) as connection:
            yield connection
    except sqlite3.Error:
        raise DataError(f"{path} cannot be read as SQLite", "it may be damaged, locked or of another kind") from None


def _tables(path: str) -> list[str]:
    with _reading(path) as connection:
        rows = connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
        return [name for (name,) in rows if not name.startswith("sqlite_")]


def _listed(tables: Sequence[str]) -> str:
    return f"tables: {', '.join(tables)}" if tables else "it has no tables"


def _escaped(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
