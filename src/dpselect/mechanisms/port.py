"""What every mechanism is: a frozen value, called with counts or scores."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dpselect._ground.privacy import Neighbors, Privacy, PureDP, Steps
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import Answer, Input


class Mechanism(Protocol):
    """Parameters in; `.privacy` from the parameters alone; the call follows the paper's algorithm."""

    @property
    def k(self) -> int:
        """How many candidates are selected at most."""
        ...

    @property
    def privacy(self) -> Privacy:
        """What a call promises and costs, known before any data is touched."""
        ...

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Selected candidates, best first: indices for an array, labels for a mapping or count groups."""
        ...


def settle(frozen: object, /, **values: object) -> None:
    """Give a frozen mechanism, or a query, its parsed parameters and derived fields, once."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def promise(epsilon: Fraction, delta: Fraction, bound: str, related: Neighbors = Neighbors.ADD_REMOVE) -> Privacy:
    """(epsilon, delta): one step that is pure but for a failure of delta (Kairouz, Oh and Viswanath 2015)."""
    steps = (Steps(PureDP(epsilon), 1),)
    return Privacy(epsilon=epsilon, delta=delta, neighbors=related, steps=steps, failure=delta, bound=bound)
