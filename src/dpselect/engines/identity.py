"""What a source is called: where a person reads it, without rows or passwords, and where a ledger knows it again.

What a ledger keeps may be read by others, so nothing in it depends on what the rows hold. A file is known by its name
and by when and where it was last written, not by its size. An Arrow table in memory is known again for as long as it
lives, by a random name that belongs to one object: if two tables of equal rows had one name, the second question would
be free, and would tell that nobody stands in one of them alone. For the same reason pandas and polars frames, which
change in place, have no name: a change that moved no row would tell so (docs/budgets.md).
"""

from __future__ import annotations

import os
import sys
import weakref
from contextlib import suppress
from functools import partial
from typing import Any

from dpselect._ground.temporary import PREFIX
from dpselect.draws import fresh_key
from dpselect.engines.address import Address, SourceKind
from dpselect.engines.sources.files import Files, find_files
from dpselect.engines.sources.tables import SQLITE_SIDE_FILES, STORE_PREFIXES, is_read_by_pyarrow, redact_address
from dpselect.errors import DataError, ParameterError

Json = Any
_names_of_tables: dict[
    int, tuple[weakref.ref[object], str]
] = {}  # by id, which may be another object's later: the ref tells


def display_name(source: object) -> str:
    """Return a source as text without its rows."""
    match Address.parse(source).kind:
        case SourceKind.POSTGRES:
            from dpselect.engines.postgres import address

            return repr(address.public_address(str(source)))
        case SourceKind.SPARK:
            from dpselect.engines.spark.source import display_name as spark_display_name

            return (
                repr(spark_display_name(source)) if isinstance(source, str) else f"<{type(source).__name__} of Spark>"
            )
        case SourceKind.ICEBERG if isinstance(source, str):
            return repr(redact_address(source))
        case SourceKind.REMOTE | SourceKind.OTHER_PACKAGE | SourceKind.PATHS:
            if isinstance(source, (list, tuple)):
                return f"<{len(source)} files>"
            path = os.fsdecode(source)  # type: ignore[arg-type] # it is a path
            return repr(redact_address(path) if "://" in path else path)
    return f"<{type(source).__module__.partition('.')[0]} {type(source).__name__}>"


def identify_source(address: Address, *, is_named: bool = False) -> tuple[Json, bool]:
    """Return what identifies a source in a ledger, and whether that fixes its rows. Most frames have only a name.

    Where somebody named the rows, a table in memory has no name of its own, which would be another in each process.
    """
    source = address.source
    match address.kind:
        case SourceKind.POSTGRES:
            from dpselect.engines.postgres.address import identity

            return identity(source), False
        case SourceKind.SPARK:
            from dpselect.engines.spark.source import display_name as spark_display_name

            return spark_display_name(source), False
        case SourceKind.IBIS:
            from dpselect.engines.sources.wrapped import ledger_name

            return ledger_name(source, address.table), False
        case SourceKind.ICEBERG:
            from dpselect.engines.sources.iceberg_catalogs import identify_state

            with suppress(Exception):  # whoever opens it says what is wrong
                return identify_state(source, address.table), True
            return source if isinstance(source, str) else "pyiceberg", False
        case SourceKind.REMOTE | SourceKind.OTHER_PACKAGE:
            return _remote(source), False
    stamps = _fingerprint(source) if address.kind is SourceKind.PATHS else None
    if stamps is not None:
        return stamps, True
    if not is_named and "pyarrow" in sys.modules and (name := arrow_table_name(source)) is not None:
        return ["in memory", name], True
    return f"{type(source).__module__.partition('.')[0]} {type(source).__name__}", False


def is_fixed_domain(source: object) -> bool:
    """Return whether files decide what a domain is. Only who opens a database knows a table from a view in it."""
    files = _files(source)
    return files is not None and files.kind != "duckdb"


def _fingerprint(source: object) -> Json:
    """Return [path, inode, last write, last change] of every file, unopened; None for no file, or one that is gone.

    A file in a temporary folder of ours is known to nobody: it holds what came from standard input, this time. Whoever
    reads SQLite with a log beside it changes the time of that log's last change, which says nothing therefore.
    """
    if isinstance(source, str) and PREFIX in source:
        return None
    if is_read_by_pyarrow(source):
        from dpselect.engines.sources.iceberg_tables import state_files

        with suppress(OSError):
            return [
                _stamp(path)[: -1 if path.endswith(SQLITE_SIDE_FILES) else None] for path in state_files(source)
            ] or None
        return None
    files = _files(source)
    if files is None:
        return None
    # A database may have its newest rows beside it, under the name by which we open it.
    logs = [os.path.realpath(path) + ".wal" for path in files.paths] if files.kind == "duckdb" else []
    try:
        return [_stamp(path) for path in (*files.paths, *files.log, *filter(os.path.exists, logs))]
    except OSError:
        return None


def _remote(address: str) -> str:
    """Return the public address, and a digest of all where it hides a part: of a store these are options, no secrets.

    Elsewhere it may be a secret, or say which file it is: such an address is never known again.
    """
    public = redact_address(address)
    if public == address:
        return public
    import hashlib  # it loads OpenSSL

    hashed = address.encode() if address.startswith(STORE_PREFIXES) else fresh_key()
    return f"{public} {hashlib.sha256(hashed).hexdigest()}"


def file_bytes(source: object) -> int:
    """Return the total bytes of the files that DuckDB reads of a source, for its owner; 0 for all other sources.

    SQLite and Iceberg, which no gateway reads, are not measured. Nor are prepared data: their file holds counts beside
    the rows, and both packed, so that its size says nothing of the bytes of the rows.
    """
    files = _files(source)
    if files is None or files.kind == "prepared":
        return 0
    return sum(os.path.getsize(path) for path in files.paths)


def _files(source: object) -> Files | None:
    if not isinstance(source, (str, os.PathLike, list, tuple)):
        return None
    try:
        return find_files(source)
    except (ParameterError, DataError, OSError):
        return None


def _stamp(path: str) -> Json:
    """Return the stamp of a file. A folder's name can be a column (`country=DE/`), so a link has both paths."""
    status, path_given, real_path = os.stat(path), os.path.abspath(path), os.path.realpath(path)
    return [
        *([path_given] if path_given != real_path else []),
        real_path,
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
    ]


def arrow_table_name(source: object) -> str | None:
    """Return the name of a table or a batch of PyArrow's, which none of their methods changes; None for all else.

    Where its memory is that of a NumPy array, whoever changes the array changes a table of the same name: a repeated
    question then has the stored answer, of the rows before, and nothing of the new ones is told.
    """
    import pyarrow as pa

    table = Address.parse(source).source
    if type(table) not in (pa.Table, pa.RecordBatch):
        return None
    entry = _names_of_tables.get(id(table))
    if entry is None or entry[0]() is not table:
        entry = weakref.ref(table, partial(_forget, id(table))), fresh_key().hex()
        _names_of_tables[id(table)] = entry
    return entry[1]


def _forget(object_id: int, ref: weakref.ref[object]) -> None:
    """Forget an object that is gone; called at any moment, so without a lock. One forgotten too early is paid again."""
    entry = _names_of_tables.get(object_id)
    if entry is not None and entry[0] is ref:
        _names_of_tables.pop(object_id, None)
