"""Addresses of PostgreSQL databases, and what of them may be shown: host, port and database, never a user's secret."""

from __future__ import annotations

from dpselect.errors import DataError, SourceError, install_hint

_ROWS = (
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "options",
    "service",
)  # what decides which rows a table name means


def said(address: str) -> dict[str, str]:
    """What an address says, by libpq's own rules."""
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise DataError("a table in PostgreSQL needs psycopg", install_hint("postgres")) from None
    try:
        return {name: str(value) for name, value in conninfo_to_dict(address).items()}
    except psycopg.Error:
        pass
    # libpq says which part it cannot read, which may be the password.
    must, hint = "be a PostgreSQL address", "write postgresql://USER@HOST/DATABASE, other characters as %XX"
    raise SourceError("source", must, "one that cannot be read", hint)


def place(address: str) -> str:
    """Host, port and database: the only part of an address that is ever shown or kept."""
    words = said(address)
    port = f":{words['port']}" if "port" in words else ""
    return f"postgresql://{words.get('host') or 'localhost'}{port}/{words.get('dbname') or ''}"


def identity(address: str) -> str:
    """The place, and a digest of all that decides which rows are seen there, by whom; no password is in it."""
    shown = place(address)
    import hashlib

    from psycopg.pq import Conninfo

    default = {one.keyword.decode(): one.val.decode() for one in Conninfo.get_defaults() if one.val is not None}
    words = default | said(address)
    told = "\0".join(f"{name}={words.get(name, '')}" for name in _ROWS)
    return f"{shown} {hashlib.sha256(told.encode()).hexdigest()}"
