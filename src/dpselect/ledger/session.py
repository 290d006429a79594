"""A store that one process has open: a lock for its threads, and transactions that read or write its journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dpselect._ground.processes import process_identity
from dpselect.errors import LedgerError
from dpselect.ledger.journal import Journal
from dpselect.ledger.port import Store
from dpselect.ledger.terms import Chain

_RIGHTS_HINT = "ask its owner for the right to write to it"


class Session:
    """An open store, for the threads of the process that opened it."""

    def __init__(self, store: Store, prepare: Callable[[Store], None]) -> None:
        try:
            prepare(store)
        except BaseException:
            store.close()
            raise
        self.location: str = store.location
        self._store: Store | None = store
        self._journal = Journal(store)
        self._lock = threading.RLock()
        self._process = process_identity()

    @contextmanager
    def reading(self) -> Iterator[Journal]:
        """Hold the lock, and yield the journal for statements by themselves."""
        with self.store():
            yield self._journal

    @contextmanager
    def snapshot(self) -> Iterator[Journal]:
        """Hold the lock, and yield the journal of one moment."""
        with self.store() as store, store.snapshot():
            yield self._journal

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[tuple[Journal, Chain]]:
        """Hold the lock, and yield the journal in a transaction that writes, and its end."""
        with self.store() as store:
            if not store.writable:
                raise LedgerError(f"this user may not write to the ledger at {self.location}", _RIGHTS_HINT)
            with store.transaction(durable=durable):
                yield self._journal, self._journal.open_end()

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Hold the lock, and yield the store; LedgerError in a fork: SQLite's locks and sockets do not survive one."""
        if self._process != process_identity():  # before the lock, which a fork may have copied locked
            raise LedgerError(
                f"the ledger at {self.location} was opened in another process", "open it again in this one"
            )
        with self._lock:
            if self._store is None:
                raise LedgerError(f"the ledger at {self.location} is closed", "open it again")
            yield self._store

    @property
    def alive(self) -> bool:
        """True if the store can still be used, as far as is known."""
        with self._lock:
            return self._store is not None and self._store.alive

    def close(self) -> None:
        """Close the store; closing twice, or in a forked child, does nothing."""
        if self._process != process_identity():  # without the lock: a fork may have copied it locked
            return
        with self._lock:
            store, self._store = self._store, None
            if store is not None:
                store.close()
