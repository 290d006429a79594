"""The parameters that all mechanisms over sets or sequences share, parsed in one place."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Protocol

from dpselect import parameters
from dpselect.parameters import Number
from dpselect.privacy import Neighbors, neighbors


class JointTerms(Protocol):
    """A mechanism that selects k at once, by a loss which one user's coming or going moves by at most 1."""

    @property
    def k(self) -> int: ...
    @property
    def epsilon(self) -> Number: ...
    @property
    def neighbors(self) -> Neighbors: ...


def parse(terms: JointTerms) -> None:
    """Parameters become exact values, or a clear error before any data is touched."""
    parsed: dict[str, Any] = {
        "k": parameters.listed("k", terms.k),
        "epsilon": parameters.epsilon("epsilon", terms.epsilon),
        "neighbors": neighbors(terms.neighbors),
    }
    for name, value in parsed.items():
        object.__setattr__(terms, name, value)


def rate(terms: JointTerms) -> Fraction:
    """epsilon / 2; epsilon / 4 for replace-one, which removes one user and adds another: the loss may move by 2."""
    moves = 2 if terms.neighbors is Neighbors.REPLACE_ONE else 1
    return Fraction(terms.epsilon) / (2 * moves)
