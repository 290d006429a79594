"""Tables that others keep: how they are named, and what tells their state. No row of them is read here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeGuard

from dpselect.engines.sources.iceberg_tables import is_iceberg, metadata_of
from dpselect.errors import SourceError, came, install_hint

SQLITE = (".sqlite", ".sqlite3")
BESIDE = ("-wal", "-journal")  # of SQLite; an empty one holds no row, and a reader makes one
STORES = ("s3://", "gs://")
REMOTE = (*STORES, "https://", "http://")


def is_lake(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Is it Parquet at an address, an Iceberg table, or SQLite?"""
    if not isinstance(source, (str, os.PathLike)):
        return False
    return is_remote(source) or is_sqlite(_path(source)) or is_iceberg(_path(source))


def is_sqlite(path: str) -> bool:
    """Is it called as a file of SQLite? It is not opened: closing it would end locks that this process has on it."""
    return path.lower().endswith(SQLITE)


def is_delta(folder: str) -> bool:
    """Is it the folder of a Delta table?"""
    return os.path.isdir(os.path.join(folder, "_delta_log"))


def is_delta_table(source: object) -> bool:
    """Return whether it is a DeltaTable, which has a folder and a version."""
    return _is_instance(source, "deltalake", "DeltaTable")


def is_iceberg_table(source: object) -> bool:
    """Return whether it is a Table of pyiceberg, of any catalog."""
    return _is_instance(source, "pyiceberg.table", "Table")


def _is_instance(source: object, package: str, name: str) -> bool:
    """Return whether it is of a class of a package. One that nobody has imported has made none."""
    module = sys.modules.get(package)
    return module is not None and isinstance(source, getattr(module, name))


def is_table(folder: str) -> bool:
    """Is it the folder of a Delta or Iceberg table? Some of its files may be of an older state."""
    return is_delta(folder) or is_iceberg(folder)


def is_remote(source: object) -> bool:
    """Is it at an address?"""
    return isinstance(source, str) and source.startswith(REMOTE)


def place(address: str) -> str:
    """An address without what may be a secret: all before an @, for a key may hold a / that should be written %2F."""
    shown = re.split("[?#;]|%3f", address, maxsplit=1, flags=re.IGNORECASE)[0]
    return re.sub("//.*(@|%40)", "//", shown, flags=re.DOTALL)


def state(source: str | os.PathLike[str]) -> list[str]:
    """The files whose last write tells which state of a table this is; none at an address."""
    path = _path(source)
    if is_remote(source):
        return []
    beside = (os.path.realpath(path) + end for end in BESIDE)  # where SQLite has them, whatever links to it
    return metadata_of(path) or [path, *(one for one in beside if os.path.exists(one) and os.path.getsize(one))]


def refuse_table(table: str | None) -> None:
    """Refuse the name of a table for a source that is one."""
    if table is not None:
        hint = "a table name is for a DuckDB file or connection, PostgreSQL, SQLite or Spark"
        raise SourceError("table", "be left out for this kind of source", came(table), hint)


def _path(source: str | os.PathLike[str]) -> str:
    return os.path.expanduser(os.fsdecode(source))


@contextmanager
def needed(extra: str) -> Iterator[None]:
    """Around the import of a package that such a table needs."""
    try:
        yield
    except ImportError as error:
        got = f"no package {error.name or error}"
        raise SourceError("source", "be a table that can be read here", got, install_hint(extra)) from None
