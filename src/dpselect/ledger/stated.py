"""Prices that somebody states for what another library does, and the block that such a price pays for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, Self, SupportsIndex

from dpselect._ground import parameters
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import ApproxDP, Neighbors
from dpselect._ground.processes import process_identity, refuse_copy
from dpselect.accounting.prices import Price, divergence
from dpselect.errors import BudgetError
from dpselect.ledger.account import clean_name
from dpselect.ledger.question import STATED, question


@dataclass(frozen=True)
class Stated:
    """An (epsilon, delta) that is charged whole, whatever comes back: docs/composing.md has the proof."""

    epsilon: Fraction
    delta: Fraction
    unit: str
    note: str

    @classmethod
    def of(cls, epsilon: Number, delta: Number, unit: str, note: str) -> Self:
        """Checked, but for whether the unit is that of the account."""
        price = parameters.epsilon("epsilon", epsilon), parameters.probability("delta", delta, zero=True)
        return cls(*price, clean_name("unit", unit), clean_name("note", note))

    def price_at(self, order: int | None) -> Price:
        """One step: all of delta may fail, and what does not fail is no worse than randomised response."""
        whole = ApproxDP(self.epsilon, self.delta)
        return Price(self.epsilon, self.epsilon if order is None else divergence(whole, order), self.delta)

    def text(self, by: str) -> str:
        """What the ledger records in the place of a question."""
        asked = {"stated_by": by, "note": self.note, "epsilon": self.epsilon, "delta": self.delta}
        return question(STATED, asked, {"unit": self.unit, "neighbors": Neighbors.ADD_REMOVE}, False).text


class Spending:
    """A price that is reserved; `with` runs what it pays for, once, and settles all of it however that ends."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self, protocol)

    def __init__(self, settle: Callable[[], object]) -> None:
        self._settle = settle
        self._once = threading.Lock()  # taken by the block for good: of two threads one runs it
        self._home = process_identity()

    def __enter__(self) -> None:
        if self._home != process_identity():  # before the block, whose every child would draw an answer of its own
            raise BudgetError("a stated price belongs to the process that reserved it", "call spend in this one")
        if not self._once.acquire(blocking=False):
            raise BudgetError("a stated price pays for one block, which has run already", "call spend again")

    def __exit__(self, *_: object) -> None:
        self._once.acquire(blocking=False)  # whoever settles it without a block has no block afterwards
        self._settle()
