"""Where a ledger is: a file, or an address of PostgreSQL."""

from __future__ import annotations

import os
from pathlib import Path

from dpselect.errors import LedgerError
from dpselect.ledger.port import Store
from dpselect.ledger.postgres_store import is_empty_postgres, open_postgres
from dpselect.ledger.sqlite_store import create_sqlite, is_empty_sqlite, open_sqlite

LedgerPlace = str | os.PathLike[str]
_POSTGRES = ("postgresql://", "postgres://")


def open_store(where: LedgerPlace) -> Store:
    """The store of an existing ledger."""
    return open_postgres(str(where)) if _is_postgres(where) else open_sqlite(_path(where))


def create_store(where: LedgerPlace, *, there: bool = False) -> Store:
    """The store of a ledger that is about to be made; a file without tables may be `there`."""
    return open_postgres(str(where)) if _is_postgres(where) else create_sqlite(_path(where), there=there)


def is_empty(where: LedgerPlace) -> bool:
    """Is there no ledger yet, nor anything else?"""
    return is_empty_postgres(str(where)) if _is_postgres(where) else is_empty_sqlite(_path(where))


def _is_postgres(where: LedgerPlace) -> bool:
    return isinstance(where, str) and where.startswith(_POSTGRES)


def _path(where: LedgerPlace) -> Path:
    if isinstance(where, str) and "://" in where:
        raise LedgerError(
            f"a ledger cannot be at an address that starts with {where.partition('://')[0]}://",
            "give the path of a file, or postgresql://HOST/DATABASE",
        )
    return Path(where)
