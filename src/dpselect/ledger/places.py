"""Places of ledgers: a file, or an address of PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path

from dpselect.errors import LedgerError
from dpselect.ledger.port import Store
from dpselect.ledger.sqlite_store import create_sqlite, is_empty_sqlite, open_sqlite

LedgerPlace = str | os.PathLike[str]
_POSTGRES = ("postgresql://", "postgres://")


def open_store(place: LedgerPlace) -> Store:
    """Open the store of an existing ledger."""
    if _is_postgres(place):
        from dpselect.ledger.postgres_store import open_postgres

        return open_postgres(str(place))
    return open_sqlite(_path(place))


def create_store(place: LedgerPlace, *, may_exist: bool = False) -> Store:
    """Open the store of a ledger that is about to be made; a file without tables is allowed if it `may_exist`."""
    if _is_postgres(place):
        from dpselect.ledger.postgres_store import open_postgres

        return open_postgres(str(place))
    return create_sqlite(_path(place), may_exist=may_exist)


def is_empty(place: LedgerPlace) -> bool:
    """Return whether there is neither a ledger nor anything else."""
    if _is_postgres(place):
        from dpselect.ledger.postgres_store import is_empty_postgres

        return is_empty_postgres(str(place))
    return is_empty_sqlite(_path(place))


def _is_postgres(place: LedgerPlace) -> bool:
    return isinstance(place, str) and place.startswith(_POSTGRES)


def _path(place: LedgerPlace) -> Path:
    if isinstance(place, str) and "://" in place:
        raise LedgerError(
            f"a ledger cannot be at an address that starts with {place.partition('://')[0]}://",
            "give the path of a file, or postgresql://HOST/DATABASE",
        )
    return Path(place)
