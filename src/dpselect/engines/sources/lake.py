"""Tables that others keep: Parquet at an address, Iceberg and SQLite. Each gives its schema, then its rows anew.

Rows come as batches of Arrow, only the columns that are asked for. The types of columns are those that the table or its
files declare.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from dpselect.engines.filters.column_names import make_unique
from dpselect.engines.sources.array_columns import Narrowed
from dpselect.engines.sources.frames import Frame, stream_of
from dpselect.engines.sources.iceberg_tables import open_table, state_files
from dpselect.engines.sources.sqlite_tables import read_batches, read_schema
from dpselect.engines.sources.tables import (
    is_iceberg_table,
    is_remote,
    is_sqlite,
    redact_address,
    refuse_missing_package,
    refuse_table,
)
from dpselect.errors import DataError, SourceError


def _frame(schema: Any, read: Callable[[Sequence[int]], Any]) -> Frame:
    """Return a table of this schema; `read` opens a new RecordBatchReader of the columns at some positions."""
    names = tuple(make_unique(schema.names))

    def narrow(positions: Sequence[int], empty: bool) -> Narrowed:
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


def open_lake(source: Any, table: str | None) -> Frame:
    """Return the table that a path or an address names, or that is given. Its schema is read, and no row."""
    if is_iceberg_table(source):
        refuse_table(table)
        return _iceberg(source)
    path = os.path.expanduser(os.fsdecode(source))
    with refuse_missing_package("pyarrow" if is_sqlite(path) else "lake"):
        import pyarrow  # noqa: F401 - asked for here, where its lack is told

        if is_sqlite(path):
            return _sqlite(path, table)
        refuse_table(table)
        try:
            return _remote(path) if is_remote(path) else _iceberg(open_table(path)[0])
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
    table = dataset.dataset(path, filesystem=system, format="parquet")
    folder = not address.startswith("http") and system.get_file_info(path).type == fs.FileType.Directory
    inside = system.get_file_info(fs.FileSelector(path, recursive=True)) if folder else []
    if any(_is_of_table(info.path) for info in inside):
        hint = "some of its files may belong to an older version; prepare it from Spark, or copy it"
        raise SourceError("source", "hold no Delta or Iceberg table at an address", redact_address(address), hint)
    # Of all files, or a value that does not fit the type of the first would stop everybody's question.
    schema = pyarrow.unify_schemas([part.physical_schema for part in table.get_fragments()]).remove_metadata()
    table, names = table.replace_schema(schema), schema.names
    return _frame(
        schema, lambda positions: table.scanner(columns=[names[position] for position in positions]).to_reader()
    )


def _is_of_table(path: str) -> bool:
    """Return whether an object shows that a table is there, of which some files count and others do not."""
    return "/_delta_log/" in path or ("/metadata/" in path and path.endswith(".metadata.json"))


def _iceberg(table: Any) -> Frame:
    """Return a table of pyiceberg, as it was opened or given."""
    import pyarrow

    schema = table.schema().as_arrow()

    def read(positions: Sequence[int]) -> Any:
        names = [schema.names[position] for position in positions]
        batches = table.scan(selected_fields=tuple(names)).to_arrow_batch_reader()
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
