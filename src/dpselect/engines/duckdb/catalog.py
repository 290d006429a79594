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
CURRENT_PLACE = "SELECT system.main.current_database(), system.main.current_schema()"
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
    """Are its rows stored in the database? A view, or a column that is computed, may read anything else."""

    @property
    def place(self) -> Place:
        """The database and the schema."""
        return self.database, self.schema

    @property
    def sql(self) -> str:
        """The SQL after FROM. A full name is the table of that name, never a file or a Python variable."""
        return f"{quoted(self.database)}.{quoted(self.schema)}.{quoted(self.name)}"

    def shown(self, current_place: Place) -> str:
        """Return the name in a message."""
        return self.name if self.place in (current_place, _TEMPORARY) else f"{self.schema}.{self.name}"


def parse_tables(rows: Sequence[Row]) -> list[CatalogTable]:
    """Parse the rows of the query TABLES."""
    return [
        CatalogTable(str(database), str(schema), str(name), sql is not None and _COMPUTED not in str(sql).upper())
        for database, schema, name, sql in rows
    ]


def choose_table(
    table: str | None, tables: Sequence[CatalogTable], current_place: Place, description: str
) -> CatalogTable:
    """Return the table that `name`, `schema.name` or `database.schema.name` names.

    A name with dots is read as a full one first, so that no table hides another by its name.
    """
    shown_names = list(dict.fromkeys(candidate.shown(current_place) for candidate in tables))
    if table is None:
        raise SourceError(
            "table", f"name {description}", "nothing", f"there is {', '.join(shown_names[:20]) or 'none'}"
        )
    matching = _matching_tables(table, tables, current_place)
    if not matching:
        raise missing_source_error("table", f"be {description}", repr(table), suggest(table, shown_names))
    if len(matching) > 1:
        ambiguous_name = f"{table!r}, which is {' and '.join(candidate.sql for candidate in matching)}"
        raise SourceError(
            "table", f"be one {description.removeprefix('a ')}", ambiguous_name, "write it with database and schema"
        )
    return matching[0]


def _matching_tables(table: str, tables: Sequence[CatalogTable], current_place: Place) -> list[CatalogTable]:
    """Return all tables that the name may mean: of several those where DuckDB looks first."""
    name = _fold_name(table)
    by_full_name = [
        candidate
        for candidate in tables
        if name == _fold_name(f"{candidate.database}.{candidate.schema}.{candidate.name}")
    ]
    by_schema = [candidate for candidate in tables if name == _fold_name(f"{candidate.schema}.{candidate.name}")]
    by_database = [
        candidate
        for candidate in tables
        if candidate.schema == "main" and name == _fold_name(f"{candidate.database}.{candidate.name}")
    ]
    matching = (
        by_full_name
        or by_schema
        or by_database
        or [candidate for candidate in tables if name == _fold_name(candidate.name)]
    )
    temporary = [candidate for candidate in matching if candidate.place == _TEMPORARY]
    preferred = temporary or [candidate for candidate in matching if candidate.place == current_place]
    return preferred or [candidate for candidate in matching if candidate.database == current_place[0]] or matching


def _fold_name(name: str) -> str:
    """Return a name as DuckDB compares it, with or without quotes."""
    return name.replace('"', "").lower()


_attach_lock = threading.Lock()
_attached_workspaces: weakref.WeakSet[Workspace] = weakref.WeakSet()


def attach_database(workspace: Workspace, path: str) -> str:
    """Return the name under which a database is attached; a domain may come from the same database as the rows."""
    attached_name = workspace.files.get(path)
    if attached_name is not None:
        return attached_name
    with _attach_lock:
        is_ours = any(path in other_workspace.files for other_workspace in _attached_workspaces)
        can_attach = is_ours or not _is_open(path)
        name = _attach(workspace, path) if can_attach else None
    if name is not None:
        return name
    hint = "another program or connection may have it open; close it, or pass that connection as the source"
    hint += "; name a SQLite file .sqlite" if path.lower().endswith(".db") else ""
    raise DataError(f"{path} cannot be opened as a DuckDB database", hint)


def _attach(workspace: Workspace, path: str) -> str | None:
    name = workspace.fresh_name()
    try:
        workspace.fetch(f"ATTACH {literal(path)} AS {name} (TYPE duckdb, READ_ONLY)")
    except DataError:
        return None
    workspace.files[path] = name
    _attached_workspaces.add(workspace)
    return name


def _is_open(path: str) -> bool:
    """Return whether this process has a descriptor of the file.

    Where no descriptors can be listed (on Windows), closing one does not release locks.
    """
    try:
        file_status, descriptors = os.stat(path), os.listdir("/dev/fd")
    except OSError:
        return False
    for descriptor in descriptors:
        with contextlib.suppress(OSError, ValueError):  # the listing's own is closed by now
            if os.path.samestat(os.fstat(int(descriptor)), file_status):
                return True
    return False
