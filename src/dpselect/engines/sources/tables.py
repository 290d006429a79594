"""Tables that others keep: how they are named, and what tells their state. No row of them is read here."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeGuard

from dpselect.errors import SourceError, came, install_hint

SQLITE_SUFFIXES = (".sqlite", ".sqlite3")
SQLITE_SIDE_FILES = ("-wal", "-journal")  # of SQLite; an empty one holds no row, and a reader makes one
STORE_PREFIXES = ("s3://", "gs://")
ICEBERG_SUFFIX = ".metadata.json"  # of an Iceberg table
REMOTE_PREFIXES = (*STORE_PREFIXES, "https://", "http://")
ICEBERG_PREFIX = "iceberg:"  # before the name of a catalog
_OF_ICEBERG = {"Table": "pyiceberg.table", "DataScan": "pyiceberg.table", "Catalog": "pyiceberg.catalog"}


def is_read_by_pyarrow(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a source is Parquet at an address, an Iceberg table or catalog, or SQLite."""
    if not isinstance(source, (str, os.PathLike)):
        return False
    if isinstance(source, str) and source.startswith(ICEBERG_PREFIX):
        return True
    return is_remote(source) or is_sqlite(path_of(source)) or is_iceberg(path_of(source))


def is_sqlite(path: str) -> bool:
    """Return whether a path is named as a file of SQLite.

    It is not opened: closing it would end locks that this process has on it.
    """
    return path.lower().endswith(SQLITE_SUFFIXES)


def is_delta(folder: str) -> bool:
    """Return whether a folder is that of a Delta table."""
    return os.path.isdir(os.path.join(folder, "_delta_log"))


def is_delta_table(source: object) -> bool:
    """Return whether it is a DeltaTable, which has a folder and a version."""
    return _is_instance(source, "deltalake", "DeltaTable")


def is_iceberg_object(source: object, *names: str) -> bool:
    """Return whether it is a Table, a DataScan or a Catalog of pyiceberg, or one of those that are named."""
    return any(_is_instance(source, _OF_ICEBERG[name], name) for name in names or _OF_ICEBERG)


def _is_instance(source: object, package: str, name: str) -> bool:
    """Return whether it is of a class of a package. One that nobody has imported has made none."""
    module = sys.modules.get(package)
    return module is not None and isinstance(source, getattr(module, name))


def is_iceberg(path: str) -> bool:
    """Return whether a path is a description of an Iceberg table, or the folder of one."""
    return is_iceberg_description(path) or bool(find_descriptions(path))


def is_iceberg_description(path: str) -> bool:
    """Return whether a path is a description of an Iceberg table."""
    return path.lower().endswith(ICEBERG_SUFFIX) and os.path.isfile(path)


def find_descriptions(folder: str) -> list[str]:
    """Return the descriptions of an Iceberg table in its folder, none if it is no such folder."""
    return sorted(glob.glob(os.path.join(glob.escape(folder), "metadata", f"*{ICEBERG_SUFFIX}")))


def is_table_folder(folder: str) -> bool:
    """Return whether a folder is that of a Delta or Iceberg table. Some of its files may be of an older state."""
    return is_delta(folder) or is_iceberg(folder)


def is_remote(source: object) -> bool:
    """Return whether a source is at an address."""
    return isinstance(source, str) and source.startswith(REMOTE_PREFIXES)


def redact_address(address: str) -> str:
    """Return an address without what may be a secret: all before an @, and all from a query, fragment or option on.

    A password may hold a character that should be written as %2F, %3F, %23 or %3B. So where an @ comes after the first
    such character, what is before it may be half a password: only the scheme is left.
    """
    public = re.split("[?#;]|%3f", address, maxsplit=1, flags=re.IGNORECASE)[0]
    if re.search("@|%40", address[len(public) :]):
        return "".join(public.partition("//")[:2])
    return re.sub("//.*(@|%40)", "//", public, flags=re.DOTALL)


def refuse_table(table: str | None) -> None:
    """Refuse the name of a table for a source that is one."""
    if table is not None:
        hint = "a table name is for a DuckDB file or connection, PostgreSQL, SQLite or Spark"
        raise SourceError("table", "be left out for this kind of source", came(table), hint)


def path_of(source: str | os.PathLike[str]) -> str:
    """Return the path of a source, with the home of its user."""
    return os.path.expanduser(os.fsdecode(source))


@contextmanager
def refuse_missing_package(extra: str) -> Iterator[None]:
    """Turn a failed import of a package that such a table needs into a SourceError."""
    try:
        yield
    except ImportError as error:
        missing = f"no package {error.name or error}"
        raise SourceError("source", "be a table that can be read here", missing, install_hint(extra)) from None
