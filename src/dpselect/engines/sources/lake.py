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
from urllib.parse import quote

from dpselect.engines.sources.array_columns import Narrowed
from dpselect.engines.sources.frames import Frame, stream_of
from dpselect.engines.sources.tables import is_remote, is_sqlite, metadata, needed, place
from dpselect.engines.sources.text_lines import unique
from dpselect.engines.values import LONGEST
from dpselect.errors import DataError, SourceError, absent, came

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
        except (SourceError, DataError, ImportError):
            raise
        except Exception as error:  # whatever it is: its text may hold a secret of an address, so it is no cause
            what = type(error).__name__
    hint = "check that it exists, may be read, and is a table that the package supports"
    raise DataError(f"{place(path)} cannot be opened ({what})", hint)


# ---- each kind ----------------------------------------------------------------------------------------------


def _remote(address: str) -> Frame:
    """Parquet files at an address; credentials come from where the packages look for them, not from the address."""
    if "@" in address.partition("://")[2].partition("/")[0]:
        hint = "the usual variables hold them, such as AWS_ACCESS_KEY_ID"
        raise SourceError("source", "name no user or secret in an address", f"{place(address)} with @", hint)
    import pyarrow
    from pyarrow import dataset, fs

    if address.startswith("http"):
        from fsspec.core import url_to_fs

        found, path = url_to_fs(address)
        system = fs.PyFileSystem(fs.FSSpecHandler(found))
    else:
        system, path = fs.FileSystem.from_uri(address)
    table = dataset.dataset(path, filesystem=system, format="parquet")
    folder = not address.startswith("http") and system.get_file_info(path).type == fs.FileType.Directory
    inside = system.get_file_info(fs.FileSelector(path, recursive=True)) if folder else []
    if any(_is_of_table(one.path) for one in inside):
        hint = "some of its files may belong to an older version; prepare it from Spark, or copy it"
        raise SourceError("source", "hold no Delta or Iceberg table at an address", place(address), hint)
    # Of all files, or a value that does not fit the type of the first would stop everybody's question.
    schema = pyarrow.unify_schemas([part.physical_schema for part in table.get_fragments()]).remove_metadata()
    table, names = table.replace_schema(schema), schema.names
    return _frame(schema, lambda places: table.scanner(columns=[names[at] for at in places]).to_reader())


def _is_of_table(path: str) -> bool:
    """Does an object say that a table is there, of which some files count and others do not?"""
    return "/_delta_log/" in path or ("/metadata/" in path and path.endswith(".metadata.json"))


def _iceberg(folder: str) -> Frame:
    import pyarrow
    from pyiceberg.table import StaticTable

    newest = metadata(folder)
    if len(newest) > 1:
        hint = "a failed write may have left one of them: ask its catalog which"
        raise SourceError("source", "have one newest file of metadata", f"{len(newest)} of one number", hint)
    table = StaticTable.from_metadata(newest[0])
    schema = table.schema().as_arrow()

    def read(places: Sequence[int]) -> Any:
        chosen = [schema.names[at] for at in places]
        found = table.scan(selected_fields=tuple(chosen)).to_arrow_batch_reader()
        fields = pyarrow.schema([found.schema.field(name) for name in chosen])
        return pyarrow.RecordBatchReader.from_batches(fields, (batch.select(chosen) for batch in found))  # one may be *

    return _frame(schema, read)


# ---- SQLite -------------------------------------------------------------------------------------------------


def _sqlite(path: str, table: str | None) -> Frame:
    import pyarrow as arrow

    if table is None:
        raise SourceError("table", "name a table of the database", "nothing", _listed(_tables(path)))
    names = _asked(path, f"SELECT name FROM pragma_table_info({_text(table)})")
    if not names:
        raise absent("table", "be a table of the database", repr(table), _listed(_tables(path)))
    schema = arrow.schema([(name, arrow.string()) for name in names])

    def read(places: Sequence[int]) -> Any:
        # Of a name alone that is no column any more SQLite makes a text, which all rows would have.
        columns = ", ".join(_text_of(f"{_name(table)}.{_name(names[at])}") for at in places)
        chosen = arrow.schema([schema.field(at) for at in places])
        return arrow.RecordBatchReader.from_batches(
            chosen, _batches(path, f"SELECT {columns} FROM {_name(table)}", chosen)
        )

    return _frame(schema, read)


def _batches(path: str, sql: str, schema: Any) -> Iterator[Any]:
    import pyarrow as arrow

    with closing(_opened(path)) as connection:
        connection.text_factory = _valid
        rows = connection.execute(sql)
        while found := rows.fetchmany(ROWS):
            columns = [arrow.array(values, arrow.string()) for values in zip(*found, strict=True)]
            yield arrow.record_batch(columns, schema=schema)


def _text_of(column: str) -> str:
    """The text of a value, by itself; bytes have none, and one longer than values may be is missing."""
    short = f"length(CAST({column} AS BLOB)) <= {LONGEST}"
    return f"CASE WHEN typeof({column}) <> 'blob' AND {short} THEN CAST({column} AS TEXT) END"


def _valid(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _asked(path: str, sql: str) -> list[str]:
    """The one column of a statement about the schema."""
    if not os.path.isfile(path):
        raise absent("source", "be a file that exists", repr(path))
    with contextlib.suppress(sqlite3.Error, UnicodeError), closing(_opened(path)) as connection:
        return [name for (name,) in connection.execute(sql)]
    raise DataError(f"{path} cannot be read as SQLite", "it may be damaged, locked or another kind of file")


def _opened(path: str) -> sqlite3.Connection:
    where = f"file:{quote(os.path.realpath(os.fsencode(path)))}?mode=ro"
    return sqlite3.connect(where, uri=True, check_same_thread=False)


def _tables(path: str) -> list[str]:
    found = _asked(path, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
    return [name for name in found if not name.startswith("sqlite_")]


def _listed(tables: Sequence[str]) -> str:
    return f"tables: {', '.join(tables)}" if tables else "it has no tables"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
