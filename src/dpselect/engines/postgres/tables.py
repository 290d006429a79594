"""The table that a name refers to, and the types of its columns: read from the catalogue, never from a row."""

from __future__ import annotations

from dpselect._ground.parameters import suggest, suggest_column
from dpselect.engines.postgres.connection import PostgresWorkspace
from dpselect.engines.postgres.dialect import pg_type, quoted, short_column
from dpselect.engines.sources.refused_types import refused_type
from dpselect.engines.sql.database import ReadRequest
from dpselect.engines.sql.port import Row, SqlType, with_view_declarations
from dpselect.errors import SourceError, missing_source_error

# Tables, partitioned and foreign ones, views and materialised views.
_TABLES = """
SELECT c.oid::int8, n.nspname::text, c.relname::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND left(n.nspname, 3) <> 'pg_' AND n.nspname <> 'information_schema'
ORDER BY 2, 3
"""
_COLUMNS = """
SELECT a.attname::text, a.atttypid::int8, a.atttypmod, c.collname::text, c.collisdeterministic
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_TYPE = """
SELECT CASE WHEN n.nspname = 'pg_catalog' THEN t.typname::text ELSE n.nspname || '.' || t.typname END,
       t.typtype::text, t.typbasetype::int8, t.typtypmod
FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = %(type)s
"""


def read_columns(
    workspace: PostgresWorkspace, table: str | None, request: ReadRequest
) -> tuple[str, dict[str, SqlType]]:
    """Return the SQL of the table, and the types of the requested columns."""
    oid, table_name = _resolve_table(workspace, table)
    catalogue_rows = {str(row[0]): row for row in workspace.fetch(_COLUMNS, {"table": oid})}
    for parameter, column in request.named_columns:
        if column not in catalogue_rows:
            raise SourceError(
                parameter, "be a column of the source", repr(column), suggest_column(column, tuple(catalogue_rows))
            )
    counted_columns = [column for _, column in request.named_columns]
    types = {
        column: _column_type(workspace, catalogue_rows[column], compared=column in counted_columns)
        for column in (*counted_columns, *request.filter_columns(tuple(catalogue_rows)))
    }
    # This reads no row, but fails for a user who may not read any.
    workspace.fetch(f"SELECT {', '.join(quoted(column) for column in types)} FROM {table_name} LIMIT 0")
    columns_sql = ", ".join(short_column(column, sql_type) for column, sql_type in types.items())
    return f"(SELECT {columns_sql} FROM {table_name}) AS s", with_view_declarations(types)


def _resolve_table(workspace: PostgresWorkspace, table: str | None) -> tuple[int, str]:
    """Return the table that `schema.name` names, or a `name` that only one schema of the user's path has.

    Of two tables on the path the first may belong to anybody who may create one there: a view of theirs would run with
    the user's rights. For the same reason `schema.name` is never a table of the path whose name has a dot.
    """
    tables = [(f"{schema}.{name}", oid, schema, name) for oid, schema, name in workspace.fetch(_TABLES)]
    on_path = [candidate for candidate in tables if candidate[2] in workspace.path]
    full_names = [candidate[0] for candidate in tables if candidate not in on_path]
    shown_names = list(dict.fromkeys([*(candidate[3] for candidate in on_path), *full_names]))
    if table is None:
        hint = f"there is {', '.join(shown_names[:20])}" if shown_names else "this user sees none"
        raise SourceError("table", "name a table or view of the database", "nothing", hint)
    matching = [candidate for candidate in tables if candidate[0] == table] or [
        candidate for candidate in on_path if candidate[3] == table
    ]
    if not matching:
        known_names = [candidate[0] for candidate in tables] if "." in table else shown_names
        raise missing_source_error(
            "table", "be a table or view of the database", repr(table), suggest(table, known_names)
        )
    if len(matching) > 1:
        ambiguous_name = f"{table!r}, which is {' and '.join(candidate[0] for candidate in matching)}"
        raise SourceError("table", "be one table or view of the database", ambiguous_name, "write it with its schema")
    _, oid, schema, name = matching[0]
    return oid, f"{quoted(schema)}.{quoted(name)}"


def _column_type(workspace: PostgresWorkspace, column: Row, *, compared: bool) -> SqlType:
    """Return the type of a column; a domain over a type is that type.

    If the server treats values as equal that have several texts, a user would be one there and several here, so such
    columns are refused. Only a filter may name a jsonb column, of which it knows IS NULL alone.
    """
    name, oid, modifier, collation, deterministic = column
    if deterministic is False:
        hint = f'read what it compares in a view, such as SELECT lower("{name}" COLLATE "C") AS "{name}", ...'
        raise refused_type(name, f"text with the nondeterministic collation {collation}", hint)
    while True:
        type_name, kind, base, inner_modifier = workspace.fetch(_TYPE, {"type": oid})[0]
        if kind == "d":
            oid, modifier = base, inner_modifier
        elif type_name == "jsonb" and compared:
            example = f"\"{name}\" ->> 'id'"
            hint = f"read a part of it in a view: text as {example}, a number as ({example})::numeric"
            raise refused_type(name, "jsonb, in which 1.0 and 1.00 are equal", hint)
        else:
            return pg_type(name, type_name, kind, modifier)
