"""Addresses of PostgreSQL databases, and what of them may be shown: host, port and database, never a user's secret."""

from __future__ import annotations

from dpselect.errors import DataError, SourceError, install_hint

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
