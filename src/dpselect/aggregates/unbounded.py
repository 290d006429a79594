"""Unbounded: the points that a quantile can be where nobody gives bounds: 0 and the numbers of six digits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpselect._ground.parameters import Number, positive
from dpselect.aggregates.value_counts import Floats, Grid, Integers, in_parts, numbers
from dpselect.errors import ParameterError, came

DIGITS = 6
FINEST = Fraction(1, 10**12)  # the step where none is given
TOP = 10**20  # the largest point is at least this, so every integer of 64 bits has one near it
NARROWEST, WIDEST = Fraction(1, 10**30), Fraction(TOP, 10**DIGITS)
STEP = "be between 1e-30 and 1e14 if there are no bounds"
DENSE: int = 10**DIGITS  # points from 0 on that are a step apart
DECADE: int = 9 * 10 ** (DIGITS - 1)  # points of every tenfold beyond them


@dataclass(frozen=True)
class Unbounded:
    """0, step, 2 step, ... up to 10^6 step; then every ten steps up to 10^7, every hundred up to 10^8, ...; and minus.

    So two neighbours are a step apart, or at most 1 / 10^5 of what they are. Which points there are hangs on the step
    alone.
    """

    step: Fraction

    @classmethod
    def of(cls, step: Number | None = None) -> Unbounded:
        """The step, checked; without one it is far finer than most values are."""
        if step is None:
            return cls(FINEST)
        width = positive("step", step, STEP)
        if not NARROWEST <= width <= WIDEST:
            raise ParameterError("step", STEP, came(step))
        return cls(width)

    @property
    def bounds(self) -> None:
        """Nobody gave any."""
        return

    @property
    def tenfolds(self) -> int:
        """How often the points become ten times wider apart."""
        times, beyond = 0, self.step * DENSE
        while beyond < TOP:
            times, beyond = times + 1, beyond * 10
        return times

    @property
    def last(self) -> int:
        """How many points are above 0."""
        return DENSE + self.tenfolds * DECADE

    @property
    def points(self) -> int:
        """How many there are."""
        return 2 * self.last + 1

    @property
    def widths(self) -> list[Fraction]:
        """How far apart points are: at first, and after every tenfold."""
        return [self.step * 10**times for times in range(self.tenfolds + 1)]

    def value(self, place: int) -> int | float:
        """The point at a place: an integer where the step is one, else the nearest float."""
        above = abs(place - self.last)
        times = max(0, -((DENSE - above) // DECADE))
        exact = (above - times * DECADE) * 10**times * self.step * (1 if place > self.last else -1)
        return int(exact) if self.step.denominator == 1 else float(exact)

    def places(self, values: Floats) -> Integers:
        """The place of the nearest point for every value, in floats, as `Grid.places`. No NaN."""
        widths = np.array([float(width) for width in self.widths])
        ends, top, last = widths[:-1] * DENSE, float(widths[-1] * DENSE), self.last

        def places(some: Floats) -> Integers:
            sizes = np.minimum(np.abs(some), top)
            times = np.searchsorted(ends, sizes, side="right")
            sizes /= widths[times]
            sizes += 0.5
            above: Integers = np.floor(sizes, out=sizes).astype(np.int64) + times * DECADE
            np.negative(above, out=above, where=some < 0)
            above += last
            return above

        return in_parts(values, places)

    def placed(self, values: object) -> Integers:
        """The place of every user's one value, in no order; what is missing (NaN, None, no number) does not count."""
        found = numbers(values)
        missing = np.isnan(found)
        return self.places(found[~missing] if missing.any() else found)


Points = Grid | Unbounded


def points_of(bounds: object, step: Number | None = None) -> Points:
    """The points between two bounds, or without any, checked."""
    return Unbounded.of(step) if bounds is None else Grid.of(bounds, step)
