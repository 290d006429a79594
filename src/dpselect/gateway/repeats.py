"""Who was given a stored answer, written into the record in batches: nothing is charged by it, and it is common."""

from __future__ import annotations

import threading

from dpselect.errors import LedgerError
from dpselect.gateway.books import Books
from dpselect.gateway.log import Log
from dpselect.gateway.recent import Recent
from dpselect.ledger import Account

PAUSE = 0.2  # seconds between two batches


class Repeats:
    """A list that one thread writes down."""

    def __init__(self, books: Books, log: Log) -> None:
        self._books, self._log = books, log
        self._told: list[tuple[Account, int]] = []
        self._questions = Recent[str]()
        self._lock, self._ending = threading.Lock(), threading.Event()
        self._teller = threading.Thread(target=self._tell, name="repeats", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._teller.start()

    def stop(self) -> None:
        """Write what is left."""
        self._ending.set()
        self._teller.join()

    def add(self, account: Account, settle: int) -> None:
        """Somebody was given the answer that this entry settled."""
        with self._lock:
            self._told.append((account, settle))

    def _tell(self) -> None:
        ending = False
        while not ending:
            ending = self._ending.wait(PAUSE)
            with self._lock:
                told = self._told.copy()
                self._told.clear()
            if told:
                try:
                    self._books.ledger.told([(who, self._question_of(settle), settle) for who, settle in told])
                except LedgerError as error:
                    self._log.failed("repeated answers are not in the record", error, answers=len(told))

    def _question_of(self, settle: int) -> str:
        """The question that a settle answered, looked up once."""
        found = self._questions.get(settle)
        if found is None:
            ledger = self._books.ledger
            entry = ledger.entry(settle)
            hold = None if entry is None or entry.refers_to is None else ledger.entry(entry.refers_to)
            found = "" if hold is None else hold.question or ""
            self._questions.put(settle, found, len(found))
        return found
