"""Unbounded: the points that a quantile can be where nobody gives bounds: 0 and the numbers of six digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpselect._ground.dataclass import dataclass
from dpselect._ground.parameters import Number, positive
from dpselect.aggregates.value_counts import Floats, Grid, Integers, map_in_parts, to_floats
from dpselect.errors import ParameterError, came

POINT_DIGITS = 6
DEFAULT_STEP = Fraction(1, 10**12)  # the step where none is given
MIN_LARGEST_POINT = 10**20  # the largest point is at least this, so every integer of 64 bits has one near it
MIN_STEP, MAX_STEP = Fraction(1, 10**30), Fraction(MIN_LARGEST_POINT, 10**POINT_DIGITS)
STEP_REQUIREMENT = "be between 1e-30 and 1e14 if there are no bounds"
DENSE_POINTS: int = 10**POINT_DIGITS  # points from 0 on that are a step apart
POINTS_PER_TENFOLD: int = 9 * 10 ** (POINT_DIGITS - 1)  # points of every tenfold beyond them


@dataclass(frozen=True)
class Unbounded:
    """0, step, 2 step, ... up to 10^6 step; then every ten steps up to 10^7, every hundred up to 10^8, ...; and minus.

    So two neighbours are a step apart, or at most 1 / 10^5 of what they are. Which points there are hangs on the step
    alone.
    """

    step: Fraction

    @classmethod
    def parse(cls, step: Number | None = None) -> Unbounded:
        """Return the points of a step, checked; without one it is far finer than most values are."""
        if step is None:
            return cls(DEFAULT_STEP)
        width = positive("step", step, STEP_REQUIREMENT)
        if not MIN_STEP <= width <= MAX_STEP:
            raise ParameterError("step", STEP_REQUIREMENT, came(step))
        return cls(width)

    @property
    def bounds(self) -> None:
        """Nobody gave any."""
        return

    @property
    def tenfolds(self) -> int:
        """The number of times that the points become ten times wider apart."""
        times, beyond = 0, self.step * DENSE_POINTS
        while beyond < MIN_LARGEST_POINT:
            times, beyond = times + 1, beyond * 10
        return times

    @property
    def points_above_zero(self) -> int:
        """The number of points above 0."""
        return DENSE_POINTS + self.tenfolds * POINTS_PER_TENFOLD

    @property
    def points(self) -> int:
        """The number of points."""
        return 2 * self.points_above_zero + 1

    @property
    def widths(self) -> list[Fraction]:
        """The distances of neighbouring points: at first, and after every tenfold."""
        return [self.step * 10**times for times in range(self.tenfolds + 1)]

    def value(self, index: int) -> int | float:
        """Return the point at an index: an integer where the step is one, else the nearest float."""
        steps_from_zero = abs(index - self.points_above_zero)
        times = max(0, -((DENSE_POINTS - steps_from_zero) // POINTS_PER_TENFOLD))
        exact = (
            (steps_from_zero - times * POINTS_PER_TENFOLD)
            * 10**times
            * self.step
            * (1 if index > self.points_above_zero else -1)
        )
        return int(exact) if self.step.denominator == 1 else float(exact)

    def nearest_indices(self, values: Floats) -> Integers:
        """Return the index of the nearest point for every value, in floats, as `Grid.nearest_indices`. No NaN."""
        widths = np.array([float(width) for width in self.widths])
        ends, top, last = widths[:-1] * DENSE_POINTS, float(widths[-1] * DENSE_POINTS), self.points_above_zero

        def indices_of_part(part: Floats) -> Integers:
            sizes = np.minimum(np.abs(part), top)
            times = np.searchsorted(ends, sizes, side="right")
            sizes /= widths[times]
            sizes += 0.5
            positions: Integers = np.floor(sizes, out=sizes).astype(np.int64) + times * POINTS_PER_TENFOLD
            np.negative(positions, out=positions, where=part < 0)
            positions += last
            return positions

        return map_in_parts(values, indices_of_part)

    def indices_of(self, values: object) -> Integers:
        """Return the index of every user's one value, in no order, without missing ones (NaN, None, no number)."""
        floats = to_floats(values)
        missing = np.isnan(floats)
        return self.nearest_indices(floats[~missing] if missing.any() else floats)


Points = Grid | Unbounded


def points_of(bounds: object, step: Number | None = None) -> Points:
    """Return the points between two bounds, or without any, checked."""
    return Unbounded.parse(step) if bounds is None else Grid.parse(bounds, step)
