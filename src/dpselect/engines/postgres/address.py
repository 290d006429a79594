"""Addresses of PostgreSQL databases, and what of them may be shown: host, port and database, never a user's secret.

A table that Ibis has there is read by its address and name, on a connection of our own.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from dpselect.engines.postgres.dialect import quoted
from dpselect.errors import DataError, SourceError, install_hint, missing_source_error

# The parameters that decide which rows a table name means.
_ROW_PARAMETERS = ("host", "hostaddr", "port", "dbname", "user", "options", "service")


def parse_address(address: str) -> dict[str, str]:
    """Parse an address by libpq's own rules."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise DataError("a table in PostgreSQL needs psycopg", install_hint("postgres")) from None
    try:
        # libpq takes a password that holds a / for a port and a database, which are shown.
        if "@" not in address.partition("://")[2].partition("?")[0].partition("/")[2]:
            return {name: str(value) for name, value in conninfo_to_dict(address).items()}
    except psycopg.Error:
        pass
    # libpq's message quotes the part that it cannot read, which may be the password.
    requirement, hint = "be a PostgreSQL address", "write postgresql://USER@HOST/DATABASE, other characters as %XX"
    raise SourceError("source", requirement, "one that cannot be read", hint)


def public_address(address: str) -> str:
    """Return host, port and database: the only part of an address that is ever shown or kept."""
    parameters = parse_address(address)
    port = f":{parameters['port']}" if "port" in parameters else ""
    return f"postgresql://{parameters.get('host') or 'localhost'}{port}/{parameters.get('dbname') or ''}"


def identity(address: str) -> str:
    """Return the public address and a digest of all that decides which rows are visible, without passwords."""
    visible = public_address(address)
    import hashlib

    from psycopg.pq import Conninfo

    defaults = {
        option.keyword.decode(): option.val.decode() for option in Conninfo.get_defaults() if option.val is not None
    }
    parameters = defaults | parse_address(address)
    row_parameters = "\0".join(f"{name}={parameters.get(name, '')}" for name in _ROW_PARAMETERS)
    return f"{visible} {hashlib.sha256(row_parameters.encode()).hexdigest()}"


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
