"""What the ledger asks of a place that keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol

Cell = str | int | None
Row = tuple[object, ...]
"""What a place gave back: a damaged one may give anything, so every cell is checked."""

PATIENCE = 60  # seconds: how long a writer waits for the others


class Dialect(StrEnum):
    """Which SQL a place speaks, where dialects differ."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class Store(Protocol):
    """Tables in SQLite or PostgreSQL. Every failure is a LedgerError, and no transaction stays open after one."""

    @property
    def dialect(self) -> Dialect:
        """Which SQL it speaks."""

    @property
    def place(self) -> str:
        """Where it is, as messages say it: without user and password."""

    @property
    def writable(self) -> bool:
        """May this user write to it?"""

    def run(self, sql: str, values: Sequence[Cell] = ()) -> list[Row]:
        """All rows of one statement; a value stands where the text has a question mark."""

    def creation(self) -> AbstractContextManager[None]:
        """The one transaction that makes the tables."""

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
