"""Databases of DuckDB as scans: files attached read-only, by DuckDB alone, connections and relations of a caller.

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
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import suggest
from dpselect.engines.duckdb.types import base_type, length_limited_form
from dpselect.engines.duckdb.workspace import Row, Workspace, literal, quoted
from dpselect.engines.filters.column_names import lower_ascii, refuse_twins_of_source
from dpselect.engines.sources.scans.scan import Scan, describe_columns
from dpselect.errors import DataError, SourceError, missing_source_error

if TYPE_CHECKING:
    import duckdb

_TABLES = (
    "SELECT database_name, schema_name, table_name, sql FROM system.main.duckdb_tables() WHERE NOT internal "
    "UNION ALL SELECT database_name, schema_name, view_name, NULL FROM system.main.duckdb_views() WHERE NOT internal "
    "ORDER BY ALL"
)
_CURRENT_DATABASE_AND_SCHEMA = "SELECT system.main.current_database(), system.main.current_schema()"
DatabaseAndSchema = tuple[str, str]
"""A database and a schema of it."""
_TEMPORARY: DatabaseAndSchema = ("temp", "main")
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
    def database_and_schema(self) -> DatabaseAndSchema:
        """The database and the schema."""
        return self.database, self.schema

    @property
    def sql(self) -> str:
        """The SQL after FROM. A full name is the table of that name, never a file or a Python variable."""
        return f"{quoted(self.database)}.{quoted(self.schema)}.{quoted(self.name)}"

    def shown(self, current: DatabaseAndSchema) -> str:
        """Return the name in a message."""
        return self.name if self.database_and_schema in (current, _TEMPORARY) else f"{self.schema}.{self.name}"


def _parse_tables(rows: Sequence[Row]) -> list[CatalogTable]:
    """Parse the rows of the query of tables."""
    return [
        CatalogTable(str(database), str(schema), str(name), sql is not None and _COMPUTED not in str(sql).upper())
        for database, schema, name, sql in rows
    ]


def _choose_table(
    table: str | None, tables: Sequence[CatalogTable], current: DatabaseAndSchema, description: str
) -> CatalogTable:
    """Return the table that `name`, `schema.name` or `database.schema.name` names.

    A name with dots is read as a full one first, so that no table hides another by its name.
    """
    shown_names = list(dict.fromkeys(candidate.shown(current) for candidate in tables))
    if table is None:
        raise SourceError(
            "table", f"name {description}", "nothing", f"there is {', '.join(shown_names[:20]) or 'none'}"
        )
    matching = _matching_tables(table, tables, current)
    if not matching:
        raise missing_source_error("table", f"be {description}", repr(table), suggest(table, shown_names))
    if len(matching) > 1:
        ambiguous_name = f"{table!r}, which is {' and '.join(candidate.sql for candidate in matching)}"
        raise SourceError(
            "table", f"be one {description.removeprefix('a ')}", ambiguous_name, "write it with database and schema"
        )
    return matching[0]


def _matching_tables(table: str, tables: Sequence[CatalogTable], current: DatabaseAndSchema) -> list[CatalogTable]:
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
    temporary = [candidate for candidate in matching if candidate.database_and_schema == _TEMPORARY]
    preferred = temporary or [candidate for candidate in matching if candidate.database_and_schema == current]
    return preferred or [candidate for candidate in matching if candidate.database == current[0]] or matching


def _fold_name(name: str) -> str:
    """Return a name as DuckDB compares it, with or without quotes."""
    return name.replace('"', "").lower()


_attach_lock = threading.Lock()
_attached_workspaces: weakref.WeakSet[Workspace] = weakref.WeakSet()


def attach_database(workspace: Workspace, path: str) -> str:
    """Return the name under which a database is attached; a domain may come from the same database as the rows."""
    attached_name = workspace.attached_files.get(path)
    if attached_name is not None:
        return attached_name
    with _attach_lock:
        is_ours = any(path in other_workspace.attached_files for other_workspace in _attached_workspaces)
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
    workspace.attached_files[path] = name
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


# ---- scans -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableScan(Scan):
    """A scan of a table of an attached database: DuckDB reads only the requested columns."""

    forms: Mapping[str, str]
    """The SQL of each column, short enough."""
    sql: str

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:
        """Return the SQL types of some columns."""
        return describe_columns(workspace, self._select(columns))

    @contextlib.contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:  # noqa: ARG002
        """Yield the SQL after FROM for one query over some columns."""
        yield f"({self._select(columns)})"

    def _select(self, columns: Sequence[str]) -> str:
        return f"SELECT {', '.join(self.forms[column] for column in columns)} FROM {self.sql}"


def open_database_table(workspace: Workspace, path: str, table: str | None) -> TableScan:
    """Open a table of a database file, which DuckDB alone opens."""
    current = attach_database(workspace, os.path.realpath(path)), "main"
    tables = [candidate for candidate in _parse_tables(workspace.fetch(_TABLES)) if candidate.database == current[0]]
    chosen_table = _choose_table(table, tables, current, "a table of the database")
    types = describe_columns(workspace, f"SELECT * FROM {chosen_table.sql}")
    forms = {
        name: f"{length_limited_form(quoted(name), sql_type)} AS {quoted(name)}" for name, sql_type in types.items()
    }
    return TableScan(tuple(types), forms, chosen_table.sql, fixed=chosen_table.stored)


def open_connection_table(
    workspace: Workspace, connection: duckdb.DuckDBPyConnection, table: str | None
) -> RelationScan:
    """Open a table or view of a caller's connection."""

    def read_catalog() -> tuple[list[Row], Row]:
        return connection.sql(_TABLES).fetchall(), connection.sql(_CURRENT_DATABASE_AND_SCHEMA).fetchall()[0]

    rows, (database, schema) = workspace.guarded(read_catalog)
    chosen_table = _choose_table(
        table, _parse_tables(rows), (str(database), str(schema)), "a table or view of the connection"
    )
    return workspace.guarded(lambda: RelationScan.from_relation(connection.sql(f"FROM {chosen_table.sql}")))


