"""The parameters that all mechanisms which choose one candidate share, parsed in one place."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from dpselect import parameters
from dpselect.errors import ParameterError
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, neighbors


class Choice(Protocol):
    """A mechanism that chooses one among scores which one user moves by at most `sensitivity` each."""

    @property
    def epsilon(self) -> Number: ...
    @property
    def k(self) -> int: ...
    @property
    def sensitivity(self) -> Number: ...
    @property
    def monotonic(self) -> bool: ...
    @property
    def neighbors(self) -> Neighbors: ...


def parse(choice: Choice) -> None:
    """Parameters become exact values, or a clear error before any data is touched."""
    if parameters.listed("k", choice.k) != 1:
        raise ParameterError("k", "be 1, since this mechanism chooses one", choice.k, "Peeling selects the top k")
    parsed = {
        "epsilon": parameters.epsilon("epsilon", choice.epsilon),
        "sensitivity": parameters.sensitivity("sensitivity", choice.sensitivity),
        "monotonic": parameters.flag("monotonic", choice.monotonic),
        "neighbors": neighbors(choice.neighbors),
    }
    for name, value in parsed.items():
        object.__setattr__(choice, name, value)
    if choice.monotonic and choice.neighbors is Neighbors.REPLACE_ONE:
        hint = "replacing a user can raise one score and lower another"
        raise ParameterError("monotonic", "be False for replace-one neighbors", "True", hint)


def rate(choice: Choice) -> Fraction:
    """epsilon / (2 sensitivity), without the 2 for monotonic scores (one more user moves all the same way)."""
    price = 1 if choice.monotonic else 2
    return Fraction(choice.epsilon) / (price * Fraction(choice.sensitivity))
