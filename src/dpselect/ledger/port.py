"""The port between a ledger and its stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import Protocol

from dpselect.errors import LedgerError

Cell = str | int | None
Row = tuple[object, ...]
"""A row as a store returned it. A damaged store may return anything, so every cell is checked."""

VERIFY_HINT = "run `dpselect ledger verify`, then take it from a backup"
LOCK_TIMEOUT_SECONDS = 60  # how long a writer waits for others
WRITE_PREFIXES = (
    "INSERT ",
    "UPDATE ",
    "CREATE TRIGGER ",
    "DROP TABLE ",
)  # the beginnings of statements that change a ledger


def interrupted_change_error(location: str) -> LedgerError:
    """Return the error for a statement that changes rows outside of a transaction.

    A signal handler, or a generator that is collected, may use a ledger in the middle of a change by its own thread.
    That ends the transaction, and later writes would be half of a change.
    """
    return LedgerError(f"the ledger at {location} was used during a change, which was not made", "ask again")


@contextmanager
def transact(run: Callable[[str], object], roll_back: Callable[[], None], begin: Sequence[str]) -> Iterator[None]:
    """Run the statements that begin a transaction, and commit it at the end, or roll it back after an error."""
    try:
        for statement in begin:
            run(statement)
        yield
        run("COMMIT")
    except BaseException:
        roll_back()
        raise


class StoreDialect(StrEnum):
    """The SQL dialect of a store."""

    SQLITE = "sqlite"
    POSTGRES = "postgres"


class Store(Protocol):
    """Tables in SQLite or PostgreSQL. Every failure is a LedgerError, and ends the transaction."""

    @property
    def dialect(self) -> StoreDialect:
        """The SQL dialect of the store."""

    @property
    def location(self) -> str:
        """The place of the store for messages: without user and password."""

    @property
    def writable(self) -> bool:
        """True if this user may write to the store."""

    @property
    def alive(self) -> bool:
        """True if the store can still be used, as far as is known: a connection may have been cut."""

    def run(self, sql: str, values: Sequence[Cell] = ()) -> list[Row]:
        """Run a statement with question marks for the values, and return all rows."""

    def creation(self, check_rebuild: Callable[[], None] | None = None) -> AbstractContextManager[None]:
        """Open the one transaction that makes the tables; if there are some, `check_rebuild` must allow it."""

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Open a transaction that writes: one at a time over all processes, and durable when it ends.

        One that is not `durable` becomes so with the next durable one at the latest.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Open a transaction that only reads, and sees one moment."""

    def problems(self) -> list[str]:
        """Return the damage that the store itself finds."""

    def close(self) -> None:
        """Close the store; closing twice does nothing."""
