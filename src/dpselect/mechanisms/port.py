"""What every mechanism is: a frozen value, called with counts or scores."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from dpselect._ground.privacy import Neighbors, Privacy, PureDP, Steps
from dpselect.draws import Draws
from dpselect.mechanisms.candidates import Answer, Input

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Mechanism(Protocol):
    """Parameters in; `.privacy` from the parameters alone; the call follows the paper's algorithm."""

    @property
    def k(self) -> int:
        """The number of candidates that are selected at most."""
        ...

    @property
    def privacy(self) -> Privacy:
        """The promise and the cost of a call, known before any data is touched."""
        ...

    def __call__(self, counts: Input, *, draws: Draws | None = None) -> Answer:
        """Select candidates, best first: indices for an array, labels for a mapping or count groups."""
        ...


def set_fields(frozen: DataclassInstance, /, **values: object) -> None:
    """Set fields of a frozen dataclass while it is made: its parsed parameters and what is derived from them.

    Raises TypeError for a name that is no field, which would otherwise leave the field's default in silence.
    """
    names = type(frozen).__dataclass_fields__
    if unknown := values.keys() - names.keys():
        raise TypeError(f"{type(frozen).__name__} has no field {', '.join(sorted(unknown))}")
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


def promise(epsilon: Fraction, delta: Fraction, bound: str, related: Neighbors = Neighbors.ADD_REMOVE) -> Privacy:
    """Return (epsilon, delta)-DP: one step that is pure but for a failure of delta (Kairouz, Oh and Viswanath 2015)."""
    steps = (Steps(PureDP(epsilon), 1),)
    return Privacy(epsilon=epsilon, delta=delta, neighbors=related, steps=steps, failure=delta, bound=bound)
