"""A question's turn: when it began, and when its answer leaves.

An answer, or a failure, leaves one tick after its question began, whatever the rows made of the time. The tick follows
from parameters and declared sizes (`forecast/work.py`). A little before it the answer is settled, so that what others
see of the budget changes at a fixed time too. What is not ready then is late: the tick of its data doubles, for it as
for all. What is late for the second time is given up (docs/gateway-threats.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import field
from math import ceil
from typing import Any

from dpselect import Release
from dpselect._ground.dataclass import dataclass
from dpselect.errors import LedgerError
from dpselect.forecast import WorkBound
from dpselect.gateway.problems import TooLateError
from dpselect.ledger import Entry, Fingerprint, Ledger, LedgerBudget, Priced, Reservation, hash_question

_SETTLING_SHARE = 0.25  # of a tick, in which an answer is settled
MAX_SETTLING_SECONDS = 0.5
THREADS = 2
"""Threads that read and price questions, each of which takes from the workers' interpreter as much as a worker does."""
SECONDS_BETWEEN_TURNS = 0.05  # seconds between two looks whether somebody is late


def window(work: WorkBound, tick: float, workers: int) -> float:
    """Return the first of 1, 2, 4, 8 ... ticks that suffices for this work while all other workers are at theirs.

    Workers and the threads that price questions share one interpreter, however many processors there are.
    """
    seconds = work.python_seconds * (workers + THREADS) + work.engine_seconds * workers
    return tick * 2.0 ** (max(1, ceil(seconds / tick)) - 1).bit_length()


@dataclass
class Turn:
    """The time of one question, by a clock that is never set. Others decide whether it is late, at the time it is."""

    tick: float
    slips: int = 0  # of the data
    times_late: int = 0  # how often this question was late
    began: float = field(default_factory=time.monotonic)
    is_ready: bool = False  # is there something to settle?
    work_ended: bool = False  # has its work ended?
    ended_for_asker: bool = False  # has it ended for who asked, while its work goes on?
    may_have_read: bool = False  # may rows have been read?
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @property
    def window(self) -> float:
        """The seconds from its beginning to its end."""
        return self.tick * 2.0**self.slips

    @property
    def settles_at(self) -> float:
        """The time at which its answer is settled."""
        return self.began + self.window - min(self.window * _SETTLING_SHARE, MAX_SETTLING_SECONDS)

    @property
    def is_late(self) -> bool:
        """True if there is nothing to settle at the time to settle it."""
        working = self.may_have_read and not self.is_ready and not self.work_ended and not self.is_given_up
        return working and self.now() >= self.settles_at

    @property
    def is_given_up(self) -> bool:
        """True if the question was late twice."""
        return self.times_late > 1

    @property
    def is_abandoned(self) -> bool:
        """True if it is given up and its window is over, while its work goes on."""
        return (
            self.is_given_up
            and not self.work_ended
            and not self.ended_for_asker
            and self.now() >= self.began + self.window
        )

    def check(self, _: float | None = None) -> None:
        """End the work of a question that was late twice; engines call this while they work."""
        if self.is_given_up:
            raise TooLateError

    def wait_to_settle(self) -> None:
        """Wait until answers are settled; raise TooLateError if this one is too late."""
        while self.now() >= self.settles_at:  # late, which is told at its time, and moves that moment
            self.check()
            self.sleep(SECONDS_BETWEEN_TURNS)
        self.is_ready = True
        self._until(lambda: self.settles_at)
        self.check()

    def wait(self) -> None:
        """Wait until the answer leaves."""
        self._until(lambda: self.began + self.window)

    def _until(self, moment: Callable[[], float]) -> None:
        """Sleep until a moment, which may move away meanwhile."""
        while (left := moment() - self.now()) > 0:
            self.sleep(min(left, SECONDS_BETWEEN_TURNS))


class TimedBudget(LedgerBudget):
    """The quota of an analyst that pays for one question in its turn, and notes at once what becomes of it."""

    def __init__(
        self,
        ledger: Ledger,
        turn: Turn,
        note: Callable[..., None],
        *,
        data: str,
        analyst: str,
        snapshot: str | None,
        approved_by: str | None = None,
    ) -> None:
        super().__init__(ledger, data=data, analyst=analyst, snapshot=snapshot)
        self._dataset, self._turn, self._note, self._approved_by = data, turn, note, approved_by
        self._question, self._hold = "", 0

    def pay(
        self, plan: Priced, question: Fingerprint, ask: Callable[[], Release], *, fresh: bool, **payment_options: Any
    ) -> Release:
        """Pay for a question and return its release; the outcome, answer or error, is settled at a fixed time."""
        self._question = question.text
        self._note(question_digest=hash_question(question.text), durable=False)

        def note_hold(reservation: Reservation) -> None:
            self._hold = reservation.number
            self._note(hold_entry=reservation.number)
            self._turn.may_have_read = True

        def ask_in_time() -> Release:
            try:
                return ask()
            finally:
                self._turn.wait_to_settle()

        return super().pay(
            plan,
            question,
            ask_in_time,
            fresh=fresh,
            on_hold=note_hold,
            approved_by=self._approved_by,
            **payment_options,
        )

    @property
    def settlement(self) -> Entry:
        """The entry that holds the answer: of this question, or of the same one before."""
        with self.ledger() as ledger:
            outcome = ledger.outcome(self._hold) if self._hold else None
            settlement = ledger.find_settlement(self._dataset, self._question) if outcome is None else outcome.settle
        if settlement is None:
            raise LedgerError("the ledger does not hold the answer that it was given")
        return settlement
