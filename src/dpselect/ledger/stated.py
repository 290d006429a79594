"""Prices stated for another library's releases, and the block that such a price pays for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn, Self, SupportsIndex

from dpselect._ground import parameters
from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number
from dpselect._ground.privacy import ApproxDP, Neighbors
from dpselect._ground.processes import process_identity, refuse_copy
from dpselect.accounting.prices import Price, divergence
from dpselect.errors import BudgetError
from dpselect.ledger.account import clean_name
from dpselect.ledger.question import STATED, fingerprint


@dataclass(frozen=True)
class Stated:
    """A stated (epsilon, delta), which is charged whole, whatever is released: docs/composing.md has the proof."""

    epsilon: Fraction
    delta: Fraction
    unit: str
    note: str

    @classmethod
    def parse(cls, epsilon: Number, delta: Number, unit: str, note: str) -> Self:
        """Check a price, except whether its unit is that of the account."""
        price = parameters.epsilon("epsilon", epsilon), parameters.probability("delta", delta, zero=True)
        return cls(*price, clean_name("unit", unit), clean_name("note", note))

    def price_at(self, order: int | None) -> Price:
        """Return the price of one step: all of delta may fail, and the rest is at most randomised response."""
        privacy = ApproxDP(self.epsilon, self.delta)
        return Price(self.epsilon, self.epsilon if order is None else divergence(privacy, order), self.delta)

    def text(self, by: str) -> str:
        """Return the text that the ledger records as the question."""
        stated = {"stated_by": by, "note": self.note, "epsilon": self.epsilon, "delta": self.delta}
        return fingerprint(STATED, stated, {"unit": self.unit, "neighbors": Neighbors.ADD_REMOVE}, False).text


class Spending:
    """A reserved price: `with` runs what it pays for, once, and settles all of it however that ends."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self, protocol)

    def __init__(self, settle: Callable[[], object]) -> None:
        self._settle = settle
        self._once = threading.Lock()  # taken for good by the block: of two threads one runs it
        self._process = process_identity()

    def __enter__(self) -> None:
        if self._process != process_identity():  # before the block, since each child would release another answer
            raise BudgetError("a stated price belongs to the process that reserved it", "call spend in this one")
        if not self._once.acquire(blocking=False):
            raise BudgetError("a stated price pays for one block, which has run already", "call spend again")

    def __exit__(self, *_: object) -> None:
        self._once.acquire(blocking=False)  # settled without a block, it pays for none afterwards
        self._settle()
