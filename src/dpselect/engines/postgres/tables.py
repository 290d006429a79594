"""Which table of a database is meant, and the types of its columns: read from the catalogue, never from a row."""

from __future__ import annotations

from dpselect._ground.parameters import suggest, suggest_column
from dpselect.engines.postgres.connection import PostgresWorkspace
from dpselect.engines.postgres.dialect import pg_type, quoted, short
from dpselect.engines.sources.refused_types import refused_type
from dpselect.engines.sql.database import Asked
from dpselect.engines.sql.port import Row, SqlType, of_tables
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


def columns_of(workspace: PostgresWorkspace, table: str | None, asked: Asked) -> tuple[str, dict[str, SqlType]]:
    """The table as SQL has it, and the types of the columns that are asked for."""
    oid, name = _meant(workspace, table)
    found = {str(row[0]): row for row in workspace.fetch(_COLUMNS, {"table": oid})}
    for parameter, column in asked.named:
        if column not in found:
            raise SourceError(
                parameter, "be a column of the source", repr(column), suggest_column(column, tuple(found))
            )
    named = {name for _, name in asked.named}
    types = {
        column: _type(workspace, found[column], compared=column in named)
        for column in (*(name for _, name in asked.named), *asked.filtered(tuple(found)))
    }
    # No row is read by this, but whoever may not read any is told so now.
    workspace.fetch(f"SELECT {', '.join(quoted(column) for column in types)} FROM {name} LIMIT 0")
    read = ", ".join(short(column, one) for column, one in types.items())
    return f"(SELECT {read} FROM {name}) AS s", of_tables(types)


def _meant(workspace: PostgresWorkspace, table: str | None) -> tuple[int, str]:
    """The table that is meant by `schema.name`, or by a `name` that one schema only of the user's path has.

    Of two tables the first on the path may be anybody's who may create one there: a view of theirs would run with the
    user's rights. For the same reason `schema.name` is never a table of the path whose name has a dot.
    """
    every = [(f"{schema}.{name}", oid, schema, name) for oid, schema, name in workspace.fetch(_TABLES)]
    seen = [one for one in every if one[2] in workspace.path]
    shown = list(dict.fromkeys([*(one[3] for one in seen), *(one[0] for one in every if one not in seen)]))
    if table is None:
        hint = f"there is {', '.join(shown[:20])}" if shown else "this user sees none"
        raise SourceError("table", "name a table or view of the database", "nothing", hint)
    meant = [one for one in every if one[0] == table] or [one for one in seen if one[3] == table]
    if not meant:
        names = [one[0] for one in every] if "." in table else shown
        raise missing_source_error("table", "be a table or view of the database", repr(table), suggest(table, names))
    if len(meant) > 1:
        came = f"{table!r}, which is {' and '.join(one[0] for one in meant)}"
        raise SourceError("table", "be one table or view of the database", came, "write it with its schema")
    _, oid, schema, name = meant[0]
    return oid, f"{quoted(schema)}.{quoted(name)}"


def _type(workspace: PostgresWorkspace, column: Row, *, compared: bool) -> SqlType:
    """The type of a column; a domain over a type is that type.

    Where the server takes values for equal that have several texts, who a user is would be one thing there and another
    here, so such columns are refused. A filter alone may name a jsonb column, of which it knows IS NULL only.
    """
    name, oid, modifier, collation, deterministic = column
    if deterministic is False:
        hint = f'read what it compares in a view, such as SELECT lower("{name}" COLLATE "C") AS "{name}", ...'
        raise refused_type(name, f"text with the nondeterministic collation {collation}", hint)
    while True:
        type_name, kind, base, inner = workspace.fetch(_TYPE, {"type": oid})[0]
        if kind == "d":
            oid, modifier = base, inner
        elif type_name == "jsonb" and compared:
            part = f"\"{name}\" ->> 'id'"
            hint = f"read a part of it in a view: text as {part}, a number as ({part})::numeric"
            raise refused_type(name, "jsonb, in which 1.0 and 1.00 are equal", hint)
        else:
            return pg_type(name, type_name, kind, modifier)
