"""A table that Ibis has in PostgreSQL, as an address and a name: we ask on a connection of our own."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from dpselect.engines.postgres.dialect import quoted
from dpselect.errors import SourceError, missing_source_error

# The table that the caller's session finds, its role, and whether that is its login role: SET SESSION
# AUTHORIZATION changes session_user too, but not the activity view. Only the table's name is resolved on
# its path.
_TABLE_AND_ROLE = """
SELECT n.nspname::pg_catalog.text, c.relname::pg_catalog.text, c.relpersistence OPERATOR(pg_catalog.=) 't',
       current_user::pg_catalog.text,
       (SELECT r.rolname OPERATOR(pg_catalog.=) current_user
        FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) s
        JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) s.usesysid)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%(name)s)::pg_catalog.oid
"""


def address_and_table(connection: Any, schema: str | None, name: str) -> tuple[str, str]:
    """Return the address of the caller's connection, its password too, and the table with its schema.

    The role of the session is part of the address; no other setting of the session is, nor what it has not
    committed, and a temporary table is invisible to other connections.
    """
    quoted_name = quoted(name) if schema is None else f"{quoted(schema)}.{quoted(name)}"
    with connection.transaction():
        rows = connection.execute(_TABLE_AND_ROLE.encode(), {"name": quoted_name}).fetchall()
    if not rows:
        raise missing_source_error("source", "be a table or view of the database", f"{name!r}, which is none")
    schema, name, temporary, role, is_login_role = rows[0]
    if temporary:
        hint = "other connections cannot see it; write it to a table that they can see"
        raise SourceError("source", "be a table that outlives its connection", "a temporary one", hint)
    parameters = dict(connection.info.get_parameters())
    if connection.info.password:
        parameters["password"] = connection.info.password
    if not is_login_role:
        parameters["options"] = f"{parameters.get('options', '')} -c role={_escape_option(role)}".strip()
    return f"postgresql:///?{urlencode(parameters, quote_via=quote)}", f"{schema}.{name}"


def _escape_option(value: str) -> str:
    """Escape a value of connection options, where a space ends it and a backslash keeps what follows."""
    return value.replace("\\", "\\\\").replace(" ", "\\ ")
