"""Whose budget it is, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpselect.ledger.charge import Charge
from dpselect.ledger.names import clean_name, is_clean, looks, was_a_name


@dataclass(frozen=True)
class Account:
    """The budget of one analyst for one data set."""

    dataset: str
    analyst: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", clean_name("dataset", self.dataset))
        object.__setattr__(self, "analyst", clean_name("analyst", self.analyst))

    @staticmethod
    def kept(dataset: str, analyst: str) -> Account:
        """An account as a ledger has it, exactly: earlier versions took names that are none today."""
        if not was_a_name(dataset) or not was_a_name(analyst):
            raise ValueError("no version wrote such a name")
        account = object.__new__(Account)
        object.__setattr__(account, "dataset", dataset)
        object.__setattr__(account, "analyst", analyst)
        return account

    @property
    def is_named_today(self) -> bool:
        """May both names still be given?"""
        return is_clean(self.dataset) and is_clean(self.analyst)

    def looks_like(self, other: Account) -> bool:
        """Are the names the same but for what cannot be seen?"""
        return (looks(self.dataset), looks(self.analyst)) == (looks(other.dataset), looks(other.analyst))

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
