"""Whose budget it is, and how it stands."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from dpselect.errors import ParameterError
from dpselect.ledger.charge import Charge

LONGEST = 200  # characters: two names fit into one index row of every store


@dataclass(frozen=True)
class Account:
    """The budget of one analyst for one data set."""

    dataset: str
    analyst: str

    def __post_init__(self) -> None:
        _check_name("dataset", self.dataset)
        _check_name("analyst", self.analyst)

    def __str__(self) -> str:
        return f"{self.analyst!r} on {self.dataset!r}"


@dataclass(frozen=True)
class Balance:
    """How an account stands: what was granted in total, what is spent, and what open questions may still cost."""

    account: Account
    granted: Charge
    spent: Charge
    reserved: Charge

    @property
    def used(self) -> Charge:
        """What is spent or reserved."""
        return self.spent + self.reserved

    @property
    def left(self) -> Charge:
        """What a new question may cost at most."""
        used = self.used
        nothing = Fraction(0)
        epsilon = max(self.granted.epsilon - used.epsilon, nothing)
        return Charge(epsilon, max(self.granted.delta - used.delta, nothing))


def _check_name(parameter: str, name: object) -> None:
    """A name is short and prints on one line."""
    must = f"be a text of 1 to {LONGEST} characters without control characters"
    if not isinstance(name, str) or not 1 <= len(name) <= LONGEST:
        raise ParameterError(parameter, must, repr(name)[:LONGEST])
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name):
        raise ParameterError(parameter, must, ascii(name))
