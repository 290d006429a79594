"""Scale: what the scores of an answer are counted in, users or the units of a weight, and how a person is told.

Users may be all that an item has, or those that it gained from one period to another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dpselect.release import formatting

if TYPE_CHECKING:
    from dpselect.aggregates.totals import Totals


@dataclass(frozen=True)
class Scale:
    """How whole scores become numbers for a reader. Of weights these are in the weight's own unit."""

    totals: Totals | None = None
    gains: bool = False

    @property
    def score(self) -> str:
        """What a score is called."""
        if self.totals is not None:
            return "sum"
        return "gain" if self.gains else "count"

    @property
    def users(self) -> str:
        """What one of them is called, and several."""
        return "gained user" if self.gains else "user"

    def value(self, steps: int) -> int | float:
        """A score: an integer where the unit is one, else the nearest float."""
        if self.totals is None:
            return steps
        exact = steps * self.totals.unit
        return int(exact) if self.totals.unit.denominator == 1 else float(exact)

    def said(self, steps: int) -> str:
        """So many users, or so much of the weight."""
        if self.totals is None:
            return f"{steps:,} {self.users}{'' if steps == 1 else 's'}"
        return f"{self.value(steps):,} of {formatting.text(self.totals.column)}"

    def about(self, steps: float, digits: int = 4) -> str:
        """The same of a height or a scale of noise, in few digits."""
        if self.totals is None:
            return f"{steps:.{digits}g} {self.users}s"
        few = Fraction(f"{steps * float(self.totals.unit):.{digits}g}")
        value = f"{int(few):,}" if few.denominator == 1 else formatting.short(few)
        return f"{value} of {formatting.text(self.totals.column)}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a score is, where it is not a number of users."""
        if self.totals is None:
            return ()
        unit, most = formatting.short(self.totals.unit), formatting.short(self.totals.at_most)
        column = formatting.text(self.totals.column)
        return (
            f"A score is a sum over users: of every user the total of {column} in their rows of the item, rounded to "
            f"units of {unit} and cut to at most {most}. Rows that hold no number there, or one below 0, give nothing.",
            f"The cap of {most} is part of the question; the promise holds if it was not chosen by these data.",
        )

    @property
    def parameters(self) -> dict[str, object]:
        """The same as numbers."""
        return {} if self.totals is None else self.totals.said


USERS = Scale()
GAINS = Scale(gains=True)
