"""A question's turn: when it began, and when its answer may leave.

An answer, or a failure, leaves 1, 2, 4, 8 ... ticks after its question began, whatever the rows made of the time. A
tick is a number of the settings. A little before it the answer is settled, so that what others see of the budget
changes at a fixed time too (docs/gateway-time.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dpselect.ledger import Ledger
from dpselect.ledger.budget import LedgerBudget, Payable
from dpselect.ledger.entry import Reservation, hash_of
from dpselect.ledger.question import Question
from dpselect.release.release import Release

SETTLING = 0.25  # of a tick, in which an answer is settled
LONGEST = 0.5  # seconds of it


@dataclass
class Turn:
    """The time of one question, by a clock that is never set."""

    tick: float
    began: float = field(default_factory=time.monotonic)
    ticks: int = 1
    read: bool = False  # may rows have been read?
    sleep: Callable[[float], None] = time.sleep

    @property
    def apart(self) -> float:
        """How long before its tick an answer is settled."""
        return min(self.tick * SETTLING, LONGEST)

    def wait_to_settle(self) -> None:
        """Up to the next moment at which answers are settled."""
        while self.began + self.ticks * self.tick - self.apart < time.monotonic():
            self.ticks *= 2
        self._until(self.began + self.ticks * self.tick - self.apart)

    def due(self) -> float:
        """After how many seconds the answer leaves, from the beginning of the turn."""
        while self.began + self.ticks * self.tick < time.monotonic():
            self.ticks *= 2
        return self.ticks * self.tick

    def wait(self) -> None:
        """Until the answer may leave."""
        self._until(self.began + self.due())

    def _until(self, then: float) -> None:
        while (left := then - time.monotonic()) > 0:
            self.sleep(left)


class TimedBudget(LedgerBudget):
    """The quota of an analyst, from which one question is paid in its turn."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        data: str,
        analyst: str,
        snapshot: str | None,
        turn: Turn,
        asking: Callable[[str], None],
        held: Callable[[int], None],
    ) -> None:
        super().__init__(ledger, data=data, analyst=analyst, snapshot=snapshot)
        self._turn, self._asking, self._held = turn, asking, held
        self.question: str | None = None
        self.hold: int | None = None

    def pay(
        self, asked: Payable, question: Question, ask: Callable[[], Release], *, fresh: bool, **more: Any
    ) -> Release:
        """The same; what was read is settled at a fixed time, whether it is an answer or an error."""
        self.question = question.text
        self._asking(hash_of(question.text))

        def held(reservation: Reservation) -> None:
            self.hold = reservation.number
            self._held(reservation.number)
            self._turn.read = True

        def timed() -> Release:
            try:
                return ask()
            finally:
                self._turn.wait_to_settle()

        return super().pay(asked, question, timed, fresh=fresh, held=held, **more)
