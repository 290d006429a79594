"""What a statement's parameters must be before anything is computed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

LEAST, LARGEST = Fraction(1, 10**100), Fraction(10**6)  # of an epsilon
MOST = 2**62  # of a whole number
MOST_BITS = 2**13  # of a numerator or denominator
MOST_PARTS = 100  # of a whole


class UnfitError(Exception):
    """A parameter is missing, or is no such number: nothing follows from it."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of a statement, asked for one by one."""

    of: Mapping[str, object]

    def has(self, name: str) -> bool:
        """Is it there, and not null?"""
        return self.of.get(name) is not None

    def epsilon(self, name: str) -> Fraction:
        """A number above 0 that is no extreme one."""
        found = self._number(name)
        if not LEAST <= found <= LARGEST:
            raise UnfitError(f"{name} is no epsilon")
        return found

    def delta(self, name: str) -> Fraction:
        """A number from 0 to 1, without 1."""
        found = self._number(name)
        if not 0 <= found < 1 or 0 < found < LEAST**3:
            raise UnfitError(f"{name} is no delta")
        return found

    def number(self, name: str) -> Fraction:
        """A number above 0."""
        found = self._number(name)
        if not LEAST**3 <= found <= 1 / LEAST**3:
            raise UnfitError(f"{name} is out of range")
        return found

    def whole(self, name: str) -> int:
        """A whole number of at least 1."""
        found = self.of.get(name)
        if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= MOST:
            raise UnfitError(f"{name} is missing, or no whole number of at least 1")
        return found

    def several(self, name: str) -> tuple[object, ...]:
        """One or more values."""
        found = self.of.get(name)
        if not isinstance(found, tuple) or not found:
            raise UnfitError(f"{name} is missing, or no list")
        return found

    def shares(self, name: str) -> list[Fraction]:
        """Parts of a whole."""
        found = [self._exact(name, one) for one in self.several(name)[: MOST_PARTS + 1]]
        if len(found) > MOST_PARTS or min(found) <= 0 or sum(found) > 1:
            raise UnfitError(f"{name} are no parts of a whole")
        return found

    def _number(self, name: str) -> Fraction:
        return self._exact(name, self.of.get(name))

    def _exact(self, name: str, found: object) -> Fraction:
        if isinstance(found, bool) or not isinstance(found, int | float | Fraction):
            raise UnfitError(f"{name} is missing, or no number")
        try:
            exact = Fraction(found)
        except (ValueError, OverflowError):
            raise UnfitError(f"{name} is no number") from None
        if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MOST_BITS:
            raise UnfitError(f"{name} has too many digits")
        return exact