@dataclass(frozen=True, repr=False)
class RelationScan(Scan):
    """A scan of a relation on the caller's own connection, from which only plain columns are read.

    The caller's macros may have any name there, of operators and built-in functions too, and the caller's settings
    decide how things are read, compared and ordered. So nothing is called, cast or compared there, and nothing is left.
    """

    relation: duckdb.DuckDBPyRelation
    column_types: Mapping[str, str]

    @classmethod
    def from_relation(cls, relation: duckdb.DuckDBPyRelation) -> RelationScan:
        """Return the scan of a relation whose connection is still open."""
        types = dict(zip(relation.columns, map(str, relation.types), strict=True))
        return cls(tuple(types), relation, types)

    def source_types(self, workspace: Workspace, columns: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the SQL types of some columns."""
        folded_names = set(map(lower_ascii, columns))
        same_names = [column for column in self.relation.columns if lower_ascii(column) in folded_names]
        refuse_twins_of_source(same_names, "", "rename one of them in the relation")
        types = {column: self.column_types[column] for column in columns}
        unreadable_type = next(
            (base_type(sql_type) for sql_type in types.values() if base_type(sql_type) in _UNREADABLE_TYPES), None
        )
        if unreadable_type is not None:
            hint = "cast it to text in the relation, or in a view"
            raise DataError(f"a column of type {unreadable_type} cannot be read unchanged from a connection", hint)
        return types

    @contextlib.contextmanager
    def source_rows(self, workspace: Workspace, columns: Sequence[str]) -> Iterator[str]:
        """Yield the SQL after FROM for one query over some columns."""
        from duckdb import ColumnExpression

        narrow_relation = self.relation.select(*map(ColumnExpression, columns))
        restored_columns = ", ".join(
            f"{_restored(quoted(column), self.column_types[column])} AS {quoted(column)}" for column in columns
        )
        # The stream is registered, not the relation: it runs once, and its schema comes with it.
        with workspace.registered(narrow_relation.__arrow_c_stream__()) as name:
            yield f"(SELECT {restored_columns} FROM {name})"


# How these travel is up to a setting of the connection (arrow_lossless_conversion). They become again what they were:
# the bits of a large integer come as those of a signed one.
_RESTORING_CASTS = {
    "HUGEINT": "CAST({} AS HUGEINT)",
    "UHUGEINT": "CASE WHEN {} < 0 THEN (CAST({} AS HUGEINT) - (-170141183460469231731687303715884105728)::HUGEINT)"
    "::UHUGEINT + 170141183460469231731687303715884105728 ELSE CAST({} AS UHUGEINT) END",
    "UUID": "CAST({} AS UUID)",
}
_UNREADABLE_TYPES = frozenset({"BIT", "TIME WITH TIME ZONE"})  # their values cannot be restored


def _restored(column: str, sql_type: str) -> str:
    back = _RESTORING_CASTS.get(base_type(sql_type))
    return length_limited_form(column, sql_type) if back is None else back.replace("{}", column)
