"""Database files: attached read-only, by DuckDB alone, and never where that would end a lock of this process.

A process loses its POSIX locks on a file as soon as it closes any descriptor of it. So a file that something else in
this process has open (a connection, even one that only reads; another engine, under any name of the file) is refused.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref

from dpselect.engines.duckdb.workspace import Workspace, literal
from dpselect.errors import DataError

_one_at_a_time = threading.Lock()
_ours: weakref.WeakSet[Workspace] = weakref.WeakSet()


def attached(workspace: Workspace, path: str) -> str:
    """The name under which a database is attached; a domain may come from the same one as the rows."""
    known = workspace.files.get(path)
    if known is not None:
        return known
    with _one_at_a_time:
        free = any(path in one.files for one in _ours) or not _is_open(path)
        name = _attach(workspace, path) if free else None
    if name is not None:
        return name
    hint = "another program or connection may hold it open; close it, or give the connection itself as the source"
    raise DataError(f"{path} cannot be opened as a DuckDB database", hint)


def _attach(workspace: Workspace, path: str) -> str | None:
    name = workspace.fresh()
    try:
        workspace.fetch(f"ATTACH {literal(path)} AS {name} (TYPE duckdb, READ_ONLY)")
    except DataError:
        return None
    workspace.files[path] = name
    _ours.add(workspace)
    return name


def _is_open(path: str) -> bool:
    """Has this process a descriptor of the file? Where none can be listed (on Windows), locks do not end like that."""
    try:
        wanted, descriptors = os.stat(path), os.listdir("/dev/fd")
    except OSError:
        return False
    for descriptor in descriptors:
        with contextlib.suppress(OSError, ValueError):  # the listing's own is closed by now
            if os.path.samestat(os.fstat(int(descriptor)), wanted):
                return True
    return False
