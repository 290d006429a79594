"""Places of ledgers: a file, or an address of PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path

from dpselect.errors import LedgerError
from dpselect.ledger.port import Store
from dpselect.ledger.sqlite_store import create_sqlite, is_empty_sqlite, open_sqlite

LedgerPlace = str | os.PathLike[str]
_POSTGRES = ("postgresql://", "postgres://")


def open_store(location: LedgerPlace) -> Store:
    """Open the store of an existing ledger."""
    if _is_postgres(location):
        from dpselect.ledger.postgres_store import open_postgres

        return open_postgres(str(location))
    return open_sqlite(_path(location))


def create_store(location: LedgerPlace, *, may_exist: bool = False) -> Store:
    """Open the store of a ledger that is about to be made; a file without tables is allowed if it `may_exist`."""
    if _is_postgres(location):
        from dpselect.ledger.postgres_store import open_postgres

        return open_postgres(str(location))
    return create_sqlite(_path(location), may_exist=may_exist)


def is_empty(location: LedgerPlace) -> bool:
    """Return whether there is neither a ledger nor anything else."""
    if _is_postgres(location):
        from dpselect.ledger.postgres_store import is_empty_postgres

        return is_empty_postgres(str(location))
    return is_empty_sqlite(_path(location))


def _is_postgres(location: LedgerPlace) -> bool:
    return isinstance(location, str) and location.startswith(_POSTGRES)


def _path(location: LedgerPlace) -> Path:
    if isinstance(location, str) and "://" in location:
        raise LedgerError(
            f"a ledger cannot be at an address that starts with {location.partition('://')[0]}://",
            "give the path of a file, or postgresql://HOST/DATABASE",
        )
    return Path(location)
