"""Deposits: the total of a session, set aside in a ledger from its opening to its close."""

from __future__ import annotations

import threading

from dpselect.errors import BudgetError
from dpselect.ledger import Charge
from dpselect.ledger.budget import LedgerBudget
from dpselect.ledger.question import Question
from dpselect.privacy import ApproxDP
from dpselect.processes import refuse_copy


class Deposit:
    """Set aside when it is made; started before the first row is read; closed once, for what was spent.

    May be shared by threads. A question that comes to `start` after the close is refused.
    """

    __reduce_ex__ = refuse_copy

    def __init__(self, paying: LedgerBudget, total: ApproxDP, what: Question) -> None:
        self._budget = paying
        self._lock = threading.Lock()
        self._started = self._closed = False
        with paying.ledger() as ledger:
            self._reservation = ledger.reserve(paying.account, Charge.up(total.epsilon, total.delta), what.text)

    def start(self) -> None:
        """The ledger knows from now on that rows may be read, so that the total can no longer go back whole."""
        with self._lock:
            if self._closed:
                raise BudgetError("the session is closed", "open another one")
            if not self._started:
                with self._budget.ledger() as ledger:
                    ledger.start(self._reservation)
                self._started = True

    def close(self, spent: ApproxDP) -> None:
        """What was not spent is free again: all of it, where no row was read."""
        with self._lock:
            if self._closed:
                return
            with self._budget.ledger() as ledger:
                if self._started:
                    ledger.settle(self._reservation, Charge.up(spent.epsilon, spent.delta), None)
                else:
                    ledger.abandon(self._reservation)
            self._closed = True
