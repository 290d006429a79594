"""What may be asked for, by wish: each is a verb with its parameters, and no name of a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wish:
    """One entry of the first menu."""

    name: str
    label: str
    verb: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    numbers: bool = False  # may numbers come with the items?
    groups: bool = True  # may it be asked in every group?
    known: bool = False  # does it need items that the owner has listed?

    @property
    def of_values(self) -> bool:
        """Is it about a column of numbers?"""
        return self.verb == "quantile"

    @property
    def of_items(self) -> bool:
        """Is it about a column at all?"""
        return self.verb != "users"

    def fits(self, data: Mapping[str, Any]) -> bool:
        """Has the owner declared what it needs?"""
        if not self.of_items:
            return True
        if self.of_values:
            return bool(data["values"])
        return bool(data["items"]) and (not self.known or any(known(data, one) for one in data["items"]))


WISHES = (
    Wish("top", "the top", "top_k", numbers=True),
    Wish("common", "all common", "union", numbers=True),
    Wish("median", "the median of", "quantile", {"q": "1/2"}),
    Wish("quartiles", "the quartiles of", "quantile", {"q": ["1/4", "1/2", "3/4"]}),
    Wish("tenths", "the lowest and highest tenth of", "quantile", {"q": ["1/10", "9/10"]}),
    Wish("users", "how many users there are", "users", groups=False),
    Wish("each", "how many users of each", "histogram", groups=False, known=True),
    Wish("best", "the one leading", "choose", known=True),
)
NAMED = {wish.name: wish for wish in WISHES}


def fitting(data: Mapping[str, Any]) -> list[Wish]:
    """The wishes that a data set can fulfil."""
    return [wish for wish in WISHES if wish.fits(data)]


def known(data: Mapping[str, Any], item: object) -> bool:
    """Has the owner listed the items of a column?"""
    return isinstance(item, str) and item in data["domains"]
