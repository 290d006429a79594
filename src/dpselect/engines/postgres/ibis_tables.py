"""A table that Ibis has in PostgreSQL, as an address and a name: we ask on a connection of our own."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from dpselect.engines.postgres.dialect import quoted
from dpselect.errors import SourceError, missing_source_error

# Where the caller's session finds the table, as whom it looks, and whether that is who it came as: SET SESSION
# AUTHORIZATION changes session_user too, but not who the server says is there. No name but the table's is looked for on
# its path.
_FOUND = """
SELECT n.nspname::pg_catalog.text, c.relname::pg_catalog.text, c.relpersistence OPERATOR(pg_catalog.=) 't',
       current_user::pg_catalog.text,
       (SELECT r.rolname OPERATOR(pg_catalog.=) current_user
        FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) s
        JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) s.usesysid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%(name)s)::pg_catalog.oid
"""


def address_and_table(connection: Any, schema: str | None, name: str) -> tuple[str, str]:
    """The address that the caller's connection was opened with, its password too, and the table with its schema.

    The role that the session has taken is part of it; no other setting of the session is, nor what it has not
    committed, and a temporary table is seen by nobody else.
    """
    full = quoted(name) if schema is None else f"{quoted(schema)}.{quoted(name)}"
    with connection.transaction():
        found = connection.execute(_FOUND.encode(), {"name": full}).fetchall()
    if not found:
        raise missing_source_error("source", "be a table or view of the database", f"{name!r}, which is none")
    schema, name, temporary, role, own = found[0]
    if temporary:
        hint = "other connections cannot see it; write it to a table that they can see"
        raise SourceError("source", "be a table that outlives its connection", "a temporary one", hint)
    words = dict(connection.info.get_parameters())
    if connection.info.password:
        words["password"] = connection.info.password
    if not own:
        words["options"] = f"{words.get('options', '')} -c role={_in_options(role)}".strip()
    return f"postgresql:///?{urlencode(words, quote_via=quote)}", f"{schema}.{name}"


def _in_options(value: str) -> str:
    """A value among the options of a connection, where a space ends it and a backslash keeps what follows."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
