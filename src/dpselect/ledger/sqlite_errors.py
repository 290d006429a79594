"""What SQLite says when something fails, as a sentence for a person. SQLite's own text is never shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from dpselect.errors import LedgerError
from dpselect.ledger.port import PATIENCE

_PRIMARY = 0xFF  # the low byte of SQLite's extended error codes
_NO_TABLE = ("no such table", "no such column")

_SAYS: dict[int, tuple[str, str | None]] = {
    sqlite3.SQLITE_FULL: ("could not be written: the disk is full", "make room, then ask again"),
    sqlite3.SQLITE_READONLY: (
        "may not be written by this user",
        "ask its owner for the right to write to the file and its folder",
    ),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "run `dpselect ledger verify`, then take it from a backup"),
    sqlite3.SQLITE_NOTADB: ("is no ledger: the file is no SQLite database", "check the path"),
    sqlite3.SQLITE_BUSY: (f"was in use by others for {PATIENCE} seconds", "ask again, or find out who holds it"),
    sqlite3.SQLITE_LOCKED: ("is in use", "ask again"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check the rights to the file and its folder"),
    sqlite3.SQLITE_IOERR: ("could not be read or written: the disk or its file system failed", "check the disk"),
    sqlite3.SQLITE_PERM: ("may not be used by this user", "check the rights to the file"),
    sqlite3.SQLITE_CONSTRAINT: ("refused a change that no ledger makes", "run `dpselect ledger verify`"),
    sqlite3.SQLITE_NOMEM: ("could not be read or written: memory ran out", None),
    sqlite3.SQLITE_TOOBIG: ("could not take so long a text", None),
}


@contextmanager
def said_plainly(place: str) -> Iterator[None]:
    """Turn SQLite's errors into ledger errors."""
    try:
        yield
    except sqlite3.Error as error:
        says, hint = _sentence(error)
        raise LedgerError(f"the ledger at {place} {says}", hint) from None
    except UnicodeDecodeError:  # the message itself quotes damaged bytes
        says, hint = _SAYS[sqlite3.SQLITE_CORRUPT]
        raise LedgerError(f"the ledger at {place} {says}", hint) from None


def _sentence(error: sqlite3.Error) -> tuple[str, str | None]:
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & _PRIMARY in _SAYS:
        return _SAYS[code & _PRIMARY]
    if any(words in str(error) for words in _NO_TABLE):
        return "is no ledger: its tables are not there", "make one with `dpselect ledger init`"
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return f"failed ({name})", "run `dpselect ledger verify`"
