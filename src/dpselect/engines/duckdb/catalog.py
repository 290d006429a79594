"""Databases: attached read-only, by DuckDB alone, and which table or view of one is meant.

A process loses its POSIX locks on a file as soon as it closes any descriptor of it. So a file that something else in
this process has open (a connection, even one that only reads; another engine, under any name of the file) is refused.

Names are resolved here, by the database's own list of them. A database may hold macros of anybody's, under any name,
those of operators and built-in functions too. So nothing is called here but what is qualified by `system.main`, where
nobody can create anything.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

from dpselect._ground.parameters import suggest
from dpselect.engines.duckdb.workspace import Row, Workspace, literal, quoted
from dpselect.errors import DataError, SourceError, missing_source_error

TABLES = (
    "SELECT database_name, schema_name, table_name, sql FROM system.main.duckdb_tables() WHERE NOT internal "
    "UNION ALL SELECT database_name, schema_name, view_name, NULL FROM system.main.duckdb_views() WHERE NOT internal "
    "ORDER BY ALL"
)
HERE = "SELECT system.main.current_database(), system.main.current_schema()"
Place = tuple[str, str]
"""A database and a schema of it."""
_TEMPORARY: Place = ("temp", "main")
_COMPUTED = "GENERATED ALWAYS AS"


@dataclass(frozen=True)
class CatalogTable:
    """A table or a view, by its full name."""

    database: str
    schema: str
    name: str
    stored: bool
    """Do its rows stand in the database? A view, or a column that is computed, may read anything else."""

    @property
    def place(self) -> Place:
        """Where it is."""
        return self.database, self.schema

    @property
    def sql(self) -> str:
        """What stands after FROM. A full name is the table of that name, never a file or a Python variable."""
        return f"{quoted(self.database)}.{quoted(self.schema)}.{quoted(self.name)}"

    def shown(self, here: Place) -> str:
        """How a message calls it."""
        return self.name if self.place in (here, _TEMPORARY) else f"{self.schema}.{self.name}"


def tables_of(rows: Sequence[Row]) -> list[CatalogTable]:
    """The answer to TABLES."""
    return [
        CatalogTable(str(database), str(schema), str(name), sql is not None and _COMPUTED not in str(sql).upper())
        for database, schema, name, sql in rows
    ]


def chosen(table: str | None, tables: Sequence[CatalogTable], here: Place, what: str) -> CatalogTable:
    """The one that is meant by `name`, `schema.name` or `database.schema.name`.

    A name with dots is read as a full one first, so that no table hides another by being called so.
    """
    shown = list(dict.fromkeys(one.shown(here) for one in tables))
    if table is None:
        raise SourceError("table", f"name {what}", "nothing", f"there is {', '.join(shown[:20]) or 'none'}")
    meant = _meant(table, tables, here)
    if not meant:
        raise missing_source_error("table", f"be {what}", repr(table), suggest(table, shown))
    if len(meant) > 1:
        came = f"{table!r}, which is {' and '.join(one.sql for one in meant)}"
        raise SourceError("table", f"be one {what.removeprefix('a ')}", came, "write it with database and schema")
    return meant[0]


def _meant(table: str, tables: Sequence[CatalogTable], here: Place) -> list[CatalogTable]:
    """All that the name may mean: of several those where DuckDB looks first."""
    name = _plain(table)
    full = [one for one in tables if name == _plain(f"{one.database}.{one.schema}.{one.name}")]
    of_schema = [one for one in tables if name == _plain(f"{one.schema}.{one.name}")]
    of_database = [one for one in tables if one.schema == "main" and name == _plain(f"{one.database}.{one.name}")]
    found = full or of_schema or of_database or [one for one in tables if name == _plain(one.name)]
    temporary = [one for one in found if one.place == _TEMPORARY]
    nearest = temporary or [one for one in found if one.place == here]
    return nearest or [one for one in found if one.database == here[0]] or found


def _plain(name: str) -> str:
    """A name as DuckDB compares it; quotes may be written or not."""
    return name.replace('"', "").lower()


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
    hint = "another program or connection may have it open; close it, or pass that connection as the source"
    hint += "; name a SQLite file .sqlite" if path.lower().endswith(".db") else ""
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
