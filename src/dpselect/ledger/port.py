"""What the ledger asks of a place that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

from dpselect.errors import LedgerError

Cell = str | int | None
Row = tuple[object, ...]
"""What a place gave back: a damaged one may give anything, so every cell is checked."""

LOCK_TIMEOUT_SECONDS = 60  # seconds: how long a writer waits for the others
WRITE_PREFIXES = ("INSERT ", "UPDATE ", "CREATE TRIGGER ", "DROP TABLE ")  # how statements that change a ledger begin


def interrupted_change_error(place: str) -> LedgerError:
    """The error where a statement changes rows outside of a transaction.

    A signal handler, or a generator that is collected, may use a ledger in the middle of a change in its own thread.
    That ends the transaction; what is still to be written would be half of a change.
    """
    return LedgerError(f"the ledger at {place} was used during a change, which was not made", "ask again")


class StoreDialect(StrEnum):
    """Which SQL a place speaks, where dialects differ."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class Store(Protocol):
    """Tables in SQLite or PostgreSQL. Every failure is a LedgerError, and no transaction stays open after one."""

    @property
    def dialect(self) -> StoreDialect:
        """Which SQL it speaks."""

    @property
    def place(self) -> str:
        """Where it is, as messages say it: without user and password."""

    @property
    def writable(self) -> bool:
        """May this user write to it?"""

    @property
    def alive(self) -> bool:
        """Can it still be used? A file stays; a connection may have been cut."""

    def run(self, sql: str, values: Sequence[Cell] = ()) -> list[Row]:
        """All rows of one statement; a value stands where the text has a question mark."""

    def creation(self, again: Callable[[], None] | None = None) -> AbstractContextManager[None]:
        """The one transaction that makes the tables where there are none; or `again`, where that allows it."""

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """A transaction that writes: one at a time over all processes, and on the disk when it ends.

        One that is not `durable` need not be there yet, but is at the latest with the next durable one.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """A transaction that only reads and sees one moment."""

    def problems(self) -> list[str]:
        """What the place itself finds damaged."""

    def close(self) -> None:
        """Give it back; closing twice does nothing."""
